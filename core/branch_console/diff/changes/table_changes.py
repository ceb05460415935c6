"""A side's changes since the merge base, from the logs since the place where branches parted.

After a merge the base lies on one side only. Both sides are therefore told from the root, the
newest snapshot that the histories of both hold, and the base is taken off.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import pyarrow as pa

from branch_console.diff.changes.file_history import Compaction, FileHistory, Place, Step, keys_of
from branch_console.diff.changes.net_effect import files_with_new_rows, fully_hidden, net_steps
from branch_console.diff.file_masks import (
    FileMask,
    HiddenRows,
    MaskKey,
    Masks,
    joined_masks,
    masks_since,
)
from branch_console.diff.table_operation import TableOperation
from branch_console.format.manifest_entry import NO_FILES


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableChanges:
    """The net changes of one side; sets hold identities.

    Attributes:
        log: The side since the root, which knows the entries.
        base_log: The base since the root.
        added: Files that hold what the side wrote since the base, as it was written.
        removed: Files of the base that are gone with their rows.
        masks: What it hid, or shows again, of files that are not gone.
        steps: The commits since the base, with what they came to: one that changed none but rows
            of the side's own inserted.
    """

    log: FileHistory
    base_log: FileHistory
    added: frozenset[str]
    removed: frozenset[str]
    masks: Masks
    steps: tuple[Step, ...]

    @property
    def operations(self) -> frozenset[TableOperation]:
        """The side's operation on rows since the base; files that net to nothing do not count."""
        return frozenset(step.operation for step in self.lasting_steps)

    @property
    def lasting_steps(self) -> tuple[Step, ...]:
        """The commits since the base whose changes were not undone completely."""
        touched = self.added | self.removed
        return tuple(
            step
            for step in self.steps
            if not touched.isdisjoint(step.added | step.removed)
            or not self.masks.keys().isdisjoint(step.masked)
            or not (step.added or step.removed or step.masked)
        )

    @property
    def is_empty(self) -> bool:
        """Whether the side holds the rows of the base, and no others that it does not hide."""
        if self.removed:
            return False
        files = self.files(self.added)
        keys = {key for _, key in keys_of(files)}
        return self.masks.keys() <= keys and self.added <= fully_hidden(files, self.masks)

    @property
    def wrote_rows(self) -> bool:
        """Whether the side holds rows that the base lacks, which it did not only write again."""
        return bool(files_with_new_rows(self.added, self.steps, self.files, self.masks))

    def files(self, identities: Iterable[str]) -> pa.Table:
        """The entries of files that either log mentions, with the columns of MANIFEST_ENTRY."""
        return files_in(identities, self.log, self.base_log)


def files_in(identities: Iterable[str], side: FileHistory, *others: FileHistory) -> pa.Table:
    """The entries of files as a side has them, each from the first log that mentions it.

    A file that was there from the root on is mentioned only by a side that let go of it: of others
    it is told as it was at the root.

    Returns:
        Columns of MANIFEST_ENTRY.
    """
    wanted = set(identities)
    parts = [NO_FILES, side.newest_files(wanted)]
    for log in others:
        wanted.difference_update(parts[-1]["identity"].to_pylist())
        parts.append(log.files(wanted))
    return pa.concat_tables(parts)


def by_place(files: pa.Table) -> dict[Place, pa.Table]:
    """The entries of files, or of index files, of each bucket that has any."""
    at: dict[Place, list[int]] = {}
    columns = (files[name].to_pylist() for name in ("partition", "bucket"))
    for row, place in enumerate(zip(*columns, strict=True)):
        at.setdefault(place, []).append(row)
    return {place: files.take(rows) for place, rows in at.items()}


