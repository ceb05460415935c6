"""Reading both sides of a merge: only what happened since the branches parted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import pyarrow as pa
import pyarrow.compute as pc

from core.diff.history_move import known_of
from core.diff.lineage import (
    MERGE_FIELD_IDS,
    MERGE_SCHEMA_ID,
    MERGE_SOURCE,
    BranchTrace,
    build_lineage,
    field_ids_from,
    merge_source,
)
from core.diff.logical_log import LogicalLog, SnapshotDelta, fold_log, reversed_entries, with_kind
from core.diff.merge_base import best_common_ancestors
from core.diff.table_changes import changes_since
from core.errors import ErrorKind, FormatError, NotFound
from core.format.identifier import MAIN_BRANCH
from core.format.manifest_entry import FileKind
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.format.table_schema import TableSchema
from core.merge.merge_plan import MergeSide, MergeSides
from core.procedures.histories import history_of
from core.table.file_store_table import FileStoreTable
from core.table.unshared_manifests import unshared_entries


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergeHeads:
    """Where two branches stand to each other.

    Attributes:
        root: The newest snapshot that the histories of both hold.
        bases: The best common ancestors, over merges too; more than one in a criss-cross history.
        ours_history, theirs_history: The snapshots behind the root, oldest first.
    """

    ours: Snapshot
    theirs: Snapshot
    root: Snapshot
    bases: tuple[Snapshot, ...]
    ours_history: tuple[Snapshot, ...]
    theirs_history: tuple[Snapshot, ...]

    @property
    def is_up_to_date(self) -> bool:
        """Whether the target builds on the head of the source."""
        return any(each.identity.same_as(self.theirs.identity) for each in self.bases)

    @property
    def is_fast_forward(self) -> bool:
        """Whether the target's head stands in the history of the source."""
        return not self.ours_history and not self.is_up_to_date


def find_heads(
    target: FileStoreTable,
    source: FileStoreTable,
    ours: Snapshot,
    theirs: Snapshot,
) -> MergeHeads:
    """Find what two heads have in common.

    Args:
        target: The table on the branch that is merged into.
        source: The table on the branch that is merged.
        ours: The head of the target, or an earlier one.
        theirs: The head of the source, or an earlier one.

    Raises:
        NotFound: They share no history that could be merged.
        FormatError: A snapshot or tag of either cannot be decoded.
    """
    found = _meeting(target, source, ours, theirs) or _tagged_meeting(target, source, ours, theirs)
    if found is None:
        raise NotFound(
            f"Branches {source.branch!r} and {target.branch!r} share no snapshot: there is nothing "
            "that a merge could start from. Compare them instead.",
            kind=ErrorKind.NO_COMMON_HISTORY,
            source=source.branch,
            target=target.branch,
        )
    root, after_ours, after_theirs = found
    return MergeHeads(
        ours=ours,
        theirs=theirs,
        root=root,
        bases=_bases(target, root, after_ours, after_theirs, source),
        ours_history=after_ours,
        theirs_history=after_theirs,
    )


def holds_schema(target: FileStoreTable, source: FileStoreTable, heads: MergeHeads) -> bool:
    """Whether a target that holds the head of the source has seen its newest schema too."""
    lines = heads.ours_history
    if heads.theirs.identity.same_as(heads.root.identity):
        seen = _noted_schema(source, heads.root, lines) or _shared_schema(
            target, source, heads.root
        )
    else:
        seen = _schema_at(source, heads.theirs, lines)
    return seen.id >= source.schema().id


def read_sides(target: FileStoreTable, source: FileStoreTable, heads: MergeHeads) -> MergeSides:
    """Read what both sides did since the base.

    Raises:
        FormatError: A manifest or a schema of either cannot be decoded.
    """
    root = heads.root
    ours = _log(target, root, heads.ours, heads.ours_history)
    theirs = _log(source, root, heads.theirs, heads.theirs_history)
    base_log, base = fold_log(()), root
    base_schema = _noted_schema(source, root, heads.ours_history) or _shared_schema(
        target, source, root
    )
    for each in heads.bases:
        if each.identity.same_as(root.identity):
            continue
        is_ours = _stands_in(each.identity, heads.ours_history)
        holder = target if is_ours else source
        line = heads.ours_history if is_ours else heads.theirs_history
        log = _log(holder, root, each, tuple(one for one in line if one.id <= each.id))
        base_log = _joined(base_log, log)
        base = each
        base_schema = _schema_at(holder, each, (*heads.ours_history, *heads.theirs_history))
    return MergeSides(
        table=target.identifier.table_name,
        base=base,
        base_schema=base_schema,
        ours=_side(target, heads.ours, base_log, ours),
        theirs=_side(source, heads.theirs, base_log, theirs),
        known_field_ids=_known_field_ids(heads),
    )


