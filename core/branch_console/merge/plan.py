"""The plan of a merge: what the preview shows is what the run carries out.

A plan is one of four: there is nothing to merge, the target takes over the history of the source,
files move by a three-way merge, or it is refused. Among many tables it may be that only schemas
come. Its id is the digest of heads, base and rules and
of what was decided, so that a run can tell whether anything that a person agreed to has changed.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.fast_forward import ForwardDecision
from branch_console.diff.file_safety import NOTHING_TO_DO, FileSafety
from branch_console.diff.rows.row_figure import RowFigure
from branch_console.diff.three_way import ThreeWay
from branch_console.format.snapshot import Snapshot
from branch_console.merge.conflict import Conflict
from branch_console.merge.file_moves import Block, FileMoves, Knowledge, MergeRules, Strategy
from branch_console.merge.plan_reach import PlanReach
from branch_console.merge.schema_merge import SchemaMerge
from branch_console.merge.side_work import NOTHING_DONE, SideWork


class MergeVerdict(StrEnum):
    """The kinds of plans of a merge.

    Attributes:
        UNDECIDED: Only rows can tell whether there are conflicts; a job compares them.
    """

    CLEAN = "clean"
    CONFLICTS = "conflicts"
    UNDECIDED = "undecided"
    UP_TO_DATE = "up-to-date"
    FAST_FORWARD = "fast-forward"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCost:
    """How much a merge moves; sizes in bytes.

    Attributes:
        files_joined: Files whose rows are read, and those that are left of them written again.
        records_added: Records of the files that come, less those of the files that go; at least,
            where files are joined, as both sides may have deleted the same rows.
        is_of_rows: Whether each of these records is a row.
        files_to_copy, bytes_to_copy: Files that the branches may not share, and their bytes.
    """

    files_added: int = 0
    files_removed: int = 0
    files_restored: int = 0
    files_joined: int = 0
    records_added: int = 0
    is_of_rows: bool = False
    bytes_added: int = 0
    files_to_copy: int = 0
    bytes_to_copy: int = 0
    buckets_to_compare: int = 0

    @property
    def figure(self) -> RowFigure:
        """Rows added less rows removed by whole files; row work is not counted."""
        is_known = self.is_of_rows and not self.files_joined and not self.buckets_to_compare
        return RowFigure(rows=self.records_added if is_known else None, records=self.records_added)

    @property
    def rows_added(self) -> int | None:
        """The rows of added files; None where files are removed too, which may hold the same."""
        return None if self.files_removed else self.figure.rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heads:
    """The subject of a plan: a table, two branches, and their heads.

    Attributes:
        table: Database and table, without a branch.
        base: The merge base; None if nothing was found.
        ours: The head of the target; None before its first commit.
        theirs: The snapshot of the source; None before its first commit.
    """

    table: str
    source: str
    target: str
    base: Snapshot | None
    ours: Snapshot | None
    theirs: Snapshot | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BaseAndHeads(Heads):
    """The same of a merge that is decided by files: each of them is there."""

    base: Snapshot
    ours: Snapshot
    theirs: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergePlan:
    """The fields that every plan has.

    Attributes:
        id: The digest of all that it rests on and of what it decides.
        heads: The identities are what a run checks.
        notes: Sentences that a person should know.
    """

    id: str
    heads: Heads
    rules: MergeRules
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """Database and table."""
        return self.heads.table

    @property
    def source(self) -> str:
        """The branch that comes."""
        return self.heads.source

    @property
    def target(self) -> str:
        """The branch that changes."""
        return self.heads.target


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThreeWayPlan(MergePlan):
    """Files move, and rows that both sides may have changed are compared first.

    Attributes:
        schema: The merged schema.
        source_schema_id: The newest schema of the source.
        conflicts: Nothing runs while there are any.
        reach: The places with which later commits of the target are compared.
        safety: Whether the target may name the source's own files, and what that takes.
        ancestor_branches: The branches that the source was made from, whose commits come with it.
        did: The changes of each side since the base.
    """

    heads: BaseAndHeads
    moves: FileMoves
    schema: SchemaMerge
    source_schema_id: int
    reach: PlanReach
    conflicts: tuple[Conflict, ...] = ()
    cost: PlanCost = PlanCost()
    safety: FileSafety = NOTHING_TO_DO
    ancestor_branches: tuple[str, ...] = ()
    did: ThreeWay[SideWork] = NOTHING_DONE

    @property
    def shares_files(self) -> bool:
        """Whether the target names the source's own files; else it gets copies."""
        return self.safety.shares

    @property
    def changes_anything(self) -> bool:
        """Whether the target would hold other files, other hidden rows or another schema."""
        return bool(self.schema.schemas) or not self.moves.is_empty

    @property
    def is_undecided(self) -> bool:
        """Whether rows must be read to know if there are more conflicts."""
        return verdict_of(self) is MergeVerdict.UNDECIDED

    @property
    def reads_rows(self) -> bool:
        """Whether rows are read before anything is published."""
        return bool(self.moves.row_places or self.moves.joins)

    @property
    def writes_rows(self) -> bool:
        """Whether rows may have to be written, or the vectors that hide some."""
        moves = self.moves
        # Where files go, so do the vectors that they have.
        loses_masks = moves.remove.num_rows > 0 and self.heads.ours.index_manifest is not None
        return self.reads_rows or bool(moves.masks) or loses_masks

    @property
    def strategies(self) -> dict[str, int]:
        """How many buckets go each way."""
        return _counted(Strategy, (move.strategy for move in self.moves.buckets))

    @property
    def known_by(self) -> dict[str, int]:
        """The number of buckets that each level of knowledge decides."""
        return _counted(Knowledge, (move.knowledge for move in self.moves.buckets))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UpToDatePlan(MergePlan):
    """There is nothing to merge; `found` is the plan by files, None if heads decide alone."""

    found: ThreeWayPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardMove:
    """How a target takes over a history.

    Attributes:
        decision: The decided move.
        safety: The measures for files that both branches share.
    """

    decision: ForwardDecision
    safety: FileSafety


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FastForwardPlan(MergePlan):
    """The target has no commit of its own: it takes over the history of the source."""

    move: ForwardMove


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefusedPlan(MergePlan):
    """It cannot run at all; `found` is the plan by files, None if heads decide alone."""

    blocks: tuple[Block, ...]
    found: ThreeWayPlan | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SchemaPlan(MergePlan):
    """The source has no snapshot: only its schemas come; in a merge of many tables alone."""

    schema: SchemaMerge
    source_schema_id: int
    did: ThreeWay[SideWork] = NOTHING_DONE

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Nothing runs while there are any."""
        return self.schema.conflicts


Plan: TypeAlias = UpToDatePlan | FastForwardPlan | ThreeWayPlan | RefusedPlan | SchemaPlan


def verdict_of(plan: Plan) -> MergeVerdict:
    """The word for a plan, as documents and pages have it."""
    match plan:
        case UpToDatePlan():
            return MergeVerdict.UP_TO_DATE
        case FastForwardPlan():
            return MergeVerdict.FAST_FORWARD
        case RefusedPlan():
            return MergeVerdict.REFUSED
        case ThreeWayPlan():
            return verdict_of_files(plan.moves, plan.conflicts)
        case SchemaPlan():
            return MergeVerdict.CONFLICTS if plan.conflicts else MergeVerdict.CLEAN
        case _:
            assert_never(plan)


def verdict_of_files(moves: FileMoves, conflicts: tuple[Conflict, ...]) -> MergeVerdict:
    """The word for a three-way merge that nothing refuses."""
    if conflicts:
        return MergeVerdict.CONFLICTS
    is_open = bool(moves.row_places) or not all(each.is_certain for each in moves.joins)
    return MergeVerdict.UNDECIDED if is_open else MergeVerdict.CLEAN


def can_run(plan: Plan) -> bool:
    """Whether a run would change the target, as far as is known."""
    match plan:
        case ThreeWayPlan() | SchemaPlan():
            return not plan.conflicts
        case FastForwardPlan():
            return True
        case UpToDatePlan() | RefusedPlan():
            return False
        case _:
            assert_never(plan)


def merging(plan: Plan) -> ThreeWayPlan | None:
    """The plan where it moves files and no conflict is open; None if it is another one."""
    return plan if isinstance(plan, ThreeWayPlan) and not plan.conflicts else None


def found_by(plan: Plan) -> ThreeWayPlan | None:
    """Return the plan that was made from files: this one, or the one that it replaced.

    None if heads and histories decide alone.
    """
    match plan:
        case ThreeWayPlan():
            return plan
        case UpToDatePlan() | RefusedPlan():
            return plan.found
        case FastForwardPlan() | SchemaPlan():
            return None
        case _:
            assert_never(plan)


def conflicts_of(plan: Plan) -> tuple[Conflict, ...]:
    """The conflicts that were found, also of a plan that is refused for something else."""
    found = plan if isinstance(plan, SchemaPlan) else found_by(plan)
    return () if found is None else found.conflicts


def schema_of(plan: Plan) -> SchemaMerge | None:
    """The merged schema that was found; None if heads and histories decide alone."""
    found = plan if isinstance(plan, SchemaPlan) else found_by(plan)
    return None if found is None else found.schema


def did_of(plan: Plan) -> ThreeWay[SideWork]:
    """Each side's changes, as far as they were read; none if heads and histories decide alone."""
    found = plan if isinstance(plan, SchemaPlan) else found_by(plan)
    return NOTHING_DONE if found is None else found.did


