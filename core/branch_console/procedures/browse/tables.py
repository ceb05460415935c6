"""Tables as lists and pages read them: what each is, where it stands, what happened to it."""

from collections.abc import Sequence
from dataclasses import replace

from branch_console.catalog.catalog import TableEntry
from branch_console.commit.journal import Journal
from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.rows.row_figure import add_up, commit_figures, snapshot_figure
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX, Identifier
from branch_console.format.lineage_event import LineageEvent
from branch_console.format.options import BRANCH_OPTIONS
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.browse.page_values import (
    Health,
    NamesInTable,
    TableItem,
    TableKind,
    TableSummary,
)
from branch_console.procedures.call.row_figures import counted_figure, head_figure
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.releases import (
    is_head_found,
    release_operations,
    releases_in_grace,
)
from branch_console.storage.parallel_io import map_parallel
from branch_console.table.branch_manager import BranchState
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.lineage_ledger import errors_of, in_order


def list_databases(warehouse: Warehouse) -> tuple[str, ...]:
    """Return the databases by name."""
    return warehouse.catalog.databases()


def list_tables(warehouse: Warehouse, database: str | None = None) -> tuple[TableItem, ...]:
    """Return the tables of one database or of all by name, broken ones with their error."""
    databases = (database,) if database is not None else warehouse.catalog.databases()
    return _table_items(
        warehouse, [entry for name in databases for entry in warehouse.catalog.tables(name)]
    )


def list_table_names(warehouse: Warehouse) -> tuple[Identifier, ...]:
    """Return the tables of all databases by name, at the cost of a listing a database."""
    return tuple(
        Identifier(database=database, table=name)
        for database in warehouse.catalog.databases()
        for name in warehouse.catalog.table_names(database)
    )


def read_table_items(warehouse: Warehouse, tables: Sequence[Identifier]) -> tuple[TableItem, ...]:
    """Return some tables as a list shows them; one that is gone is left out."""
    wanted: dict[str, set[str]] = {}
    for table in tables:
        wanted.setdefault(table.database, set()).add(table.table)
    return _table_items(
        warehouse,
        [
            entry
            for database, names in wanted.items()
            for entry in warehouse.catalog.tables(database, names)
        ],
    )


def read_names(warehouse: Warehouse, tables: Sequence[Identifier]) -> tuple[NamesInTable, ...]:
    """Return the branches and tags of some tables; one that cannot be listed is left out."""
    found = map_parallel(warehouse.file_io, lambda table: _names_in(warehouse, table), tables)
    return tuple(names for names in found if names is not None)


def _names_in(warehouse: Warehouse, identifier: Identifier) -> NamesInTable | None:
    try:
        table = warehouse.table(identifier)
        hidden = unfinished_branches(warehouse, table)
        branches = tuple(name for name in table.branches.names() if name not in hidden)
        return NamesInTable(table=identifier, branches=branches, tags=table.tags.names())
    except PaimonError:
        # Whoever opens it is told what is wrong with it.
        return None


def read_table(warehouse: Warehouse, table: Identifier) -> TableSummary:
    """Return a table on one branch.

    Raises:
        NotFound: There is no such table or branch.
        FormatError: Its head or schema cannot be decoded.
    """
    found = warehouse.table(table)
    with found.reader.asking() as ask:
        seen, ids = ask(found.head_and_schema), ask(found.snapshots.ids)
        unfinished = ask(lambda: unfinished_branches(warehouse, found))
        names, tags = ask(found.branches.names), ask(found.tags.names)
        consumers, read_events = ask(found.consumers.states), ask(found.ledger.states)
    (head, schema), snapshot_ids, hidden = seen.result(), ids.result(), unfinished.result()
    return TableSummary(
        identifier=found.identifier,
        path=found.paths.table,
        kind=_kind(schema),
        schema=schema,
        head=head,
        figure=counted_figure(warehouse, found, head, schema, head_figure(found, head, schema)),
        change=add_up(commit_figures([head] if head else [], None, schema, found.branch)),
        first_snapshot_id=snapshot_ids[0] if snapshot_ids else None,
        snapshot_count=len(snapshot_ids),
        branches=tuple(name for name in names.result() if name not in hidden),
        tags=tags.result(),
        consumers=tuple(
            (state.value.id, state.value.next_snapshot_id)
            for state in consumers.result()
            if state.value is not None
        ),
        branch_options=branch_options(schema),
        events=in_order(read_events.result()),
        broken_events=errors_of(read_events.result()),
    )