def read_reverse_sides(
    target: FileStoreTable, ours: Snapshot, undone: Snapshot, before: Snapshot
) -> MergeSides:
    """Read the sides of a revert: the base is what is undone, theirs what was there before it.

    The schema stays as it is.

    Raises:
        FormatError: A manifest or a schema cannot be decoded.
        NotFound: A snapshot since then has expired.
    """
    base_log, schema = fold_log(()), target.schema()
    line = tuple(target.snapshots.get(each) for each in range(undone.id + 1, ours.id + 1))
    forward = _deltas(target, before, (undone,))[0]
    reverse = replace(forward, entries=reversed_entries(forward.entries))
    return MergeSides(
        table=target.identifier.table_name,
        base=undone,
        base_schema=schema,
        ours=_side(target, ours, base_log, _log(target, undone, ours, line)),
        theirs=_side(target, before, base_log, fold_log([reverse])),
    )


def _side(
    table: FileStoreTable, head: Snapshot, base_log: LogicalLog, log: LogicalLog
) -> MergeSide:
    schemas = {schema.id: schema for schema in table.schemas.all()}
    return MergeSide(
        branch=table.branch,
        head=head,
        schema=table.schema(),
        schemas=schemas,
        changes=changes_since(base_log, log),
    )


_Line = tuple[Snapshot, ...]


def _meeting(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, theirs: Snapshot
) -> tuple[Snapshot, _Line, _Line] | None:
    """Walk both histories back to the snapshot that both hold; it has one id on both.

    Returns:
        That snapshot, and those behind it of each side, oldest first; None where one expired.
    """
    lines: tuple[list[Snapshot], list[Snapshot]] = ([], [])
    walks = (target.snapshots.walk(), source.snapshots.walk())
    mine, other = _until(walks[0], ours.id), _until(walks[1], theirs.id)
    while mine is not None and other is not None:
        if mine.id == other.id and mine.identity.same_as(other.identity):
            return mine, tuple(reversed(lines[0])), tuple(reversed(lines[1]))
        highest = max(mine.id, other.id)
        if mine.id == highest:
            lines[0].append(mine)
            mine = next(walks[0], None)
        if other.id == highest:
            lines[1].append(other)
            other = next(walks[1], None)
    return None


def _until(walk: Iterator[Snapshot], snapshot_id: int) -> Snapshot | None:
    return next((each for each in walk if each.id <= snapshot_id), None)


def _tagged_meeting(
    target: FileStoreTable, source: FileStoreTable, ours: Snapshot, theirs: Snapshot
) -> tuple[Snapshot, _Line, _Line] | None:
    """The same where snapshots have expired and tags still name what both sides held."""
    mine, other = history_of(target), history_of(source)
    ours_line = tuple(each for each in mine.snapshots if each.id <= ours.id)
    theirs_line = tuple(each for each in other.snapshots if each.id <= theirs.id)
    known = known_of(other)
    candidates = (*ours_line, *(tag.snapshot for tag in mine.tags if tag.snapshot.id <= ours.id))
    shared = [each for each in candidates if each.identity in known and each.id <= theirs.id]
    root = max(shared, key=lambda each: each.id, default=None)
    if root is None:
        return None
    return (
        root,
        tuple(each for each in ours_line if each.id > root.id),
        tuple(each for each in theirs_line if each.id > root.id),
    )


def _known_field_ids(heads: MergeHeads) -> dict[int, int]:
    """How earlier merges of the two sides numbered columns of the source on the target."""
    known: dict[int, int] = {}
    for each in _merges(heads.ours_history, heads.theirs_history):
        known |= field_ids_from(each.properties.get(MERGE_FIELD_IDS, "{}"))
    # A merge the other way round numbered them the other way round.
    for each in _merges(heads.theirs_history, heads.ours_history):
        noted = field_ids_from(each.properties.get(MERGE_FIELD_IDS, "{}"))
        known |= {theirs: ours for ours, theirs in noted.items()}
    return known