def cost_of(plan: Plan) -> PlanCost:
    """How much was found to move; nothing if heads and histories decide alone."""
    found = found_by(plan)
    return PlanCost() if found is None else found.cost


def waits_for_rows(plan: Plan) -> bool:
    """Whether rows of a key must be compared before a plan can run; a refused one waits for none.

    A page then says "Compare rows". A plan can be undecided (`ThreeWayPlan.is_undecided`) without
    this: which rows are left of a file without keys is found out only by the merge itself.
    """
    return not isinstance(plan, RefusedPlan) and cost_of(plan).buckets_to_compare > 0


def blocks_of(plan: Plan) -> tuple[Block, ...]:
    """Why a plan is refused; nothing if it is not."""
    return plan.blocks if isinstance(plan, RefusedPlan) else ()


def up_to_date(heads: Heads, rules: MergeRules, *notes: str) -> UpToDatePlan:
    """Decide by the heads alone that there is nothing to merge; the notes say why."""
    decided = plan_digest(heads, rules, MergeVerdict.UP_TO_DATE)
    return UpToDatePlan(id=decided, heads=heads, rules=rules, notes=notes)


def takes_over(heads: Heads, rules: MergeRules, move: ForwardMove, note: str) -> FastForwardPlan:
    """Decide by the histories alone that the target takes over the one of the source."""
    return FastForwardPlan(
        id=plan_digest(heads, rules, MergeVerdict.FAST_FORWARD),
        heads=heads,
        rules=rules,
        notes=(note,),
        move=move,
    )