def unfinished_branches(warehouse: Warehouse, table: FileStoreTable) -> frozenset[str]:
    """Branches that are being made: until they are whole nobody is shown them."""
    return Journal(warehouse.store, table.paths).being_made()


def branch_options(schema: TableSchema) -> tuple[tuple[str, str], ...]:
    """Return the options of a schema that name a branch, by key."""
    named = ((option.key, schema.options.read(option)) for option in BRANCH_OPTIONS)
    return tuple((key, value) for key, value in named if value is not None)


def _table_items(warehouse: Warehouse, entries: Sequence[TableEntry]) -> tuple[TableItem, ...]:
    return tuple(
        map_parallel(warehouse.file_io, lambda entry: _table_item(warehouse, entry), entries)
    )


def _table_item(warehouse: Warehouse, entry: TableEntry) -> TableItem:
    broken = TableItem(
        identifier=entry.identifier,
        path=entry.path,
        table_type=entry.table_type,
        health=Health.BROKEN,
        comment=entry.comment,
        error=entry.error,
    )
    if entry.error is not None:
        return broken
    try:
        table = warehouse.table(entry.identifier)
        with table.reader.asking() as ask:
            seen = ask(table.head_and_schema)
            unfinished = ask(lambda: unfinished_branches(warehouse, table))
            found, read_events = ask(table.branches.states), ask(table.ledger.events)
        (head, schema), hidden = seen.result(), unfinished.result()
        states, events = found.result(), read_events.result()
        if head is not None:
            table.check_lists(head)
    except PaimonError as error:
        return replace(broken, error=error)
    # Main is the table itself, whose head was checked.
    branches = [state for state in states if state.name not in hidden | {MAIN_BRANCH}]
    are_readable = table.reader.map_parallel(lambda state: _is_readable(table, state), branches)
    unreadable = [
        state.name for state, is_it in zip(branches, are_readable, strict=True) if not is_it
    ]
    # What was dropped is put away already: its rescue branch makes the table no risk.
    failed = tuple(name for name in unreadable if not name.startswith(RESCUE_PREFIX))
    return TableItem(
        identifier=entry.identifier,
        path=entry.path,
        table_type=entry.table_type,
        health=Health.AT_RISK if failed else Health.HEALTHY,
        kind=_kind(schema),
        comment=entry.comment,
        schema=schema,
        head=head,
        figure=counted_figure(
            warehouse, table, head, schema, snapshot_figure(head, schema, table.branch)
        ),
        branches=BranchCounts.of(state.name for state in branches),
        broken_branches=failed,
        broken_rescues=tuple(name for name in unreadable if name.startswith(RESCUE_PREFIX)),
        blocked_until=_blocked_until(warehouse, table, events),
        last_event=events[-1] if events else None,
    )


def _blocked_until(
    warehouse: Warehouse, table: FileStoreTable, events: Sequence[LineageEvent]
) -> int | None:
    """When undo ends of the last released branch whose head cannot be read, None without one."""
    operations = release_operations(events)
    if not operations:
        return None
    try:
        return max(
            (
                each.until_millis
                for each in releases_in_grace(warehouse, table, operations)
                if not is_head_found(table.retired(each.operation_id, each.branch))
            ),
            default=None,
        )
    except PaimonError:
        # The refused expiry says what is wrong.
        return None


def _is_readable(table: FileStoreTable, state: BranchState) -> bool:
    """Whether the head of a branch can be read; only the lists that it names are looked for."""
    if state.ref is None:
        return False
    try:
        if state.ref.head is not None:
            table.check_lists(state.ref.head)
    except PaimonError:
        return False
    return True


def _kind(schema: TableSchema) -> TableKind:
    return TableKind.PRIMARY_KEY if schema.primary_keys else TableKind.APPEND
