"""When a schedule is due: an expression of cron in a zone, read as the scheduler of jobs does.

Five fields stand for minute, hour, day of the month, month and day of the week; a sixth in front of
them stands for seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

_FIELDS: Final = (5, 6)
# A leap year: even the 29th of February comes within eight years from here.
_SOME_TIME: Final = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """An expression of cron; `zone` is a name such as `Europe/Berlin`."""

    text: str
    zone: str = "UTC"

    @classmethod
    def parse(cls, text: str, zone: str = "UTC") -> "Cron":
        """Read an expression.

        Raises:
            ValueError: It is none, or names a time that never comes.
        """
        if len(text.split()) not in _FIELDS or not croniter.is_valid(
            text, second_at_beginning=True
        ):
            raise ValueError("it should be an expression of cron, such as '0 4 * * *'")
        try:
            _times(text, _SOME_TIME).get_next(datetime)
        except CroniterError as error:
            raise ValueError("it names a time that never comes") from error
        return cls(text=text, zone=zone)

    def next_after(self, millis: int) -> int:
        """Return the first time after another one; both in milliseconds since the epoch."""
        return next(self.times_after(millis))

    def times_after(self, millis: int) -> Iterator[int]:
        """Return the times after another one, in order, without an end."""
        moment = datetime.fromtimestamp(millis / 1000, ZoneInfo(self.zone))
        times = _times(self.text, moment)
        while True:
            yield round(times.get_next(datetime).timestamp() * 1000)


def _times(text: str, after: datetime) -> croniter:
    return croniter(text, after, second_at_beginning=True)
