"""The plan of a merge, read and decided; nothing is changed and no row is read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, assert_never

from branch_console.diff.fast_forward import plan_forward_move, plan_id
from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.file_moves import Block, MergeRules
from branch_console.merge.plan import (
    BaseAndHeads,
    FastForwardPlan,
    ForwardMove,
    Heads,
    Plan,
    ThreeWayPlan,
    UpToDatePlan,
    found_by,
    merging,
    refused,
    takes_over,
    up_to_date,
)
from branch_console.merge.plan_merge import MergeSides, blocks_of_rows_elsewhere, plan_merge
from branch_console.merge.policy import EVERY_TABLE, KindRule, Policy, Settle
from branch_console.merge.schema_plan import plan_schema_merge
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.operations.merge_requests import MergingRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.target_branch import target_table
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.branch_histories import read_histories
from branch_console.procedures.history.commit_deletes import with_deletes
from branch_console.procedures.history.forward_sharing import forward_safety
from branch_console.procedures.history.merge_heads import MergeHeads, find_merge_heads
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec, sides_of, theirs_of
from branch_console.procedures.merge.sharing import with_sharing
from branch_console.procedures.merge.sides import holds_schema, read_schemas, read_sides
from branch_console.procedures.run.planned_heads import PlannedHeads, planned_head
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch

_AS_THEY_ARE: Final = PlannedHeads()
_SIDES: Final = {Settle.OURS: Take.OURS, Settle.THEIRS: Take.THEIRS, Settle.BASE: Take.BASE}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecidedMerge:
    """A merge that was decided on, with what was read for it: nobody has to read that again.

    Attributes:
        target: The table on the branch that gets the change.
        spec: The source and target of the merge.
        schemas: The newest ones of the target and of the source.
        read: The sides, where rows of them are to be compared and they were read just now.
    """

    target: FileStoreTable
    spec: MergeSpec
    plan: Plan
    schemas: tuple[TableSchema, TableSchema]
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

    def sides(self, heads: BaseAndHeads) -> MergeSides:
        """Both sides of the plan, whose heads these are."""
        return self.read or sides_of(self.target, self.spec, heads.ours, heads.theirs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedMerge(PlannedOperation):
    """A merge, a pick or a revert that was decided on."""

    merge: DecidedMerge


def preview_merge(
    warehouse: Warehouse,
    table: Identifier,
    source: str,
    target: str = MAIN_BRANCH,
    rules: MergeRules | None = None,
) -> Plan:
    """Decide what merging a branch into another one would do.

    Raises:
        NotFound: There is no such table or branch.
        InvalidInput: Source and target are one branch.
        FormatError: Metadata of either cannot be decoded.
    """
    spec = MergeSpec(kind=MergeKind.MERGE, source=source, target=target)
    with warehouse.deciding() as deciding:
        found = deciding.table(table.on_branch(target))
        plan = decided_for(deciding, found, spec, rules or MergeRules()).plan
        return plan_with_deletes(deciding, plan)


def plan_with_deletes(warehouse: Warehouse, plan: Plan) -> Plan:
    """Return a plan whose history, if it takes one over, says which records delete rows."""
    if not isinstance(plan, FastForwardPlan):
        return plan
    decision = with_deletes(warehouse, plan.move.decision)
    return replace(plan, move=replace(plan.move, decision=decision))


def planned_merge(warehouse: Warehouse, call: ProcedureCall) -> Plan:
    """Decide on the merge that a call asks for; raises as `preview_merge` does."""
    return decided_merge(warehouse, call).plan


def decided_merge(warehouse: Warehouse, call: ProcedureCall) -> DecidedMerge:
    """Decide as `planned_merge` does, and return what was read for it too."""
    with warehouse.deciding() as deciding:
        target = target_table(deciding, call)
        spec = MergeSpec.from_call(target, call)
        return decided_for(deciding, target, spec, rules_of(call), PlannedHeads.of(call))


def decided_again(warehouse: Warehouse, call: ProcedureCall, earlier: DecidedMerge) -> DecidedMerge:
    """Decide again on a merge that a run has decided before."""
    target = target_table(warehouse, call)
    spec, plan = MergeSpec.from_call(target, call), earlier.plan
    if isinstance(plan, FastForwardPlan) and spec == earlier.spec:
        # Of a history that is taken over nothing counts but the heads, the schemas and the tags,
        # all of which this names; and whether the files may still be shared.
        source, decision = _source(target, spec), plan.move.decision
        histories = read_histories(source, target, head_only=True)
        if plan_id(target.identifier.table_name, *histories) == decision.id:
            safety = forward_safety(source, target, decision.arrives, decision.would_remove)
            if safety.shares:
                move = replace(plan.move, safety=safety)
                return replace(earlier, target=target, plan=replace(plan, move=move))
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
    source, rules = _source(target, spec), _in_table(rules, target)
    # A pick and a revert name their snapshot; what the source did since counts for a pick.
    source_id = heads.source_id if spec.kind is MergeKind.MERGE else None
    states = target.reader.map_parallel(
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
        files = found_by(decided.plan)
        if files is not None and not files.ancestor_branches:
            warehouse.plans.put(key, decided.plan)
    else:
        decided = DecidedMerge(target=target, spec=spec, plan=known, schemas=schemas)
    if found_by(decided.plan) is None and heads != _AS_THEY_ARE:
        # What the histories alone decide holds for the heads as they are.
        return decided_for(warehouse, target, spec, rules)
    return replace(decided, plan=with_sharing(target, spec, decided.plan))


def decided_under(
    warehouse: Warehouse, call: ProcedureCall, merge: DecidedMerge, rules: MergeRules
) -> DecidedMerge:
    """Decide on a whole branch under other rules; its sides are not read again if they are there.

    Args:
        warehouse: The warehouse of the table.
        call: The merge, with the heads that it keeps to.
        merge: The current decision, under the rules of the call.
        rules: The others.
    """
    target, spec, sides = merge.target, merge.spec, merge.read
    rules = _in_table(rules, target)
    if sides is None or spec.kind is not MergeKind.MERGE:
        return decided_for(warehouse, target, spec, rules, PlannedHeads.of(call))
    key = _key(target, spec, rules, (sides.ours.head, sides.theirs.head), merge.schemas)
    plan = warehouse.plans.find(key)
    if plan is None:
        plan = plan_merge(sides, rules, now_millis=warehouse.clock())
        if not sides.theirs.ancestor_branches:
            warehouse.plans.put(key, plan)
    decided = replace(merge, plan=with_sharing(target, spec, plan))
    return _on_sides(decided, sides)


def remembered_plan(
    warehouse: Warehouse,
    target: FileStoreTable,
    spec: MergeSpec,
    rules: MergeRules,
    ours: Snapshot,
    theirs: Snapshot,
) -> ThreeWayPlan | None:
    """Return the merge that was decided on before at these snapshots, under the schemas of now."""
    if spec.source == target.branch:
        # A revert: one branch is both sides, and is asked once.
        newest, schema = target.head_and_schema()
        schemas = (schema, schema)
    else:
        source = target.on(spec.source)
        newest = theirs if spec.kind is MergeKind.MERGE else source.head()
        schemas = target.reader.both(target.schema, source.schema)
    plan = warehouse.plans.find(_key(target, spec, rules, (ours, newest), schemas))
    known = None if plan is None else merging(plan)
    if known is None:
        return None
    heads = known.heads
    is_it = heads.ours.identity.same_as(ours.identity)
    return known if is_it and heads.theirs.identity.same_as(theirs.identity) else None


def _key(
    target: FileStoreTable,
    spec: MergeSpec,
    rules: MergeRules,
    heads: tuple[Snapshot | None, Snapshot | None],
    schemas: tuple[TableSchema, TableSchema],
) -> tuple[object, ...]:
    """Return everything that a plan depends on; snapshots and schemas never change."""
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

    def decided_by(plan: Plan) -> DecidedMerge:
        return DecidedMerge(target=target, spec=spec, plan=plan, schemas=schemas)

    if theirs is None:
        text = f"Branch {spec.source!r} has no snapshot yet: there is nothing to merge."
        by_heads = up_to_date(_heads(target, source), rules, text)
        if not spec.one_version:
            return decided_by(by_heads)
        # Among many tables, a column that was added to an empty one comes, too.
        read = read_schemas(target, source)
        return decided_by(plan_schema_merge(by_heads, *read, now_millis=now_millis))
    elsewhere = blocks_of_rows_elsewhere(*schemas)
    if elsewhere:
        return decided_by(refused(_heads(target, source), rules, *elsewhere))
    if ours is None:
        move = _find_forward(target, source) if spec.one_version else None
        if move is not None:
            text = f"{target.branch!r} has no snapshot yet: the merge is a fast-forward."
            return decided_by(takes_over(_heads(target, source), rules, move, text))
        text = f"Branch {target.branch!r} has no snapshot yet. Fast-forward it instead."
        block = Block(kind=ErrorKind.BRANCH_EMPTY, text=text)
        return decided_by(refused(_heads(target, source), rules, block))
    try:
        found = None
        if spec.kind is MergeKind.MERGE:
            found = find_merge_heads(target, source, ours, theirs)
            by_history = _by_history(target, source, spec, found, rules)
            if by_history is not None:
                return decided_by(by_history)
        sides = sides_of(target, spec, ours, theirs, found)
    except NotFound as error:
        block = Block(kind=error.kind, text=error.message)
        return decided_by(refused(_heads(target, source), rules, block))
    plan = plan_merge(sides, rules, now_millis=now_millis)
    nothing = _nothing_to_do(target, spec, plan)
    if nothing is not None:
        return decided_by(up_to_date(_heads(target, source), rules, nothing))
    return _on_sides(decided_by(plan), sides)


def _on_sides(decided: DecidedMerge, sides: MergeSides) -> DecidedMerge:
    """The same decision, with its sides where rows of them are to be read."""
    files = found_by(decided.plan)
    return replace(decided, read=sides if files is not None and files.reads_rows else None)


def _nothing_to_do(target: FileStoreTable, spec: MergeSpec, plan: Plan) -> str | None:
    """Why a pick or a revert would add a snapshot that changes nothing; else None.

    A merge that brings nothing still notes that the target has seen the source.
    """
    moving = merging(plan)
    is_empty = moving is not None and not moving.changes_anything
    if not (is_empty or isinstance(plan, UpToDatePlan)):
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
) -> UpToDatePlan | FastForwardPlan | None:
    """The plan where the histories alone decide, None if files have to be looked at."""
    of_plan = _heads(target, source, heads)
    if heads.is_up_to_date and holds_schema(target, source, heads):
        return up_to_date(of_plan, rules, _nothing_to_merge(target, source))
    if heads.is_fast_forward and _may_net_to_nothing(heads):
        # The history of a source that changed no row is not worth taking over: it would turn
        # compactions of one branch into those of another.
        plan = plan_merge(read_sides(target, source, heads), rules)
        if isinstance(plan, UpToDatePlan):
            return up_to_date(of_plan, rules, *plan.notes)
    is_forward = heads.is_fast_forward and not spec.one_version
    move = _find_forward(target, source) if is_forward else None
    if move is None:
        return None
    text = f"{target.branch!r} has no commit of its own since: the merge is a fast-forward."
    return takes_over(of_plan, rules, move, text)


def _may_net_to_nothing(heads: MergeHeads) -> bool:
    """Whether the commits of a source may have no net effect on rows, by their snapshots."""
    line, root = heads.theirs_history, heads.root
    if all(each.commit_kind is CommitKind.COMPACT for each in line):
        return True
    is_as_many = heads.theirs.total_record_count == root.total_record_count
    return is_as_many or heads.theirs.index_manifest != root.index_manifest


def _nothing_to_merge(target: FileStoreTable, source: FileStoreTable) -> str:
    taken = find_reverting_event(target.ledger.events(), target.branch, source.branch)
    if taken is None:
        return f"Branch {target.branch!r} already contains {source.branch!r}."
    return (
        f"Branch {target.branch!r} merged all of {source.branch!r} before, and operation "
        f"{taken.operation_id} ({taken.kind}) has taken it back since. Merging again brings "
        f"nothing: revert operation {taken.operation_id} to have it back."
    )


def find_reverting_event(
    events: Iterable[LineageEvent], target: str, source: str
) -> LineageEvent | None:
    """Return the event that reverts the last merge of one branch into another; None without any.

    Args:
        events: The ledger under the names of today, oldest first.
        target: The branch that was merged into.
        source: The branch that was merged.
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
    """Read the rules from a call; raises InvalidInput if one is not known."""
    asked = call.request(MergingRequest)
    return rules_by(asked, None if asked.policy is None else policy_of(call))


