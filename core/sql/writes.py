"""Statements that write rows: INSERT, INSERT OVERWRITE, UPDATE, DELETE.

What such a statement reads is a query, the rows that come or those that a condition looks at; it is
checked as one before anything is written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sqlglot import TokenType

from core.errors import ErrorKind, InvalidInput
from core.format.identifier import Identifier
from core.sql.place import Origins, Place
from core.sql.query import Query, RewrittenQuery, nearest_names, parse_query
from core.sql.statement import Value
from core.sql.words import Words, wrong

Constant = Value | Decimal

_SIGNS: Final = {TokenType.DASH: "-", TokenType.PLUS: ""}


class WriteKind(StrEnum):
    """What a statement does; the name of its procedure."""

    INSERT = "insert_rows"
    OVERWRITE = "overwrite_rows"
    UPDATE = "update_rows"
    DELETE = "delete_rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table that a statement changes.

    Attributes:
        identifier: The table, on `main` where no branch is named.
        names_branch: Whether the branch is named.
        place: Where it stands.
        name: How the statement calls it: by its alias, else by its name.
    """

    identifier: Identifier
    names_branch: bool
    place: Place
    name: str

    def on(self, branch: str) -> Identifier:
        """The table on the branch that is named, or else of the session."""
        return self.identifier if self.names_branch else self.identifier.on_branch(branch)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumn:
    """A column of the target that a statement names."""

    name: str
    place: Place


