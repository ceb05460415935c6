"""The plan of a merge: what the preview shows is what the run carries out.

A plan is a pure function of both heads, the base and the rules; its id is their digest, so that a
run can tell whether anything that a person agreed to has changed.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.rewrite_graph import NOTHING_TOLD, Descent
from branch_console.diff.changes.table_changes import TableChanges
from branch_console.diff.changes.virtual_base import Base
from branch_console.diff.file_safety import NOTHING_TO_DO, FileSafety
from branch_console.diff.rows.row_figure import RowFigure, is_row_per_record
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind
from branch_console.format import options as table_options
from branch_console.format.layout_options import unserved_in_writes
from branch_console.format.partition_path import partition_path
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.merge.conflict import Conflict, ConflictKind, Take
from branch_console.merge.file_moves import (
    Block,
    BucketMove,
    FileMoves,
    Knowledge,
    MergeRules,
    Naming,
    Strategy,
)
from branch_console.merge.filled_defaults import FilledColumns, fill_defaults
from branch_console.merge.keyed_files import merge_keyed_files
from branch_console.merge.keyless_files import merge_keyless_files
from branch_console.merge.plan_reach import PlanReach, reach_of
from branch_console.merge.schema_merge import SchemaMerge, merge_schemas

_NO_GAPS: Final[ThreeWay[tuple[str, ...]]] = ThreeWay(base=(), ours=(), theirs=())


class MergeVerdict(StrEnum):
    """What a merge would be.

    Attributes:
        UNDECIDED: Only rows can tell whether there are conflicts; a job compares them.
    """

    CLEAN = "clean"
    CONFLICTS = "conflicts"
    UNDECIDED = "undecided"
    UP_TO_DATE = "up-to-date"
    FAST_FORWARD = "fast-forward"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeSide:
    """One branch of a merge.

    Attributes:
        schemas: All of the branch, by id.
        changes: What it did since the base.
        lies_on: The branches that it was made from, which hold files of it too, and their schemas.
    """

    branch: str
    head: Snapshot
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    changes: TableChanges
    lies_on: Mapping[str, TableSchema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldState:
    """A snapshot, and whether the target holds it: then its files name schemas of the target."""

    snapshot: Snapshot
    by_target: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeSides:
    """All that a merge of one table is decided on.

    Attributes:
        table: Database and table, without a branch.
        base: The snapshot that both sides build on; the last of several.
        row_base: What the rows of both come from; None where that is gone.
        base_schema: The newest schema of then.
        known_field_ids: Of the target by those of the source, from earlier merges of it.
        descent: What files of a table without a key were made of, where that can matter: where
            changes were picked or taken back, one side may hold again what the other wrote anew.
    """

    table: str
    base: Snapshot
    row_base: Base[HeldState] | None
    base_schema: TableSchema
    ours: MergeSide
    theirs: MergeSide
    known_field_ids: Mapping[int, int] = field(default_factory=dict)
    descent: Descent = NOTHING_TOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCost:
    """How much a merge moves; sizes in bytes.

    Attributes:
        files_joined: Files whose rows are read, and those that are left of them written again.
        records_added: Records of the files that come, less those of the files that go; at least,
            where files are joined, as both sides may have deleted the same rows.
        is_of_rows: Whether each of these records is a row.
        bytes_to_copy: Of files that may not be shared by the branches.
    """

    files_added: int = 0
    files_removed: int = 0
    files_restored: int = 0
    files_joined: int = 0
    records_added: int = 0
    is_of_rows: bool = False
    bytes_added: int = 0
    bytes_to_copy: int = 0
    buckets_to_compare: int = 0

    @property
    def figure(self) -> RowFigure:
        """What the files that come and go change, without what only rows decide."""
        is_known = self.is_of_rows and not self.files_joined and not self.buckets_to_compare
        return RowFigure(rows=self.records_added if is_known else None, records=self.records_added)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergePlan:
    """The decision on one table.

    Attributes:
        id: The digest of all that it rests on and of what it decides.
        base: The merge base; None where nothing was found.
        heads: The identities are what a run checks.
        schema: The merged schema; None where the merge was not planned so far.
        source_schema_id: The newest schema of the source.
        safety: Whether the target may name the source's own files, and what that takes.
        lies_on: The branches that the source was made from, whose commits come with it.
        reach: What later commits of the target are held against; None where nothing runs, or the
            histories alone decide.
        notes: What a person should know, in sentences.
    """

    id: str
    table: str
    source: str
    target: str
    base: Snapshot | None
    ours: Snapshot | None
    theirs: Snapshot | None
    verdict: MergeVerdict
    rules: MergeRules
    moves: FileMoves | None = None
    schema: SchemaMerge | None = None
    source_schema_id: int = 0
    conflicts: tuple[Conflict, ...] = ()
    blocks: tuple[Block, ...] = ()
    safety: FileSafety = NOTHING_TO_DO
    lies_on: tuple[str, ...] = ()
    reach: PlanReach | None = None
    cost: PlanCost = PlanCost()
    notes: tuple[str, ...] = ()

    @property
    def can_run(self) -> bool:
        """Whether a run would change the target, as far as is known."""
        runs = (MergeVerdict.CLEAN, MergeVerdict.UNDECIDED, MergeVerdict.FAST_FORWARD)
        return self.verdict in runs

    @property
    def shares_files(self) -> bool:
        """Whether the target names the source's own files; else it gets copies."""
        return self.safety.shares

    @property
    def changes_anything(self) -> bool:
        """Whether the target would hold other files, other hidden rows or another schema."""
        has_schemas = self.schema is not None and bool(self.schema.schemas)
        return has_schemas or (self.moves is not None and not self.moves.is_empty)

    @property
    def writes_rows(self) -> bool:
        """Whether rows may have to be written, or the vectors that hide some."""
        moves = self.moves
        if moves is None or self.ours is None:
            return False
        # Where files go, so do the vectors that they have.
        loses_masks = moves.remove.num_rows > 0 and self.ours.index_manifest is not None
        return bool(moves.row_places or moves.masks or moves.joins or loses_masks)

    @property
    def strategies(self) -> dict[str, int]:
        """How many buckets go each way."""
        return _counted(Strategy, (move.strategy for move in self._buckets))

    @property
    def known_by(self) -> dict[str, int]:
        """Of how many buckets each level of knowledge decides."""
        return _counted(Knowledge, (move.knowledge for move in self._buckets))

    @property
    def _buckets(self) -> tuple[BucketMove, ...]:
        return () if self.moves is None else self.moves.buckets

    def to_object(self) -> dict[str, object]:
        """Return the plan as JSON values, as the command line prints it."""
        return {
            "id": self.id,
            "verdict": str(self.verdict),
            "source": self.source,
            "target": self.target,
            "base": _snapshot_object(self.base),
            "ours": _snapshot_object(self.ours),
            "theirs": _snapshot_object(self.theirs),
            "objects": [
                {
                    "table": self.table,
                    "verdict": str(self.verdict),
                    "schema": _schema_object(self.schema),
                    "strategies": self.strategies,
                    "known_by": self.known_by,
                    "files_added": self.cost.files_added,
                    "files_deleted": self.cost.files_removed,
                    "files_restored": self.cost.files_restored,
                    "files_joined": self.cost.files_joined,
                    "rows_added": self.cost.figure.rows,
                    "records_added": self.cost.records_added,
                    "bytes_added": self.cost.bytes_added,
                    "bytes_to_copy": self.cost.bytes_to_copy,
                    "buckets_to_compare": self.cost.buckets_to_compare,
                    "conflicts": [each.to_object() for each in self.conflicts],
                }
            ],
            "blocks": [{"kind": str(each.kind), "text": each.text} for each in self.blocks],
            "reported": list(self.notes),
        }


