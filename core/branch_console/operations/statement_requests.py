"""The requests that are statements, and of compactions."""

from dataclasses import dataclass
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.options import parse_duration
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request, ResultColumn, SqlProcedure, Tells
from branch_console.operations.shared_arguments import table_argument

_SAYS_ITSELF: Final = Unserved(why="The statement says what is done, and runs as it stands.")
_BY_SQL: Final = Unserved(why="The command sql takes the statement.")
_WITHOUT_CALLBACKS: Final = ("without_callbacks",)


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementRequest(Request):
    """A statement, and where it stands in the text that somebody wrote."""

    sql: str = argument("The statement.", sql=_SAYS_ITSELF, cli=_BY_SQL)
    branch: str = argument(
        "The branch that it runs on.", default=MAIN_BRANCH, sql=_SAYS_ITSELF, cli=_BY_SQL
    )
    line: int = argument(
        "The line that it begins in.", default=1, least=1, sql=_SAYS_ITSELF, cli=_BY_SQL
    )
    column: int = argument(
        "The column that it begins in.", default=1, least=1, sql=_SAYS_ITSELF, cli=_BY_SQL
    )
    table: str | None = argument(
        "The table that it changes, for lists of jobs.", default=None, cli=_BY_SQL
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest(
    StatementRequest,
    procedure="query",
    job=("Query", "of"),
    # They answer with rows, as SHOW HEALTH and SHOW STORAGE do.
    sql=(
        SqlProcedure(name="doctor", takes=("table",)),
        SqlProcedure(name="storage", takes=("table",)),
    ),
    command=Unserved(why="The command sql asks for it, and prints its answer."),
):
    """Answer a query."""

    limit: int | None = argument(
        "The most rows to keep; a page of them where left out.", default=None, least=0,
        sql=_SAYS_ITSELF, cli=_BY_SQL,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRowsRequest(
    StatementRequest, procedure="insert_rows", job=("Insert rows", "into"),
    terms=_WITHOUT_CALLBACKS, sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Insert rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwriteRowsRequest(
    StatementRequest, procedure="overwrite_rows", job=("Overwrite rows", "of"),
    terms=_WITHOUT_CALLBACKS, sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Replace rows of a table or of partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateRowsRequest(
    StatementRequest, procedure="update_rows", job=("Update rows", "of"),
    terms=_WITHOUT_CALLBACKS, sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Update rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRowsRequest(
    StatementRequest, procedure="delete_rows", job=("Delete rows", "from"),
    terms=_WITHOUT_CALLBACKS, sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Delete rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeIntoRequest(
    StatementRequest, procedure="merge_into", job=("Merge rows", "into"),
    terms=_WITHOUT_CALLBACKS, sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Insert, update and delete rows by those of another table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableRequest(
    StatementRequest, procedure="create_table", job=("Create table", ""),
    sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Create a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTableRequest(
    StatementRequest, procedure="drop_table", job=("Drop table", ""),
    sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Drop a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTableRequest(
    StatementRequest, procedure="alter_table", job=("Alter table", ""),
    sql=_SAYS_ITSELF, command=_BY_SQL,
):  # fmt: skip
    """Change columns, options or the name of a table."""


_ALL_BUCKETS: Final = "a partition is compacted with all its buckets"
_IN_ORDER: Final = "rows keep the order in which they were written"
_AS_ITS_OPTIONS: Final = "a compaction goes by the options of the table. Set them there"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactRequest(
    Request,
    procedure="compact",
    job=("Compact", ""),
    terms=_WITHOUT_CALLBACKS,
    sql=(
        SqlProcedure(
            name="compact",
            order=(
                "table", "partitions", "compact_strategy", "order_strategy", "order_by", "where",
                "options", "partition_idle_time", "buckets",
            ),
            refuses=(
                ("order_strategy", _IN_ORDER),
                ("order_by", _IN_ORDER),
                ("options", _AS_ITS_OPTIONS),
                ("buckets", _ALL_BUCKETS),
            ),
        ),
    ),
    command=_BY_SQL,
):  # fmt: skip
    """Write the files of a table anew."""

    table: str = table_argument(with_branch=True)
    partitions: str | None = argument(
        "The partitions that are compacted, such as 'day=2026-01-01;day=2026-01-02'; all where "
        "left out.",
        default=None,
    )
    where: str | None = argument(
        "A condition on partition columns, in place of their names: \"day >= '2026-01-01'\".",
        default=None,
    )
    strategy: str | None = argument(
        "full, as Paimon calls it: a bucket is written as a whole.",
        default=None,
        sql=("strategy", "compact_strategy"),
    )
    idle_time: str | None = argument(
        "Only partitions that got no file for this long, such as '1 d'.",
        default=None,
        json="idle",
        sql=("idle", "partition_idle_time"),
    )

    def check_partitions(self) -> None:
        """Refuse names of partitions beside a condition, as Paimon does; raises InvalidInput."""
        if self.where is not None and self.partitions is not None:
            raise InvalidInput(
                "The arguments 'partitions' and 'where' both say what is compacted. Nothing was "
                "changed. Give one of them.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="where",
            )

    def check_strategy(self) -> None:
        """Refuse to write a part of a bucket, as Paimon's `minor` does; raises InvalidInput."""
        if self.strategy not in (None, "full"):
            raise InvalidInput(
                f"A compaction writes a bucket as a whole, which Paimon calls full, not "
                f"{self.strategy!r}. Nothing was changed.",
                kind=ErrorKind.UNSUPPORTED,
                argument="strategy",
            )

    def idle_before_millis(self, now_millis: int) -> int | None:
        """Return the time since when a partition got no file; raises InvalidInput."""
        if self.idle_time is None:
            return None
        try:
            return now_millis - parse_duration(self.idle_time)
        except ValueError as error:
            raise InvalidInput(
                f"How long a partition is idle is told as '1 d' or '2 h', not {self.idle_time!r}: "
                f"{error}. Nothing was changed.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="idle",
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactDatabaseRequest(
    Request,
    procedure="compact_database",
    job=("Compact a database", ""),
    terms=_WITHOUT_CALLBACKS,
    sql=(
        SqlProcedure(
            name="compact_database",
            order=("including_databases", "including_tables", "excluding_tables", "options"),
            refuses=(
                ("options", _AS_ITS_OPTIONS),
                ("table_options", _AS_ITS_OPTIONS),
                (
                    "mode",
                    "tables are compacted one after the other, each by a commit of its own",
                ),
            ),
            answers=(ResultColumn(name="result", tells=Tells.MESSAGE),),
        ),
    ),
    command=_BY_SQL,
):
    """Write the files of all tables of databases anew, one table after the other."""

    databases: str | None = argument(
        "Only databases whose whole name matches this regular expression; all where left out.",
        default=None,
        sql=("databases", "including_databases"),
    )
    tables: str | None = argument(
        "Only tables whose whole name, database.table, matches this one; all where left out.",
        default=None,
        sql=("tables", "including_tables"),
    )
    excluding: str | None = argument(
        "Not those whose whole name matches this one.",
        default=None,
        sql=("excluding", "excluding_tables"),
    )
    strategy: str | None = argument(
        "As for one table.", default=None, sql=("strategy", "compact_strategy")
    )
    idle_time: str | None = argument(
        "As for one table.", default=None, json="idle", sql=("idle", "partition_idle_time")
    )
