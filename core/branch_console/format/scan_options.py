"""Dynamic options: the branch and the state of a table that one read or one write names.

A hint of a statement, the options of a data source and the options of a table say the same things
with the same keys. An option that is not honoured is refused by its name: rows of another state
than the one that was asked for look like an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.read_branches import FallbackOrder, FallbackRule

BRANCH: Final = "branch"
SCAN_BRANCH: Final = "scan.branch"
SNAPSHOT_ID: Final = "scan.snapshot-id"
TAG_NAME: Final = "scan.tag-name"
TIMESTAMP: Final = "scan.timestamp"
TIMESTAMP_MILLIS: Final = "scan.timestamp-millis"
VERSION: Final = "scan.version"
BETWEEN: Final = "incremental-between"
BETWEEN_TIMESTAMPS: Final = "incremental-between-timestamp"
BETWEEN_MODE: Final = "incremental-between-scan-mode"
BETWEEN_TAGS: Final = "incremental-between-tag-to-snapshot"
TO_AUTO_TAG: Final = "incremental-to-auto-tag"

BETWEEN_OPTIONS: Final = (BETWEEN, BETWEEN_TIMESTAMPS)
"""The options that name two states, between which changes are read."""

TRAVEL_OPTIONS: Final = (
    *(SNAPSHOT_ID, TAG_NAME, TIMESTAMP_MILLIS, TIMESTAMP, VERSION),
    *BETWEEN_OPTIONS,
)
"""The options that name what is read instead of the head; a read takes one of them at most."""

_SCAN_MODE: Final = "scan.mode"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HOW: Final = (BETWEEN_MODE, BETWEEN_TAGS)
"""The options that say how changes are read; they name none."""

FALLBACK_OPTIONS: Final = tuple(map(str, FallbackOrder))
"""The options that name a second branch to read; a read takes one of them at most."""

READ_OPTIONS: Final = (BRANCH, SCAN_BRANCH, *TRAVEL_OPTIONS, *_HOW, *FALLBACK_OPTIONS)
"""The dynamic options that a read honours."""

WRITE_OPTIONS: Final = (BRANCH,)
"""The dynamic options that a write honours."""


class ChangeMode(StrEnum):
    """The source of changes [Paimon CoreOptions.IncrementalBetweenScanMode]."""

    AUTO = "auto"
    DELTA = "delta"
    CHANGELOG = "changelog"
    DIFF = "diff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Two states, between which changes are read: both tags, both snapshot ids or both times.

    Attributes:
        start, end: Tags or snapshot ids.
        millis: Times since the epoch; None if `start` and `end` are names.
    """

    start: str
    end: str
    millis: tuple[int, int] | None = None

    @property
    def option(self) -> str:
        """The option that names them."""
        return BETWEEN if self.millis is None else BETWEEN_TIMESTAMPS

    @property
    def asked(self) -> str:
        """The option with both, as people read it."""
        return f"{self.option} {self}"

    @property
    def names(self) -> tuple[str, str]:
        """The names of both, as part of a sentence."""
        if self.millis is None:
            return self.start, self.end
        return moment_text(self.millis[0]), moment_text(self.millis[1])

    def __str__(self) -> str:
        """Both, as they are written."""
        return f"{self.start},{self.end}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """The dynamic options of one read.

    Attributes:
        branch: The branch to read; None if the options name none.
        snapshot_id, tag, version, time_millis: The state to read; at most one is given. A version
            is a tag or a snapshot id.
        between: The states between which changes are read, in place of a state.
        change_mode: The source of changes; None if the options do not say.
        tags_are_snapshots: Whether tags name what was committed between their snapshots, and not
            what differs between them; None if the options do not say.
        fallback: The other branch that is read along; None for that of the table's own options.
    """

    branch: str | None = None
    snapshot_id: int | None = None
    tag: str | None = None
    version: str | None = None
    time_millis: int | None = None
    between: Between | None = None
    change_mode: ChangeMode | None = None
    tags_are_snapshots: bool | None = None
    fallback: FallbackRule | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "ScanOptions":
        """Read the dynamic options of a read.

        Raises:
            InvalidInput: An option is not honoured, holds no value of its kind, or contradicts
                another one.
        """
        _check_honoured(options, READ_OPTIONS, "A read")
        for keys in (TRAVEL_OPTIONS, FALLBACK_OPTIONS, (*BETWEEN_OPTIONS, *FALLBACK_OPTIONS)):
            given = [key for key in keys if key in options]
            if len(given) > 1:
                raise _contradiction(given[0], given[1])
        snapshot_id, tag = options.get(SNAPSHOT_ID), _text(options, TAG_NAME)
        if tag is not None and "/" in tag:
            raise unfit_option(f"{tag!r} is the name of no tag: it holds '/'.", TAG_NAME)
        return cls(
            branch=_one_branch(options, (BRANCH, SCAN_BRANCH)),
            snapshot_id=None if snapshot_id is None else _number(SNAPSHOT_ID, snapshot_id),
            tag=tag,
            version=_text(options, VERSION),
            time_millis=_time(options),
            between=_between(options),
            change_mode=_mode(options),
            tags_are_snapshots=_flag(options, BETWEEN_TAGS),
            fallback=_fallback(options),
        )

    @property
    def travels(self) -> bool:
        """Whether an earlier state is named, or changes between two."""
        given = (self.snapshot_id, self.tag, self.version, self.time_millis, self.between)
        return any(value is not None for value in given)

    @property
    def how(self) -> str | None:
        """The first option that says how changes are read."""
        said = (self.change_mode, self.tags_are_snapshots)
        return next((key for key, value in zip(_HOW, said, strict=True) if value is not None), None)

    @property
    def asked(self) -> str | None:
        """The named target, as people read it."""
        if self.between is not None:
            return self.between.asked
        if self.time_millis is not None:
            return moment_text(self.time_millis)
        return str(self.snapshot_id) if self.snapshot_id is not None else self.tag or self.version


def options_of_table(options: Mapping[str, str], branch: str) -> ScanOptions:
    """Read the state that the options of a table name for every read of a branch.

    Raises:
        InvalidInput: They name what is not honoured, or contradict each other.
    """
    if TO_AUTO_TAG in options:
        raise unfit_option(
            f"By its option {TO_AUTO_TAG!r} readers see changes of this table up to a tag that was "
            f"made automatically. This is not honoured here. Unset it, or set {BETWEEN!r}.",
            TO_AUTO_TAG,
        )
    named = _text(options, BRANCH)
    if named is not None and named != branch:
        raise unfit_option(
            f"By its option {BRANCH!r} readers of {branch!r} see branch {named!r}. This is not "
            f"honoured here. Name {named!r} in the statement, or unset the option.",
            BRANCH,
        )
    asked = (*TRAVEL_OPTIONS, *_HOW)
    return ScanOptions.parse({key: options[key] for key in asked if key in options})


def with_options_of_table(
    asked: ScanOptions, options: Mapping[str, str], branch: str
) -> ScanOptions:
    """Return the options of a read; options that it omits are taken from the table.

    Raises:
        InvalidInput: They name what is not honoured, or contradict each other.
    """
    if not asked.travels:
        # What they name holds for reads that name no state themselves.
        own = options_of_table(options, branch)
    elif asked.between is not None:
        own = ScanOptions.parse({key: options[key] for key in _HOW if key in options})
    else:
        return asked
    tags = asked.tags_are_snapshots
    return replace(
        asked if asked.travels else own,
        change_mode=asked.change_mode or own.change_mode,
        tags_are_snapshots=own.tags_are_snapshots if tags is None else tags,
    )


def check_scan_mode(options: Mapping[str, str], between: Between) -> None:
    """Refuse to read changes of a table whose options ask for another kind of read.

    Raises:
        InvalidInput: By the options that contradict each other.
    """
    if options.get(_SCAN_MODE, "default").lower() not in ("default", "incremental"):
        raise _contradiction(between.option, _SCAN_MODE)


def written_branch(options: Mapping[str, str]) -> str | None:
    """Return the branch that the dynamic options of a write name; None if they name none.

    Raises:
        InvalidInput: An option is not honoured by writes.
    """
    _check_honoured(options, WRITE_OPTIONS, "A write")
    return _one_branch(options, WRITE_OPTIONS)


def check_branch(identifier: Identifier, branch: str, *, names_branch: bool) -> None:
    """Refuse a branch in the options of a table whose name holds another one.

    Raises:
        InvalidInput: Both are named, and they differ.
    """
    if names_branch and identifier.branch != branch:
        raise unfit_option(
            f"The name says branch {identifier.branch!r} and the options say {branch!r}. "
            "Name one of them.",
            BRANCH,
        )


def moment_millis(text: str) -> int:
    """Read a time such as `2026-01-31 12:00:00` in milliseconds since the epoch; UTC if no zone.

    Raises:
        ValueError: The text is no time.
    """
    moment = datetime.fromisoformat(text.strip())
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(zoned.timestamp() * 1000)


def moment_text(millis: int) -> str:
    """Write a time for people, in UTC, as `moment_millis` reads it."""
    try:
        moment = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return f"{millis} ms"  # no year that a calendar has; anybody may ask for it
    return moment.isoformat(sep=" ", timespec="milliseconds" if millis % 1000 else "seconds")


def unfit_option(message: str, option: str) -> InvalidInput:
    """Return the error for an option that does not fit."""
    return InvalidInput(message, kind=ErrorKind.INVALID_OPTION, option=option)


def _check_honoured(options: Mapping[str, str], honoured: tuple[str, ...], who: str) -> None:
    for key in options:
        if key not in honoured:
            hint = did_you_mean(nearest_names(key, honoured))
            raise unfit_option(
                f"{who} does not honour the option {key!r}. It honours {', '.join(honoured)}."
                f"{hint}",
                key,
            )


def _one_branch(options: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    found: dict[str, str] = {}
    for key in keys:
        branch = _text(options, key)
        if branch is not None:
            # Paimon takes MAIN for the main branch too.
            found[key] = MAIN_BRANCH if branch.lower() == MAIN_BRANCH else branch
    if len(set(found.values())) > 1:
        raise _contradiction(*found)
    return next(iter(found.values()), None)


def _text(options: Mapping[str, str], key: str) -> str | None:
    text = options.get(key)
    if text is not None and not text.strip():
        raise unfit_option(f"The option {key!r} is blank.", key)
    return None if text is None else text.strip()


def _number(key: str, text: str) -> int:
    digits = text.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise unfit_option(f"The option {key!r} is {text!r}, which is no whole number.", key)
    return int(digits)


def _time(options: Mapping[str, str]) -> int | None:
    millis, moment = options.get(TIMESTAMP_MILLIS), options.get(TIMESTAMP)
    if millis is not None:
        return _number(TIMESTAMP_MILLIS, millis)
    if moment is None:
        return None
    try:
        return moment_millis(moment)
    except (ValueError, OverflowError) as error:
        raise unfit_option(
            f"The option {TIMESTAMP!r} is {moment!r}; write it as 2026-01-31 12:00:00.", TIMESTAMP
        ) from error


def _between(options: Mapping[str, str]) -> Between | None:
    key = next((key for key in BETWEEN_OPTIONS if key in options), None)
    if key is None:
        return None
    parts = [part.strip() for part in options[key].split(",")]
    if len(parts) != 2 or not all(parts):
        example = "3,7" if key == BETWEEN else "2026-01-31 12:00:00,2026-02-01 12:00:00"
        raise unfit_option(
            f"The option {key!r} is {options[key]!r}; it takes two snapshot ids, two tags or, as "
            f"{BETWEEN_TIMESTAMPS!r}, two times, the earlier first, such as {example}.",
            key,
        )
    start, end = parts
    if key == BETWEEN:
        return Between(start=start, end=end)
    return Between(start=start, end=end, millis=(_moment(key, start), _moment(key, end)))


def _moment(key: str, text: str) -> int:
    if text.isascii() and text.isdigit():
        return _number(key, text)
    try:
        return moment_millis(text)
    except (ValueError, OverflowError) as error:
        raise unfit_option(
            f"The option {key!r} names {text!r}; write times in milliseconds since the epoch or as "
            "2026-01-31 12:00:00.",
            key,
        ) from error


def _mode(options: Mapping[str, str]) -> ChangeMode | None:
    text = _text(options, BETWEEN_MODE)
    if text is None:
        return None
    try:
        return ChangeMode(text.lower())
    except ValueError as error:
        raise unfit_option(
            f"The option {BETWEEN_MODE!r} is {text!r}. It is one of {', '.join(ChangeMode)}.",
            BETWEEN_MODE,
        ) from error


def _flag(options: Mapping[str, str], key: str) -> bool | None:
    text = _text(options, key)
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise unfit_option(f"The option {key!r} is {text!r}. It is true or false.", key)
    return text.lower() == "true"


def _fallback(options: Mapping[str, str]) -> FallbackRule | None:
    for order in FallbackOrder:
        branch = _text(options, order)
        if branch is not None:
            return FallbackRule(order=order, branch=branch)
    return None


def _contradiction(first: str, second: str) -> InvalidInput:
    return unfit_option(
        f"The options {first!r} and {second!r} contradict each other. Give one of them.", second
    )
