"""Dynamic options: the branch and the state of a table that one read or one write names.

A hint of a statement, the options of a data source and the options of a table say the same things
with the same keys. An option that is not honoured is refused by its name: rows of another state
than the one that was asked for look like an answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from core.errors import ErrorKind, InvalidInput
from core.format.identifier import MAIN_BRANCH, Identifier
from core.format.near_names import did_you_mean, nearest_names
from core.format.read_branches import FallbackOrder, FallbackRule

BRANCH: Final = "branch"
SCAN_BRANCH: Final = "scan.branch"
SNAPSHOT_ID: Final = "scan.snapshot-id"
TAG_NAME: Final = "scan.tag-name"
TIMESTAMP: Final = "scan.timestamp"
TIMESTAMP_MILLIS: Final = "scan.timestamp-millis"
VERSION: Final = "scan.version"

TRAVEL_OPTIONS: Final = (SNAPSHOT_ID, TAG_NAME, TIMESTAMP_MILLIS, TIMESTAMP, VERSION)
"""The options that name an earlier state; a read takes one of them at most."""

FALLBACK_OPTIONS: Final = tuple(map(str, FallbackOrder))
"""The options that name a second branch to read; a read takes one of them at most."""

READ_OPTIONS: Final = (BRANCH, SCAN_BRANCH, *TRAVEL_OPTIONS, *FALLBACK_OPTIONS)
"""The dynamic options that a read honours."""

_UNSERVED_IN_TABLES: Final = (
    *("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"),
)

WRITE_OPTIONS: Final = (BRANCH,)
"""The dynamic options that a write honours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanOptions:
    """The dynamic options of one read.

    Attributes:
        branch: The branch to read; None if the options name none.
        snapshot_id, tag, version, time_millis: The state to read; at most one is given. A version
            is a tag or a snapshot id.
        fallback: The other branch that is read along; None for that of the table's own options.
    """

    branch: str | None = None
    snapshot_id: int | None = None
    tag: str | None = None
    version: str | None = None
    time_millis: int | None = None
    fallback: FallbackRule | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "ScanOptions":
        """Read the dynamic options of a read.

        Raises:
            InvalidInput: An option is not honoured, holds no value of its kind, or contradicts
                another one.
        """
        _check_honoured(options, READ_OPTIONS, "A read")
        for keys in (TRAVEL_OPTIONS, FALLBACK_OPTIONS):
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
            fallback=_fallback(options),
        )

    @property
    def travels(self) -> bool:
        """Whether an earlier state is named."""
        given = (self.snapshot_id, self.tag, self.version, self.time_millis)
        return any(value is not None for value in given)

    @property
    def asked(self) -> str | None:
        """The state that is named, as people read it."""
        if self.time_millis is not None:
            return datetime.fromtimestamp(self.time_millis / 1000, UTC).isoformat(sep=" ")
        return str(self.snapshot_id) if self.snapshot_id is not None else self.tag or self.version


def options_of_table(options: Mapping[str, str], branch: str) -> ScanOptions:
    """Read the state that the options of a table name for every read of a branch.

    Raises:
        InvalidInput: They name what is not honoured, or contradict each other.
    """
    for key in _UNSERVED_IN_TABLES:
        if key in options:
            raise unfit_option(
                f"By its option {key!r} readers see changes of this table, not its rows. This is "
                "not honoured here. Unset the option.",
                key,
            )
    named = _text(options, BRANCH)
    if named is not None and named != branch:
        raise unfit_option(
            f"By its option {BRANCH!r} readers of {branch!r} see branch {named!r}. This is not "
            f"honoured here. Name {named!r} in the statement, or unset the option.",
            BRANCH,
        )
    return ScanOptions.parse({key: options[key] for key in TRAVEL_OPTIONS if key in options})


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
