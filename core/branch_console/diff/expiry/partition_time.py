"""The time that the values of a partition tell, by an option of the table or by Paimon's own rule.

Times are wall clock times in nanoseconds since 1970, as a partition may be of the year 0 or 30000.
Source: Paimon PartitionTimeExtractor, and java.time.format.DateTimeFormatter.
"""

import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from types import MappingProxyType
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_GREATEST_YEAR: Final = 999_999_999
_DAY_SECONDS: Final = 86_400
_NANOS: Final = 1_000_000_000
_DEFAULT: Final = re.compile(
    r"(?P<y>-?\d{1,10})-(?P<M>-?\d{1,2})-(?P<d>-?\d{1,2})"
    r"(?: (?P<H>-?\d{1,2}):(?P<m>-?\d{1,2}):(?P<s>-?\d{1,2})(?:\.(?P<S>\d{1,9}))?)?",
    re.ASCII,
)
# How often a letter stands, and what it reads then.
_FIELDS: Final[Mapping[tuple[str, int], str]] = MappingProxyType({
    ("y", 1): r"\d{1,10}", ("y", 2): r"\d{2}", ("y", 4): r"\d{4}",
    ("M", 1): r"\d{1,2}", ("M", 2): r"\d{2}",
    ("d", 1): r"\d{1,2}", ("d", 2): r"\d{2}",
    ("H", 1): r"\d{1,2}", ("H", 2): r"\d{2}",
    ("m", 1): r"\d{1,2}", ("m", 2): r"\d{2}",
    ("s", 1): r"\d{1,2}", ("s", 2): r"\d{2}",
    **{("S", digits): rf"\d{{{digits}}}" for digits in range(1, 10)},
})  # fmt: skip
_LETTERS: Final = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|(.)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTime:
    """How the time of a partition is read from its values.

    Attributes:
        pattern: What the time is made of, such as `$day $hour:00:00`; the first value if None.
        formatter: How it is written, as Java's DateTimeFormatter says; Paimon's own way if None.
    """

    pattern: str | None = None
    formatter: str | None = None

    def __post_init__(self) -> None:
        """Refuse a formatter that is not read here; raises InvalidInput."""
        if self.formatter is not None:
            _compiled(self.formatter)

    def read(self, keys: Sequence[str], values: Sequence[str | None]) -> int | None:
        """Return the time of a partition; None if its values tell none.

        Args:
            keys: The partition keys.
            values: Their values as Java shows them inside Paimon; None for null.
        """
        if self.pattern is None:
            text = values[0]
        elif None in values:
            text = None
        else:
            text = self.pattern
            for key, value in zip(keys, values, strict=True):
                text = text.replace(f"${key}", value or "")
        if text is None:
            return None
        if self.formatter is None:
            return _read_lenient(text)
        return _read_strict(_compiled(self.formatter), text)


def wall_nanos(time: datetime) -> int:
    """Return a wall clock time as PartitionTime does."""
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    return _nanos(time.toordinal() - _EPOCH_DAY, seconds, time.microsecond * 1000)


def _read_lenient(text: str) -> int | None:
    found = _DEFAULT.fullmatch(text)
    if found is None or abs(int(found["y"])) > _GREATEST_YEAR:
        return None
    # Paimon's own way counts on: the 32nd is the 1st of the next month, 25 o'clock the next day.
    months = int(found["M"]) - 1
    days = _first_of_month(int(found["y"]) + months // 12, months % 12 + 1) + int(found["d"]) - 1
    parts = (int(found[name] or 0) for name in "Hms")
    hours, minutes, seconds = parts
    return _nanos(days, hours * 3600 + minutes * 60 + seconds, _fraction(found["S"]))


def _read_strict(pattern: "re.Pattern[str]", text: str) -> int | None:
    found = pattern.fullmatch(text)
    parts: Mapping[str, str | None] = {} if found is None else found.groupdict()
    year, month, day = (parts.get(name) for name in "yMd")
    if year is None or month is None or day is None:
        return None
    number = int(year) + (2000 if pattern.groupindex.get("short") else 0)
    if not 1 <= int(month) <= 12 or not 1 <= int(day) <= 31 or not 1 <= number <= _GREATEST_YEAR:
        return None
    # A day that its month does not have is its last one.
    last = monthrange(2000 + number % 400, int(month))[1]
    days = _first_of_month(number, int(month)) + min(int(day), last) - 1
    hour, minute, second = (parts.get(name) for name in "Hms")
    if hour is None or (minute is None and (second or parts.get("S"))):
        return _nanos(days, 0, 0)  # it is a day, without a time
    hours, minutes, seconds = int(hour), int(minute or 0), int(second or 0)
    fraction = _fraction(parts.get("S"))
    is_end_of_day = hours == 24 and not (minutes or seconds or fraction)
    if (hours > 23 and not is_end_of_day) or minutes > 59 or seconds > 59:
        return None
    return _nanos(days, hours * 3600 + minutes * 60 + seconds, fraction)


def _compiled(formatter: str) -> "re.Pattern[str]":
    """Return what a formatter reads, with a group by each of its letters; raises InvalidInput."""
    found, depth = "", 0
    for quoted, run, letter, sign in _LETTERS.findall(formatter):
        field = "y" if letter == "u" else letter
        if run:
            digits = _FIELDS.get((field, len(run)))
            if digits is None or f"(?P<{field}>" in found:
                raise _unread(formatter)
            short = "(?P<short>)" if (field, len(run)) == ("y", 2) else ""
            found += f"{short}(?P<{field}>{digits})"
        elif sign == "[":
            depth, found = depth + 1, f"{found}(?:"
        elif sign == "]" and depth:
            depth, found = depth - 1, f"{found})?"
        elif sign and sign in "]#{}'":
            raise _unread(formatter)
        else:
            found += re.escape(sign or quoted.replace("''", "'") or "'")
    return re.compile(found + ")?" * depth, re.ASCII)


def _unread(formatter: str) -> InvalidInput:
    return InvalidInput(
        f"The formatter {formatter!r} of the times of partitions is not read here: it may have "
        "yyyy, MM, dd, HH, mm, ss and S, 'words' and [parts that may be missing]. No partition "
        "expired; choose another, or use strategy update-time.",
        kind=ErrorKind.INVALID_ARGUMENT,
        argument="timestamp_formatter",
    )


def _first_of_month(year: int, month: int) -> int:
    """Return the days from 1970 to the first of a month of any year."""
    # The calendar comes back every 400 years.
    cycles, within = divmod(year - 2000, 400)
    return date(2000 + within, month, 1).toordinal() - _EPOCH_DAY + cycles * 146_097


def _fraction(digits: str | None) -> int:
    return int((digits or "0").ljust(9, "0"))


def _nanos(days: int, seconds: int, nanos: int) -> int:
    return (days * _DAY_SECONDS + seconds) * _NANOS + nanos
