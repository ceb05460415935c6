"""Statements that write rows: INSERT, INSERT OVERWRITE, TRUNCATE, UPDATE, DELETE, MERGE INTO.

What such a statement reads is a query, the rows that come or those that a condition looks at; it is
checked as one before anything is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sqlglot import TokenType

from branch_console.operations.argument import Argument
from branch_console.sql.merges import Merge, read_merge
from branch_console.sql.place import Origins, Place
from branch_console.sql.query import Query, parse_query
from branch_console.sql.targets import (
    Assembled,
    NamedColumn,
    Part,
    Span,
    Target,
    TargetReader,
    is_default,
    read_written_target,
)
from branch_console.sql.token_reader import quoted_name

Constant = Argument | Decimal

_DEFAULT_LENGTH: Final = len("DEFAULT")
_BEFORE_VALUE: Final = (TokenType.L_PAREN, TokenType.COMMA)
_BEHIND_VALUE: Final = (TokenType.R_PAREN, TokenType.COMMA)
_SIGNS: Final = {TokenType.DASH: "-", TokenType.PLUS: ""}


class WriteKind(StrEnum):
    """The statements that write rows; the name of its procedure."""

    INSERT = "insert_rows"
    OVERWRITE = "overwrite_rows"
    UPDATE = "update_rows"
    DELETE = "delete_rows"
    MERGE = "merge_into"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement that writes rows.

    Attributes:
        kind: The kind of the statement.
        target: The table that it changes.
        query: What it reads: the rows to be written; of UPDATE and DELETE a query of the new
            values and the condition over the target, which is among its references; of MERGE all
            that stands in it.
        columns: The columns of an INSERT; None takes all by position.
        by_name: Whether the rows of an INSERT are meant for the columns of their names.
        partition: The partition that an INSERT names, with the values that it gives; None if it
            gives none, so that the rows tell.
        partition_columns: The columns that it names with and without values.
        defaults: Where the rows of an INSERT ask for the default of a column: the place of the
            column among theirs, by where the query says so.
        assignments: The new values of an UPDATE, by their columns; None for the column's default.
        condition: The condition of an UPDATE or DELETE; None for all rows.
        merge: The clauses of a MERGE; None for other statements.
    """

    kind: WriteKind
    target: Target
    query: Query
    columns: tuple[NamedColumn, ...] | None = None
    by_name: bool = False
    partition: Mapping[str, Constant] | None = None
    partition_columns: tuple[NamedColumn, ...] = ()
    defaults: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    assignments: tuple[tuple[NamedColumn, Part | None], ...] = ()
    condition: Part | None = None
    merge: Merge | None = None

    @property
    def named_columns(self) -> tuple[NamedColumn, ...]:
        """The columns of the target that the statement gives values."""
        clauses = () if self.merge is None else self.merge.clauses
        return (
            *(self.columns or ()),
            *(column for column, _ in self.assignments),
            *(column for clause in clauses for column, _ in clause.values or ()),
        )


def parse_write(text: str, start: Place | None = None) -> Write:
    """Read a statement that writes rows.

    Args:
        text: One statement, without a semicolon behind it.
        start: Its start in the given text, for the places in messages.

    Raises:
        InvalidInput: It is none, or something in it cannot be run here.
    """
    return _Reader(text, start).write()


