"""Deciding on a merge by the files of both sides: a pure function of heads, base and rules."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.rewrite_graph import NO_REWRITES, RewriteGraph
from branch_console.diff.changes.table_changes import TableChanges
from branch_console.diff.changes.virtual_base import Base
from branch_console.diff.rows.row_figure import is_row_per_record
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind
from branch_console.format import options as table_options
from branch_console.format.layout_options import unserved_in_writes
from branch_console.format.partition_path import partition_words
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.merge.conflict import Conflict, ConflictKind, Take
from branch_console.merge.engine_rules import EngineRules
from branch_console.merge.file_moves import (
    Block,
    DisplayNames,
    FileMoves,
    MergeRules,
)
from branch_console.merge.filled_defaults import FilledColumns, fill_defaults
from branch_console.merge.keyed_files import merge_keyed_files
from branch_console.merge.keyless_files import merge_keyless_files
from branch_console.merge.plan import (
    BaseAndHeads,
    MergeVerdict,
    Plan,
    PlanCost,
    RefusedPlan,
    ThreeWayPlan,
    UpToDatePlan,
    plan_digest,
    verdict_of_files,
)
from branch_console.merge.plan_reach import PlanReach, reach_of
from branch_console.merge.schema_merge import SchemaMerge, merge_schemas
from branch_console.merge.side_work import SideWork, work_of

_NO_GAPS: Final[ThreeWay[tuple[str, ...]]] = ThreeWay(base=(), ours=(), theirs=())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeSide:
    """One branch of a merge.

    Attributes:
        schemas: All of the branch, by id.
        changes: Its changes since the base.
        ancestor_branches: The branches that it was made from, which hold files of it too, and their
            schemas.
    """

    branch: str
    head: Snapshot
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    changes: TableChanges
    ancestor_branches: Mapping[str, TableSchema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseState:
    """A snapshot, and whether the target holds it: then its files name schemas of the target."""

    snapshot: Snapshot
    in_target: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeSides:
    """All that a merge of one table is decided on.

    Attributes:
        table: Database and table, without a branch.
        base: The snapshot that both sides build on; the last of several.
        base_of_rows: The base of both sides' rows; None if it is gone.
        base_schema: The newest schema of then.
        known_field_ids: The target's field ids by the source's, from earlier merges.
        rewrites: What files of a table without a key were made of, where that can matter: where
            changes were picked or taken back, one side may hold again what the other wrote anew.
    """

    table: str
    base: Snapshot
    base_of_rows: Base[BaseState] | None
    base_schema: TableSchema
    ours: MergeSide
    theirs: MergeSide
    known_field_ids: Mapping[int, int] = field(default_factory=dict)
    rewrites: RewriteGraph = NO_REWRITES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Decided:
    """The decision of the rules on two sides, before it becomes a plan."""

    moves: FileMoves
    schema: SchemaMerge
    conflicts: tuple[Conflict, ...]
    blocks: tuple[Block, ...]


def plan_merge(sides: MergeSides, rules: MergeRules, *, now_millis: int = 0) -> Plan:
    """Decide what a merge of one table does.

    Args:
        sides: Both branches and their base.
        rules: The chosen rules of the merge.
        now_millis: The time that new schemas get; no part of the plan's id.

    Returns:
        A three-way merge, or that there is nothing to do, or why it is refused; each with what was
        found. Whether a history is taken over the histories tell, not the files.
    """
    decided = _decided(sides, rules, now_millis)
    tried = _with_tried_options(sides, rules, decided)
    return _plan_of(sides, rules, replace(decided, conflicts=tried))


def _decided(sides: MergeSides, rules: MergeRules, now_millis: int) -> _Decided:
    ours, theirs = sides.ours, sides.theirs
    naming = _naming(sides)
    schema = _merged_schema(sides, rules, now_millis)
    if ours.schema.primary_keys:
        moves = merge_keyed_files(ours.schema, ours.changes, theirs.changes, naming)
    else:
        moves = merge_keyless_files(ours.changes, theirs.changes, rules, naming, sides.rewrites)
    moves = replace(moves, brings_back=_brings_back(moves, ours.changes))
    conflicts = (*schema.conflicts, *moves.conflicts)
    gaps = ThreeWay(base=(), ours=schema.ours_gaps, theirs=schema.theirs_gaps)
    if conflicts:
        # Whether a default can be filled in matters only once they are settled.
        gaps = _NO_GAPS
    elif (filled := _with_defaults(sides, gaps, moves)) is not None:
        moves, gaps = filled, _NO_GAPS
    lost = (lost_base(sides),) if sides.base_of_rows is None and moves.row_places else ()
    blocks = (*_unserved(sides), *_rescaled(sides), *_gaps(gaps), *lost, *moves.blocks)
    return _Decided(moves=moves, schema=schema, conflicts=conflicts, blocks=blocks)


def _plan_of(sides: MergeSides, rules: MergeRules, decided: _Decided) -> Plan:
    """Tell a decision as the plan that it is."""
    ours, theirs, moves, schema = sides.ours, sides.theirs, decided.moves, decided.schema
    has_key = bool(ours.schema.primary_keys)
    heads = BaseAndHeads(
        table=sides.table,
        source=theirs.branch,
        target=ours.branch,
        base=sides.base,
        ours=ours.head,
        theirs=theirs.head,
    )
    verdict = _verdict(theirs.changes, decided)
    digest = plan_digest(
        heads,
        rules,
        verdict,
        conflicts=decided.conflicts,
        blocks=decided.blocks,
        moves=moves,
        schema=schema,
    )
    notes = (*rules.notes, *schema.notes, *moves.notes, *_notes(sides, moves))
    if verdict is MergeVerdict.UP_TO_DATE:
        nothing = f"{theirs.branch!r} changed no row since the merge base"
        notes = (f"{nothing}: there is nothing to merge.", *schema.notes)
    found = ThreeWayPlan(
        id=digest,
        heads=heads,
        rules=rules,
        notes=notes,
        moves=moves,
        schema=schema,
        source_schema_id=theirs.schema.id,
        reach=_reach(sides, rules, moves, schema),
        conflicts=decided.conflicts,
        cost=_cost(moves, is_of_rows=_is_of_rows(sides)),
        ancestor_branches=tuple(theirs.ancestor_branches),
        did=ThreeWay(
            base=SideWork(),
            ours=work_of(ours.changes, schema.did.ours, has_key=has_key),
            theirs=work_of(theirs.changes, schema.did.theirs, has_key=has_key),
        ),
    )
    match verdict:
        case MergeVerdict.REFUSED:
            return RefusedPlan(
                id=digest,
                heads=heads,
                rules=rules,
                notes=notes,
                blocks=decided.blocks,
                found=found,
            )
        case MergeVerdict.UP_TO_DATE:
            return UpToDatePlan(id=digest, heads=heads, rules=rules, notes=notes, found=found)
        case _:
            return found


def _naming(sides: MergeSides) -> DisplayNames:
    schema = sides.ours.schema
    return DisplayNames(table=sides.table, partition=lambda data: _partition_text(data, schema))


def _reach(
    sides: MergeSides, rules: MergeRules, moves: FileMoves, schema: SchemaMerge
) -> PlanReach:
    ours = sides.ours.schema
    return reach_of(
        moves,
        sides.theirs.changes,
        rules,
        _naming(sides),
        bucket_mode=ours.bucket_mode if ours.primary_keys else None,
        new_rows_may_lack_value=_new_rows_may_lack_value(sides, schema, rules),
    )


def _new_rows_may_lack_value(sides: MergeSides, schema: SchemaMerge, rules: MergeRules) -> bool:
    """Whether the merged schema holds only while the target writes no further row."""
    if schema.ours_gaps or sides.ours.changes.wrote_rows:
        return bool(schema.ours_gaps)
    times = {each.time_millis for each in schema.schemas}
    return _merged_schema(sides, rules, max(times, default=0), ours_wrote=True) != schema


def _with_tried_options(
    sides: MergeSides, rules: MergeRules, decided: _Decided
) -> tuple[Conflict, ...]:
    """Offer for each conflict only what settles it, as deciding with that shows."""
    trials: dict[tuple[ConflictKind, Take], _Decided] = {}

    def settles(conflict: Conflict, take: Take) -> bool:
        option = (conflict.kind, take)
        if option not in trials:
            trials[option] = _decided(sides, rules.choosing(*option), 0)
        trial = trials[option]
        is_left = any(_is_of(each, conflict) for each in trial.conflicts)
        return not is_left and len(trial.blocks) <= len(decided.blocks)

    return tuple(
        conflict.offering(tuple(each for each in conflict.settle_with if settles(conflict, each)))
        for conflict in decided.conflicts
    )


def _is_of(conflict: Conflict, other: Conflict) -> bool:
    """Whether a conflict is another one, or what is left of it in some partition."""
    same = (conflict.kind, conflict.rule, conflict.subject.name)
    is_inside = other.subject.partition in (None, conflict.subject.partition)
    return is_inside and same == (other.kind, other.rule, other.subject.name)


def _verdict(theirs: TableChanges, decided: _Decided) -> MergeVerdict:
    if decided.blocks:
        return MergeVerdict.REFUSED
    brings_schema = bool(decided.schema.schemas or decided.schema.is_settled)
    if not decided.conflicts and theirs.is_empty and not brings_schema:
        return MergeVerdict.UP_TO_DATE
    return verdict_of_files(decided.moves, decided.conflicts)


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


def _rescaled(sides: MergeSides) -> Iterator[Block]:
    """Partitions that both sides changed, and that one of them wrote with other buckets."""
    naming = _naming(sides)
    ours, theirs = (_bucket_counts(side.changes) for side in (sides.ours, sides.theirs))
    for partition in sorted(ours.keys() & theirs.keys()):
        counts = sorted(ours[partition] | theirs[partition])
        if len(counts) > 1:
            yield Block(
                kind=ErrorKind.UNSUPPORTED,
                text=f"Both sides changed {naming.place(partition)}, and since the merge base one "
                f"of them wrote it with another number of buckets ({' and '.join(map(str, counts))}"
                "): a row may lie in one bucket on the source and in another on the target. Write "
                "the source's rows to the target with INSERT instead.",
            )


def _bucket_counts(changes: TableChanges) -> dict[bytes, set[int]]:
    """The numbers of buckets that files of each changed partition were written for."""
    files = changes.files(changes.added | changes.removed)
    fixed = files.filter(pc.greater(files["total_buckets"], 0))
    counts: dict[bytes, set[int]] = {}
    pairs = fixed.group_by(["partition", "total_buckets"]).aggregate([])
    for each in pairs.to_pylist():
        counts.setdefault(each["partition"], set()).add(each["total_buckets"])
    return counts


def _with_defaults(
    sides: MergeSides, gaps: ThreeWay[tuple[str, ...]], moves: FileMoves
) -> FileMoves | None:
    """Have rows written again that lack a default; None if that cannot be done here."""
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


def lost_base(sides: MergeSides) -> Block:
    """Why rows of two sides cannot be compared whose base is gone."""
    return Block(
        kind=ErrorKind.SNAPSHOT_NOT_FOUND,
        text=f"{sides.ours.branch!r} and {sides.theirs.branch!r} both merged another branch at a "
        "snapshot that has expired or has other columns, so nothing tells which side changed a row "
        "since. Write the source's rows to the target with INSERT instead.",
    )


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
        f"{name!r} was made from {each!r}: what {each!r} had changed by then is merged too."
        for each in sides.theirs.ancestor_branches
    ]
    producer = sides.ours.schema.options.get("changelog-producer", "none")
    if moves.add.num_rows and producer != "none":
        notes.append(
            f"Streaming readers of the changelog ({producer}) do not see the rows that the merge "
            "adds."
        )
    if moves.row_places and EngineRules.of(sides.ours.schema).keeps_ours:
        notes.append(
            "This table keeps the first row of a key (first-row): where both branches added a key, "
            f"the row of {sides.ours.branch!r} stays, and no conflict is reported."
        )
    return tuple(notes)


def _inferred(side: MergeSide) -> str | None:
    """Return a note on commits whose operation was inferred from files; None without any."""
    inferred = sum(step.is_inferred for step in side.changes.lasting_steps)
    if not inferred:
        return None
    of = f"of {side.branch!r}"
    if inferred == 1:
        return f"1 commit {of} does not record what it changed; this was read from its files."
    return (
        f"{inferred:,} commits {of} do not record what they changed; this was read from their "
        "files."
    )


def _used_schemas(theirs: TableChanges) -> frozenset[int]:
    mentioned = theirs.log.entries["schema_id"].to_pylist()
    return frozenset(mentioned)


def _partition_text(partition: bytes, schema: TableSchema) -> str:
    if not schema.partition_keys:
        return ""
    return partition_words(decode_row(partition, schema.partition_type.types), schema)


def _total(files: pa.Table, column: str) -> int:
    return int(pc.sum(files[column]).as_py() or 0)