def changes_since(base: FileHistory, side: FileHistory) -> TableChanges:
    """Return what a side did since the base.

    Args:
        base: The log from the root to the base, on whichever side that lies.
        side: The log from the root to the head of the side.
    """
    # Where a merge took files as the source had compacted them, these stand for what they hold.
    compactions = (*base.compactions, *side.compactions)
    masks = masks_since(base.masks, side.masks)
    hidden = {each for each, key in keys_of(side.entries) if key in masks} if masks else set()
    then, gone_then = _as_written(base, compactions)
    # Of what a compaction wrote rows are hidden: only who has it can hide them as well.
    now, gone_now = _as_written(side, [each for each in compactions if not each.after & hidden])
    for compaction in base.compactions:
        if not compaction.after:
            # It left nothing: a merge that took the bucket as compacted took these rows too.
            now |= compaction.before & then
            gone_now -= compaction.before - gone_then
    removed = (gone_now - gone_then) | (then - now)
    # Nothing is hidden of what is not there.
    gone = {key for _, key in keys_of(files_in(removed, side, base))}
    # Files of the base that no commit of the side removed did not come with a merge.
    not_taken = (then - now).difference(*(step.removed for step in side.steps))
    if not all(step.is_complete for step in side.steps if step.merges is not None):
        not_taken = frozenset()
    return TableChanges(
        log=side,
        base_log=base,
        added=(now - then) | (gone_then - gone_now),
        removed=removed,
        masks={key: masks[key] for key in sorted(masks.keys() - gone)},
        steps=net_steps(tuple(_own_steps(base, side, not_taken)), side, base),
    )


def _own_steps(base: FileHistory, side: FileHistory, not_taken: Set[str]) -> Iterator[Step]:
    """A side's steps since the base; of merges of the base only their own changes.

    Args:
        base: As for `changes_since`.
        side: As for `changes_since`.
        not_taken: Files of the base that did not come with it.
    """
    keys: dict[str, MaskKey] = {}
    for step in side.steps:
        if step.commit in base.commits:
            continue
        if step.merges not in base.commits:
            yield step
            continue
        added = step.added - base.added - base.came
        removed = (step.removed - base.removed - base.went) | not_taken
        if not added and not removed:
            continue
        keys = keys or dict(keys_of(pa.concat_tables([base.entries, side.entries])))
        yield replace(
            step,
            # Where no version was chosen a merge writes only what is left of deleted rows.
            operation=TableOperation.DELETE if step.is_complete else step.operation,
            is_pure=step.is_pure or step.is_complete,
            added=added,
            removed=removed,
            masked=frozenset(),
            places=frozenset(keys[each][:2] for each in added | removed),
        )


def join(left: FileHistory, right: FileHistory) -> FileHistory:
    """The virtual base of a criss-cross history: what either of two bases did."""
    return FileHistory(
        entries=pa.concat_tables([left.entries, right.entries]),
        renamed=pa.concat_tables([left.renamed, right.renamed]),
        added=left.added | right.added,
        removed=left.removed | right.removed,
        came=left.came | right.came,
        went=left.went | right.went,
        received=left.received | right.received,
        compactions=(*left.compactions, *right.compactions),
        settled_compactions=(*left.settled_compactions, *right.settled_compactions),
        steps=(*left.steps, *right.steps),
        commits=left.commits | right.commits,
        masks=joined_masks(left.masks, right.masks),
    )


def base_with_shared_files(
    base: FileHistory, ours: FileHistory, theirs: FileHistory, others: Sequence[FileHistory] = ()
) -> FileHistory:
    """Add to the log of the bases what both sides hold alike, so that it is no change of either.

    A file is written once, so that both have it from one place. What one side wrote again without
    some of its rows, it holds; the rows that are missing are then what it changed.

    Args:
        base: The known facts about the bases.
        ours: The target, from the root to its head.
        theirs: The source, up to the last commit of it that is taken over.
        others: What other branches, and the source later on, did: a side may have merged that, and
            hold in other files what is left of those that the other one has.
    """
    mine, other = _held(ours, others), _held(theirs, others)
    in_base = _held(base)
    # What the bases gave up, and both brought back on their own, whatever they did to it then.
    gone = (ours.removed - _came_since(base, ours)) | (theirs.removed - _came_since(base, theirs))
    back = base.removed - in_base - gone
    known = replace(base, removed=base.removed - back)
    both_hold = mine & other
    new = ours.new_files(both_hold) | theirs.new_files(both_hold)
    return _with_files(known, ours, theirs, added=new - in_base)