def _merges(line: Sequence[Snapshot], other: Sequence[Snapshot]) -> Iterator[Snapshot]:
    """The commits of one side that merged the other; names of branches may be given again."""
    for each in line:
        source = merge_source(each)
        if source is not None and _stands_in(source, other):
            yield each


def _bases(
    target: FileStoreTable,
    root: Snapshot,
    ours: tuple[Snapshot, ...],
    theirs: tuple[Snapshot, ...],
    source: FileStoreTable,
) -> tuple[Snapshot, ...]:
    if not any(merge_source(each) for each in (*ours, *theirs)):
        return (root,)
    traces = (
        BranchTrace(branch=target.branch, snapshots=(root, *ours)),
        BranchTrace(branch=source.branch, snapshots=(root, *theirs)),
    )
    others = _others(target, root, traces)
    lineage = build_lineage((*traces, *others), forks={})
    heads = ((ours or (root,))[-1], (theirs or (root,))[-1])
    found = best_common_ancestors(lineage, heads[0].identity, heads[1].identity)
    snapshots = (root, *ours, *theirs)
    bases = [each for each in snapshots if any(each.identity.same_as(one) for one in found)]
    return tuple(bases) or (root,)


def _others(
    target: FileStoreTable, root: Snapshot, traces: Sequence[BranchTrace]
) -> list[BranchTrace]:
    """The histories of other branches that either side took in, and of those that these took in.

    What a side got from the other one through a third branch is known by them alone.
    """
    known = [each for trace in traces for each in trace.snapshots]
    found: list[BranchTrace] = []
    missing = _taken_in(known)
    named = {each.properties.get(MERGE_SOURCE) for each in known}
    names = {MAIN_BRANCH, *target.branches.names()} - {trace.branch for trace in traces}
    # A branch may have another name since it was merged: it was renamed, dropped or replaced.
    for name in sorted(names, key=lambda each: (each not in named, each)):
        if not missing:
            break
        walk = target.on(name).snapshots.walk()
        try:
            line = list(takewhile(lambda one: one.id >= root.id, walk))[::-1]
        except FormatError:
            if name in named:
                raise
            continue  # some branch that has nothing to do with this
        if any(_stands_in(each, line) for each in missing):
            found.append(BranchTrace(branch=name, snapshots=tuple(line)))
            known += line
            missing = _taken_in(known)
    return found


def _taken_in(line: Sequence[Snapshot]) -> list[SnapshotIdentity]:
    """The heads that merges of some snapshots took in and that are not among these."""
    sources = (merge_source(each) for each in line)
    return [each for each in sources if each is not None and not _stands_in(each, line)]


def _joined(left: LogicalLog, right: LogicalLog) -> LogicalLog:
    """The virtual base of a criss-cross history: what either of two bases did."""
    return LogicalLog(
        entries=pa.concat_tables([left.entries, right.entries]),
        added=left.added | right.added,
        removed=left.removed | right.removed,
        arrived=left.arrived | right.arrived,
        left=left.left | right.left,
        compactions=(*left.compactions, *right.compactions),
        steps=(*left.steps, *right.steps),
        has_masks=left.has_masks or right.has_masks,
    )


def _log(
    table: FileStoreTable, root: Snapshot, head: Snapshot, line: tuple[Snapshot, ...]
) -> LogicalLog:
    """The folded log of a side; where snapshots have expired, what both ends differ by."""
    if [each.id for each in line] == list(range(root.id + 1, head.id + 1)):
        return fold_log(_deltas(table, root, line))
    differing = unshared_entries(table.scan, table.paths, (root, head))
    entries = _difference(*differing.sides)
    return fold_log(
        [SnapshotDelta(snapshot=head, entries=entries, masks=_masks(table, root, head))]
    )