def plan_merge(sides: MergeSides, rules: MergeRules, *, now_millis: int = 0) -> MergePlan:
    """Decide what a merge of one table does.

    Args:
        sides: Both branches and their base.
        rules: What was chosen.
        now_millis: The time that new schemas get; no part of the plan's id.
    """
    plan = _decided(sides, rules, now_millis)
    tried = _with_tried_options(sides, plan)
    return _with_id(replace(plan, conflicts=tried, reach=_reach(sides, plan)))


def _decided(sides: MergeSides, rules: MergeRules, now_millis: int) -> MergePlan:
    ours, theirs = sides.ours, sides.theirs
    naming = _naming(sides)
    schema = _merged_schema(sides, rules, now_millis)
    if ours.schema.primary_keys:
        moves = merge_keyed_files(ours.schema, ours.changes, theirs.changes, naming)
    else:
        moves = merge_keyless_files(ours.changes, theirs.changes, rules, naming, sides.descent)
    moves = replace(moves, brings_back=_brings_back(moves, ours.changes))
    conflicts = (*schema.conflicts, *moves.conflicts)
    gaps = ThreeWay(base=(), ours=schema.ours_gaps, theirs=schema.theirs_gaps)
    if conflicts:
        # Whether a default can be filled in matters only once they are settled.
        gaps = _NO_GAPS
    elif (filled := _with_defaults(sides, gaps, moves)) is not None:
        moves, gaps = filled, _NO_GAPS
    blocks = (*_unserved(sides), *_gaps(gaps), *_lost_base(sides, moves), *moves.blocks)
    verdict = _verdict(theirs.changes, schema, moves, conflicts, blocks)
    return MergePlan(
        id="",
        table=sides.table,
        source=theirs.branch,
        target=ours.branch,
        base=sides.base,
        ours=ours.head,
        theirs=theirs.head,
        verdict=verdict,
        rules=rules,
        moves=moves,
        schema=schema,
        source_schema_id=theirs.schema.id,
        conflicts=conflicts,
        blocks=blocks,
        lies_on=tuple(theirs.lies_on),
        cost=_cost(moves, is_of_rows=_is_of_rows(sides)),
        notes=(
            (_no_change(theirs.branch), *schema.notes)
            if verdict is MergeVerdict.UP_TO_DATE
            else (*rules.notes, *schema.notes, *moves.notes, *_notes(sides, moves))
        ),
    )