def base_with_hidden_rows(base: FileHistory, files: Set[str], *sides: FileHistory) -> FileHistory:
    """Hide in the base the rows that a side hides, so that only visible rows count as changes.

    Args:
        base: The known facts about the base.
        files: Files that only come to it as both sides hold them.
        sides: Whose hidden rows are no change.
    """
    masks = {}
    for key in {key for _, key in keys_of(base.files(files))}:
        hidden = [each.masks[key].after for each in sides if key in each.masks]
        masks[key] = FileMask(after=HiddenRows().union(*hidden))
    return replace(base, masks={**base.masks, **masks})


def base_with_received_files(
    base: FileHistory, ours: FileHistory, theirs: FileHistory, *, is_pick: bool
) -> FileHistory:
    """Add to the log of the bases files both received from branches whose snapshots expired.

    Of that, what one side deleted stays deleted. Both may have given up a file on their own: that
    counts only if both took in the same. Where one took back what it had picked, or went back to
    before that, it is as if it had never had it.

    Args:
        base: What is known of the bases; what it mentions is as it says.
        ours: The target, from the root to its head.
        theirs: The source.
        is_pick: Whether one change is asked for, which comes again to a target that gave it up.
    """
    merged = [{step.merges: step for step in log.steps if step.merges} for log in (ours, theirs)]
    given_up = frozenset[str]().union(
        *(
            merged[0][each].removed & merged[1][each].removed
            for each in merged[0].keys() & merged[1]
        )
    )
    known = frozenset[str]().union(*(step.added | step.removed for step in base.steps))
    both_got = ours.received & theirs.received
    if is_pick:
        both_got &= ours.added
    both_got = ours.new_files(both_got)
    return _with_files(
        base, ours, theirs, added=both_got - given_up - known, removed=given_up - both_got - known
    )


def _with_files(
    base: FileHistory,
    *sides: FileHistory,
    added: frozenset[str],
    removed: frozenset[str] = frozenset(),
) -> FileHistory:
    """A log that tells of more files that came and went, with the entries that sides have."""
    more = FileHistory(
        entries=files_in(added | removed, *sides),
        renamed=NO_FILES,
        added=added,
        removed=removed,
        came=added,
        went=removed,
        received=added,
        compactions=(),
        steps=(),
        commits=frozenset(),
        masks={},
    )
    return join(base, more)


def _came_since(base: FileHistory, side: FileHistory) -> frozenset[str]:
    """Files from commits of a side that no base builds on, whether they stayed or not."""
    known = base.commits.union(step.merges for step in base.steps if step.merges)
    is_new = (step.commit in known or step.merges in base.commits for step in side.steps)
    last = max((at for at, is_known in enumerate(is_new) if is_known), default=-1)
    return frozenset[str]().union(*(step.added for step in side.steps[last + 1 :]))


def _held(log: FileHistory, others: Sequence[FileHistory] = ()) -> frozenset[str]:
    """Files that a side received and holds, as written or as rewritten since.

    Args:
        log: The side.
        others: What others made of files, and this one may have merged.
    """
    held = set(log.added)
    for each in (log, *others, log) if others else (log,):
        held |= _read_for(held, each)
    return frozenset(held)


def _read_for(wanted: Set[str], log: FileHistory) -> set[str]:
    """The files that others were made of, in the same bucket."""
    keys: dict[str, MaskKey] = {}
    found = set(wanted)
    for step in reversed(log.steps):
        made = step.written & found
        if made and step.read:
            keys = keys or dict(keys_of(log.entries))
            places = {keys[each][:2] for each in made}
            found |= {each for each in step.read if keys[each][:2] in places}
    return found


def _as_written(
    log: FileHistory, compactions: Sequence[Compaction]
) -> tuple[frozenset[str], frozenset[str]]:
    """Files that a log added and removed; a compaction's results count as the files it read."""
    added, removed = set(log.added), set(log.removed)
    for compaction in reversed(compactions):
        if compaction.after and compaction.after <= added:
            added -= compaction.after
            back = compaction.before & removed
            removed -= back
            added |= compaction.before - back
    return frozenset(added), frozenset(removed)
