"""Whether a branch may take over a history, whose files both then hold."""

from branch_console.diff.file_safety import FileSafety
from branch_console.diff.history_move import Arrivals, Removals
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.history.file_sharing import Share, safety_of
from branch_console.table.file_store_table import FileStoreTable


def forward_safety(
    source: FileStoreTable, target: FileStoreTable, arrives: Arrivals, removed: Removals
) -> FileSafety:
    """Decide whether a target may take over the history of a source, whose files both then hold.

    Args:
        source: The table on the branch whose history comes.
        target: The table on the branch that gets it.
        arrives: The parts that the target gets.
        removed: The parts that the target loses and a rescue branch keeps.

    Raises:
        NotFound: A branch has no schema.
        FormatError: A schema or a snapshot of main cannot be decoded.
    """
    inherited = {name: target.on_listed(name) for name in arrives.listed_on.values()}
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
        listed_on = arrives.listed_on
        kept = [each for each in arrives.snapshots if listed_on.get(each.id) == MAIN_BRANCH]
    return safety_of(Share(branches=branches, on_main=tuple(kept[-1:]), can_copy=False))


def _staying(target: FileStoreTable, removed: Removals) -> tuple[Snapshot, ...]:
    """The snapshots that stay on a target from which some leave; their rescue branch has them."""
    first = min((each.id for each in removed.snapshots), default=None)
    return (
        () if first is None else tuple(each for each in target.snapshots.all() if each.id < first)
    )