def _naming(sides: MergeSides) -> Naming:
    schema = sides.ours.schema
    return Naming(table=sides.table, partition=lambda data: _partition_text(data, schema))


def _reach(sides: MergeSides, plan: MergePlan) -> PlanReach | None:
    if not plan.can_run or plan.moves is None or plan.schema is None:
        return None
    schema = sides.ours.schema
    return reach_of(
        plan.moves,
        sides.theirs.changes,
        plan.rules,
        _naming(sides),
        bucket_mode=schema.bucket_mode if schema.primary_keys else None,
        needs_rows=_needs_rows(sides, plan.schema, plan.rules),
    )


def _needs_rows(sides: MergeSides, schema: SchemaMerge, rules: MergeRules) -> bool:
    """Whether the merged schema depends on what rows the target writes."""
    if schema.ours_gaps or sides.ours.changes.wrote_rows:
        return bool(schema.ours_gaps)
    times = {each.time_millis for each in schema.schemas}
    return _merged_schema(sides, rules, max(times, default=0), ours_wrote=True) != schema


def _with_tried_options(sides: MergeSides, plan: MergePlan) -> tuple[Conflict, ...]:
    """Offer for each conflict only what settles it, as planning with that shows."""
    trials: dict[tuple[ConflictKind, Take], MergePlan] = {}

    def settles(conflict: Conflict, take: Take) -> bool:
        option = (conflict.kind, take)
        if option not in trials:
            trials[option] = _decided(sides, plan.rules.choosing(*option), 0)
        trial = trials[option]
        is_left = any(_is_of(each, conflict) for each in trial.conflicts)
        return not is_left and len(trial.blocks) <= len(plan.blocks)

    return tuple(
        conflict.offering(tuple(each for each in conflict.settle_with if settles(conflict, each)))
        for conflict in plan.conflicts
    )


