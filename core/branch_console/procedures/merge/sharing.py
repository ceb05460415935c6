"""The measures that make it safe for a target to share files with the branch that it merges."""

from branch_console.diff.file_safety import FileSafety
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.merge.plan import Plan, ThreeWayPlan, found_by, with_safety
from branch_console.procedures.history.common_history import find_common_history
from branch_console.procedures.history.file_sharing import Share, safety_of
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from branch_console.table.file_store_table import FileStoreTable


def with_sharing(target: FileStoreTable, spec: MergeSpec, plan: Plan) -> Plan:
    """Decide whether the target of a merge may share the added files, or needs copies.

    Raises:
        NotFound: A branch has no schema.
        FormatError: A schema or a snapshot of main cannot be decoded.
    """
    found = found_by(plan)
    if found is None:
        return plan
    has_links = target.reader.files.is_local
    return with_safety(plan, _safety(target, spec, found), has_links=has_links)


def _safety(target: FileStoreTable, spec: MergeSpec, plan: ThreeWayPlan) -> FileSafety:
    moves, source = plan.moves, target.on(spec.source)
    comes = any((moves.add.num_rows, moves.replays.num_rows, moves.adopts_index))
    if not comes and not moves.restore.num_rows:
        # No file is shared. A fence still keeps the head that the next merge starts from.
        is_merge = spec.kind is MergeKind.MERGE and spec.source != MAIN_BRANCH
        return safety_of(Share(branches=(source,) if is_merge else ()))
    ancestor_branches = tuple(target.on_listed(each) for each in plan.ancestor_branches)
    found = safety_of(
        Share(
            branches=(target, source, *ancestor_branches), on_main=_kept_on_main(target, spec, plan)
        )
    )
    main_expires = any(place.snapshot is None for place in found.pins)
    if found.shares and moves.restore.num_rows and main_expires:
        # Each would need a pin of its own, at the snapshot before the compaction it comes from.
        return FileSafety(
            reasons=(
                "Files are restored from before a compaction of main, whose expiry would remove "
                "them. Fence main to share them.",
            ),
        )
    return found


def _kept_on_main(
    target: FileStoreTable, spec: MergeSpec, plan: ThreeWayPlan
) -> tuple[Snapshot | None, ...]:
    """The newest snapshots of main's own history that hold the files that are shared."""
    theirs = plan.heads.theirs
    if target.branch == MAIN_BRANCH:
        # What a revert brings back leaves with the expiry of the snapshot that had removed it.
        return (theirs, None) if spec.kind is MergeKind.REVERT else (None,)
    if spec.source == MAIN_BRANCH:
        return (theirs,)
    main = target.on(MAIN_BRANCH)
    head = main.head() if MAIN_BRANCH in plan.ancestor_branches else None
    if head is None:
        return ()
    met = find_common_history(main, target.on(spec.source), head, theirs)
    return () if met is None else (met.root,)
