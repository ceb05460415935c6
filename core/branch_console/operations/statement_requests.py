"""The requests that are statements, and of compactions."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request, SqlProcedure
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
        ),
    ),
    command=_BY_SQL,
):  # fmt: skip
    """Write the files of a table anew."""

    table: str = table_argument(with_branch=True)
    partitions: str | None = argument(
        "The partitions that are compacted; all where left out.", default=None
    )
