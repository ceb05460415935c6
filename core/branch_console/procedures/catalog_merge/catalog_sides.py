"""Reading both sides of a merge of the catalog: objects by id, and the content that changed."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

from branch_console.catalog.catalog_ledger import CatalogLedger
from branch_console.diff.catalog_base import (
    bases_of_objects,
    contents_merged_into,
    state_at_bases,
)
from branch_console.diff.catalog_diff import ChangedTable, catalog_changes
from branch_console.diff.catalog_state import CatalogState, Content, TableState
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.errors import ErrorKind, NotFound, PaimonError, Refused
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionName
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.merge.catalog.catalog_merge import CatalogSides
from branch_console.merge.file_moves import Block, MergeRules
from branch_console.merge.plan import Heads, Plan, RefusedPlan, UpToDatePlan, did_of, refused
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.states import (
    MainNow,
    read_main_now,
    state_at,
    state_at_version,
    state_of_branch,
)
from branch_console.procedures.catalog_merge.planning_progress import counted
from branch_console.procedures.merge.inputs import DecidedMerge, decided_for
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.storage.store_probe import ignores_case
from branch_console.table.file_store_table import FileStoreTable

_NOTHING_DONE: Final[ThreeWay[frozenset[TableOperation]]] = ThreeWay(
    base=frozenset(), ours=frozenset(), theirs=frozenset()
)

_BRINGS: Final = (LineageKind.MERGED, LineageKind.FAST_FORWARDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMergeSpec:
    """The source and target of a merge of the catalog.

    Attributes:
        source: The catalog branch that is merged, or main.
        target: The catalog branch that changes, or main.
        database: The name of the only database to merge; None for all.
    """

    source: str
    target: str
    database: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadSides:
    """Both sides of a merge of the catalog, with what was read for the content of tables.

    Attributes:
        decided: The merges of tables that can be read, by their ids.
        main: The state of main; None if it is no side.
    """

    sides: CatalogSides
    decided: Mapping[str, DecidedMerge]
    main: MainNow | None


def read_catalog_sides(
    warehouse: Warehouse, spec: CatalogMergeSpec, rules: MergeRules
) -> ReadSides:
    """Read both branches, the base of each object, and the plan of each table that changed.

    Of tables that the source did not touch only the heads are read.

    Raises:
        NotFound: A branch or the database is not there, or a version is missing.
        FormatError: A version cannot be decoded.
    """
    with warehouse.deciding() as deciding:
        main = read_main_now(deciding) if MAIN_BRANCH in (spec.source, spec.target) else None
        states = with_bases(
            deciding,
            ours=_state_of(deciding, spec.target, main),
            theirs=_state_of(deciding, spec.source, main),
        )
        covers = _covers(deciding, spec, states)
        asked = MergeSpec(
            kind=MergeKind.MERGE,
            source=_content_of(deciding, spec.source),
            target=_content_of(deciding, spec.target),
            one_version=True,
        )
        changed = catalog_changes(states).tables
        read = [
            change
            for change in changed
            if _is_read(change) and (covers is None or change.id in covers)
        ]
        planned = {
            change.id: _plan(deciding, states, change, asked, rules) for change in counted(read)
        }
        plans = {
            key: each.plan if isinstance(each, DecidedMerge) else each
            for key, each in planned.items()
        }
        by_hand = [
            change.id
            for change in changed
            if change.sides.ours is None
            and change.theirs.has_content
            and _is_merged_by_hand(deciding, states, change, asked)
        ]
        counts = {
            change.id: _commits_since_base(deciding, states, change, asked)
            for change in changed
            if change.sides.theirs is None and change.ours.has_content
        }
        # What a merge brought is not what the target did.
        idle = [key for key, count in counts.items() if count is None]
    sides = CatalogSides(
        states=states,
        target_counts={key: count for key, count in counts.items() if count is not None},
        operations={
            **{key: did for key, plan in plans.items() if (did := _operations(plan)) is not None},
            **dict.fromkeys((*by_hand, *idle), _NOTHING_DONE),
            **{each.id: _NOTHING_DONE for each in changed if _holds_the_same(each)},
        },
        plans=plans,
        covers=covers,
        # A branch of the catalog takes part in every merge, so that its ledger is there to look at.
        ignores_case=ignores_case(deciding.catalog.reader.files, deciding.ledger.paths.root),
    )
    return ReadSides(
        sides=sides,
        decided={key: each for key, each in planned.items() if isinstance(each, DecidedMerge)},
        main=main,
    )


def _state_of(warehouse: Warehouse, branch: str, main: MainNow | None) -> CatalogState:
    if main is None or branch != MAIN_BRANCH:
        return state_of_branch(warehouse, branch)
    return state_at(main)


def with_bases(
    warehouse: Warehouse, *, ours: CatalogState, theirs: CatalogState
) -> ThreeWay[CatalogState]:
    """Return two branches with each object as it was at its own merge base.

    Raises:
        NotFound: A version is missing.
        FormatError: One cannot be decoded.
    """
    heads = (VersionName.parse(ours.version), VersionName.parse(theirs.version))
    versions = _read_versions(warehouse.ledger, heads)
    ids = {key for state in (ours, theirs) for key in (*state.databases, *state.tables)}
    held: dict[VersionName, CatalogState] = {}
    bases = bases_of_objects(versions, *heads, sorted(ids))
    while True:
        # What both sides dropped, or one without saying so, only a base knows.
        missing = {name for found in bases.values() for name in found} - held.keys()
        if not missing:
            break
        held |= {name: state_at_version(warehouse, name) for name in sorted(missing)}
        ids |= {key for state in held.values() for key in (*state.databases, *state.tables)}
        bases = bases_of_objects(versions, *heads, sorted(ids))
    base = state_at_bases(
        bases,
        held,
        ours,
        theirs,
        into_ours=contents_merged_into(versions, heads[0]),
        into_theirs=contents_merged_into(versions, heads[1]),
    )
    return ThreeWay(base=base, ours=ours, theirs=theirs)


def _read_versions(
    ledger: CatalogLedger, heads: Collection[VersionName]
) -> Mapping[VersionName, CatalogVersion]:
    """Read versions and all that they build on."""
    found: dict[VersionName, CatalogVersion] = {}
    wave = list(dict.fromkeys(heads))
    while wave:
        found |= {version.name: version for version in map(ledger.version, wave)}
        parents = (each for name in wave for each in found[name].parents)
        wave = [each for each in dict.fromkeys(parents) if each not in found]
    return found


def _covers(
    warehouse: Warehouse, spec: CatalogMergeSpec, states: ThreeWay[CatalogState]
) -> frozenset[str] | None:
    """Return the objects that the merge is about; None for all."""
    sides = (states.theirs, states.ours, states.base)
    covers: frozenset[str] | None = None
    if spec.database is not None:
        named = (
            {key for key, each in state.databases.items() if each.name == spec.database}
            for state in sides
        )
        homes = next((found for found in named if found), None)
        if homes is None:
            raise _no_database(spec.database, states)
        inside = {
            key for state in sides for key, each in state.tables.items() if each.database in homes
        }
        # What both sides have elsewhere is no part of it any more, wherever the base has it: merges
        # that had nothing to bring made no version, so the base may be old.
        elsewhere = {
            key
            for key, each in states.theirs.tables.items()
            if key in states.ours.tables
            and not {each.database, states.ours.tables[key].database} & homes
        }
        covers = frozenset((*homes, *inside - elsewhere))
    if spec.target == MAIN_BRANCH:
        return covers
    # What the target does not hold comes only if its scope says so.
    scope, theirs = warehouse.on(spec.target).scope, states.theirs
    names = {key: each.name for key, each in theirs.databases.items()}
    inside_scope = {
        *(key for key, name in names.items() if scope.holds_database(name)),
        *(
            key
            for key, each in theirs.tables.items()
            if scope.holds_table(names.get(each.database, ""), each.name)
        ),
        *(states.ours.members or ()),
    }
    return frozenset(inside_scope if covers is None else covers & inside_scope)


def _no_database(name: str, states: ThreeWay[CatalogState]) -> NotFound:
    known = {
        each.name for state in (states.theirs, states.ours) for each in state.databases.values()
    }
    hint = did_you_mean(nearest_names(name, sorted(known)))
    source = states.theirs.version.rpartition("@")[0]
    return NotFound(
        f"There is no database {name!r} on {source!r} or on the target.{hint} Nothing was merged.",
        kind=ErrorKind.DATABASE_NOT_FOUND,
        database=name,
    )


def _holds_the_same(change: ChangedTable) -> bool:
    """Whether the target holds a table as the source does, which it has not made yet."""
    ours, theirs = change.sides.ours, change.sides.theirs
    if ours is None or theirs is None or ours.content is not Content.PINNED:
        return False
    if ours.head is None or theirs.head is None:
        return False
    return ours.head.same_as(theirs.head) and ours.schema == theirs.schema


def _is_read(change: ChangedTable) -> bool:
    """Whether both sides have a table, and the source changed what it holds.

    One that the target has not made yet is planned when it is made.
    """
    ours = change.sides.ours
    return change.theirs.has_content and ours is not None and ours.content is Content.MADE


def _plan(
    warehouse: Warehouse,
    states: ThreeWay[CatalogState],
    change: ChangedTable,
    asked: MergeSpec,
    rules: MergeRules,
) -> DecidedMerge | RefusedPlan:
    """Plan the merge of the content of one table; one that cannot be read is refused alone."""
    name, theirs = _identifier(states.ours, change.id), change.sides.theirs
    try:
        target = warehouse.table(name)
        if theirs is None or theirs.read_branch is None:
            return decided_for(warehouse, target, asked, rules)
        # Not made yet, it is what the branch that it lies on held when the source began.
        began = replace(asked, source=theirs.read_branch)
        heads = _heads_at_fork(warehouse, states, theirs, target.on(theirs.read_branch))
        return decided_for(warehouse, target, began, rules, heads)
    except PaimonError as error:
        of_plan = Heads(
            table=name.table_name,
            source=asked.source,
            target=asked.target,
            base=None,
            ours=None,
            theirs=None,
        )
        text = f"{name.table_name}: {error.message}"
        return refused(of_plan, rules, Block(kind=error.kind, text=text))


def _heads_at_fork(
    warehouse: Warehouse,
    states: ThreeWay[CatalogState],
    table: TableState,
    began: FileStoreTable,
) -> PlannedHeads:
    """The head at which a branch began a table that it has not made yet.

    Raises:
        Refused: What the table began on has another schema, or its first snapshot, by now.
    """
    head = warehouse.on(states.theirs.branch).recorded.tables[table.id].head
    is_as_then = began.schema().id == table.schema and (head is not None or began.head() is None)
    if is_as_then:
        return PlannedHeads(source_id=None if head is None else head.id)
    raise Refused(
        f"{states.theirs.branch!r} has not made the table yet, and {began.branch!r}, on which it "
        "began, went on since. Write to it there first, so that it is made, then merge.",
        kind=ErrorKind.HEAD_MOVED,
    )


def _operations(plan: Plan) -> ThreeWay[frozenset[TableOperation]] | None:
    """Return the changes of both sides to a table's content; None if only the heads are known."""
    if isinstance(plan, UpToDatePlan):
        # The content of a table has merges of its own: it may be there by one of these.
        return _NOTHING_DONE
    did = did_of(plan)
    return each_side(did, attrgetter("operations")) if did.theirs.operations else None