def _is_of(conflict: Conflict, other: Conflict) -> bool:
    """Whether a conflict is another one, or what is left of it in some partition."""
    same = (conflict.kind, conflict.rule, conflict.subject.name)
    is_inside = other.subject.partition in (None, conflict.subject.partition)
    return is_inside and same == (other.kind, other.rule, other.subject.name)


def with_safety(plan: MergePlan, safety: FileSafety, *, has_links: bool) -> MergePlan:
    """Return a plan with the decision on files that both branches are to hold.

    Fences and tags come and go, so it is no part of the plan's id.

    Args:
        plan: The plan.
        safety: The decision.
        has_links: Whether the store has hard links, which are copies without a byte.
    """
    moves = plan.moves
    if safety.shares or moves is None:
        return replace(plan, safety=safety)
    coming = pa.concat_tables([moves.add, moves.replays, moves.restore])
    notes = []
    if coming.num_rows:
        how = "get names of their own by hard links" if has_links else "are copied"
        notes.append(f"Files {how}, as they may not be shared. {' '.join(safety.reasons)}")
    if plan.theirs is not None and plan.source != plan.target:
        notes.append(
            f"The next merge starts from snapshot {plan.theirs.id} of {plan.source!r}: while that "
            "has not expired, it can be told what came."
        )
    # External files may lie on another device, which no link reaches.
    copied = coming.filter(pc.is_valid(coming["external_path"])) if has_links else coming
    return replace(
        plan,
        safety=safety,
        cost=replace(plan.cost, bytes_to_copy=_total(copied, "file_size")),
        notes=(*plan.notes, *notes),
    )


def plan_without_files(
    *,
    table: str,
    source: str,
    target: str,
    base: Snapshot | None,
    ours: Snapshot | None,
    theirs: Snapshot | None,
    verdict: MergeVerdict,
    rules: MergeRules,
    blocks: tuple[Block, ...] = (),
    notes: tuple[str, ...] = (),
) -> MergePlan:
    """Return the plan of a merge that is decided by its heads alone."""
    plan = MergePlan(
        id="",
        table=table,
        source=source,
        target=target,
        base=base,
        ours=ours,
        theirs=theirs,
        verdict=verdict,
        rules=rules,
        blocks=blocks,
        notes=notes,
    )
    return _with_id(plan)


def _no_change(branch: str) -> str:
    return f"{branch!r} changed no row since the merge base: there is nothing to merge."


def _verdict(
    theirs: TableChanges,
    schema: SchemaMerge,
    moves: FileMoves,
    conflicts: tuple[Conflict, ...],
    blocks: tuple[Block, ...],
) -> MergeVerdict:
    if blocks:
        return MergeVerdict.REFUSED
    if conflicts:
        return MergeVerdict.CONFLICTS
    if theirs.is_empty and not (schema.schemas or schema.is_settled):
        return MergeVerdict.UP_TO_DATE
    is_open = bool(moves.row_places) or not all(each.is_certain for each in moves.joins)
    return MergeVerdict.UNDECIDED if is_open else MergeVerdict.CLEAN


def _merged_schema(
    sides: MergeSides, rules: MergeRules, now_millis: int, *, ours_wrote: bool | None = None
) -> SchemaMerge:
    ours, theirs = sides.ours, sides.theirs
    merge = partial(
        merge_schemas,
        ThreeWay(base=sides.base_schema, ours=ours.schema, theirs=theirs.schema),
        target_schemas=ours.schemas,
        source_schemas=theirs.schemas,
        used_ids=_used_schemas(theirs.changes),
        ours_wrote=ours.changes.wrote_rows if ours_wrote is None else ours_wrote,
        theirs_wrote=theirs.changes.wrote_rows,
        strict=rules.strict,
        table=sides.table,
        time_millis=now_millis,
        known_field_ids=sides.known_field_ids,
    )
    found = merge()
    settled = {
        each.id: take
        for each in found.conflicts
        if (take := rules.takes(each.kind)) is not None and take in each.settle_with
    }
    return merge(settled=settled) if settled else found


