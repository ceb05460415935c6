"""Holds as chips: why something stays, in a few words."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from types import MappingProxyType
from typing import Final

from branch_console.diff.expiry.retention import HoldKind, SnapshotHold
from branch_console_app.models.parts.wording import moment, plain, shortened

_COLOURS: Final[Mapping[HoldKind, str]] = MappingProxyType(
    {HoldKind.CONSUMER: "blue", HoldKind.MERGE_BASE: "violet", HoldKind.UNDO: "orange"}
)
_MOST_LETTERS: Final = 24


def hold_chips(holds: Iterable[SnapshotHold]) -> str:
    """Return each hold once as a badge: what holds, who, and from which snapshot on."""
    chips = {
        f":{_COLOURS.get(hold.kind, 'gray')}-badge[{hold.kind}"
        f" {plain(shortened(hold.owner, _MOST_LETTERS))}, from {hold.since_id} on]": None
        for hold in holds
    }
    return " ".join(chips)


def hold_help(holds: Iterable[SnapshotHold], zone: tzinfo | None) -> str:
    """Return the holds as sentences, with what the badges leave out: until when each counts."""
    sentences = []
    for hold in holds:
        until = (
            "until somebody ends it"
            if hold.until_millis is None
            else f"until {moment(hold.until_millis, zone)}"
        )
        sentences.append(
            f"{hold.kind.capitalize()} {plain(hold.owner)} keeps snapshot {hold.since_id} and "
            f"later ones {until}."
        )
    return "  \n".join(dict.fromkeys(sentences))
