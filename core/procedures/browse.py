"""Everything the pages and the command line read, as frozen values.

A list keeps going when an item is broken: the item carries its error, the others their values.
"""

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from core.catalog.catalog import TableEntry
from core.commit.journal import Journal
from core.diff.branch_overview import compare_branches
from core.diff.lineage import (
    BranchTrace,
    ForkCandidate,
    Lineage,
    build_lineage,
    infer_forks,
    merge_source,
)
from core.diff.schema_diff import ChangeKind, SchemaChange, SchemaDiff, diff_schemas
from core.errors import ErrorKind, InvalidInput, NotFound, PaimonError
from core.format.binary_row import decode_row
from core.format.branch_ref import BranchRef
from core.format.identifier import MAIN_BRANCH, Identifier
from core.format.lineage_event import LineageEvent, LineageKind
from core.format.options import BRANCH_OPTIONS
from core.format.partition_path import partition_path
from core.format.receipt import Receipt
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.format.table_schema import TableSchema
from core.format.tag import Tag
from core.procedures.operation import find_receipt
from core.procedures.recover import tables_of
from core.procedures.warehouse import Warehouse
from core.table.branch_manager import BranchState
from core.table.file_store_table import FileStoreTable
from core.table.system_tables import read_system_table as system_table


class Health(StrEnum):
    """Whether something can be read, and whether that will stay so."""

    HEALTHY = "healthy"
    AT_RISK = "at-risk"
    BROKEN = "broken"


class TableKind(StrEnum):
    """What a table is, by its keys."""

    APPEND = "append"
    PRIMARY_KEY = "primary-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableItem:
    """A table in a list; what could not be read is None and `error` says why.

    Attributes:
        branch_count: Branches besides main.
        broken_branches: Names of the branches that cannot be read.
        last_event: The newest entry of the ledger.
    """

    identifier: Identifier
    path: str
    table_type: str
    health: Health
    kind: TableKind | None = None
    comment: str | None = None
    schema: TableSchema | None = None
    head: Snapshot | None = None
    branch_count: int | None = None
    broken_branches: tuple[str, ...] = ()
    last_event: LineageEvent | None = None
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """A table on one branch.

    Attributes:
        first_snapshot_id: The oldest snapshot that has not expired.
        branch_options: Options of the table that name a branch, by key.
    """

    identifier: Identifier
    path: str
    kind: TableKind
    schema: TableSchema
    head: Snapshot | None
    first_snapshot_id: int | None
    snapshot_count: int
    branches: tuple[str, ...]
    tags: tuple[str, ...]
    consumers: tuple[tuple[str, int], ...]
    branch_options: tuple[tuple[str, str], ...]
    events: tuple[LineageEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkView:
    """Where a branch left another one, and how that is known.

    Attributes:
        parent: The branch it came from.
        snapshot: The snapshot both share; None where only its identity is known.
        evidence: Sentences, strongest first.
        confidence: `recorded`, `high`, `medium` or `low`.
    """

    parent: str
    snapshot_id: int | None
    identity: SnapshotIdentity
    evidence: tuple[str, ...]
    confidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How far a branch went from the one it is compared with; None is not read, never 0.

    Attributes:
        ahead: Snapshots only the branch has, compactions not counted.
        behind: Snapshots only the other one has, compactions not counted.
    """

    ahead: int | None
    behind: int | None
    rows_ahead: int | None = None
    rows_behind: int | None = None
    files_ahead: int | None = None
    files_behind: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchItem:
    """A branch in a list; a broken one has an `error` and no head."""

    name: str
    health: Health
    findings: tuple[str, ...]
    head: Snapshot | None = None
    schema: TableSchema | None = None
    base_tag: str | None = None
    created_millis: int | None = None
    owner: str | None = None
    reason: str | None = None
    fork: ForkView | None = None
    versus: Distance | None = None
    is_stale: bool = False
    used_by: tuple[str, ...] = ()
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotItem:
    """A snapshot in a timeline, with the tags that name it; a broken one has an `error`."""

    id: int
    snapshot: Snapshot | None
    tags: tuple[str, ...] = ()
    schema_changed: bool = False
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SnapshotDetail:
    """A snapshot with its files, summed up.

    Attributes:
        partitions: Columns of PARTITION_SUMMARY, largest first.
        file_count: Live data files.
        byte_count: Their size.
        row_count: Their rows, before merging on read.
    """

    identifier: Identifier
    snapshot: Snapshot
    tags: tuple[str, ...]
    schema: TableSchema
    file_count: int
    byte_count: int
    row_count: int
    delete_file_count: int
    added_file_count: int
    partitions: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaItem:
    """A schema version with what it changed, in sentences; a broken one has an `error`."""

    id: int
    schema: TableSchema | None
    changes: tuple[str, ...] = ()
    snapshot_count: int = 0
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagItem:
    """A tag in a list; a broken one has an `error`."""

    name: str
    tag: Tag | None
    is_base_of: tuple[str, ...] = ()
    error: PaimonError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A snapshot of the branch graph; shared snapshots stand once, on the branch they began on."""

    branch: str
    snapshot: Snapshot
    tags: tuple[str, ...]
    schema_changed: bool
    is_head_of: tuple[str, ...]
    merged_from: SnapshotIdentity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLane:
    """A branch of the graph: where it forked, and whether it can be read."""

    branch: str
    parent: str | None
    fork: SnapshotIdentity | None
    head: SnapshotIdentity | None
    item: BranchItem


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchGraph:
    """The lineage of a table: lanes with main first, nodes by lane and id, and the ledger."""

    identifier: Identifier
    lanes: tuple[GraphLane, ...]
    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[SnapshotIdentity, SnapshotIdentity], ...]
    events: tuple[LineageEvent, ...]


