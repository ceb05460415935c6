"""A branch that an address names and the table no longer has: where its ledger saw it last."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

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


def find_lost(
    name: str, events: Iterable[LineageEvent], known: Collection[str], now_millis: int
) -> LostBranch | None:
    """Return the end of a branch name; None if the ledger has none.

    Args:
        name: A branch that the table does not have.
        events: The ledger, in the order it happened, with branches under their names of today.
        known: The branches of the table, rescue branches among them.
        now_millis: The time.
    """
    for event in reversed(tuple(events)):
        by = f"{plain(event.actor)} %s it {age(event.time_millis, now_millis)}."
        if event.kind is LineageKind.RENAMED and event.source_branch == name:
            now = code(event.branch)
            return LostBranch(
                said=f"**Branch {code(name)} is now {now}.** {by % 'renamed'}",
                now=event.branch if event.branch in known else None,
            )
        if event.kind is LineageKind.DROPPED and event.branch == name:
            rescue = None if event.receipt is None else event.receipt.rescue_branch
            is_kept = rescue is not None and rescue in known
            kept = f" Rescue branch {code(rescue)} keeps all it had." if rescue and is_kept else ""
            return LostBranch(
                said=f"**Branch {code(name)} was dropped.** {by % 'dropped'}{kept}",
                restored_by=event.operation_id if is_kept else None,
            )
    return None