def refused(heads: Heads, rules: MergeRules, *blocks: Block) -> RefusedPlan:
    """Decide by the heads alone that nothing can be merged."""
    decided = plan_digest(heads, rules, MergeVerdict.REFUSED, blocks=blocks)
    return RefusedPlan(id=decided, heads=heads, rules=rules, blocks=blocks)


def with_safety(plan: Plan, safety: FileSafety, *, has_links: bool) -> Plan:
    """Return a plan with the decision on files that both branches are to hold.

    Fences and tags come and go, so it is no part of the plan's id.

    Args:
        plan: The plan; one that the histories decide alone has its own decision.
        safety: The decision.
        has_links: Whether the store has hard links, which are copies without a byte.
    """
    match plan:
        case ThreeWayPlan():
            return _with_safety(plan, safety, has_links=has_links)
        case UpToDatePlan() | RefusedPlan():
            if plan.found is None:
                return plan
            found = _with_safety(plan.found, safety, has_links=has_links)
            return replace(plan, found=found, notes=found.notes)
        case FastForwardPlan() | SchemaPlan():
            return plan
        case _:
            assert_never(plan)


def plan_object(plan: Plan) -> dict[str, object]:
    """Return a plan as JSON values, as the command line prints it."""
    heads, verdict, cost, found = plan.heads, str(verdict_of(plan)), cost_of(plan), found_by(plan)
    schema = schema_of(plan)
    # A fast-forward takes over a history, of which no file is looked at here, and what an open
    # conflict adds or removes is decided by whoever settles it.
    is_counted = not isinstance(plan, FastForwardPlan) and not conflicts_of(plan)
    return {
        "id": plan.id,
        "verdict": verdict,
        "source": heads.source,
        "target": heads.target,
        "base": _snapshot_object(heads.base),
        "ours": _snapshot_object(heads.ours),
        "theirs": _snapshot_object(heads.theirs),
        "objects": [
            {
                "table": heads.table,
                "verdict": verdict,
                "schema": None if schema is None else _schema_object(schema),
                "strategies": {} if found is None else found.strategies,
                "known_by": {} if found is None else found.known_by,
                "files_added": cost.files_added if is_counted else None,
                "files_deleted": cost.files_removed if is_counted else None,
                "files_restored": cost.files_restored,
                "files_joined": cost.files_joined,
                "rows_added": cost.rows_added if is_counted else None,
                "records_added": cost.records_added if is_counted else None,
                "bytes_added": cost.bytes_added if is_counted else None,
                "bytes_to_copy": cost.bytes_to_copy,
                "buckets_to_compare": cost.buckets_to_compare,
                "conflicts": [each.to_object() for each in conflicts_of(plan)],
            }
        ],
        "blocks": [{"kind": str(each.kind), "text": each.text} for each in blocks_of(plan)],
        "reported": list(plan.notes),
    }


