"""One side's changes to the files of a table since a common snapshot, without compactions.

A compaction changes no row, so a merge must not take it for a change. The log is folded in two
ways at once: as it happened (which files are live now), and as if no compaction had happened
(which files hold the changes as they were written). A compaction stays undone until a later commit
removes one of the files that it wrote: from then on its result counts as written.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.changes.received_files import Provenance, is_partial_history
from branch_console.diff.file_masks import FileMask, HiddenRows, MaskKey, Masks
from branch_console.diff.lineage import (
    MERGE_COMPLETE,
    OPERATION,
    ROW_OPERATION,
    merge_source,
    rewrites_from,
)
from branch_console.diff.rows.row_groups import Ints, group_rows
from branch_console.diff.table_operation import TableOperation
from branch_console.format.manifest_entry import MANIFEST_ENTRY, NO_FILES, FileKind, file_identity
from branch_console.format.snapshot import CommitKind, Snapshot

Place = tuple[bytes, int]
"""An encoded partition and a bucket."""

# What a commit says it did [Paimon Snapshot.Operation, from 2.0; ours in a property].
_RECORDED: Final[Mapping[str, TableOperation]] = {
    "WRITE": TableOperation.INSERT,
    "OVERWRITE": TableOperation.OVERWRITE,
    "TRUNCATE": TableOperation.OVERWRITE,
    "DELETE": TableOperation.DELETE,
    "UPDATE": TableOperation.UPDATE,
    "MERGE": TableOperation.UPDATE,
}
# Each row that these wrote stands for one that they took away, or was kept.
_PURE: Final = frozenset({"UPDATE", "DELETE"})
# A file that was copied for another branch to have it of its own holds the same rows.
_COPY_MARK: Final = r"-of-[0-9a-f]{8}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SnapshotDelta:
    """The change that one snapshot made.

    Attributes:
        entries: The entries of its delta manifests, in their order, with the columns of
            MANIFEST_ENTRY.
        emptied: Encoded partitions of which it left no file that was there before.
        masks: The deletion vectors that are others than before, of data files that came or went
            too.
    """

    snapshot: Snapshot
    entries: pa.Table
    emptied: frozenset[bytes] = frozenset()
    masks: Masks = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit of the log that is not a compaction.

    Attributes:
        commit: The name of its delta manifest list, the same on every branch that has the commit.
        added, removed: Identities of files.
        masked: Files of which it hid rows or showed them again.
        read, written: Of these files, those that were written again and those that were written in
            their place; a merge moves most of its files for other reasons.
        places: The partitions and buckets in which it changed files.
        merges: The name of the delta manifest list of the merged head.
        is_complete: Whether the rows of files that a merge did not take are deleted, or are in
            files that it wrote; else one side's version was chosen.
        is_inferred: Whether the operation is a guess from the files, as the commit records none.
        may_be_overwrite: Whether such a commit left no file that its partitions had before, and
            wrote more rows than it removed, so that it may have replaced them.
        is_pure: Whether the commit recorded that it added no rows but new versions of removed rows.
        is_selective: Whether it brought chosen changes (a pick, a revert, a rollback), so that it
            says nothing about the history before these.
    """

    commit: str
    operation: TableOperation
    added: frozenset[str]
    removed: frozenset[str]
    read: frozenset[str]
    written: frozenset[str]
    masked: frozenset[MaskKey]
    places: frozenset[Place]
    merges: str | None
    is_complete: bool
    is_inferred: bool
    may_be_overwrite: bool = False
    is_pure: bool = False
    is_selective: bool = False

    @property
    def partitions(self) -> frozenset[bytes]:
        """The encoded partitions that it touched."""
        return frozenset(partition for partition, _ in self.places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Files of one bucket that were written again as others, by identity."""

    place: Place
    before: frozenset[str]
    after: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileHistory:
    """The folded log of one side; sets hold identities.

    Attributes:
        entries: One row a file that the log mentions, as it does first, with the columns of
            MANIFEST_ENTRY.
        renamed: The last entries of files that were added again as copies.
        added: Files that hold what was written since, as it was written.
        removed: Files from before that are gone with their rows.
        came: Files that are live now and were not.
        went: Files from before that are not live any more.
        received: Files that it got and did not take back, though it may have deleted them since.
        compactions: Those that stayed undone, oldest first.
        settled_compactions: Those of which a later commit removed what they had written.
        steps: All other commits, oldest first.
        commits: The names of the delta manifest lists of all commits, compactions too.
        masks: What of files was hidden at the root and is now; a file that a compaction took away
            has what was hidden of it then.
    """

    entries: pa.Table
    renamed: pa.Table
    added: frozenset[str]
    removed: frozenset[str]
    came: frozenset[str]
    went: frozenset[str]
    received: frozenset[str]
    compactions: tuple[Compaction, ...]
    steps: tuple[Step, ...]
    commits: frozenset[str]
    masks: Masks
    settled_compactions: tuple[Compaction, ...] = ()

    def files(self, identities: Iterable[str]) -> pa.Table:
        """The entries of files as mentioned first, as MANIFEST_ENTRY, in the order of the log."""
        return _of(self.entries, identities)

    def new_files(self, identities: Iterable[str]) -> frozenset[str]:
        """Return the files among some that the log mentions and that were not there before."""
        known = self.files(identities)
        is_new = pc.equal(known["kind"], int(FileKind.ADD))
        return frozenset(known["identity"].filter(is_new).to_pylist())

    def newest_files(self, identities: Iterable[str]) -> pa.Table:
        """The entries of files by the names that they have at the end of the log."""
        wanted = frozenset(identities)
        again = _of(self.renamed, wanted)
        once = self.files(wanted.difference(again["identity"].to_pylist()))
        return pa.concat_tables([once, again])


def fold_history(deltas: Sequence[SnapshotDelta]) -> FileHistory:
    """Fold the snapshots of one side, oldest first, all of them behind the common one."""
    fold = _Fold(received=Provenance(delta.snapshot for delta in deltas))
    for delta in deltas:
        entries = with_original_names(delta.entries)
        if delta.snapshot.commit_kind is CommitKind.COMPACT:
            fold.compact(delta, entries)
        elif entries.num_rows or delta.masks:
            fold.change(delta, entries)
        fold.received.pass_by(delta.snapshot)
    return fold.result(frozenset(delta.snapshot.delta_manifest_list for delta in deltas))


def with_original_names(entries: pa.Table) -> pa.Table:
    """Give copies of a file the identity of the file that they were copied from."""
    if not pc.any(pc.match_substring_regex(entries["file_name"], _COPY_MARK)).as_py():
        return entries
    names = original_names(entries["file_name"])
    extra = [
        [original_name(each) for each in several] for several in entries["extra_files"].to_pylist()
    ]
    renamed = _with(entries, "file_name", names)
    renamed = _with(
        renamed, "extra_files", pa.array(extra, entries.schema.field("extra_files").type)
    )
    return _with(entries, "identity", file_identity(renamed))


def reversed_entries(entries: pa.Table) -> pa.Table:
    """Reverse a change: added files are deleted, deleted files are added."""
    kinds = pc.subtract(int(FileKind.DELETE), entries["kind"])
    turned = _with(entries, "kind", kinds.cast(pa.int32()))
    # What was added last goes first, so that a file may come and go.
    return turned.take(pa.array(range(entries.num_rows - 1, -1, -1), pa.int64()))


def entry_difference(before: pa.Table, after: pa.Table) -> pa.Table:
    """Return the entries that lead from one state to another.

    Args:
        before: Entries of the manifests that only one state lists, ADD and DELETE, with the columns
            of MANIFEST_ENTRY. A DELETE may be of a file that a shared manifest adds.
        after: The same of the other state.

    Returns:
        The files that go, then those that come, with the columns of MANIFEST_ENTRY.
    """
    both = pa.concat_tables([before, after])
    files = group_rows([both["identity"]])
    balance = files.sums(change_counts(both, before.num_rows))
    return pa.concat_tables(
        with_kind(both.take(pa.array(files.first[chosen])), kind)
        for chosen, kind in ((balance < 0, FileKind.DELETE), (balance > 0, FileKind.ADD))
    )


def change_counts(entries: pa.Table, first: int) -> Ints:
    """Return each entry's part in the count of its file: second state less first state.

    Args:
        entries: Those of the first state, then those of the second, with the column `kind`.
        first: How many are of the first state.
    """
    is_add = entries["kind"].to_numpy() == int(FileKind.ADD)
    return np.where(is_add == (np.arange(entries.num_rows) >= first), 1, -1).astype(np.int64)


def with_kind(files: pa.Table, kind: FileKind) -> pa.Table:
    """Files as entries that all add, or all delete."""
    return _with(files, "kind", pa.array([int(kind)] * files.num_rows, pa.int32()))


def copy_name(file_name: str, operation_id: str) -> str:
    """Name the copy that an operation makes of a data file or an index file."""
    mark = operation_id.replace("-", "")[:8]
    if re.fullmatch(_COPY_MARK, f"-of-{mark}") is None:
        mark = hashlib.sha256(operation_id.encode()).hexdigest()[:8]
    stem, dot, suffix = file_name.partition(".")
    return f"{stem}-of-{mark}{dot}{suffix}"


def original_names(file_names: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names of the files that copies were made of; others keep theirs."""
    return pc.replace_substring_regex(file_names, pattern=_COPY_MARK, replacement="")


def original_name(file_name: str) -> str:
    """The name of the file that a copy, or a copy of a copy, was made of."""
    return re.sub(_COPY_MARK, "", file_name)


@dataclass(slots=True)
class _Fold:
    received: Provenance
    parts: list[pa.Table] = field(default_factory=list)
    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    came: set[str] = field(default_factory=set)
    went: set[str] = field(default_factory=set)
    undone: dict[str, Compaction] = field(default_factory=dict)
    compactions: list[Compaction] = field(default_factory=list)
    settled_compactions: list[Compaction] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    masks: dict[MaskKey, FileMask] = field(default_factory=dict)
    keys: dict[str, MaskKey] = field(default_factory=dict)

    def compact(self, delta: SnapshotDelta, entries: pa.Table) -> None:
        self.parts.append(entries)
        before: dict[Place, set[str]] = {}
        after: dict[Place, set[str]] = {}
        for identity, key, kind in _rows(entries):
            self.keys[identity] = key
            if kind == FileKind.ADD:
                after.setdefault(key[:2], set()).add(identity)
                self._arrive(identity)
            else:
                before.setdefault(key[:2], set()).add(identity)
                self._leave(identity)
                if key in delta.masks:
                    self._mask(key, delta.masks[key].before, delta.masks[key].before)
        for place in sorted(before.keys() | after.keys()):
            done = Compaction(
                place=place,
                before=frozenset(before.get(place, ())),
                after=frozenset(after.get(place, ())),
            )
            self.compactions.append(done)
            self.undone |= dict.fromkeys(done.after, done)

    def change(self, delta: SnapshotDelta, entries: pa.Table) -> None:
        self.parts.append(entries)
        added, removed, gone = set(), set(), set()
        places: set[Place] = set()
        for identity, key, kind in _rows(entries):
            places.add(key[:2])
            self.keys[identity] = key
            if kind == FileKind.ADD:
                gone.discard(key)
                added.add(identity)
                self._arrive(identity)
                _toggle(identity, self.removed, self.added)
                if key in self.masks:  # it comes back, and shows all that is not hidden anew
                    self._mask(key, HiddenRows(), HiddenRows())
            else:
                gone.add(key)
                self._unmask(identity)
                if key in delta.masks and key not in self.masks:
                    self._mask(key, delta.masks[key].before, delta.masks[key].before)
                self._leave(identity)
                read, written = self._count_as_written(identity)
                removed |= {identity, *read}
                added |= written
                _toggle(identity, self.added, self.removed)
        self._compact_again(added)
        masked = delta.masks.keys() - gone
        for identity in [each for each in self.undone if self.keys[each] in masked]:
            read, written = self._count_as_written(identity)
            removed |= read
            added |= written
        for key in masked:
            self._mask(key, delta.masks[key].before, delta.masks[key].after)
            places.add(key[:2])
        guess = _operation(delta, entries, masked)
        operation = guess.operation
        properties = delta.snapshot.properties
        came, went = frozenset(added - removed), frozenset(removed - added)
        self.received.change(delta.snapshot, came, went, self.keys)
        source = merge_source(delta.snapshot)
        read, wrote = self._rewritten(properties, went, came)
        if OPERATION in properties and operation is TableOperation.OVERWRITE:
            # Which gives up a partition's files for earlier ones: what else came there stays.
            operation = TableOperation.UPDATE
        self.steps.append(
            Step(
                commit=delta.snapshot.delta_manifest_list,
                operation=operation,
                added=came,
                removed=went,
                read=read,
                written=wrote,
                masked=frozenset(masked),
                places=frozenset(places),
                merges=None if source is None else source.manifest_lists[1],
                is_complete=MERGE_COMPLETE in properties,
                is_inferred=guess.is_inferred,
                may_be_overwrite=guess.may_be_overwrite and OPERATION not in properties,
                is_pure=recorded_operation(delta.snapshot) in _PURE,
                is_selective=is_partial_history(delta.snapshot),
            )
        )

    def _rewritten(
        self, properties: Mapping[str, str], went: frozenset[str], came: frozenset[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return the files that a commit read, and those that it wrote in their place."""
        rewrites = rewrites_from(properties)
        if rewrites is None:
            return went, came
        read = frozenset(each for each in went if self.keys[each][2] in rewrites.read)
        return read, frozenset(each for each in came if self.keys[each][2] in rewrites.written)

    def _compact_again(self, added: Iterable[str]) -> None:
        """Undo compactions again whose files are all live again after a revert."""
        came = set(added)
        while (
            done := next((c for c in self.settled_compactions if self._is_back(c, came)), None)
        ) is not None:
            self.settled_compactions.remove(done)
            self.compactions.append(done)
            self.undone |= dict.fromkeys(done.after, done)
            for each in sorted(done.after):
                _toggle(each, self.added, self.removed)
            for each in sorted(done.before):
                _toggle(each, self.removed, self.added)
            came |= done.before

    def _is_back(self, done: Compaction, came: Set[str]) -> bool:
        """Whether the files of a compaction are there as it wrote them, some only since now."""
        is_masked = any(self.keys[each] in self.masks for each in done.after)
        return not is_masked and done.after <= self.added and not done.after.isdisjoint(came)

    def result(self, commits: frozenset[str]) -> FileHistory:
        whole = pa.concat_tables([NO_FILES, *self.parts])
        return FileHistory(
            entries=_first_of_each(whole),
            renamed=_renamed(whole),
            added=frozenset(self.added),
            removed=frozenset(self.removed),
            came=frozenset(self.came),
            went=frozenset(self.went),
            received=self.received.files,
            compactions=tuple(self.compactions),
            settled_compactions=tuple(self.settled_compactions),
            steps=tuple(self.steps),
            commits=commits,
            masks=self.masks,
        )

    def _mask(self, key: MaskKey, before: HiddenRows, after: HiddenRows) -> None:
        known = self.masks.get(key)
        root = before if known is None else known.before
        self.masks[key] = FileMask(before=root, after=after)

    def _unmask(self, identity: str) -> None:
        """Forget the hidden rows of a file that is gone."""
        known = self.masks.get(self.keys[identity])
        if known is not None:
            self.masks[self.keys[identity]] = FileMask(before=known.before, after=known.before)

    def _arrive(self, identity: str) -> None:
        _toggle(identity, self.went, self.came)

    def _leave(self, identity: str) -> None:
        _toggle(identity, self.came, self.went)

    def _count_as_written(self, identity: str) -> tuple[frozenset[str], frozenset[str]]:
        """Stop undoing the compaction that wrote a file, and those before it of what it read.

        Returns:
            What they read, and what they wrote.
        """
        compaction = self.undone.get(identity)
        if compaction is None:
            return frozenset(), frozenset()
        self.compactions.remove(compaction)
        self.settled_compactions.append(compaction)
        for each in compaction.after:
            del self.undone[each]
        read, written = set(compaction.before), set(compaction.after)
        for each in sorted(compaction.before):
            earlier = self._count_as_written(each)
            read |= earlier[0]
            written |= earlier[1]
            self._unmask(each)
            _toggle(each, self.added, self.removed)
        for each in sorted(compaction.after):
            _toggle(each, self.removed, self.added)
        return frozenset(read), frozenset(written)


def _with(entries: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return entries.set_column(
        entries.schema.get_field_index(name), MANIFEST_ENTRY.field(name), column
    )


def _toggle(identity: str, out_of: set[str], into: set[str]) -> None:
    """Remove a file from one set if it is there, else add it to the other."""
    if identity in out_of:
        out_of.remove(identity)
    else:
        into.add(identity)


def keys_of(files: pa.Table) -> Iterable[tuple[str, MaskKey]]:
    """The identities of files, and by what their deletion vectors are found."""
    names = original_names(files["file_name"]).to_pylist()
    columns = (files[name].to_pylist() for name in ("identity", "partition", "bucket"))
    for identity, partition, bucket, name in zip(*columns, names, strict=True):
        yield identity, (partition, bucket, name)


def _rows(entries: pa.Table) -> Iterable[tuple[str, MaskKey, int]]:
    kinds = entries["kind"].to_pylist()
    for (identity, key), kind in zip(keys_of(entries), kinds, strict=True):
        yield identity, key, kind


def _of(entries: pa.Table, identities: Iterable[str]) -> pa.Table:
    wanted = pa.array(sorted(identities), pa.string())
    return entries.filter(pc.is_in(entries["identity"], value_set=wanted))


def _first_of_each(entries: pa.Table) -> pa.Table:
    identities = entries["identity"].to_pylist()
    # Reversed, so that the first mention of a file is the one that stays.
    first = {each: at for at, each in reversed(list(enumerate(identities)))}
    return entries.take(pa.array(sorted(first.values()), pa.int64()))


def _renamed(entries: pa.Table) -> pa.Table:
    """The last mention of each file that is called there otherwise than in its first one."""
    columns = (entries[name].to_pylist() for name in ("identity", "file_name"))
    first: dict[str, str] = {}
    last: dict[str, int] = {}
    for at, (identity, name) in enumerate(zip(*columns, strict=True)):
        if first.setdefault(identity, name) != name:
            last[identity] = at
        else:
            last.pop(identity, None)
    return entries.take(pa.array(sorted(last.values()), pa.int64()))


def recorded_operation(snapshot: Snapshot) -> str | None:
    """Return the operation that a commit recorded: Paimon's, or one of our statements."""
    return snapshot.operation or snapshot.properties.get(ROW_OPERATION)


class _CommitOperation(NamedTuple):
    """The operation of a commit, see `Step`."""

    operation: TableOperation
    is_inferred: bool = False
    may_be_overwrite: bool = False


def _operation(delta: SnapshotDelta, entries: pa.Table, masked: Set[MaskKey]) -> _CommitOperation:
    """Return what a commit did, as it records that, or as its files suggest.

    A guess must not give a merge leave to drop a change. So nothing is guessed to be an overwrite,
    which is replayed over rows that the other side added, and only a commit that wrote no more rows
    than it removed, in any bucket, is guessed to be a delete. All else that removed files is taken
    for an update, which conflicts with whatever the other side did to the same files.

    Args:
        delta: The commit.
        entries: The entries of its delta manifests.
        masked: The files that stay and of which it hid rows or showed them again.
    """
    recorded = _RECORDED.get(recorded_operation(delta.snapshot) or "")
    if recorded is not None:
        return _CommitOperation(recorded)
    if not masked and pc.all(pc.equal(entries["kind"], int(FileKind.ADD))).as_py():
        return _CommitOperation(TableOperation.INSERT)
    balance = _row_balance(delta, entries, masked)
    added, removed = (sum(rows[at] for rows in balance.values()) for at in (0, 1))
    # Rows that are hidden may be among those that were written, with other values.
    if added and (added == removed or masked):
        return _CommitOperation(TableOperation.UPDATE, is_inferred=True)
    if added < removed and all(came <= went for came, went in balance.values()):
        return _CommitOperation(TableOperation.DELETE, is_inferred=True)
    if not added:
        return _CommitOperation(TableOperation.DELETE, is_inferred=True)
    touched = {partition for partition, _ in balance}
    return _CommitOperation(
        TableOperation.UPDATE,
        is_inferred=True,
        may_be_overwrite=added > removed and touched <= delta.emptied,
    )


def _row_balance(
    delta: SnapshotDelta, entries: pa.Table, masked: Set[MaskKey]
) -> dict[Place, tuple[int, int]]:
    """How many rows a commit wrote to each bucket, and how many shown ones it took out of it."""
    hidden = Counter[Place]()
    for key, mask in delta.masks.items():
        if key not in masked:
            hidden[key[:2]] += len(mask.before)
    balance: dict[Place, tuple[int, int]] = {}
    columns = (entries[name].to_pylist() for name in ("partition", "bucket", "kind", "row_count"))
    for partition, bucket, kind, rows in zip(*columns, strict=True):
        came, went = balance.get((partition, bucket), (0, -hidden[partition, bucket]))
        is_add = kind == FileKind.ADD
        balance[partition, bucket] = (came + is_add * rows, went + (not is_add) * rows)
    return balance