def _brings_back(moves: FileMoves, ours: TableChanges) -> bool:
    coming = pa.concat_tables([moves.add, moves.replays])["identity"]
    known = ours.log.entries["identity"].combine_chunks()
    return bool(moves.restore.num_rows or pc.any(pc.is_in(coming, value_set=known)).as_py())


def blocks_of_rows_elsewhere(*schemas: TableSchema) -> tuple[Block, ...]:
    """Refuse tables whose readers take rows from several branches: a merge would judge a part."""
    options = {key: value for schema in schemas for key, value in schema.options.items()}
    found = [
        f"Rows of this table lie on two branches ({option}): merge these first."
        for option in ("scan.fallback-branch", "scan.primary-branch")
        if option in options
    ]
    if any(schema.options.read(table_options.CHAIN_TABLE_ENABLED) for schema in schemas):
        found.append(
            "This is a chain table ('chain-table.enabled'), whose rows lie on several branches. It "
            "is not merged here; compact it with Paimon."
        )
    return tuple(Block(kind=ErrorKind.UNSUPPORTED, text=text) for text in found)


def _unserved(sides: MergeSides) -> tuple[Block, ...]:
    """Shapes of tables whose files mean more than their rows."""
    schemas = (sides.ours.schema, sides.theirs.schema)
    found = []
    if sides.ours.schema.options.read(table_options.DATA_EVOLUTION_ENABLED):
        found.append(
            "Tables with 'data-evolution.enabled' are not merged here. Write the source's rows to "
            "the target with INSERT instead."
        )
    found += (
        f"This table is not merged here: {reason}"
        for schema in schemas
        for option, reason in unserved_in_writes(schema.options)
        # The kind of table is named already.
        if option != table_options.CHAIN_TABLE_ENABLED.key
    )
    blocks = (Block(kind=ErrorKind.UNSUPPORTED, text=text) for text in dict.fromkeys(found))
    return (*blocks_of_rows_elsewhere(*schemas), *blocks)


def _with_defaults(
    sides: MergeSides, gaps: ThreeWay[tuple[str, ...]], moves: FileMoves
) -> FileMoves | None:
    """Have rows written again that lack a default; None where that cannot be done here."""
    schemas = (sides.ours.schema, sides.theirs.schema)
    names = {field.name for schema in schemas for field in schema.fields}
    if sides.ours.schema.primary_keys or not names.issuperset((*gaps.ours, *gaps.theirs)):
        return None
    columns = FilledColumns(ours=gaps.ours, theirs=gaps.theirs)
    return fill_defaults(moves, sides.ours.changes, sides.theirs.changes, columns)


def _gaps(gaps: ThreeWay[tuple[str, ...]]) -> tuple[Block, ...]:
    """Rows that need a default which is not filled in here, as a side wrote them before."""
    return tuple(
        Block(
            kind=ErrorKind.UNSUPPORTED,
            text=f"Rows that the {side} wrote have no value for {', '.join(map(repr, columns))}, "
            "which is NOT NULL with a default on the other side. A default is filled in here only "
            "for columns of tables without a primary key. Allow nulls in the column, then merge.",
        )
        for side, columns in (("target", gaps.ours), ("source", gaps.theirs))
        if columns
    )


def _lost_base(sides: MergeSides, moves: FileMoves) -> Iterator[Block]:
    if sides.row_base is None and moves.row_places:
        yield Block(
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            text=f"{sides.ours.branch!r} and {sides.theirs.branch!r} both merged another branch at "
            "a snapshot that has expired or has other columns, so nothing tells which side changed "
            "a row since. Write the source's rows to the target with INSERT instead.",
        )