class _Reader(TargetReader):
    def write(self) -> Write:
        if self.takes("INSERT INTO"):
            return self._insert(WriteKind.INSERT)
        if self.takes("INSERT OVERWRITE"):
            return self._insert(WriteKind.OVERWRITE)
        if self.takes("TRUNCATE TABLE"):
            return self._truncate()
        if self.takes("UPDATE"):
            return self._update()
        if self.takes("DELETE FROM"):
            return self._delete()
        if self.takes("MERGE INTO"):
            target, query, merge = read_merge(self)
            return Write(kind=WriteKind.MERGE, target=target, query=query, merge=merge)
        raise self.unexpected(
            "INSERT INTO, INSERT OVERWRITE, TRUNCATE TABLE, UPDATE, DELETE FROM or MERGE INTO"
        )

    def _insert(self, kind: WriteKind) -> Write:
        self.takes("TABLE")
        target = read_written_target(self)
        named, partition = self._partition() if self.takes("PARTITION") else ((), None)
        by_name = self.takes("BY NAME")
        columns = None
        if not by_name and self.kind() is TokenType.L_PAREN and not self._is_query_in_parentheses():
            columns = self._columns()
        if self.at >= len(self.tokens):
            raise self.unexpected("a query, or VALUES")
        place, start = self.place(self.at), self.tokens[self.at].start
        text, defaults = self.text[start:], self._defaults()
        for at in defaults:
            # NULL is padded to the length of DEFAULT, so that places in the text stay right.
            text = text[:at] + "NULL".ljust(_DEFAULT_LENGTH) + text[at + _DEFAULT_LENGTH :]
        self.at = len(self.tokens)
        return Write(
            kind=kind,
            target=target,
            query=parse_query(text, Origins(parts=((0, place),))),
            columns=columns,
            by_name=by_name,
            partition=partition,
            partition_columns=named,
            defaults=defaults,
        )

    def _defaults(self) -> Mapping[int, int]:
        """The positions of DEFAULT in the rows after VALUES, with the index of its column."""
        found: dict[int, int] = {}
        if not self.stands("VALUES"):
            return found
        first, depth, number = self.tokens[self.at].start, 0, 0
        for at in range(self.at, len(self.tokens)):
            kind = self.tokens[at].token_type
            if kind is TokenType.L_PAREN:
                depth += 1
                number = 0 if depth == 1 else number
            elif kind is TokenType.R_PAREN:
                depth -= 1
            elif kind is TokenType.COMMA and depth == 1:
                number += 1
            elif depth == 1 and is_default(self.tokens[at]) and self._is_alone(at):
                found[self.tokens[at].start - first] = number
        return MappingProxyType(found)

    def _is_alone(self, at: int) -> bool:
        """Whether a word is all that stands between commas or parentheses."""
        following = self.tokens[at + 1 : at + 2]
        is_last = bool(following) and following[0].token_type in _BEHIND_VALUE
        return is_last and self.tokens[at - 1].token_type in _BEFORE_VALUE

    def _truncate(self) -> Write:
        first = self.at
        target = read_written_target(self)
        named, values = Span(start=first, end=self.at), {}
        columns: tuple[NamedColumn, ...] = ()
        if self.takes("PARTITION"):
            columns, given = self._partition()
            if not given or len(given) < len(columns):
                raise self.error(
                    "rows are removed from a partition by its values, such as PARTITION (g = 1)",
                    back=1,
                )
            values = dict(given)
        self.expect_end()
        # No row comes in the place of all that there are.
        kept = ", ".join(quoted_name(each.name) for each in columns)
        query = Assembled(self, f"SELECT *{f' EXCEPT ({kept})' if kept else ''} FROM ")
        query.take_target(named)
        query.add(" WHERE false")
        return Write(
            kind=WriteKind.OVERWRITE,
            target=target,
            query=query.query(),
            partition=MappingProxyType(values),
            partition_columns=columns,
        )

    def _is_query_in_parentheses(self) -> bool:
        following = self.tokens[self.at + 1 : self.at + 2]
        starts = {"SELECT", "WITH", "VALUES", "FROM", "("}
        return bool(following) and following[0].text.upper() in starts

    def _partition(self) -> tuple[tuple[NamedColumn, ...], Mapping[str, Constant] | None]:
        """Take the columns of a partition, and the values of those that the rows do not bring."""
        columns: list[NamedColumn] = []
        values: dict[str, Constant] = {}
        following = [each.token_type for each in self.tokens[self.at : self.at + 2]]
        if following == [TokenType.L_PAREN, TokenType.R_PAREN]:
            # No column is given, so that all partitions are replaced.
            self.at += 2
            return (), MappingProxyType({})

        def take() -> None:
            place = self.place(self.at)
            name = self.name("a column of the partition")
            if any(name.lower() == each.name.lower() for each in columns):
                raise self.error(f"column {name!r} is there twice", back=1)
            columns.append(NamedColumn(name=name, place=place))
            if self.takes_kind(TokenType.EQ):
                values[name] = self._constant()
            elif self.kind() not in (TokenType.COMMA, TokenType.R_PAREN):
                raise self.unexpected("'=' and a value, ',' or ')'")

        self.listed(take)
        return tuple(columns), MappingProxyType(values) if values else None

    def _constant(self) -> Constant:
        if self.takes("DATE") or self.takes("TIMESTAMP"):
            if self.kind() is not TokenType.STRING:
                raise self.unexpected("a time in quotes")
            return self.next().text
        sign = _SIGNS.get(self.kind() or TokenType.STRING)
        if sign is not None:
            self.at += 1
        if self.kind() is TokenType.NUMBER:
            text = (sign or "") + self.next().text
            return int(text) if text.lstrip("-").isdigit() else Decimal(text)
        if sign is not None:
            raise self.unexpected("a number")
        return self.value()

    def _columns(self) -> tuple[NamedColumn, ...]:
        found: list[NamedColumn] = []
        self.expect_kind(TokenType.L_PAREN, "'('")
        while not found or not self.takes_kind(TokenType.R_PAREN):
            if found:
                self.expect_kind(TokenType.COMMA, "','")
            place = self.place(self.at)
            found.append(NamedColumn(name=self.name("a column"), place=place))
        return tuple(found)

    def _update(self) -> Write:
        table = self.at
        target = self.with_alias(read_written_target(self), "SET")
        named = Span(start=table, end=self.at)
        self.expect("SET")
        assignments = [self.assignment(target, "WHERE")]
        while self.takes_kind(TokenType.COMMA):
            assignments.append(self.assignment(target, "WHERE"))
        query = Assembled(self, "SELECT ")
        parts: list[tuple[NamedColumn, Part | None]] = []
        for column, value in assignments:
            query.add(", (" if parts else "(")
            parts.append((column, query.take_value(value)))
            query.add(")")
        return self._over_target(WriteKind.UPDATE, target, query, named, tuple(parts))

    def _delete(self) -> Write:
        table = self.at
        target = self.with_alias(read_written_target(self), "WHERE")
        named = Span(start=table, end=self.at)
        return self._over_target(WriteKind.DELETE, target, Assembled(self, "SELECT 1"), named, ())

    def _over_target(
        self,
        kind: WriteKind,
        target: Target,
        query: Assembled,
        named: Span,
        assignments: tuple[tuple[NamedColumn, Part | None], ...],
    ) -> Write:
        """Take the condition; the query that reads what the statement does is `query` and it."""
        query.add(" FROM ")
        query.take_target(named)
        condition = None
        if self.at < len(self.tokens):
            self.expect("WHERE")
            # Within parentheses the engine can read nothing but a condition.
            query.add(" WHERE (")
            condition = self._condition(query)
            query.add(")")
        return Write(
            kind=kind,
            target=target,
            query=query.query(),
            assignments=assignments,
            condition=condition,
        )

    def _condition(self, query: Assembled) -> Part:
        span = self.expression()
        if span.end - span.start > 1 or self.tokens[span.start].token_type is not TokenType.NULL:
            return query.take(span)
        # By itself it has no type, and Spark takes no such condition.
        start = len(query.text)
        query.add("CAST(NULL AS BOOLEAN)", before=span)
        return Part(start=start, end=len(query.text))
