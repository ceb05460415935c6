"""A tag file: a snapshot with a name, and perhaps an end.

Source: Paimon Tag; only a tag with a retention has the two extra fields.
"""

from dataclasses import dataclass
from datetime import datetime

from branch_console.errors import FormatError
from branch_console.format.json_text import JsonObject, to_pretty_json
from branch_console.format.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A named snapshot; `create_time` is the writer's local wall clock, without a zone."""

    name: str
    snapshot: Snapshot
    create_time: datetime | None = None
    time_retained_seconds: float | None = None

    @classmethod
    def from_json(cls, name: str, text: str | bytes) -> "Tag":
        """Decode the tag file of `name`.

        Raises:
            FormatError: The text is not a tag.
        """
        raw = JsonObject.parse(text, "tag file")
        parts = raw.find("tagCreateTime", list)
        retained = raw.values.get("tagTimeRetained")
        try:
            return cls(
                name=name,
                snapshot=Snapshot.from_object(raw),
                create_time=None if parts is None else _from_parts(parts),
                time_retained_seconds=None if retained is None else float(retained),
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise FormatError(f"The tag file has times that cannot be read: {error}.") from error

    def to_json(self) -> str:
        """Encode as Paimon writes it."""
        content = self.snapshot.to_object()
        if self.create_time is not None:
            content["tagCreateTime"] = _to_parts(self.create_time)
        if self.time_retained_seconds is not None:
            content["tagTimeRetained"] = self.time_retained_seconds
        return to_pretty_json(content)


def _from_parts(parts: list[int]) -> datetime:
    year, month, day, hour, minute, *rest = parts
    second, nanos = (*rest, 0, 0)[:2]
    return datetime(year, month, day, hour, minute, second, nanos // 1000)


def _to_parts(time: datetime) -> list[int]:
    parts = [time.year, time.month, time.day, time.hour, time.minute]
    nanos = time.microsecond * 1000
    # Jackson leaves trailing zero seconds and nanoseconds out.
    if nanos:
        return [*parts, time.second, nanos]
    return [*parts, time.second] if time.second else parts