def plan_digest(
    heads: Heads,
    rules: MergeRules,
    verdict: MergeVerdict,
    *,
    conflicts: tuple[Conflict, ...] = (),
    blocks: tuple[Block, ...] = (),
    moves: FileMoves | None = None,
    schema: SchemaMerge | None = None,
) -> str:
    """Return the id of a plan: the digest of its inputs and its decisions."""
    digest_parts = (
        heads.table,
        heads.source,
        heads.target,
        [str(each and each.identity) for each in (heads.base, heads.ours, heads.theirs)],
        repr(rules),
        str(verdict),
        [each.id for each in conflicts],
        [each.text for each in blocks],
        [] if moves is None else moves.digest_parts,
        None if schema is None else _schema_object(schema),
    )
    return hashlib.sha256(repr(digest_parts).encode()).hexdigest()[:16]


def _with_safety(plan: ThreeWayPlan, safety: FileSafety, *, has_links: bool) -> ThreeWayPlan:
    if safety.shares:
        return replace(plan, safety=safety)
    moves = plan.moves
    coming = pa.concat_tables([moves.add, moves.replays, moves.restore])
    notes = []
    if coming.num_rows:
        how = "get names of their own by hard links" if has_links else "are copied"
        notes.append(f"Files {how}, as they may not be shared. {' '.join(safety.reasons)}")
    if plan.source != plan.target:
        notes.append(
            f"The next merge starts from snapshot {plan.heads.theirs.id} of {plan.source!r}: while "
            "that has not expired, it can be told what came."
        )
    # External files may lie on another device, which no link reaches.
    copied = coming.filter(pc.is_valid(coming["external_path"])) if has_links else coming
    bytes_to_copy = int(pc.sum(copied["file_size"]).as_py() or 0)
    return replace(
        plan,
        safety=safety,
        cost=replace(plan.cost, files_to_copy=copied.num_rows, bytes_to_copy=bytes_to_copy),
        notes=(*plan.notes, *notes),
    )


def _counted(kinds: type[StrEnum], found: Iterable[StrEnum]) -> dict[str, int]:
    """How often each kind is found, in their order; nothing of those that are not."""
    counts = Counter(found)
    return {str(kind): counts[kind] for kind in kinds if counts[kind]}


def _schema_object(schema: SchemaMerge) -> dict[str, object]:
    return {
        "final_id": schema.final_id,
        "new_ids": [each.id for each in schema.schemas],
        "id_map": {str(theirs): ours for theirs, ours in sorted(schema.id_map.items())},
    }


def _snapshot_object(snapshot: Snapshot | None) -> dict[str, object] | None:
    if snapshot is None:
        return None
    return {"id": snapshot.id, "identity": snapshot.identity.short}
