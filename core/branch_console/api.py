"""The names that programs and notebooks may rely on; nothing else of this library is promised.

A procedure is asked for by a `Request`, made by name or of a class such as `MergeRequest`: what it
would do is told by `preview`, it happens by `run`, and what a killed process left is finished by
`recover`.
"""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from branch_console.diff.state_diff import StateDiff
from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.operations.branch_requests import (
    ArchiveBranchRequest,
    CreateBranchRequest,
    DropBranchRequest,
    FastForwardRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    RollbackRequest,
)
from branch_console.operations.catalog_requests import (
    AddToCatalogBranchRequest,
    CreateCatalogBranchRequest,
    CreateCatalogTagRequest,
    DeleteCatalogTagRequest,
    DropCatalogBranchRequest,
    MergeCatalogRequest,
)
from branch_console.operations.changelog_requests import ExpireChangelogsRequest
from branch_console.operations.database_requests import (
    CreateDatabaseRequest,
    DropDatabaseRequest,
    RenameDatabaseRequest,
    SetDatabasePropertiesRequest,
)
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.maintenance_requests import (
    ExpireSnapshotsRequest,
    RemoveOrphanFilesRequest,
    RemoveUnexistingFilesRequest,
)
from branch_console.operations.merge_requests import CherryPickRequest, MergeRequest, RevertRequest
from branch_console.operations.partition_requests import (
    ExpirePartitionsRequest,
    MarkPartitionDoneRequest,
)
from branch_console.operations.policy_requests import ApplyPolicyRequest, SetPolicyRequest
from branch_console.operations.request import Request as ProcedureRequest
from branch_console.operations.tag_requests import (
    CreateTagRequest,
    DeleteTagRequest,
    ExpireTagsRequest,
    RenameTagRequest,
    ReplaceTagRequest,
    TagFromTimestampRequest,
    TagFromWatermarkRequest,
    TriggerTagsRequest,
)
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.browse.branches import list_branches
from branch_console.procedures.browse.catalog_values import CatalogBranchItem
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import ProcedureCall as Request
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.row_engine import NoRowEngine
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.browse_catalog import (
    catalog_branches as list_catalog_branches,
)
from branch_console.procedures.compare.catalogs import (
    ComparedCatalogs,
)
from branch_console.procedures.compare.catalogs import (
    compare_catalogs as compare_branches_of_catalog,
)
from branch_console.procedures.compare.states import compare_states, find_state
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from branch_console.table.table_state import ReadState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "AddToCatalogBranchRequest",
    "ApplyPolicyRequest",
    "ArchiveBranchRequest",
    "CherryPickRequest",
    "CreateBranchRequest",
    "CreateCatalogBranchRequest",
    "CreateCatalogTagRequest",
    "CreateDatabaseRequest",
    "CreateTagRequest",
    "DeleteCatalogTagRequest",
    "DeleteTagRequest",
    "DropBranchRequest",
    "DropCatalogBranchRequest",
    "DropDatabaseRequest",
    "ErrorKind",
    "ExpireChangelogsRequest",
    "ExpirePartitionsRequest",
    "ExpireSnapshotsRequest",
    "ExpireTagsRequest",
    "FastForwardRequest",
    "InsertScope",
    "Isolation",
    "MarkPartitionDoneRequest",
    "MergeCatalogRequest",
    "MergeRequest",
    "PaimonError",
    "Preview",
    "Receipt",
    "ReleaseBranchRequest",
    "RemoveOrphanFilesRequest",
    "RemoveUnexistingFilesRequest",
    "RenameBranchRequest",
    "RenameDatabaseRequest",
    "RenameTagRequest",
    "ReplaceTagRequest",
    "Request",
    "RevertRequest",
    "RollbackRequest",
    "SetDatabasePropertiesRequest",
    "SetPolicyRequest",
    "TagFromTimestampRequest",
    "TagFromWatermarkRequest",
    "TriggerTagsRequest",
    "UndoRequest",
    "ask",
    "branches",
    "catalog_branches",
    "compare",
    "compare_catalogs",
    "open_warehouse",
    "preview",
    "read_table",
    "recover",
    "register",
    "request",
    "run",
]


def open_warehouse(
    url: str, *, store_options: Mapping[str, object] | None = None, read_only: bool = False
) -> Warehouse:
    """Open a warehouse by path or URL.

    Args:
        url: A folder, or a URL that fsspec knows.
        store_options: Options of the store, such as endpoint and keys.
        read_only: Refuse to write, and do not probe whether the store can publish.

    Raises:
        InvalidInput: The URL cannot be opened.
    """
    return Warehouse.open(url, store_options=store_options, read_only=read_only)


def request(procedure: str, **arguments: str | int | bool | None) -> Request:
    """Return a request in the name of the user of this process, under an id of its own.

    Args:
        procedure: The procedure, such as `create_branch`, `merge_branch`, `drop_branch`.
        arguments: Its arguments: `table` is `database.table`, most others are as on the command
            line.

    Raises:
        InvalidInput: The procedure takes no argument of that name.
    """
    return Request(
        name=procedure,
        arguments=arguments,
        actor=getpass.getuser(),
        operation_id=str(uuid.uuid4()),
    )


