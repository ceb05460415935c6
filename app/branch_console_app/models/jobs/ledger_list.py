"""The ledger as a list: one line an operation, newest first, filtered by words and by kind."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from branch_console.format.lineage_event import LineageEvent, undone_by


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One event, and whether an operation took it back later.

    Attributes:
        undone_by: The operation that took it back.
    """

    event: LineageEvent
    undone_by: str | None


def history_lines(
    events: Sequence[LineageEvent], *, words: str = "", kinds: Iterable[str] = ()
) -> tuple[HistoryLine, ...]:
    """Return the events that have all the words and one of the kinds, newest first.

    Args:
        events: In the order they happened.
        words: Looked for in branches, people, reasons, tags and the id of the operation.
        kinds: None means all.
    """
    undone = {name: event.operation_id for name, event in undone_by(events).items()}
    wanted, chosen = words.lower().split(), frozenset(kinds)
    return tuple(
        HistoryLine(event=event, undone_by=undone.get(event.operation_id))
        for event in sorted(events, key=lambda each: (each.time_millis, each.id), reverse=True)
        if (not chosen or str(event.kind) in chosen)
        and all(word in _text(event) for word in wanted)
    )


def _text(event: LineageEvent) -> str:
    parts = (
        event.branch, event.source_branch, event.actor, event.reason, event.tag,
        event.operation_id, str(event.kind), event.receipt and event.receipt.rescue_branch,
    )  # fmt: skip
    return " ".join(part for part in parts if part).lower()
