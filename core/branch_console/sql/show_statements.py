"""Statements that give rows and change nothing: queries, SHOW, DESCRIBE and EXPLAIN.

All are queries but those that list databases or tables, or tell of a database: what they show of a
table is a system table of it, or is told of the state that `SELECT * FROM` it would read. So they
name tables, branches and versions as SELECT.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlglot import TokenType

from branch_console.sql.databases import DATABASE_WORDS, read_database
from branch_console.sql.place import Origins, Place
from branch_console.sql.query import Query, parse_query
from branch_console.sql.targets import Assembled, Span, Target, TargetReader, read_target

SHOWS: Final = ("SHOW", "DESCRIBE", "DESC", "EXPLAIN")
"""The words that such statements begin with, besides those of queries."""

_SYSTEM_TABLES: Final = ("BRANCHES", "TAGS", "SNAPSHOTS", "PARTITIONS")


class ShowKind(StrEnum):
    """The kinds of answers."""

    ROWS = "rows"
    PLAN = "plan"
    COLUMNS = "columns"
    TABLE = "table"
    TABLES = "tables"
    DATABASES = "databases"
    DATABASE = "database"
    STATEMENT = "statement"
    HEALTH = "health"
    STORAGE = "storage"
    HOLDS = "holds"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowStatement:
    """A statement that gives rows.

    Attributes:
        query: The query whose rows, plan or only table are shown (its columns, all that is known of
            it, or the statement that makes it); None if tables or databases are listed.
        database: The database that is told of, or whose tables are listed; None for all.
        pattern: What the names that are listed are like, in Spark's way: `fl*|planes`.
        branch: The catalog branch whose databases and tables are listed; None for the session's.
        target: The table, or the branch of it, whose health, storage or holds are told.
    """

    kind: ShowKind
    query: Query | None = None
    database: str | None = None
    pattern: str | None = None
    branch: str | None = None
    target: Target | None = None

    @property
    def reads_rows(self) -> bool:
        """Whether an engine answers; metadata alone tell the rest."""
        return self.kind in (ShowKind.ROWS, ShowKind.PLAN)


def parse_show(text: str, start: Place | None = None) -> ShowStatement:
    """Read a statement that gives rows.

    Args:
        text: One statement, without a semicolon behind it.
        start: Its start in the given text, for the places in messages.

    Raises:
        InvalidInput: It is none, or holds what is not run here.
    """
    reader = _Reader(text, start)
    if not any(reader.stands(word) for word in SHOWS):
        query = parse_query(text, Origins(parts=((0, reader.start),)))
        return ShowStatement(kind=ShowKind.ROWS, query=query)
    found = reader.show()
    reader.expect_end()
    return found


class _Reader(TargetReader):
    def show(self) -> ShowStatement:
        if self.takes("EXPLAIN"):
            # Spark's words and Flink's; the plan is one and the same.
            any(self.takes(words) for words in ("FORMATTED", "EXTENDED", "COST", "PLAN FOR"))
            query = Assembled(self, "")
            if self.at == len(self.tokens):
                raise self.unexpected("a query to explain, such as SELECT")
            query.take(self.expression())
            return ShowStatement(kind=ShowKind.PLAN, query=query.query())
        if self.takes("DESCRIBE") or self.takes("DESC"):
            if self._takes_any(*DATABASE_WORDS):
                self.takes("EXTENDED")  # all is told anyway
                found = read_database(self)
                return ShowStatement(
                    kind=ShowKind.DATABASE, database=found, branch=self._in_branch()
                )
            self.takes("TABLE")
            kind = ShowKind.TABLE if self.takes("EXTENDED") else ShowKind.COLUMNS
            return ShowStatement(kind=kind, query=self._table())
        if self.takes("SHOW TABLES"):
            branch = self._in_branch()
            has_database = branch is None and (self.takes("IN") or self.takes("FROM"))
            return ShowStatement(
                kind=ShowKind.TABLES,
                database=self.name("a database") if has_database else None,
                pattern=self._pattern(),
                branch=branch or self._in_branch(),
            )
        if self._takes_any(*(f"SHOW {word}S" for word in DATABASE_WORDS)):
            pattern = self._pattern()
            return ShowStatement(kind=ShowKind.DATABASES, pattern=pattern, branch=self._in_branch())
        if self.takes("SHOW CREATE TABLE"):
            return ShowStatement(kind=ShowKind.STATEMENT, query=self._table())
        for kind in (ShowKind.HEALTH, ShowKind.STORAGE, ShowKind.HOLDS):
            if self.takes(f"SHOW {kind.upper()}"):
                if not self.takes("ON TABLE"):
                    self._from()
                return ShowStatement(kind=kind, target=read_target(self))
        for shown in _SYSTEM_TABLES:
            if self.takes(f"SHOW {shown}"):
                return ShowStatement(kind=ShowKind.ROWS, query=self._system_table(shown.lower()))
        self.at += 1
        raise self.unexpected(
            f"TABLES, DATABASES, CREATE TABLE, {', '.join(_SYSTEM_TABLES)}, HEALTH, STORAGE, HOLDS"
        )

    def _takes_any(self, *words: str) -> bool:
        return any(self.takes(each) for each in words)

    def _in_branch(self) -> str | None:
        """Take the catalog branch whose objects are meant, None if none is named."""
        has_name = self.at + 2 < len(self.tokens)
        if has_name and self.takes("IN BRANCH"):
            return self.name("a catalog branch")
        return None

    def _pattern(self) -> str | None:
        has_word = self.takes("LIKE")
        if self.kind() is TokenType.STRING:
            return self.next().text
        if has_word:
            raise self.unexpected("a pattern in quotes, such as 'fl*'")
        return None

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
