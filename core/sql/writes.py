"""Statements that write rows: INSERT, INSERT OVERWRITE, UPDATE, DELETE, MERGE INTO.

What such a statement reads is a query, the rows that come or those that a condition looks at; it is
checked as one before anything is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sqlglot import TokenType

from core.sql.merges import Merge, read_merge
from core.sql.place import Origins, Place
from core.sql.query import Query, parse_query
from core.sql.statement import Value
from core.sql.targets import (
    Assembled,
    NamedColumn,
    Part,
    Span,
    Target,
    TargetWords,
    read_written_target,
)

Constant = Value | Decimal

_SIGNS: Final = {TokenType.DASH: "-", TokenType.PLUS: ""}


class WriteKind(StrEnum):
    """What a statement does; the name of its procedure."""

    INSERT = "insert_rows"
    OVERWRITE = "overwrite_rows"
    UPDATE = "update_rows"
    DELETE = "delete_rows"
    MERGE = "merge_into"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A statement that writes rows.

    Attributes:
        kind: What it does.
        target: The table that it changes.
        query: What it reads: the rows to be written; of UPDATE and DELETE a query of the new
            values and the condition over the target, which is among its references; of MERGE all
            that stands in it.
        columns: Which columns the rows of an INSERT are meant for, all by position if None.
        by_name: Whether the rows of an INSERT are meant for the columns of their names.
        partition: The partition that an INSERT names, with the values that it gives; None where it
            names none.
        assignments: The new values of an UPDATE, by their columns.
        condition: Which rows an UPDATE or DELETE is about; None for all.
        merge: What a MERGE does, None for others.
    """

    kind: WriteKind
    target: Target
    query: Query
    columns: tuple[NamedColumn, ...] | None = None
    by_name: bool = False
    partition: Mapping[str, Constant] | None = None
    assignments: tuple[tuple[NamedColumn, Part], ...] = ()
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
        start: Where it stands in what was given, for what is said of places.

    Raises:
        InvalidInput: It is none, or something in it cannot be run here.
    """
    return _Reader(text, start).write()


class _Reader(TargetWords):
    def write(self) -> Write:
        if self.takes("INSERT INTO"):
            return self._insert(WriteKind.INSERT)
        if self.takes("INSERT OVERWRITE"):
            return self._insert(WriteKind.OVERWRITE)
        if self.takes("UPDATE"):
            return self._update()
        if self.takes("DELETE FROM"):
            return self._delete()
        if self.takes("MERGE INTO"):
            target, query, merge = read_merge(self)
            return Write(kind=WriteKind.MERGE, target=target, query=query, merge=merge)
        raise self.unexpected("INSERT INTO, INSERT OVERWRITE, UPDATE, DELETE FROM or MERGE INTO")

    def _insert(self, kind: WriteKind) -> Write:
        self.takes("TABLE")
        target = read_written_target(self)
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
        target = self.with_alias(read_written_target(self), "SET")
        named = Span(start=table, end=self.at)
        self.expect("SET")
        assignments = [self.assignment(target, "WHERE")]
        while self.takes_kind(TokenType.COMMA):
            assignments.append(self.assignment(target, "WHERE"))
        query = Assembled(self, "SELECT ")
        parts: list[tuple[NamedColumn, Part]] = []
        for column, value in assignments:
            query.add(", (" if parts else "(")
            parts.append((column, query.take(value)))
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
        assignments: tuple[tuple[NamedColumn, Part], ...],
    ) -> Write:
        """Take the condition; the query that reads what the statement does is `query` and it."""
        query.add(" FROM ")
        query.take(named)
        condition = None
        if self.at < len(self.tokens):
            self.expect("WHERE")
            # In parentheses it can be nothing but a condition.
            query.add(" WHERE (")
            condition = query.take(self.expression())
            query.add(")")
        return Write(
            kind=kind,
            target=target,
            query=query.query(),
            assignments=assignments,
            condition=condition,
        )
