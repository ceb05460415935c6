"""The tags that a branch gets by itself, one a period at most, and their names.

Times are local times without a zone, as the names of tags have them.
Source: Paimon TagAutoCreation, TagPeriodHandler and TagTimeExtractor.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.options import (
    SINK_PROCESS_TIME_ZONE,
    SINK_WATERMARK_TIME_ZONE,
    TAG_AUTOMATIC_COMPLETION,
    TAG_AUTOMATIC_CREATION,
    TAG_CREATION_DELAY,
    TAG_CREATION_PERIOD,
    TAG_CREATION_PERIOD_DURATION,
    TAG_NUM_RETAINED_MAX,
    TAG_PERIOD_FORMATTER,
    ConfigOption,
    Options,
)
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag

_EPOCH: Final = datetime(1970, 1, 1)
_OFFSET: Final = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_NO_WATERMARK: Final = -(2**63)
_DIGITS: Final[Mapping[str, str]] = MappingProxyType(
    {"Y": r"(\d{4})", **dict.fromkeys("MDHm", r"(\d{2})")}
)

C = TypeVar("C", bound=StrEnum)


class TagCreation(StrEnum):
    """Whether a branch gets tags by itself, and what tells their time."""

    NONE = "none"
    PROCESS_TIME = "process-time"
    WATERMARK = "watermark"
    BATCH = "batch"


class TagPeriod(StrEnum):
    """How often a branch gets a tag by itself."""

    DAILY = "daily"
    HOURLY = "hourly"
    TWO_HOURS = "two-hours"


class TagFormat(StrEnum):
    """How the name of such a tag writes its time."""

    WITH_DASHES = "with_dashes"
    WITHOUT_DASHES = "without_dashes"
    WITHOUT_DASHES_AND_SPACES = "without_dashes_and_spaces"


_MINUTES: Final = "YMDHm"
_NAMES: Final[Mapping[tuple[TagPeriod, TagFormat], str]] = MappingProxyType(
    {
        (TagPeriod.DAILY, TagFormat.WITH_DASHES): "Y-M-D",
        (TagPeriod.DAILY, TagFormat.WITHOUT_DASHES): "YMD",
        (TagPeriod.DAILY, TagFormat.WITHOUT_DASHES_AND_SPACES): "YMD",
        (TagPeriod.HOURLY, TagFormat.WITH_DASHES): "Y-M-D H",
        (TagPeriod.HOURLY, TagFormat.WITHOUT_DASHES): "YMD H",
        (TagPeriod.HOURLY, TagFormat.WITHOUT_DASHES_AND_SPACES): "YMDH",
        **{(TagPeriod.TWO_HOURS, each): "Y-M-D H" for each in TagFormat},
    }
)
"""How names of tags write the time at which their period began."""

_PERIODS: Final[Mapping[TagPeriod, timedelta]] = MappingProxyType(
    {
        TagPeriod.DAILY: timedelta(days=1),
        TagPeriod.HOURLY: timedelta(hours=1),
        TagPeriod.TWO_HOURS: timedelta(hours=2),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRule:
    """How a branch gets tags by itself, one a period at most.

    Attributes:
        zone: The zone of the clock on the wall by which the time of a snapshot, or its watermark,
            is told; that of this machine if None.
        every: A period of another length than `period`, whose tags are named by the minute.
        delay: How long after the end of a period its tag is made.
        fills_gaps: Whether periods without a snapshot get a tag from the next ones.
        keeps: The most of these tags that stay; all of them if None.
    """

    creation: TagCreation
    zone: tzinfo | None
    period: TagPeriod = TagPeriod.DAILY
    every: timedelta | None = None
    format: TagFormat = TagFormat.WITH_DASHES
    delay: timedelta = timedelta()
    fills_gaps: bool = False
    keeps: int | None = None

    def __post_init__(self) -> None:
        """Refuse a delay that reaches into the next period but one; raises InvalidInput."""
        if self.length <= self.delay:
            raise InvalidInput(
                f"Option 'tag.creation-delay' is {self.delay}, which is not less than a period of "
                f"{self.length}. No tag was made; set a smaller one.",
                kind=ErrorKind.INVALID_OPTION,
                option="tag.creation-delay",
            )

    @property
    def length(self) -> timedelta:
        """How long a period is."""
        return _PERIODS[self.period] if self.every is None else self.every

    def name_of(self, time: datetime) -> str:
        """Return the name of the tag of a period."""
        parts = {
            "Y": f"{time.year:04d}",
            "M": f"{time.month:02d}",
            "D": f"{time.day:02d}",
            "H": f"{time.hour:02d}",
            "m": f"{time.minute:02d}",
        }
        return "".join(parts.get(each, each) for each in self._template)

    def time_of(self, name: str) -> datetime | None:
        """Return when the period of a tag began; None of other tags."""
        template = self._template
        # A name of a day may go on behind a space: Paimon reads its first word.
        text = name if "H" in template else name.partition(" ")[0]
        pattern = "".join(_DIGITS.get(each, each) for each in template)
        found = re.fullmatch(pattern, text, re.ASCII)
        if found is None:
            return None
        year, month, day, hour, minute = (*map(int, found.groups()), 0, 0)[:5]
        try:
            return datetime(year, month, day, hour, minute)
        except ValueError:
            return None

    def snapshot_time(self, snapshot: Snapshot) -> datetime | None:
        """Return the time that a snapshot tells; None if it has no watermark."""
        millis: int | None = snapshot.time_millis
        if self.creation is TagCreation.WATERMARK:
            millis = snapshot.watermark
        if millis is None or millis == _NO_WATERMARK:
            return None
        return datetime.fromtimestamp(millis / 1000, self.zone).replace(tzinfo=None)

    @property
    def _template(self) -> str:
        return _NAMES[self.period, self.format] if self.every is None else _MINUTES


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomaticTags:
    """The tags that a rule makes on a branch.

    Attributes:
        made: Names of new tags, each with the snapshot that it names.
        surplus: Tags that were made so before and are more than the rule keeps, oldest first.
    """

    made: Mapping[str, Snapshot]
    surplus: tuple[str, ...]


def tag_rule(options: Options) -> TagRule:
    """Return how a branch gets tags by its options; raises InvalidInput if one is none."""
    creation = _choice(options, TAG_AUTOMATIC_CREATION, TagCreation)
    if creation is TagCreation.WATERMARK:
        zone = _zone(SINK_WATERMARK_TIME_ZONE.key, options.read(SINK_WATERMARK_TIME_ZONE))
    else:
        zone = _zone(SINK_PROCESS_TIME_ZONE.key, options.read(SINK_PROCESS_TIME_ZONE))
    every = options.read(TAG_CREATION_PERIOD_DURATION)
    return TagRule(
        creation=creation,
        zone=zone,
        period=_choice(options, TAG_CREATION_PERIOD, TagPeriod),
        every=None if every is None else timedelta(milliseconds=every),
        format=_choice(options, TAG_PERIOD_FORMATTER, TagFormat),
        delay=timedelta(milliseconds=options.read(TAG_CREATION_DELAY)),
        fills_gaps=options.read(TAG_AUTOMATIC_COMPLETION),
        keeps=options.read(TAG_NUM_RETAINED_MAX),
    )


def plan_automatic_tags(
    rule: TagRule, snapshots: Sequence[Snapshot], tags: Collection[Tag]
) -> AutomaticTags:
    """Decide which tags a branch gets by itself.

    Args:
        rule: The rule of the branch.
        snapshots: The snapshots of the branch, by rising id.
        tags: All tags of the branch.
    """
    if rule.creation not in (TagCreation.PROCESS_TIME, TagCreation.WATERMARK):
        return AutomaticTags(made={}, surplus=())
    taken = {tag.name: tag.snapshot for tag in tags}
    times = {name: time for name in taken if (time := rule.time_of(name)) is not None}
    last = max(times, key=lambda name: times[name], default=None)
    due = None if last is None else times[last] + rule.length
    seen_id = 0 if last is None else taken[last].id
    made: dict[str, Snapshot] = {}
    is_touched = False
    for snapshot in snapshots:
        time = rule.snapshot_time(snapshot) if snapshot.id > seen_id else None
        if time is None or (due is not None and time - rule.delay < due + rule.length):
            continue
        period = _period_before(time, rule.length)
        if rule.fills_gaps and due is not None:
            period = due
        name, due, is_touched = rule.name_of(period), period + rule.length, True
        if name not in taken:
            made[name] = snapshot
    if rule.keeps is None or not is_touched:
        return AutomaticTags(made=made, surplus=())
    surplus = _surplus({**{name: taken[name] for name in times}, **made}, rule.keeps)
    return AutomaticTags(
        made={name: made[name] for name in made if name not in surplus},
        surplus=tuple(name for name in surplus if name not in made),
    )


def _period_before(time: datetime, length: timedelta) -> datetime:
    """Return when the period began that was over by a time."""
    return _EPOCH + (time - _EPOCH) // length * length - length


def _surplus(named: Mapping[str, Snapshot], keeps: int) -> tuple[str, ...]:
    """Return the tags of the oldest snapshots, without those of the newest ones that stay."""
    ids = sorted({snapshot.id for snapshot in named.values()})
    going = set(ids[: max(len(ids) - keeps, 0)])
    oldest_first = sorted(named, key=lambda name: named[name].id)
    return tuple(name for name in oldest_first if named[name].id in going)


def _choice(options: Options, option: ConfigOption[str], choices: type[C]) -> C:
    text = options.read(option).strip().lower()
    found = next((each for each in choices if each == text), None)
    if found is None:
        raise InvalidInput(
            f"Option {option.key!r} is {text!r}. No tag was made; set one of {', '.join(choices)}.",
            kind=ErrorKind.INVALID_OPTION,
            option=option.key,
        )
    return found


def _zone(option: str, name: str | None) -> tzinfo | None:
    """Return a zone as Java names it: `Europe/Berlin`, `UTC`, `GMT-08:00`, `+2`."""
    if name is None:
        return None
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign = -1 if offset[1] == "-" else 1
        return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0)))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInput(
            f"Option {option!r} is {name!r}, which is no zone. No tag was made; set one such as "
            "'Europe/Berlin' or 'GMT+02:00'.",
            kind=ErrorKind.INVALID_OPTION,
            option=option,
        ) from error
