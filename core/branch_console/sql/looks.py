"""Statements that give rows and change nothing: queries, SHOW, DESCRIBE and EXPLAIN.

All but SHOW TABLES are queries: what they show of a table is a system table of it, or is told of
the state that `SELECT * FROM` it would read. So they name tables, branches and versions as SELECT.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.sql.place import Origins, Place
from branch_console.sql.query import Query, parse_query
from branch_console.sql.targets import Assembled, Span, Target, TargetWords, read_target

LOOKS: Final = ("SHOW", "DESCRIBE", "DESC", "EXPLAIN")
"""The words that such statements begin with, besides those of queries."""

_SYSTEM_TABLES: Final = ("BRANCHES", "TAGS", "SNAPSHOTS", "PARTITIONS")


class LookKind(StrEnum):
    """What is answered."""

    ROWS = "rows"
    PLAN = "plan"
    COLUMNS = "columns"
    TABLE = "table"
    TABLES = "tables"
    STATEMENT = "statement"
    HEALTH = "health"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A statement that gives rows.

    Attributes:
        query: The query whose rows, plan or only table are shown (its columns, all that is known of
            it, or the statement that makes it); None where tables are listed.
        database: Whose tables are listed; None for all.
        target: Whose health is told.
    """

    kind: LookKind
    query: Query | None = None
    database: str | None = None
    target: Target | None = None

    @property
    def reads_rows(self) -> bool:
        """Whether an engine answers; metadata alone tell the rest."""
        return self.kind in (LookKind.ROWS, LookKind.PLAN)


def parse_look(text: str, start: Place | None = None) -> Look:
    """Read a statement that gives rows.

    Args:
        text: One statement, without a semicolon behind it.
        start: Where it stands in what was given, for what is said of places.

    Raises:
        InvalidInput: It is none, or holds what is not run here.
    """
    reader = _Reader(text, start)
    if not any(reader.stands(word) for word in LOOKS):
        query = parse_query(text, Origins(parts=((0, reader.start),)))
        return Look(kind=LookKind.ROWS, query=query)
    found = reader.look()
    reader.expect_end()
    return found


class _Reader(TargetWords):
    def look(self) -> Look:
        if self.takes("EXPLAIN"):
            # Spark's words and Flink's; the plan is one and the same.
            any(self.takes(words) for words in ("FORMATTED", "EXTENDED", "COST", "PLAN FOR"))
            query = Assembled(self, "")
            if self.at == len(self.tokens):
                raise self.unexpected("a query to explain, such as SELECT")
            query.take(self.expression())
            return Look(kind=LookKind.PLAN, query=query.query())
        if self.takes("DESCRIBE") or self.takes("DESC"):
            self.takes("TABLE")
            kind = LookKind.TABLE if self.takes("EXTENDED") else LookKind.COLUMNS
            return Look(kind=kind, query=self._table())
        if self.takes("SHOW TABLES"):
            has_database = self.takes("IN") or self.takes("FROM")
            database = self.name("a database") if has_database else None
            return Look(kind=LookKind.TABLES, database=database)
        if self.takes("SHOW CREATE TABLE"):
            return Look(kind=LookKind.STATEMENT, query=self._table())
        if self.takes("SHOW HEALTH"):
            self._from()
            return Look(kind=LookKind.HEALTH, target=read_target(self))
        for shown in _SYSTEM_TABLES:
            if self.takes(f"SHOW {shown}"):
                return Look(kind=LookKind.ROWS, query=self._system_table(shown.lower()))
        self.at += 1
        raise self.unexpected(f"TABLES, CREATE TABLE, {', '.join(_SYSTEM_TABLES)}, HEALTH")

    def _from(self) -> None:
        if not self.takes("FROM"):
            self.takes("IN")

    def _table(self) -> Query:
        """One table, on a branch and of a version where it says so, as all of its rows."""
        first = self.at
        self.table_read()
        query = Assembled(self, "SELECT * FROM ")
        query.take(Span(start=first, end=self.at))
        return query.query()

    def _system_table(self, shown: str) -> Query:
        self._from()
        first = self.at
        target = read_target(self)
        name = f"{target.name}${shown}".replace("`", "``")
        query = Assembled(self, "SELECT * FROM ")
        query.add(f"{target.identifier.database}.`{name}`", before=Span(start=first, end=self.at))
        return query.query()
