"""What a merge would do, read and decided; nothing is changed and no row is read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, assert_never

from branch_console.diff.fast_forward import ForwardDecision, plan_fast_forward, plan_id
from branch_console.diff.file_safety import FileSafety
from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.file_moves import Block, MergeRules
from branch_console.merge.merge_plan import (
    MergePlan,
    MergeSides,
    MergeVerdict,
    blocks_of_rows_elsewhere,
    plan_merge,
    plan_without_files,
)
from branch_console.merge.policy import Policy, Settle
from branch_console.merge.schema_plan import plan_schema_merge
from branch_console.operations.merge_requests import MergingRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.target_branch import target_table
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.branch_histories import histories_of
from branch_console.procedures.history.forward_sharing import forward_safety
from branch_console.procedures.history.merge_heads import MergeHeads, find_heads
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec, sides_of, theirs_of
from branch_console.procedures.merge.sharing import with_sharing
from branch_console.procedures.merge.sides import holds_schema, read_schemas, read_sides
from branch_console.procedures.run.planned_heads import PlannedHeads, planned_head
from branch_console.procedures.run.procedure import Planned
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch

_AS_THEY_ARE: Final = PlannedHeads()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForwardMerge:
    """How a merge goes whose target takes over the history of its source.

    Attributes:
        plan: What moves.
        safety: What it takes that both branches hold the files then.
    """

    plan: ForwardDecision
    safety: FileSafety


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecidedMerge:
    """A merge that was decided on, with what was read for it: nobody has to read that again.

    Attributes:
        target: The table on the branch that gets the change.
        spec: What is merged.
        schemas: The newest ones of the target and of the source.
        forward: Where the target takes over the history of the source; else None.
        read: The sides, where rows of them are to be compared and they were read just now.
    """

    target: FileStoreTable
    spec: MergeSpec
    plan: MergePlan
    schemas: tuple[TableSchema, TableSchema]
    forward: ForwardMerge | None = None
    read: MergeSides | None = None

    @property
    def source(self) -> FileStoreTable:
        """The table on the branch that comes."""
        return self.target.on(self.spec.source)

    @property
    def as_decided(self) -> tuple[FileStoreTable, FileStoreTable]:
        """The target and the source, under the schemas that they had then."""
        ours, theirs = self.schemas
        return self.target.with_schema(ours), self.source.with_schema(theirs)

    @property
    def safety(self) -> FileSafety:
        """What it takes that the target holds files of the source."""
        return self.plan.safety if self.forward is None else self.forward.safety

    def sides(self, ours: Snapshot, theirs: Snapshot) -> MergeSides:
        """Both sides of the plan, whose snapshots these are."""
        return self.read or sides_of(self.target, self.spec, ours, theirs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedMerge(Planned):
    """A merge, a pick or a revert that was decided on."""

    merge: DecidedMerge


def preview_merge(
    warehouse: Warehouse,
    table: Identifier,
    source: str,
    target: str = MAIN_BRANCH,
    rules: MergeRules | None = None,
) -> MergePlan:
    """Decide what merging a branch into another one would do.

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: Source and target are one branch.
        FormatError: Metadata of either cannot be decoded.
    """
    spec = MergeSpec(kind=MergeKind.MERGE, source=source, target=target)
    with warehouse.deciding() as deciding:
        found = deciding.table(table.on_branch(target))
        return decided_for(deciding, found, spec, rules or MergeRules()).plan


def planned_merge(warehouse: Warehouse, call: ProcedureCall) -> MergePlan:
    """Decide on the merge that a call asks for; raises as `preview_merge` does."""
    return decided_merge(warehouse, call).plan


def decided_merge(warehouse: Warehouse, call: ProcedureCall) -> DecidedMerge:
    """Decide as `planned_merge` does, and return what was read for it too."""
    with warehouse.deciding() as deciding:
        target = target_table(deciding, call)
        spec = MergeSpec.from_call(target, call)
        return decided_for(deciding, target, spec, rules_of(call), PlannedHeads.of(call))


def decided_again(warehouse: Warehouse, call: ProcedureCall, earlier: DecidedMerge) -> DecidedMerge:
    """Decide anew on a merge of which a run has decided before."""
    target = target_table(warehouse, call)
    spec, forward = MergeSpec.from_call(target, call), earlier.forward
    if forward is not None and spec == earlier.spec:
        # Of a history that is taken over nothing counts but the heads, the schemas and the tags,
        # all of which this names; and whether the files may still be shared.
        source, plan = _source(target, spec), forward.plan
        histories = histories_of(source, target, head_only=True)
        if plan_id(target.identifier.table_name, *histories) == plan.id:
            safety = forward_safety(source, target, plan.arrives, plan.would_remove)
            if safety.shares:
                return replace(earlier, target=target, forward=replace(forward, safety=safety))
    return decided_for(warehouse, target, spec, rules_of(call), PlannedHeads.of(call))


def decided_for(
    warehouse: Warehouse,
    target: FileStoreTable,
    spec: MergeSpec,
    rules: MergeRules,
    heads: PlannedHeads = _AS_THEY_ARE,
) -> DecidedMerge:
    """Decide as `preview_merge` does, for a table that is open on its target.

    A run decides several times over; for the same heads and schemas the warehouse has the answer.

    Raises:
        Refused: A snapshot that is named among the heads is gone.
    """
    source = _source(target, spec)
    # A pick and a revert name their snapshot; what the source did since counts for a pick.
    source_id = heads.source_id if spec.kind is MergeKind.MERGE else None
    states = target.reader.each(
        lambda side: side[0].reader.both(lambda: planned_head(*side), side[0].schema),
        ((target, heads.target_id), (source, source_id)),
    )
    found, schemas = (states[0][0], states[1][0]), (states[0][1], states[1][1])
    key = _key(target, spec, rules, found, schemas)
    known = warehouse.plans.find(key)
    if known is None:
        decided = _decide(target, source, spec, rules, warehouse.clock(), found, schemas)
        # Tags come and go, and with them whether a history can be taken over; and branches in
        # between are altered.
        if decided.plan.moves is not None and not decided.plan.lies_on:
            warehouse.plans.put(key, decided.plan)
    else:
        decided = DecidedMerge(target=target, spec=spec, plan=known, schemas=schemas)
    if decided.plan.moves is None and heads != _AS_THEY_ARE:
        # What the histories alone decide holds for the heads as they are.
        return decided_for(warehouse, target, spec, rules)
    return replace(decided, plan=with_sharing(target, spec, decided.plan))


def remembered_plan(
    warehouse: Warehouse,
    target: FileStoreTable,
    spec: MergeSpec,
    rules: MergeRules,
    ours: Snapshot,
    theirs: Snapshot,
) -> MergePlan | None:
    """Return what was decided before on these snapshots, under the schemas of now."""
    source = target.on(spec.source)
    newest = theirs if spec.kind is MergeKind.MERGE else source.head()
    schemas = target.reader.both(target.schema, source.schema)
    known = warehouse.plans.find(_key(target, spec, rules, (ours, newest), schemas))
    if known is None or known.ours is None or known.theirs is None:
        return None
    is_it = known.ours.identity.same_as(ours.identity)
    return known if is_it and known.theirs.identity.same_as(theirs.identity) else None


def _key(
    target: FileStoreTable,
    spec: MergeSpec,
    rules: MergeRules,
    heads: tuple[Snapshot | None, Snapshot | None],
    schemas: tuple[TableSchema, TableSchema],
) -> tuple[object, ...]:
    """What a plan depends on: snapshots and schemas are never changed, only added."""
    identities = ("" if each is None else repr(each.identity) for each in heads)
    fingerprints = (each.fingerprint for each in schemas)
    return (target.paths.table, spec, rules, *identities, *fingerprints)


def _decide(
    target: FileStoreTable,
    source: FileStoreTable,
    spec: MergeSpec,
    rules: MergeRules,
    now_millis: int,
    heads: tuple[Snapshot | None, Snapshot | None],
    schemas: tuple[TableSchema, TableSchema],
) -> DecidedMerge:
    ours, theirs = heads[0], theirs_of(source, spec, heads[1])

    def without_files(
        verdict: MergeVerdict, *, blocks: tuple[Block, ...] = (), notes: tuple[str, ...] = ()
    ) -> DecidedMerge:
        plan = _by_heads(target, source, None, verdict, rules, blocks=blocks, notes=notes)
        return DecidedMerge(target=target, spec=spec, plan=plan, schemas=schemas)

    if theirs is None:
        text = f"Branch {spec.source!r} has no snapshot yet: there is nothing to merge."
        empty = without_files(MergeVerdict.UP_TO_DATE, notes=(text,))
        if not spec.one_version:
            return empty
        # Among many tables, a column that was added to an empty one comes, too.
        found_schemas = read_schemas(target, source)
        plan = plan_schema_merge(empty.plan, *found_schemas, rules, now_millis=now_millis)
        return replace(empty, plan=plan)
    elsewhere = blocks_of_rows_elsewhere(*schemas)
    if elsewhere:
        return without_files(MergeVerdict.REFUSED, blocks=elsewhere)
    if ours is None:
        forward = _find_forward(target, source) if spec.one_version else None
        if forward is not None:
            text = f"{target.branch!r} has no snapshot yet: it takes over the history."
            empty = without_files(MergeVerdict.FAST_FORWARD, notes=(text,))
            return replace(empty, forward=forward)
        text = f"Branch {target.branch!r} has no snapshot yet. Fast-forward it instead."
        block = Block(kind=ErrorKind.BRANCH_EMPTY, text=text)
        return without_files(MergeVerdict.REFUSED, blocks=(block,))
    try:
        found = None
        if spec.kind is MergeKind.MERGE:
            found = find_heads(target, source, ours, theirs)
            decided = _by_history(target, source, spec, found, rules, schemas)
            if decided is not None:
                return decided
        sides = sides_of(target, spec, ours, theirs, found)
    except NotFound as error:
        block = Block(kind=error.kind, text=error.message)
        return without_files(MergeVerdict.REFUSED, blocks=(block,))
    plan = plan_merge(sides, rules, now_millis=now_millis)
    nothing = _nothing_to_do(target, spec, plan)
    if nothing is not None:
        return without_files(MergeVerdict.UP_TO_DATE, notes=(nothing,))
    reads_rows = plan.moves is not None and (plan.moves.row_places or plan.moves.joins)
    read = sides if reads_rows else None
    return DecidedMerge(target=target, spec=spec, plan=plan, schemas=schemas, read=read)


def _nothing_to_do(target: FileStoreTable, spec: MergeSpec, plan: MergePlan) -> str | None:
    """Why a pick or a revert would add a snapshot that changes nothing; else None.

    A merge that brings nothing still notes that the target has seen the source.
    """
    is_empty = plan.verdict is MergeVerdict.CLEAN and not plan.changes_anything
    if not (is_empty or plan.verdict is MergeVerdict.UP_TO_DATE):
        return None
    match spec.kind:
        case MergeKind.MERGE:
            return None
        case MergeKind.CHERRY_PICK:
            return (
                f"Branch {target.branch!r} holds all that snapshot {spec.snapshot_id} of "
                f"{spec.source!r} did to rows: there is nothing to pick."
            )
        case MergeKind.REVERT:
            return (
                f"Nothing of what snapshot {spec.snapshot_id} did to rows is left on "
                f"{target.branch!r}: there is nothing to revert."
            )
        case _:
            assert_never(spec.kind)


def _by_history(
    target: FileStoreTable,
    source: FileStoreTable,
    spec: MergeSpec,
    heads: MergeHeads,
    rules: MergeRules,
    schemas: tuple[TableSchema, TableSchema],
) -> DecidedMerge | None:
    """The plan where the histories alone decide, None where files have to be looked at."""

    def without_files(
        verdict: MergeVerdict, notes: tuple[str, ...], forward: ForwardMerge | None = None
    ) -> DecidedMerge:
        plan = _by_heads(target, source, heads, verdict, rules, notes=notes)
        return DecidedMerge(target=target, spec=spec, plan=plan, schemas=schemas, forward=forward)

    if heads.is_up_to_date and holds_schema(target, source, heads):
        return without_files(MergeVerdict.UP_TO_DATE, (_nothing_to_merge(target, source),))
    if heads.is_fast_forward and _may_net_to_nothing(heads):
        # The history of a source that changed no row is not worth taking over: it would turn
        # compactions of one branch into those of another.
        plan = plan_merge(read_sides(target, source, heads), rules)
        if plan.verdict is MergeVerdict.UP_TO_DATE:
            return without_files(MergeVerdict.UP_TO_DATE, plan.notes)
    is_forward = heads.is_fast_forward and not spec.one_version
    forward = _find_forward(target, source) if is_forward else None
    if forward is None:
        return None
    text = f"{target.branch!r} has no commit of its own since: it takes over the history."
    return without_files(MergeVerdict.FAST_FORWARD, (text,), forward)


def _may_net_to_nothing(heads: MergeHeads) -> bool:
    """Whether what a source committed may come to no change of rows, as far as snapshots tell."""
    line, root = heads.theirs_history, heads.root
    if all(each.commit_kind is CommitKind.COMPACT for each in line):
        return True
    is_as_many = heads.theirs.total_record_count == root.total_record_count
    return is_as_many or heads.theirs.index_manifest != root.index_manifest


def _nothing_to_merge(target: FileStoreTable, source: FileStoreTable) -> str:
    taken = taken_back(target.ledger.events(), target.branch, source.branch)
    if taken is None:
        return f"Branch {target.branch!r} already holds all of {source.branch!r}."
    return (
        f"Branch {target.branch!r} merged all of {source.branch!r} before, and operation "
        f"{taken.operation_id} ({taken.kind}) has taken it back since. Merging again brings "
        f"nothing: revert operation {taken.operation_id} to have it back."
    )


def taken_back(events: Iterable[LineageEvent], target: str, source: str) -> LineageEvent | None:
    """What took back the last merge of one branch into another, and still stands; else None.

    Args:
        events: The ledger under the names of today, oldest first.
        target: The branch that was merged into.
        source: The branch that came.
    """
    merges: set[str] = set()
    taken = None
    for event in events:
        if taken is not None and event.undoes == taken.operation_id:
            taken = None
        elif event.branch != target:
            continue
        elif event.kind is LineageKind.MERGED and event.source_branch == source:
            merges.add(event.operation_id)
            taken = None
        elif event.undoes in merges or (merges and event.kind is LineageKind.ROLLED_BACK):
            taken = event
    return taken


def rules_of(call: ProcedureCall) -> MergeRules:
    """Read the rules from a call; raises InvalidInput where one is not known."""
    asked = call.request(MergingRequest)
    policy = None if asked.policy is None else policy_of(call)
    return MergeRules(
        strict=asked.strict,
        scope=asked.scope,
        isolation=asked.isolation,
        policy="" if policy is None else policy.digest,
        kinds=() if policy is None else _kinds(policy),
        notes=() if policy is None else policy.notes,
    )


def _kinds(policy: Policy) -> tuple[tuple[ConflictKind, Take], ...]:
    """The kinds that a policy settles with one side; other ways are for rows only."""
    sides = {Settle.OURS: Take.OURS, Settle.THEIRS: Take.THEIRS, Settle.BASE: Take.BASE}
    return tuple(
        (rule.kind, sides[rule.take.how]) for rule in policy.kinds if rule.take.how in sides
    )


def policy_of(call: ProcedureCall) -> Policy:
    """Read the policy from a call; raises InvalidInput where it is none."""
    return Policy.from_yaml(call.request(MergingRequest).policy or "")


def _source(target: FileStoreTable, spec: MergeSpec) -> FileStoreTable:
    name = spec.source
    if name == target.branch and spec.kind is not MergeKind.REVERT:
        raise InvalidInput(f"Branch {name!r} cannot be merged into itself. Name two.")
    wanted = (name, target.branch)
    are_there = target.reader.each(target.branches.exists, wanted)
    for branch, is_there in zip(wanted, are_there, strict=True):
        if not is_there:
            raise no_branch(target, branch)
    return target.on(name)


def _find_forward(target: FileStoreTable, source: FileStoreTable) -> ForwardMerge | None:
    """How the target takes over the history of the source; None where it cannot."""
    table = target.identifier.table_name
    plan = plan_fast_forward(table, *histories_of(source, target))
    if not plan.can_run:
        return None
    safety = forward_safety(source, target, plan.arrives, plan.would_remove)
    # A history that may not be shared is merged: its files are copied.
    return ForwardMerge(plan=plan, safety=safety) if safety.shares else None


def _by_heads(
    target: FileStoreTable,
    source: FileStoreTable,
    heads: MergeHeads | None,
    verdict: MergeVerdict,
    rules: MergeRules,
    *,
    blocks: tuple[Block, ...] = (),
    notes: tuple[str, ...] = (),
) -> MergePlan:
    found: tuple[Snapshot | None, Snapshot | None, Snapshot | None] = (
        (None, target.head(), source.head())
        if heads is None
        else (heads.root, heads.ours, heads.theirs)
    )
    return plan_without_files(
        table=target.identifier.table_name,
        source=source.branch,
        target=target.branch,
        base=found[0],
        ours=found[1],
        theirs=found[2],
        verdict=verdict,
        rules=rules,
        blocks=blocks,
        notes=notes,
    )