def _counted(kinds: type[StrEnum], found: Iterable[StrEnum]) -> dict[str, int]:
    """How often each kind is found, in their order; nothing of those that are not."""
    counts = Counter(found)
    return {str(kind): counts[kind] for kind in kinds if counts[kind]}


def _is_of_rows(sides: MergeSides) -> bool:
    """Whether each record of a file is a row, of which no deletion vector hides any."""
    heads = (sides.base, sides.ours.head, sides.theirs.head)
    return is_row_per_record(sides.ours.schema, sides.ours.branch) and not any(
        each.index_manifest for each in heads
    )


def _cost(moves: FileMoves, *, is_of_rows: bool) -> PlanCost:
    coming = pa.concat_tables([moves.add, moves.replays])
    come = _total(coming, "row_count") + _total(moves.restore, "row_count")
    come += sum(each.rows_left for each in moves.joins)
    return PlanCost(
        files_added=coming.num_rows,
        files_removed=moves.remove.num_rows,
        files_restored=moves.restore.num_rows,
        files_joined=sum(each.file_count for each in moves.joins),
        records_added=come - _total(moves.remove, "row_count"),
        is_of_rows=is_of_rows,
        bytes_added=_total(coming, "file_size"),
        buckets_to_compare=len(moves.row_places),
    )


def _notes(sides: MergeSides, moves: FileMoves) -> tuple[str, ...]:
    notes = []
    if not sides.ours.schema.primary_keys:
        notes += [
            text for side in (sides.theirs, sides.ours) if (text := _inferred(side)) is not None
        ]
    name = sides.theirs.branch
    notes += [
        f"{name!r} was made from {each!r}: what that had done by then comes too."
        for each in sides.theirs.lies_on
    ]
    producer = sides.ours.schema.options.get("changelog-producer", "none")
    if moves.add.num_rows and producer != "none":
        notes.append(
            f"Streaming readers of the changelog ({producer}) do not see the rows that come."
        )
    return tuple(notes)


def _inferred(side: MergeSide) -> str | None:
    """Say of how many commits of a side the files suggest what they did; None if of none."""
    inferred = sum(step.is_inferred for step in side.changes.lasting_steps)
    if not inferred:
        return None
    of = f"of {side.branch!r}"
    if inferred == 1:
        return f"1 commit {of} records no operation; what it did is inferred from its files."
    return (
        f"{inferred:,} commits {of} record no operation; what they did is inferred from their "
        "files."
    )


def _with_id(plan: MergePlan) -> MergePlan:
    heads = [str(each and each.identity) for each in (plan.base, plan.ours, plan.theirs)]
    moved = [] if plan.moves is None else plan.moves.told
    told = (
        plan.table,
        plan.source,
        plan.target,
        heads,
        repr(plan.rules),
        str(plan.verdict),
        [each.id for each in plan.conflicts],
        [each.text for each in plan.blocks],
        moved,
        _schema_object(plan.schema),
    )
    return replace(plan, id=hashlib.sha256(repr(told).encode()).hexdigest()[:16])


def _used_schemas(theirs: TableChanges) -> frozenset[int]:
    mentioned = theirs.log.entries["schema_id"].to_pylist()
    return frozenset(mentioned)


def _partition_text(partition: bytes, schema: TableSchema) -> str:
    if not schema.partition_keys:
        return ""
    return partition_path(decode_row(partition, schema.partition_type.types), schema)


def _total(files: pa.Table, column: str) -> int:
    return int(pc.sum(files[column]).as_py() or 0)


def _schema_object(schema: SchemaMerge | None) -> dict[str, object] | None:
    if schema is None:
        return None
    return {
        "final_id": schema.final_id,
        "new_ids": [each.id for each in schema.schemas],
        "id_map": {str(theirs): ours for theirs, ours in sorted(schema.id_map.items())},
    }


def _snapshot_object(snapshot: Snapshot | None) -> dict[str, object] | None:
    if snapshot is None:
        return None
    return {"id": snapshot.id, "identity": snapshot.identity.short}