def _is_merged_by_hand(
    warehouse: Warehouse, states: ThreeWay[CatalogState], change: ChangedTable, asked: MergeSpec
) -> bool:
    """Whether a merge of the table alone had brought its content before the target dropped it.

    The ledger of the table tells, which stays with the branch of the source. A table that was
    altered since its head is not asked about: no event says which schema came.
    """
    theirs = change.sides.theirs
    if theirs is None or theirs.content is not Content.MADE or theirs.head is None:
        return False
    try:
        table = warehouse.table(_identifier(states.theirs, change.id))
        head, events = table.head(), table.ledger.events()
    except PaimonError:
        return False  # whoever merges it is told
    if head is None or not head.identity.same_as(theirs.head) or head.schema_id != theirs.schema:
        return False
    return _merge_that_brought(events, asked, theirs.head) is not None


def _merge_that_brought(
    events: Collection[LineageEvent], asked: MergeSpec, head: SnapshotIdentity
) -> LineageEvent | None:
    """The last merge of a table that brought a head of the source, if that still stands."""
    last: LineageEvent | None = None
    for event in events:
        pair = (event.branch, event.source_branch)
        if event.kind in _BRINGS and pair == (asked.target, asked.source):
            last = event
        elif event.branch == asked.target and event.kind is LineageKind.ROLLED_BACK:
            last = None
    if last is None or not _stands(events, last.operation_id):
        return None
    came = (*last.parents, *(() if last.after is None else (last.after,)))
    return last if any(each.same_as(head) for each in came) else None


