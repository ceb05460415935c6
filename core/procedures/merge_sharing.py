"""What it takes that a target holds files of the branch that it merges, or takes over."""

from core.diff.file_safety import Answer, FileSafety
from core.diff.history_move import Arrivals, Removals
from core.format.identifier import MAIN_BRANCH
from core.format.snapshot import Snapshot
from core.merge.merge_plan import MergePlan, with_safety
from core.procedures.file_sharing import Share, safety_of
from core.procedures.meeting import meet
from core.procedures.merge_spec import MergeKind, MergeSpec
from core.table.file_store_table import FileStoreTable


def with_sharing(target: FileStoreTable, spec: MergeSpec, plan: MergePlan) -> MergePlan:
    """Decide whether the target of a merge may name the files that come to it, or needs copies.

    Raises:
        NotFound: A branch has no schema.
        FormatError: A schema or a snapshot of main cannot be decoded.
    """
    if plan.moves is None:
        return plan
    has_links = target.reader.files.is_local
    return with_safety(plan, _safety(target, spec, plan), has_links=has_links)


def _safety(target: FileStoreTable, spec: MergeSpec, plan: MergePlan) -> FileSafety:
    moves, source = plan.moves, target.on(spec.source)
    assert moves is not None
    comes = any((moves.add.num_rows, moves.replays.num_rows, moves.adopts_index))
    if not comes and not moves.restore.num_rows:
        # No file is shared. A fence still keeps the head that the next merge starts from.
        is_merge = spec.kind is MergeKind.MERGE and spec.source != MAIN_BRANCH
        return safety_of(Share(branches=(source,) if is_merge else ()))
    lies_on = tuple(target.on_listed(each) for each in plan.lies_on)
    found = safety_of(
        Share(branches=(target, source, *lies_on), on_main=_kept_on_main(target, spec, plan))
    )
    main_expires = any(place.snapshot is None for place in found.pins)
    if found.shares and moves.restore.num_rows and main_expires:
        # Each would need a pin of its own, at the snapshot before the compaction it comes from.
        return FileSafety(
            answer=Answer.COPY,
            reasons=(
                "Files come back from before a compaction of main, whose expiry would remove them. "
                "Fence main to share them.",
            ),
        )
    return found


def _kept_on_main(
    target: FileStoreTable, spec: MergeSpec, plan: MergePlan
) -> tuple[Snapshot | None, ...]:
    """The newest snapshots of main's own history that hold the files that are shared."""
    theirs = plan.theirs
    if target.branch == MAIN_BRANCH:
        # What a revert brings back leaves with the expiry of the snapshot that had removed it.
        return (theirs, None) if spec.kind is MergeKind.REVERT else (None,)
    if spec.source == MAIN_BRANCH:
        return (theirs,)
    main = target.on(MAIN_BRANCH)
    head = main.head() if MAIN_BRANCH in plan.lies_on else None
    if head is None or theirs is None:
        return ()
    met = meet(main, target.on(spec.source), head, theirs)
    return () if met is None else (met.root,)


def forward_safety(
    source: FileStoreTable, target: FileStoreTable, arrives: Arrivals, removed: Removals
) -> FileSafety:
    """Decide whether a target may take over the history of a source, whose files both then hold.

    Args:
        source: The table on the branch whose history comes.
        target: The table on the branch that gets it.
        arrives: What comes.
        removed: What leaves the target, and stays on a rescue branch.

    Raises:
        NotFound: A branch has no schema.
        FormatError: A schema or a snapshot of main cannot be decoded.
    """
    inherited = {name: target.on_listed(name) for name in arrives.lies_on.values()}
    branches = (source, target, *inherited.values())
    if target.branch == MAIN_BRANCH:
        staying = _staying(target, removed)
        return safety_of(
            Share(
                branches=branches,
                on_main=arrives.snapshots[-1:] or staying[-1:],
                for_rescue=staying[-1:] if removed.snapshots else (),
                history=(*staying, *arrives.snapshots),
                leaving=frozenset(tag.name for tag in removed.tags),
                can_copy=False,
            )
        )
    if source.branch == MAIN_BRANCH:
        head = source.head()
        kept = [] if head is None else [head]
    else:
        lies_on = arrives.lies_on
        kept = [each for each in arrives.snapshots if lies_on.get(each.id) == MAIN_BRANCH]
    return safety_of(Share(branches=branches, on_main=tuple(kept[-1:]), can_copy=False))


def _staying(target: FileStoreTable, removed: Removals) -> tuple[Snapshot, ...]:
    """The snapshots that stay on a target from which some leave; their rescue branch has them."""
    first = min((each.id for each in removed.snapshots), default=None)
    return (
        () if first is None else tuple(each for each in target.snapshots.all() if each.id < first)
    )