def rules_by(asked: MergingRequest | MergeCatalogRequest, policy: Policy | None) -> MergeRules:
    """Return the rules of a merge that is asked for, with its policy."""
    return MergeRules(
        strict=asked.strict,
        scope=asked.scope,
        isolation=asked.isolation,
        policy="" if policy is None else policy.digest,
        kinds=() if policy is None else tuple(_kinds(policy.kinds)),
        kinds_in=() if policy is None else tuple(_kinds_in(policy)),
        notes=() if policy is None else policy.notes,
    )


def _kinds(rules: tuple[KindRule, ...]) -> Iterator[tuple[ConflictKind, Take]]:
    """The kinds that a policy settles with one side; other ways are for rows only."""
    for rule in rules:
        if rule.take.how in _SIDES:
            yield rule.kind, _SIDES[rule.take.how]


def _kinds_in(policy: Policy) -> Iterator[tuple[str, ConflictKind, Take]]:
    for each in policy.tables:
        for kind, take in _kinds(each.kinds):
            yield each.table, kind, take


def _in_table(rules: MergeRules, target: FileStoreTable) -> MergeRules:
    return rules.in_table(EVERY_TABLE, target.identifier.table_name)


def policy_of(call: ProcedureCall) -> Policy:
    """Read the policy from a call; raises InvalidInput if it is none."""
    return Policy.from_yaml(call.request(MergingRequest).policy or "")