def _stands(events: Iterable[LineageEvent], operation_id: str) -> bool:
    """Whether nobody took an operation back, or somebody took back that."""
    undone = {event.undoes: event.operation_id for event in events if event.undoes is not None}
    is_standing = True
    while operation_id in undone:
        is_standing, operation_id = not is_standing, undone[operation_id]
    return is_standing


def _commits_since_base(
    warehouse: Warehouse, states: ThreeWay[CatalogState], change: ChangedTable, asked: MergeSpec
) -> str | None:
    """Count what the target committed to a table that the source dropped, in words.

    Returns:
        None if it did nothing since a merge brought what the source had.
    """
    base = None if change.sides.base is None else change.sides.base.head
    ours, count = change.sides.ours, 0
    try:
        table = warehouse.table(_identifier(states.ours, change.id))
        events = table.ledger.events()
        merge = None if base is None else _merge_that_brought(events, asked, base)
        since = base if merge is None or merge.after is None else merge.after
        for snapshot_id in sorted(table.snapshots.ids(), reverse=True):
            found = table.snapshots.find(snapshot_id)
            if since is not None and found is not None and found.identity.same_as(since):
                is_idle = merge is not None and ours is not None and ours.schema == found.schema_id
                return None if is_idle and not count else _commits(count)
            count += 1
    except PaimonError as error:
        return error.message
    return _commits(count) if since is None else f"at least {_commits(count)}"


def _commits(count: int) -> str:
    if not count:
        return "altered"
    return "1 commit" if count == 1 else f"{count:,} commits"


def _content_of(warehouse: Warehouse, branch: str) -> str:
    """Return the name of the table branches of a catalog branch."""
    return branch if branch == MAIN_BRANCH else warehouse.on(branch).content


def _identifier(state: CatalogState, table_id: str) -> Identifier:
    """Return how a branch calls a table that it has."""
    table = state.tables[table_id]
    return Identifier(
        database=state.databases[table.database].name,
        table=table.name,
        catalog_branch=None if state.branch == MAIN_BRANCH else state.branch,
    )
