"""A branch that an address names and the table no longer has: what the ledger says became of it."""

from collections.abc import Collection
from dataclasses import dataclass

from branch_console.format.followed_branch import DepartedBranch
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console_app.models.parts.wording import age, code, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class LostBranch:
    """A dropped or renamed branch.

    Attributes:
        said: Markdown: who did what to it, and when.
        now: The name that it has now; None if it was dropped.
        restored_by: The operation whose undo restores it; None if nothing can.
    """

    said: str
    now: str | None = None
    restored_by: str | None = None


def tell_lost(
    name: str,
    departed: DepartedBranch,
    known: Collection[str],
    now_millis: int,
    *,
    can_undo_drop: bool,
) -> LostBranch | None:
    """Return what became of a branch; None if the table does not bear out what its ledger says.

    Args:
        name: A branch that the table does not have.
        departed: What its ledger says.
        known: The branches of the table, rescue branches among them.
        now_millis: The time.
        can_undo_drop: Whether undo of the drop would run; False for a branch that was not dropped.
    """
    drop = departed.dropped_by
    if drop is None:
        if departed.name not in known:
            # Other software removed or renamed it.
            return None
        since = ""
        if departed.left_by.kind is LineageKind.DROPPED:
            since = " Its rescue branch was renamed since."
        return LostBranch(
            said=f"**Branch {code(name)} is now {code(departed.name)}.** "
            f"{_did(departed.left_by, now_millis)}{since}",
            now=departed.name,
        )
    rescue = None if drop.receipt is None else drop.receipt.rescue_branch
    kept = f" Rescue branch {code(rescue)} keeps all it had." if rescue in known and rescue else ""
    later = f" It was {code(drop.branch)} by then." if drop.branch != name else ""
    return LostBranch(
        said=f"**Branch {code(name)} was dropped.** {_did(drop, now_millis)}{later}{kept}",
        restored_by=drop.operation_id if can_undo_drop else None,
    )


def _did(event: LineageEvent, now_millis: int) -> str:
    match event.kind:
        case LineageKind.RENAMED:
            verb = "renamed"
        case LineageKind.RESTORED:
            verb = "restored"
        case _:
            verb = "dropped"
    return f"{plain(event.actor)} {verb} it {age(event.time_millis, now_millis)}."