def _source(target: FileStoreTable, spec: MergeSpec) -> FileStoreTable:
    name = spec.source
    if name == target.branch and spec.kind is not MergeKind.REVERT:
        raise InvalidInput(f"Branch {name!r} cannot be merged into itself. Name two.")
    wanted = (name, target.branch)
    are_there = target.reader.map_parallel(target.branches.exists, wanted)
    for branch, is_there in zip(wanted, are_there, strict=True):
        if not is_there:
            raise no_branch(target, branch)
    return target.on(name)


def _find_forward(target: FileStoreTable, source: FileStoreTable) -> ForwardMove | None:
    """How the target takes over the history of the source; None if it cannot."""
    table = target.identifier.table_name
    decision = plan_forward_move(table, *read_histories(source, target))
    if not decision.can_run:
        return None
    safety = forward_safety(source, target, decision.arrives, decision.would_remove)
    # A history that may not be shared is merged: its files are copied.
    return ForwardMove(decision=decision, safety=safety) if safety.shares else None


def _heads(
    target: FileStoreTable, source: FileStoreTable, found: MergeHeads | None = None
) -> Heads:
    """Return the heads of both branches; the current ones if the plan found none."""
    base, ours, theirs = (
        (None, target.head(), source.head())
        if found is None
        else (found.root, found.ours, found.theirs)
    )
    return Heads(
        table=target.identifier.table_name,
        source=source.branch,
        target=target.branch,
        base=base,
        ours=ours,
        theirs=theirs,
    )