def _difference(before: pa.Table, after: pa.Table) -> pa.Table:
    """What leads from one state to another, from the entries that only one of them lists."""
    counts: Counter[str] = Counter()
    for entries, sign in ((before, -1), (after, 1)):
        kinds = entries["kind"].to_pylist()
        for identity, kind in zip(entries["identity"].to_pylist(), kinds, strict=True):
            counts[identity] += sign if kind == FileKind.ADD else -sign
    both = pa.concat_tables([before, after])
    first: dict[str, int] = {}
    for row, identity in enumerate(both["identity"].to_pylist()):
        first.setdefault(identity, row)
    parts = []
    for count, kind in ((-1, FileKind.DELETE), (1, FileKind.ADD)):
        rows = [row for identity, row in first.items() if counts[identity] == count]
        parts.append(with_kind(both.take(pa.array(rows, pa.int64())), kind))
    return pa.concat_tables(parts)


def _deltas(table: FileStoreTable, root: Snapshot, line: Sequence[Snapshot]) -> list[SnapshotDelta]:
    lists = [table.scan.read_list(table.paths, each.delta_manifest_list) for each in line]
    schema = table.schema()
    if not lists:
        return []
    entries = table.read_manifests(pa.concat_tables(lists))
    sizes = [int(_count(each)) for each in lists]
    deltas, start = [], 0
    for previous, snapshot, size in zip((root, *line), line, sizes, strict=False):
        part = entries.slice(start, size)
        start += size
        has_keys = bool(schema.primary_keys)
        deltas.append(
            SnapshotDelta(
                snapshot=snapshot,
                entries=part,
                emptied=frozenset() if has_keys else _emptied(table, previous, snapshot, part),
                masks=not has_keys and _masks(table, previous, snapshot),
            )
        )
    return deltas


def _count(manifests: pa.Table) -> int:
    added, deleted = pc.sum(manifests["num_added_files"]), pc.sum(manifests["num_deleted_files"])
    return int(added.as_py() or 0) + int(deleted.as_py() or 0)


def _emptied(
    table: FileStoreTable, previous: Snapshot, snapshot: Snapshot, entries: pa.Table
) -> frozenset[bytes]:
    """Partitions of which a snapshot left no file that was there before."""
    deleted = entries.filter(pc.equal(entries["kind"], int(FileKind.DELETE)))
    if not deleted.num_rows or snapshot.operation is not None:
        return frozenset()
    partitions = frozenset(deleted["partition"].to_pylist())
    before = table.live_files(previous, partitions=partitions)
    kept = _only_in(before, deleted)
    return partitions - frozenset(kept["partition"].to_pylist())


def _masks(table: FileStoreTable, before: Snapshot, after: Snapshot) -> bool:
    if before.index_manifest == after.index_manifest:
        return False
    return not table.index_entries(before).equals(table.index_entries(after))


def _only_in(left: pa.Table, right: pa.Table) -> pa.Table:
    known = right["identity"].combine_chunks()
    return left.filter(pc.invert(pc.is_in(left["identity"], value_set=known)))


def _shared_schema(target: FileStoreTable, source: FileStoreTable, root: Snapshot) -> TableSchema:
    """The newest schema that both branches had when they parted.

    It may be newer than the one that the root was committed with: a table can be altered without
    a commit, and a branch takes the newest schema along.
    """
    ours = {schema.id: schema for schema in target.schemas.all()}
    theirs = {schema.id: schema for schema in source.schemas.all()}
    found = (
        ours.get(root.schema_id) or theirs.get(root.schema_id) or target.schemas.get(root.schema_id)
    )
    while (mine := ours.get(found.id + 1)) is not None:
        other = theirs.get(mine.id)
        if other is None or other.fingerprint != mine.fingerprint:
            break
        found = mine
    return found


def _schema_at(holder: FileStoreTable, base: Snapshot, lines: Iterable[Snapshot]) -> TableSchema:
    """The newest schema that a merged branch had when it was merged."""
    return _noted_schema(holder, base, lines) or holder.schemas.get(base.schema_id)


def _noted_schema(
    holder: FileStoreTable, base: Snapshot, lines: Iterable[Snapshot]
) -> TableSchema | None:
    """The newest schema that merges of a snapshot noted; a branch is altered without a commit."""
    noted = [
        int(each.properties[MERGE_SCHEMA_ID])
        for each in lines
        if each.properties.get(MERGE_SCHEMA_ID, "").isdigit()
        and (source := merge_source(each)) is not None
        and source.same_as(base.identity)
    ]
    return holder.schemas.get(max(noted)) if noted else None


def _stands_in(identity: SnapshotIdentity, line: Sequence[Snapshot]) -> bool:
    return any(each.identity.same_as(identity) for each in line)
