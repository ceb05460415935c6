"""The journal of the steps by which branches may hold the same files."""

from dataclasses import dataclass
from typing import Any, Final

from branch_console.format.journals.codec import Layout
from branch_console.format.journals.keys import parts, perhaps, texts
from branch_console.format.json_text import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalledPin:
    """Tags on main that keep a snapshot.

    Attributes:
        tags: The names.
        snapshot_id: The snapshot that they keep.
        content: The file of the tags; None if the operation itself makes the snapshot.
    """

    tags: tuple[str, ...]
    snapshot_id: int | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalledSharing:
    """The branches that are fenced, and the pins that are made."""

    fences: tuple[str, ...] = ()
    pins: tuple[JournalledPin, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags on main that the operation makes."""
        return tuple(name for pin in self.pins for name in pin.tags)


NO_SHARING: Final = JournalledSharing()

_PIN: Final = Layout(
    JournalledPin, texts("tags"), perhaps("snapshotId", int), perhaps("content", str)
)


class _SharingKeys:
    """Both keys, or none if there are no steps."""

    _layout: Final = Layout(JournalledSharing, texts("fences"), parts("pins", _PIN))

    @property
    def names(self) -> tuple[str, ...]:
        return self._layout.names

    def read(self, raw: JsonObject) -> dict[str, Any]:
        return {"sharing": self._layout.read(raw)}

    def write(self, journal: Any) -> dict[str, object]:
        sharing: JournalledSharing = journal.sharing
        return {} if sharing == NO_SHARING else self._layout.write(sharing)


SHARING: Final = _SharingKeys()