def unknown_column(column: NamedColumn, known: Iterable[str]) -> InvalidInput:
    """Return the error for a column that is not there, with what is near."""
    near = nearest_names(column.name, known)
    hint = f"; is it {' or '.join(near)}" if near else ""
    return wrong(column.place, f"the table has no column {column.name!r}{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the text of a query: its first character, and behind its last one."""

    start: int
    end: int

    def of(self, query: RewrittenQuery) -> str:
        """The part in the query over views."""
        return query.part(self.start, self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement that writes rows.

    Attributes:
        kind: What it does.
        target: The table that it changes.
        query: What it reads: the rows to be written; of UPDATE and DELETE a query of the new
            values and the condition over the target, which is among its references.
        columns: Which columns the rows of an INSERT are meant for, all by position if None.
        by_name: Whether the rows of an INSERT are meant for the columns of their names.
        partition: The partition that an INSERT names, with the values that it gives; None where it
            names none.
        assignments: The new values of an UPDATE, by their columns.
        condition: Which rows an UPDATE or DELETE is about; None for all.
    """

    kind: WriteKind
    target: Target
    query: Query
    columns: tuple[NamedColumn, ...] | None = None
    by_name: bool = False
    partition: Mapping[str, Constant] | None = None
    assignments: tuple[tuple[NamedColumn, Part], ...] = ()
    condition: Part | None = None


def parse_write(text: str, start: Place | None = None) -> Write:
    """Read a statement that writes rows.

    Args:
        text: One statement, without a semicolon behind it.
        start: Where it stands in what was given, for what is said of places.

    Raises:
        InvalidInput: It is none, or something in it cannot be run here.
    """
    return _Reader(text, start).write()


def read_target(words: Words) -> Target:
    """Take the name of a table that is changed.

    Raises:
        InvalidInput: It names no table.
    """
    place = words.place(words.at)
    database = words.name("a table, as database.table")
    words.expect_kind(TokenType.DOT, "'.' and a table")
    name = words.name("a table")
    if words.kind() is TokenType.DOT:
        raise words.error("a table is named by its database and its name")
    try:
        identifier = Identifier.parse(f"{database}.{name}")
    except InvalidInput as error:
        raise wrong(place, error.message.rstrip("."), error.kind) from error
    if identifier.system_table is not None:
        raise wrong(place, "a system table is not written", ErrorKind.UNSUPPORTED)
    return Target(identifier=identifier, names_branch="$branch_" in name, place=place, name=name)


class _Reader(Words):
    def write(self) -> Write:
        if self.takes("INSERT INTO"):
            return self._insert(WriteKind.INSERT)
        if self.takes("INSERT OVERWRITE"):
            return self._insert(WriteKind.OVERWRITE)
        if self.takes("UPDATE"):
            return self._update()
        if self.takes("DELETE FROM"):
            return self._delete()
        raise self.unexpected("INSERT INTO, INSERT OVERWRITE, UPDATE or DELETE FROM")

    def _insert(self, kind: WriteKind) -> Write:
        self.takes("TABLE")
        target = read_target(self)
        partition = self._partition() if self.takes("PARTITION") else None
        by_name = self.takes("BY NAME")
        columns = None
        if not by_name and self.kind() is TokenType.L_PAREN and not self._is_query_in_parentheses():
            columns = self._columns()
        if self.at >= len(self.tokens):
            raise self.unexpected("a query, or VALUES")
        place, start = self.place(self.at), self.tokens[self.at].start
        self.at = len(self.tokens)
        return Write(
            kind=kind,
            target=target,
            query=parse_query(self.text[start:], Origins(parts=((0, place),))),
            columns=columns,
            by_name=by_name,
            partition=partition,
        )

    def _is_query_in_parentheses(self) -> bool:
        following = self.tokens[self.at + 1 : self.at + 2]
        starts = {"SELECT", "WITH", "VALUES", "FROM", "("}
        return bool(following) and following[0].text.upper() in starts

    def _partition(self) -> Mapping[str, Constant]:
        found: dict[str, Constant] = {}
        self.expect_kind(TokenType.L_PAREN, "'('")
        while not self.takes_kind(TokenType.R_PAREN):
            if found:
                self.expect_kind(TokenType.COMMA, "','")
            name = self.name("a column of the partition")
            if name in found:
                raise self.error(f"column {name!r} is there twice", back=1)
            if not self.takes_kind(TokenType.EQ):
                raise self.unexpected("'=' and a value (the rows bring other columns themselves)")
            found[name] = self._constant()
        return MappingProxyType(found)

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
        target = self._with_alias(read_target(self), "SET")
        named = self._source_of(table)
        self.expect("SET")
        assignments: list[tuple[NamedColumn, tuple[int, int]]] = []
        while not assignments or self.takes_kind(TokenType.COMMA):
            column = self._assigned(target)
            self.expect_kind(TokenType.EQ, "'=' and a value")
            assignments.append((column, self._expression(stops_at_comma=True)))
        condition = self._condition()
        text, origins = "SELECT ", [(0, self.start)]
        parts: list[tuple[NamedColumn, Part]] = []
        for column, (start, end) in assignments:
            text += ", (" if parts else "("
            parts.append((column, self._glued(text, origins, start, end)))
            text += f"{self.text[start:end]})"
        return self._over_target(
            WriteKind.UPDATE, target, text, origins, named, condition, tuple(parts)
        )

    def _delete(self) -> Write:
        table = self.at
        target = self._with_alias(read_target(self), "WHERE")
        named = self._source_of(table)
        condition = self._condition()
        origins = [(0, self.start)]
        return self._over_target(
            WriteKind.DELETE, target, "SELECT 1", origins, named, condition, ()
        )

    def _over_target(
        self,
        kind: WriteKind,
        target: Target,
        text: str,
        origins: list[tuple[int, Place]],
        named: tuple[int, int],
        condition: tuple[int, int] | None,
        assignments: tuple[tuple[NamedColumn, Part], ...],
    ) -> Write:
        """The query that reads what the statement does: the rest of it goes behind `text`."""
        text += " FROM "
        self._glued(text, origins, *named)
        text += self.text[named[0] : named[1]]
        part = None
        if condition is not None:
            # In parentheses it can be nothing but a condition.
            text += " WHERE ("
            part = self._glued(text, origins, *condition)
            text += f"{self.text[condition[0] : condition[1]]})"
        return Write(
            kind=kind,
            target=target,
            query=parse_query(text, Origins(parts=tuple(origins))),
            assignments=assignments,
            condition=part,
        )

    def _glued(self, text: str, origins: list[tuple[int, Place]], start: int, end: int) -> Part:
        """Note where a part of the statement comes to stand behind `text`."""
        origins.append((len(text), self.start.behind(self.text[:start])))
        return Part(start=len(text), end=len(text) + end - start)

    def _source_of(self, first: int) -> tuple[int, int]:
        return self.tokens[first].start, self.tokens[self.at - 1].end + 1

    def _with_alias(self, target: Target, following: str) -> Target:
        has_as = self.takes("AS")
        if not has_as and (self.at >= len(self.tokens) or self.stands(following)):
            return target
        return Target(
            identifier=target.identifier,
            names_branch=target.names_branch,
            place=target.place,
            name=self.name(f"{following}, or an alias"),
        )

    def _assigned(self, target: Target) -> NamedColumn:
        place = self.place(self.at)
        name = self.name("a column")
        if self.takes_kind(TokenType.DOT):
            if name.lower() != target.name.lower():
                raise wrong(place, f"{name!r} is not the table that is updated")
            name = self.name("a column")
        if self.kind() is TokenType.DOT:
            raise self.error("a column is updated as a whole")
        return NamedColumn(name=name, place=place)

    def _condition(self) -> tuple[int, int] | None:
        if self.at >= len(self.tokens):
            return None
        self.expect("WHERE")
        return self._expression(stops_at_comma=False)

    def _expression(self, *, stops_at_comma: bool) -> tuple[int, int]:
        """Take an expression: up to a comma or WHERE that stands in no parentheses."""
        first, depth = self.at, 0
        while self.at < len(self.tokens):
            kind = self.kind()
            if depth == 0 and stops_at_comma and (kind is TokenType.COMMA or self.stands("WHERE")):
                break
            depth += kind in (TokenType.L_PAREN, TokenType.L_BRACKET)
            depth -= kind in (TokenType.R_PAREN, TokenType.R_BRACKET)
            if depth < 0:
                raise self.unexpected("what goes on with the expression")
            self.at += 1
        if self.at == first:
            raise self.unexpected("an expression")
        return self._source_of(first)