PARTITION_SUMMARY: Final = pa.schema(
    [
        pa.field("partition", pa.string(), nullable=False),
        pa.field("file_count", pa.int64(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
        pa.field("byte_count", pa.int64(), nullable=False),
        pa.field("bucket_count", pa.int64(), nullable=False),
    ]
)
"""Live files by partition, as `dt=20240101/hh=8`; empty text without partitions."""

_STALE_MILLIS: Final = 30 * 24 * 3_600_000


def list_databases(warehouse: Warehouse) -> tuple[str, ...]:
    """Return the databases by name."""
    return warehouse.catalog.databases()


def list_tables(warehouse: Warehouse, database: str | None = None) -> tuple[TableItem, ...]:
    """Return the tables of one database or of all by name, broken ones with their error."""
    databases = (database,) if database is not None else warehouse.catalog.databases()
    return tuple(
        _table_item(warehouse, entry)
        for name in databases
        for entry in warehouse.catalog.tables(name)
    )


def read_table(warehouse: Warehouse, table: Identifier) -> TableSummary:
    """Return a table on one branch.

    Raises:
        NotFound: There is no such table or branch.
        FormatError: Its head or schema cannot be decoded.
    """
    found = warehouse.table(table)
    schema, snapshot_ids = found.schema(), found.snapshots.ids()
    hidden = _unfinished_branches(warehouse, found)
    return TableSummary(
        identifier=found.identifier,
        path=found.paths.table,
        kind=_kind(schema),
        schema=schema,
        head=found.head(),
        first_snapshot_id=snapshot_ids[0] if snapshot_ids else None,
        snapshot_count=len(snapshot_ids),
        branches=tuple(name for name in found.branches.names() if name not in hidden),
        tags=found.tags.names(),
        consumers=tuple(
            (state.value.id, state.value.next_snapshot_id)
            for state in found.consumers.states()
            if state.value is not None
        ),
        branch_options=_branch_options(schema),
        events=found.ledger.events(),
    )


def list_branches(
    warehouse: Warehouse, table: Identifier, versus: str = MAIN_BRANCH
) -> tuple[BranchItem, ...]:
    """Return the branches of a table, main first, broken ones with their error.

    Args:
        warehouse: The warehouse.
        table: The table, on any branch.
        versus: The branch that each is compared with.

    Raises:
        NotFound: There is no such table.
    """
    return BranchReader(warehouse, warehouse.table(table)).items(versus)


def read_graph(warehouse: Warehouse, table: Identifier) -> BranchGraph:
    """Return the lineage of a table's branches; a snapshot that several share stands once."""
    return BranchReader(warehouse, warehouse.table(table)).graph()


def list_snapshots(warehouse: Warehouse, table: Identifier) -> tuple[SnapshotItem, ...]:
    """Return the snapshots of a branch, newest first, broken ones with their error."""
    found = warehouse.table(table)
    tags = _tags_by_id(found)
    items, schema_id = [], None
    for state in found.snapshots.states():
        snapshot = state.value
        named = tuple(
            tag.name
            for tag in tags.get(int(state.name), ())
            if snapshot is None or tag.snapshot.identity.same_as(snapshot.identity)
        )
        changed = snapshot is not None and schema_id not in (None, snapshot.schema_id)
        schema_id = schema_id if snapshot is None else snapshot.schema_id
        items.append(
            SnapshotItem(
                id=int(state.name),
                snapshot=snapshot,
                tags=named,
                schema_changed=changed,
                error=state.error,
            )
        )
    return tuple(sorted(items, key=lambda item: -item.id))


def read_snapshot(warehouse: Warehouse, table: Identifier, version: str) -> SnapshotDetail:
    """Return one snapshot with its files summed up.

    Args:
        warehouse: The warehouse.
        table: The table with its branch.
        version: A snapshot id or a tag, or either of another branch: `dev.7`.

    Raises:
        NotFound: There is no such snapshot.
        FormatError: A manifest is missing or broken.
    """
    found = warehouse.table(table)
    snapshot = found.snapshot_for(version)
    files = found.live_files(snapshot)
    delta = found.scan.read_list(found.paths, snapshot.delta_manifest_list)
    return SnapshotDetail(
        identifier=found.identifier,
        snapshot=snapshot,
        tags=tuple(
            tag.name
            for tag in _tags_by_id(found).get(snapshot.id, ())
            if tag.snapshot.identity.same_as(snapshot.identity)
        ),
        schema=_schema_of(found, snapshot),
        file_count=files.num_rows,
        byte_count=_sum(files["file_size"]),
        row_count=_sum(files["row_count"]),
        delete_file_count=_sum(delta["num_deleted_files"]),
        added_file_count=_sum(delta["num_added_files"]),
        partitions=_by_partition(files, found.schema()),
    )


def list_schemas(warehouse: Warehouse, table: Identifier) -> tuple[SchemaItem, ...]:
    """Return the schemas of a branch, newest first, broken ones with their error."""
    found = warehouse.table(table)
    used = Counter(
        state.value.schema_id for state in found.snapshots.states() if state.value is not None
    )
    items: list[SchemaItem] = []
    before: TableSchema | None = None
    for state in found.schemas.states():
        schema = state.value
        changes: tuple[str, ...] = ()
        if schema is not None and before is not None:
            changes = tuple(_sentence(each) for each in diff_schemas(before, schema).changes)
        items.append(
            SchemaItem(
                id=int(state.name),
                schema=schema,
                changes=changes,
                snapshot_count=used.get(int(state.name), 0),
                error=state.error,
            )
        )
        before = schema or before
    return tuple(reversed(items))


def compare_schemas(warehouse: Warehouse, table: Identifier, left: str, right: str) -> SchemaDiff:
    """Compare two schemas, each named by a branch or as `branch@schema-id`.

    Raises:
        NotFound: There is no such branch or schema.
    """
    found = warehouse.table(table)
    sides = (_named_schema(found, left), _named_schema(found, right))
    return diff_schemas(*sides, base=_shared_schema(found, _branch_of(left), _branch_of(right)))


def list_tags(warehouse: Warehouse, table: Identifier) -> tuple[TagItem, ...]:
    """Return the tags of a branch by name, broken ones with their error."""
    found = warehouse.table(table)
    bases: dict[str, list[str]] = {}
    for event in found.ledger.events():
        if event.base_tag is not None and event.source_branch == found.branch:
            bases.setdefault(event.base_tag, []).append(event.branch)
    alive = set(found.branches.names())
    return tuple(
        TagItem(
            name=state.name,
            tag=state.value,
            is_base_of=tuple(name for name in bases.get(state.name, ()) if name in alive),
            error=state.error,
        )
        for state in found.tags.states()
    )


def read_system_table(warehouse: Warehouse, table: Identifier, name: str) -> pa.Table:
    """Return a system table of a branch, with Paimon's columns.

    Raises:
        NotFound: There is no such system table.
    """
    return system_table(warehouse.table(table), name)


def read_receipt(
    warehouse: Warehouse, operation_id: str, table: Identifier | None = None
) -> Receipt:
    """Return the receipt of a finished operation.

    Args:
        warehouse: The warehouse.
        operation_id: The operation, which is also the id of its job.
        table: Where to look; None looks at all tables.

    Raises:
        NotFound: No table knows the operation.
    """
    for found in tables_of(warehouse, None if table is None else table.full_name):
        receipt = find_receipt(found, operation_id)
        if receipt is not None:
            return receipt
    raise NotFound(
        f"There is no receipt of operation {operation_id!r}: it changed nothing, or has not ended.",
        kind=ErrorKind.OPERATION_NOT_FOUND,
        operation_id=operation_id,
    )


class BranchReader:
    """Reads the branches of one table once, and answers what lists and graphs ask of them."""

    def __init__(self, warehouse: Warehouse, table: FileStoreTable) -> None:
        self._warehouse = warehouse
        self._table = table
        self._events = table.ledger.events()
        hidden = _unfinished_branches(warehouse, table)
        self._states = [state for state in table.branches.states() if state.name not in hidden]
        self._histories: dict[str, tuple[Snapshot, ...]] = {}

    def items(self, versus: str) -> tuple[BranchItem, ...]:
        """The branches, main first, each compared with one of them."""
        self._check_readable(versus)
        return tuple(self._item(state, versus) for state in self._states)

    def graph(self) -> BranchGraph:
        """The lanes, with each snapshot on the lane it began on."""
        items = {item.name: item for item in self.items(self._first_readable())}
        placed: dict[str, GraphNode] = {}
        lanes, edges = [], []
        heads = self._heads()
        for name in self._lane_order(items):
            item = items[name]
            fork = item.fork
            history = self._history(name)
            previous = None if fork is None else fork.identity
            for before, snapshot in zip((None, *history), history, strict=False):
                if _key(snapshot) in placed:
                    continue
                if previous is not None:
                    edges.append((snapshot.identity, previous))
                placed[_key(snapshot)] = self._node(name, snapshot, before, heads)
                previous = snapshot.identity
            lanes.append(
                GraphLane(
                    branch=name,
                    parent=None if fork is None else fork.parent,
                    fork=None if fork is None else fork.identity,
                    head=None if item.head is None else item.head.identity,
                    item=item,
                )
            )
        edges += [
            (node.snapshot.identity, node.merged_from)
            for node in placed.values()
            if node.merged_from is not None
        ]
        return BranchGraph(
            identifier=self._table.identifier,
            lanes=tuple(lanes),
            nodes=tuple(placed.values()),
            edges=tuple(edges),
            events=self._events,
        )

    def _item(self, state: BranchState, versus: str) -> BranchItem:
        made = self._made(state.name)
        item = BranchItem(
            name=state.name,
            health=Health.BROKEN,
            findings=(),
            created_millis=made.time_millis if made else state.created_millis,
            owner=made.owner if made else None,
            reason=made.reason if made else None,
            used_by=self._used_by(state.name),
            error=state.error,
        )
        if state.ref is None:
            return item
        head = state.ref.head
        item = replace(item, head=head, schema=state.ref.schema, base_tag=state.ref.base_tag)
        try:
            fork = self._fork(state.name)
            item = replace(item, fork=fork)
            if head is not None:
                self._table.check_lists(head)
            findings = self._findings(state.ref, fork)
            distance = self._distance(state.name, versus)
        except PaimonError as error:
            return replace(item, error=error)
        age = 0 if head is None else self._warehouse.clock() - head.time_millis
        return replace(
            item,
            health=Health.AT_RISK if findings else Health.HEALTHY,
            findings=findings,
            versus=distance,
            is_stale=state.name != MAIN_BRANCH and age > _STALE_MILLIS,
        )

    def _fork(self, branch: str) -> ForkView | None:
        """Where the branch left another one: as recorded, else by what both hold."""
        made = self._made(branch)
        if made is not None and made.kind is LineageKind.RESCUED:
            return self._rescued_fork(made)
        found = self._forks.get(branch)
        if found is None:
            return None
        ids = (found.target_id, found.source_id, found.snapshot.id if found.snapshot else None)
        return ForkView(
            parent=found.parent,
            snapshot_id=next((each for each in ids if each is not None), None),
            identity=found.identity,
            evidence=found.evidence,
            confidence=str(found.confidence),
        )

    def _rescued_fork(self, made: LineageEvent) -> ForkView | None:
        """A rescue branch holds a whole history: it forks where the replaced branch left it."""
        parent = made.source_branch or MAIN_BRANCH
        shared = {_key(snapshot) for snapshot in self._history(parent)}
        for snapshot in reversed(self._history(made.branch)):
            if _key(snapshot) in shared:
                return ForkView(
                    parent=parent,
                    snapshot_id=snapshot.id,
                    identity=snapshot.identity,
                    evidence=(f"It keeps what {parent!r} was before {made.actor} replaced it.",),
                    confidence="recorded",
                )
        return None

    def _findings(self, ref: BranchRef, fork: ForkView | None) -> tuple[str, ...]:
        """Say what may break the branch without anybody touching it."""
        if ref.is_main or ref.head is None or fork is None:
            return ()
        if ref.base_tag is not None:
            parent = self._table.on(fork.parent)
            if parent.tags.find(ref.base_tag) is not None:
                return ()
            return (
                f"Its base tag {ref.base_tag!r} is gone from {fork.parent!r}: expiry there may "
                "delete files that this branch needs. Pin it.",
            )
        keeping = [
            state.value
            for state in self._table.on(MAIN_BRANCH).tags.states()
            if state.value and state.value.snapshot.identity.same_as(fork.identity)
        ]
        if not keeping:
            return (
                "No tag on main keeps the snapshot it began at: expiry on main may delete files "
                "that this branch needs. Pin it.",
            )
        if all(tag.time_retained_seconds is not None for tag in keeping):
            return (
                f"Tag {keeping[0].name!r} on main keeps its files, but expires by itself. Pin it.",
            )
        return ()

    def _distance(self, branch: str, versus: str) -> Distance | None:
        if branch == versus:
            return None
        found = compare_branches(self._traces[branch], self._traces[versus], self._lineage)
        ahead, behind = found.ahead, found.behind
        return Distance(
            ahead=None if ahead is None else ahead.snapshots,
            behind=None if behind is None else behind.snapshots,
            rows_ahead=None if ahead is None else ahead.rows,
            rows_behind=None if behind is None else behind.rows,
        )

    @functools.cached_property
    def _traces(self) -> dict[str, BranchTrace]:
        return {state.name: self._trace(state) for state in self._states}

    @functools.cached_property
    def _forks(self) -> dict[str, ForkCandidate]:
        """The most likely fork of each branch; the recorded parent alone is asked where known."""
        forks = {}
        for name, trace in self._traces.items():
            made = self._made(name)
            parent = self._traces.get(made.source_branch or "") if made else None
            others = list(self._traces.values()) if parent is None else [parent]
            if made is None or made.kind is not LineageKind.CREATED:
                forks[name] = infer_forks(trace, others, self._events)
        return {name: candidates[0] for name, candidates in forks.items() if candidates}

    @functools.cached_property
    def _lineage(self) -> Lineage:
        return build_lineage(list(self._traces.values()), self._events, self._forks)

    def _trace(self, state: BranchState) -> BranchTrace:
        tags = self._table.on(state.name).tags.states()
        return BranchTrace(
            branch=state.name,
            snapshots=self._history(state.name),
            tags=tuple(each.value for each in tags if each.value is not None),
            created_millis=state.created_millis,
        )

    def _history(self, branch: str) -> tuple[Snapshot, ...]:
        """The readable snapshots of a branch, oldest first."""
        if branch not in self._histories:
            states = self._table.on(branch).snapshots.states()
            self._histories[branch] = tuple(
                state.value for state in states if state.value is not None
            )
        return self._histories[branch]

    def _made(self, branch: str) -> LineageEvent | None:
        kinds = (LineageKind.CREATED, LineageKind.FORKED, LineageKind.RESCUED)
        made = [each for each in self._events if each.branch == branch and each.kind in kinds]
        return made[-1] if made else None

    def _used_by(self, branch: str) -> tuple[str, ...]:
        """Options of other branches' schemas that name the branch."""
        return tuple(
            f"{key} of {state.name!r}"
            for state in self._states
            if state.ref is not None
            for key, value in _branch_options(state.ref.schema)
            if value == branch
        )

    def _check_readable(self, branch: str) -> None:
        if branch not in {state.name for state in self._states}:
            raise NotFound(
                f"Table {self._table.identifier.table_name} has no branch {branch!r}.",
                kind=ErrorKind.BRANCH_NOT_FOUND,
                branch=branch,
            )

    def _first_readable(self) -> str:
        readable = [state.name for state in self._states if state.ref is not None]
        return readable[0] if readable else MAIN_BRANCH

    def _lane_order(self, items: Mapping[str, BranchItem]) -> list[str]:
        """Main first; a branch after the one it left, so that shared snapshots stay there."""
        order: list[str] = []
        waiting = sorted(items, key=lambda name: (items[name].created_millis or 0, name))
        if MAIN_BRANCH in waiting:
            order.append(MAIN_BRANCH)
        while left := [name for name in waiting if name not in order]:
            ready = [name for name in left if _parent_of(items[name]) not in left]
            order.append((ready or left)[0])
        return order

    def _heads(self) -> dict[str, tuple[str, ...]]:
        heads: dict[str, tuple[str, ...]] = {}
        for state in self._states:
            if state.ref is not None and state.ref.head is not None:
                key = _key(state.ref.head)
                heads[key] = (*heads.get(key, ()), state.name)
        return heads

    def _node(
        self,
        branch: str,
        snapshot: Snapshot,
        before: Snapshot | None,
        heads: Mapping[str, tuple[str, ...]],
    ) -> GraphNode:
        return GraphNode(
            branch=branch,
            snapshot=snapshot,
            tags=self._tag_names(branch, snapshot),
            schema_changed=before is not None and before.schema_id != snapshot.schema_id,
            is_head_of=heads.get(_key(snapshot), ()),
            merged_from=merge_source(snapshot),
        )

    def _tag_names(self, branch: str, snapshot: Snapshot) -> tuple[str, ...]:
        return tuple(
            tag.name
            for tag in self._tags_on(branch).get(snapshot.id, ())
            if tag.snapshot.identity.same_as(snapshot.identity)
        )

    @functools.cache  # noqa: B019  # the reader lives for one answer
    def _tags_on(self, branch: str) -> Mapping[int, tuple[Tag, ...]]:
        return _tags_by_id(self._table.on(branch))


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
        schema, head = table.schema(), table.head()
        # Main is the table itself: its head is checked below, once.
        hidden = _unfinished_branches(warehouse, table) | {MAIN_BRANCH}
        branches = [state for state in table.branches.states() if state.name not in hidden]
        events = table.ledger.events()
        if head is not None:
            table.check_lists(head)
    except PaimonError as error:
        return replace(broken, error=error)
    failed = tuple(state.name for state in branches if not _is_readable(table, state))
    return TableItem(
        identifier=entry.identifier,
        path=entry.path,
        table_type=entry.table_type,
        health=Health.AT_RISK if failed else Health.HEALTHY,
        kind=_kind(schema),
        comment=entry.comment,
        schema=schema,
        head=head,
        branch_count=len(branches),
        broken_branches=failed,
        last_event=events[-1] if events else None,
    )


def _unfinished_branches(warehouse: Warehouse, table: FileStoreTable) -> frozenset[str]:
    """Branches that are being made: until they are whole nobody is shown them."""
    return frozenset(
        intent.branch
        for intent in Journal(warehouse.store, table.paths).unfinished()
        if intent.procedure == "create_branch"
    )


def _is_readable(table: FileStoreTable, state: BranchState) -> bool:
    if state.ref is None:
        return False
    try:
        if state.ref.head is not None:
            table.check_lists(state.ref.head)
    except PaimonError:
        return False
    return True


def _parent_of(item: BranchItem) -> str | None:
    return None if item.fork is None else item.fork.parent


def _key(snapshot: Snapshot) -> str:
    """A text that is equal for one snapshot on two branches: its bytes were copied."""
    return snapshot.uuid or "|".join(snapshot.identity.manifest_lists)


def _tags_by_id(table: FileStoreTable) -> dict[int, tuple[Tag, ...]]:
    tags: dict[int, tuple[Tag, ...]] = {}
    for state in table.tags.states():
        if state.value is not None:
            snapshot_id = state.value.snapshot.id
            tags[snapshot_id] = (*tags.get(snapshot_id, ()), state.value)
    return tags


def _kind(schema: TableSchema) -> TableKind:
    return TableKind.PRIMARY_KEY if schema.primary_keys else TableKind.APPEND


def _branch_options(schema: TableSchema) -> tuple[tuple[str, str], ...]:
    named = ((option.key, schema.options.read(option)) for option in BRANCH_OPTIONS)
    return tuple((key, value) for key, value in named if value is not None)


def _schema_of(table: FileStoreTable, snapshot: Snapshot) -> TableSchema:
    try:
        return table.schemas.get(snapshot.schema_id)
    except NotFound:
        # The snapshot of another branch, whose schema ids mean something else here.
        return table.schema()


def _by_partition(files: pa.Table, schema: TableSchema) -> pa.Table:
    """Sum live files up by partition, the one with most bytes first."""
    sums = files.group_by("partition").aggregate(
        [
            ("file_name", "count"),
            ("row_count", "sum"),
            ("file_size", "sum"),
            ("bucket", "count_distinct"),
        ]
    )
    types = schema.partition_type.types
    names = [
        partition_path(decode_row(each, types), schema) for each in sums["partition"].to_pylist()
    ]
    columns = ("file_name_count", "row_count_sum", "file_size_sum", "bucket_count_distinct")
    table = pa.table(
        [pa.array(names, pa.string()), *(sums[name] for name in columns)],
        schema=PARTITION_SUMMARY,
    )
    return table.sort_by([("byte_count", "descending"), ("partition", "ascending")])


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)


def _sentence(change: SchemaChange) -> str:
    """Tell a change of a schema to somebody who reads its history."""
    what = f"Column {change.subject!r}" if change.field_id is not None else change.subject
    match change.kind:
        case ChangeKind.ADDED:
            return f"{what} {change.after} was added."
        case ChangeKind.DROPPED:
            return f"{what} {change.before} was dropped."
        case ChangeKind.RENAMED:
            return f"Column {change.before!r} was renamed to {change.after!r}."
        case ChangeKind.MOVED:
            return f"{what} was moved."
        case ChangeKind.WIDENED | ChangeKind.NARROWED | ChangeKind.RETYPED:
            return f"{what} went from {change.before} to {change.after}."
        case ChangeKind.OPTION_SET:
            return f"Option {change.subject!r} was set to {change.after!r}."
        case ChangeKind.OPTION_CHANGED:
            return f"Option {change.subject!r} went from {change.before!r} to {change.after!r}."
        case ChangeKind.OPTION_UNSET:
            return f"Option {change.subject!r} was unset; it was {change.before!r}."
        case _:
            subject = what or "The table"
            return f"{subject}: {change.kind} went from {change.before} to {change.after}."


def _named_schema(table: FileStoreTable, name: str) -> TableSchema:
    branch, schema_id = _branch_of(name), name.rpartition("@")[2]
    if branch == name:
        return table.on(name).schema()
    if not schema_id.isdigit():
        raise InvalidInput(f"{name!r} names no schema. Write a branch, or branch@schema-id.")
    return table.on(branch or table.branch).schemas.get(int(schema_id))


def _branch_of(name: str) -> str:
    branch, separator, _ = name.rpartition("@")
    return branch if separator else name


def _shared_schema(table: FileStoreTable, left: str, right: str) -> TableSchema | None:
    """The newest schema that two branches hold alike; ids above it mean two things."""
    if left == right:
        return None
    ours, theirs = (
        {
            state.value.id: state.value
            for state in table.on(branch or table.branch).schemas.states()
            if state.value is not None
        }
        for branch in (left, right)
    )
    alike = (
        schema
        for schema_id, schema in ours.items()
        if (other := theirs.get(schema_id)) and schema.fingerprint == other.fingerprint
    )
    return max(alike, key=lambda schema: schema.id, default=None)
