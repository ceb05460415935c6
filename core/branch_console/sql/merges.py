"""MERGE INTO: rows of a table meet rows of a source, and clauses say what becomes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from sqlglot import TokenType

from branch_console.errors import ErrorKind
from branch_console.sql.place import Place
from branch_console.sql.query import Query
from branch_console.sql.targets import (
    Assembled,
    NamedColumn,
    Part,
    Span,
    Target,
    TargetReader,
    read_written_target,
)
from branch_console.sql.token_reader import quoted_name, statement_error

# How the check calls the source; nobody else sees it.
_GIVEN: Final = "given"
_IN_LIST: Final = frozenset({TokenType.COMMA, TokenType.R_PAREN})


class MatchKind(StrEnum):
    """The kind of rows that a clause applies to, in its words after WHEN."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"


class ClauseAction(StrEnum):
    """The actions of a clause."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause as it stands there.

    Attributes:
        place: The place of its action.
        condition: For which of these rows it holds; None for all.
        values: New values by column, None for the column's default; None if a star takes those
            of the source.
    """

    place: Place
    match_kind: MatchKind
    action: ClauseAction
    condition: Part | None
    values: tuple[tuple[NamedColumn, Part | None], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A statement MERGE INTO, but for its target.

    Attributes:
        source: A query of the rows of the source.
        source_name: How the statement calls it.
        condition: The condition under which rows of both match.
        clauses: In their order; the first that holds is carried out.
    """

    source: Part
    source_name: str
    condition: Part
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowClause:
    """A clause as an engine runs it.

    Attributes:
        condition: In the SQL of the engine; None for all rows.
        values: Expressions by the names of the table's columns; None if a star takes all columns
            from the source.
    """

    match_kind: MatchKind
    action: ClauseAction
    condition: str | None
    values: Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClauses:
    """The clauses of a MERGE INTO, as an engine runs them.

    Attributes:
        target_name: How expressions call the table.
        source: A query of the engine.
        source_name: How expressions call its rows.
        condition: The condition under which rows of both match.
        clauses: In their order; the first that holds is carried out.
    """

    target_name: str
    source: str
    source_name: str
    condition: str
    clauses: tuple[RowClause, ...]


def read_merge(words: TargetReader) -> tuple[Target, Query, Merge]:
    """Take a statement behind MERGE INTO.

    Returns:
        The target; a query in which every expression stands where it sees the columns that it may;
        and what the statement does, as parts of this query.

    Raises:
        InvalidInput: It is no such statement, or something in it cannot be run here.
    """
    first = words.at
    target = words.with_alias(read_written_target(words), "USING")
    named = Span(start=first, end=words.at)
    words.expect("USING")
    place = words.place(words.at)
    source, source_name = _source(words)
    if source_name.lower() == target.name.lower():
        raise statement_error(
            place, f"source and target are both called {source_name!r}; give one an alias"
        )
    words.expect("ON")
    condition = words.expression("WHEN")
    clauses = [_clause(words, target)]
    while words.at < len(words.tokens):
        clauses.append(_clause(words, target))
    _check_reached(clauses)
    return target, *_assembled(words, named, source, source_name, condition, clauses)


_Values: TypeAlias = tuple[tuple[NamedColumn, Span], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    """A clause as words of the statement."""

    place: Place
    match_kind: MatchKind
    action: ClauseAction
    condition: Span | None
    values: _Values


def _source(words: TargetReader) -> tuple[Span, str]:
    """Take what is behind USING, and its name."""
    first, name = words.at, _GIVEN
    if words.kind() is TokenType.L_PAREN:
        _take_parentheses(words)
    else:
        name = words.table_read()
    if not words.stands("ON"):
        words.takes("AS")
        name = words.name("ON, or an alias")
        if words.kind() is TokenType.L_PAREN:
            _take_parentheses(words)
    return Span(start=first, end=words.at), name


def _take_parentheses(words: TargetReader) -> None:
    words.at += 1
    words.expression(before=(TokenType.R_PAREN,))
    words.expect_kind(TokenType.R_PAREN, "')'")


def _clause(words: TargetReader, target: Target) -> _Clause:
    if words.stands("WITH SCHEMA EVOLUTION"):
        raise statement_error(words.place(words.at), "no columns are added", ErrorKind.UNSUPPORTED)
    words.expect("WHEN")
    match_kind = _match_kind(words)
    condition = words.expression("THEN") if words.takes("AND") else None
    words.expect("THEN")
    place = words.place(words.at)
    action, values = _action(words, target, match_kind)
    return _Clause(
        place=place, match_kind=match_kind, action=action, condition=condition, values=values
    )


def _match_kind(words: TargetReader) -> MatchKind:
    if words.takes("NOT MATCHED BY SOURCE"):
        return MatchKind.NOT_MATCHED_BY_SOURCE
    if words.takes("NOT MATCHED"):
        words.takes("BY TARGET")
        return MatchKind.NOT_MATCHED
    if words.takes("MATCHED"):
        return MatchKind.MATCHED
    raise words.unexpected("MATCHED, NOT MATCHED or NOT MATCHED BY SOURCE")


def _action(
    words: TargetReader, target: Target, match_kind: MatchKind
) -> tuple[ClauseAction, _Values]:
    if match_kind is MatchKind.NOT_MATCHED:
        words.expect("INSERT")
        return ClauseAction.INSERT, _inserted(words, target)
    if words.takes("DELETE"):
        return ClauseAction.DELETE, ()
    if not words.takes("UPDATE"):
        raise words.unexpected("UPDATE or DELETE")
    has_set = words.takes("SET")
    if words.kind() is TokenType.STAR:
        if match_kind is MatchKind.NOT_MATCHED_BY_SOURCE:
            raise words.error("there is no row of the source to take values from")
        words.at += 1
        return ClauseAction.UPDATE, None
    if not has_set:
        raise words.unexpected("SET")
    values = [words.assignment(target, "WHEN")]
    while words.takes_kind(TokenType.COMMA):
        values.append(words.assignment(target, "WHEN"))
    return ClauseAction.UPDATE, tuple(values)


def _inserted(words: TargetReader, target: Target) -> _Values:
    if words.takes_kind(TokenType.STAR):
        return None
    words.expect_kind(TokenType.L_PAREN, "'*', or '(' and columns")
    columns = [words.own_column(target)]
    while not words.takes_kind(TokenType.R_PAREN):
        words.expect_kind(TokenType.COMMA, "','")
        columns.append(words.own_column(target))
    words.expect("VALUES")
    place = words.place(words.at)
    words.expect_kind(TokenType.L_PAREN, "'('")
    values = [words.expression(before=_IN_LIST)]
    while not words.takes_kind(TokenType.R_PAREN):
        words.expect_kind(TokenType.COMMA, "','")
        values.append(words.expression(before=_IN_LIST))
    if len(columns) != len(values):
        raise statement_error(place, f"there are {len(columns)} columns and {len(values)} values")
    return tuple(zip(columns, values, strict=True))


def _check_reached(clauses: Sequence[_Clause]) -> None:
    """Refuse clauses behind one that holds for all rows, which nothing would ever come to."""
    for number, clause in enumerate(clauses):
        before = (each for each in clauses[:number] if each.match_kind is clause.match_kind)
        if any(each.condition is None for each in before):
            what = f"an earlier clause is for every row that is {clause.match_kind}"
            raise statement_error(clause.place, f"{what}; say AND and a condition there")


def _assembled(
    words: TargetReader,
    named: Span,
    source: Span,
    source_name: str,
    condition: Span,
    clauses: Sequence[_Clause],
) -> tuple[Query, Merge]:
    """The statement as a query, and its parts in it."""
    found: dict[int, Clause] = {}
    given = f"{_GIVEN} AS {quoted_name(source_name)}"
    query = Assembled(words, f"WITH {_GIVEN} AS (")
    start = len(query.text)
    query.add("SELECT * FROM ", before=source)
    source_part = Part(start=start, end=query.take(source).end)
    query.add(") SELECT 1 FROM ")
    matching: Part | None = None
    for match_kind in MatchKind:
        query.add("(SELECT 1" if match_kind is MatchKind.MATCHED else ", (SELECT 1")
        for number, clause in enumerate(clauses):
            if clause.match_kind is match_kind:
                found[number] = _placed(query, clause)
        query.add(" FROM ")
        if match_kind is not MatchKind.NOT_MATCHED:
            query.take_target(named)
        if match_kind is MatchKind.MATCHED:
            query.add(f" JOIN {given} ON (")
            matching = query.take(condition)
            query.add(")")
        elif match_kind is MatchKind.NOT_MATCHED:
            query.add(given)
        query.add(f") AS {match_kind.replace(' ', '_')}")
    assert matching is not None
    return query.query(), Merge(
        source=source_part,
        source_name=source_name,
        condition=matching,
        clauses=tuple(found[number] for number in range(len(clauses))),
    )


def _placed(query: Assembled, clause: _Clause) -> Clause:
    """Put the expressions of a clause among what a query selects."""
    condition = None
    if clause.condition is not None:
        query.add(", ")
        # Here it can be nothing but a condition.
        query.add("CASE WHEN (", before=clause.condition)
        condition = query.take(clause.condition)
        query.add(") THEN 1 END")
    values: list[tuple[NamedColumn, Part | None]] | None = None if clause.values is None else []
    for column, value in clause.values or ():
        query.add(", (")
        assert values is not None
        values.append((column, query.take_value(value)))
        query.add(")")
    return Clause(
        place=clause.place,
        match_kind=clause.match_kind,
        action=clause.action,
        condition=condition,
        values=None if values is None else tuple(values),
    )