def ask(wanted: ProcedureRequest) -> Request:
    """Return a request as `request` does, of one of the classes here, such as `MergeRequest`.

    Editors and type checkers know its fields.

    Args:
        wanted: The request.
    """
    return request(wanted.procedure, **wanted.encode())


def preview(warehouse: Warehouse, asked: Request) -> Preview:
    """Return what a request would do; nothing is written.

    Raises:
        InvalidInput: There is no such procedure, or an argument is wrong.
        NotFound: An object that the request names does not exist.
        AlreadyExists: The name that it would give is taken.
    """
    return preview_call(warehouse, asked)


def run(warehouse: Warehouse, asked: Request, *, spark: SparkSession | None = None) -> Receipt:
    """Run a request in this process, and return its receipt.

    Args:
        warehouse: The warehouse.
        asked: The request. The same request, run again, returns the same receipt.
        spark: The Spark session for rows; branches and tags need no Spark.

    Raises:
        Refused: The procedure would lose something; nothing was changed.
        NotAllowed: Rows must be read or written, and no Spark is given.
    """
    if spark is None:
        return run_call(warehouse, NoRowEngine(), asked, InlineStages())
    from branch_console.spark.engine import SparkRowEngine  # noqa: PLC0415
    from branch_console.spark.session.session import SparkSettings, WarmSession  # noqa: PLC0415

    class RowsOfSession(SparkRowEngine, NoRowEngine):
        """Rows of procedures; comparisons and queries keep their answers with a worker's jobs."""

    session = WarmSession(spark, SparkSettings(), is_joined=True)
    rows = RowsOfSession(lambda: session, warehouse.file_io)
    listing = replace(warehouse, file_lister=rows.file_lister)
    return run_call(listing, rows, asked, InlineStages())


def recover(warehouse: Warehouse, table: str | None = None) -> Receipt:
    """Finish or take back what processes left that ended in the middle; again changes nothing.

    Args:
        warehouse: The warehouse.
        table: The table as `database.table`; None recovers all.
    """
    return run(warehouse, request("recover") if table is None else request("recover", table=table))


def branches(warehouse: Warehouse, table: str, *, versus: str = "main") -> tuple[BranchItem, ...]:
    """Return the branches of a table, main first, broken ones with their error.

    Args:
        warehouse: The warehouse.
        table: The table as `database.table`.
        versus: The branch that each is compared with.

    Raises:
        NotFound: There is no such table.
    """
    return list_branches(warehouse, Identifier.parse(table), versus)


def catalog_branches(warehouse: Warehouse) -> tuple[CatalogBranchItem, ...]:
    """Return the branches of the whole catalog, broken ones with their error.

    `warehouse.on(name)` opens one: a catalog like that of main, with the names of the branch.

    Args:
        warehouse: The warehouse.
    """
    return list_catalog_branches(warehouse)


def compare_catalogs(warehouse: Warehouse, before: str, after: str) -> ComparedCatalogs:
    """Return in what databases and tables differ between two branches of the catalog.

    Rows are told from metadata alone, exactly or with bounds; no row is read.

    Args:
        warehouse: The warehouse.
        before: A branch of the catalog, or `main`.
        after: The other one.

    Raises:
        InvalidInput: Both are one branch.
        NotFound: One is no branch of the catalog.
    """
    return compare_branches_of_catalog(warehouse, before, after)


def compare(warehouse: Warehouse, table: str, before: str, after: str) -> StateDiff:
    """Return what differs between two states, from metadata alone.

    Args:
        warehouse: The warehouse.
        table: The table as `database.table`.
        before: A branch, `branch@snapshot`, `tag:name`, or a time on a branch.
        after: The other one.

    Raises:
        InvalidInput: A text names no state.
        NotFound: There is no such branch, snapshot or tag.
    """
    return compare_states(warehouse, Identifier.parse(table), before, after)


def read_table(
    spark: SparkSession,
    warehouse: Warehouse,
    table: str,
    state: str = "main",
    *,
    columns: Iterable[str] | None = None,
) -> DataFrame:
    """Return the rows of a state as a frame; rows of one key are merged inside the tasks.

    Args:
        spark: The Spark session for the tasks.
        warehouse: The warehouse.
        table: The table as `database.table`.
        state: As for `compare`.
        columns: The wanted columns; None takes all.

    Raises:
        InvalidInput: The text names no state.
        NotFound: There is no such table, branch, snapshot or tag.
    """
    from branch_console.spark.read.readers import read_table as read  # noqa: PLC0415

    main = warehouse.table(table)
    found = find_state(main, state)
    on_branch = main.on(found.branch)
    if found.name.is_head or found.snapshot is None:
        wanted = ReadState.as_it_is(on_branch)
    else:
        wanted = ReadState.as_it_was(on_branch, found.snapshot)
    return read(spark, warehouse.file_io, wanted, columns=columns)


def register(spark: SparkSession) -> None:
    """Make the data source `paimon-branch` known to a session."""
    from branch_console.spark.connector.data_source import register as make_known  # noqa: PLC0415

    make_known(spark)
