"""Everything that keeps something of a table, whoever set it: what an expiry must heed, and why."""

import itertools
from collections.abc import Iterator

import pyarrow as pa

from branch_console.commit.journal import Journal
from branch_console.commit.rows.staged_results import staged_results
from branch_console.diff.expiry.retention import HoldKind, TableHold
from branch_console.errors import NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.tag import Tag
from branch_console.maintenance.references import (
    CatalogReferences,
    retired_branches,
    retired_operations,
)
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.holds import find_holds
from branch_console.procedures.maintenance.release_files import find_grace
from branch_console.table.file_store_table import FileStoreTable

HOLDS = pa.schema(
    [
        ("branch", pa.string()),
        ("kind", pa.string()),
        ("owner", pa.string()),
        ("since_snapshot", pa.int64()),
        ("since", pa.timestamp("ms", tz="UTC")),
        ("until", pa.timestamp("ms", tz="UTC")),
    ]
)


def list_holds(warehouse: Warehouse, table: Identifier) -> tuple[TableHold, ...]:
    """Return what keeps something of a table, branch by branch.

    Args:
        warehouse: The warehouse.
        table: The table on any branch.

    Raises:
        NotFound: There is no such table.
        FormatError: A consumer, a snapshot or a tag cannot be decoded, so that not all is known.
    """
    with warehouse.deciding() as deciding:
        main = deciding.table(table.on_branch(MAIN_BRANCH))
        names = (MAIN_BRANCH, *main.branches.names())
        catalog, now = deciding.catalog_references, deciding.clock()
        branches = (_of_branch(main.on_listed(name), catalog, now) for name in names)
        return (*itertools.chain.from_iterable(branches), *_of_operations(deciding, main))


def hold_rows(holds: tuple[TableHold, ...]) -> pa.Table:
    """Return the columns of HOLDS."""
    rows = [
        {
            "branch": each.branch,
            "kind": str(each.kind),
            "owner": each.owner,
            "since_snapshot": each.since_snapshot,
            "since": each.since_millis,
            "until": each.until_millis,
        }
        for each in holds
    ]
    return pa.Table.from_pylist(rows, schema=HOLDS)


def _of_branch(
    table: FileStoreTable, catalog: CatalogReferences, now_millis: int
) -> Iterator[TableHold]:
    try:
        options = table.schema().options
    except NotFound:
        return  # it is half made: nothing of it can be read
    for each in find_holds(table, options, catalog, now_millis=now_millis):
        yield each.on(table.branch)
    for tag in table.tags.all():
        yield TableHold(
            branch=table.branch,
            kind=HoldKind.TAG,
            owner=tag.name,
            since_snapshot=tag.snapshot.id,
            until_millis=_end_of(tag),
        )


def _end_of(tag: Tag) -> int | None:
    if tag.create_time is None or tag.time_retained_seconds is None:
        return None
    # Paimon writes the wall clock of this machine, without a zone.
    return int((tag.create_time.timestamp() + tag.time_retained_seconds) * 1000)


def _of_operations(warehouse: Warehouse, table: FileStoreTable) -> Iterator[TableHold]:
    journal = Journal(warehouse.store, table.paths)
    for intent in journal.open_intents().readable:
        yield TableHold(
            branch=intent.branch,
            kind=HoldKind.OPERATION,
            owner=intent.operation_id,
            since_millis=intent.time_millis,
        )
    for operation_id in retired_operations(table):
        grace = find_grace(journal, operation_id)
        for branch in retired_branches(table, operation_id):
            yield TableHold(
                branch=branch,
                kind=HoldKind.GRACE,
                owner=operation_id,
                since_millis=None if grace is None else grace.since_millis,
                until_millis=None if grace is None else grace.until_millis,
            )
    for staged in staged_results(warehouse.store.files, table.paths):
        yield TableHold(
            branch=staged.branch,
            kind=HoldKind.STAGED,
            owner=staged.plan_id,
            since_millis=staged.time_millis,
        )
