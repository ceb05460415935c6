"""How people name a state of a table: a branch, a snapshot of it, a tag, or a time on it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput

_TAG: Final = "tag:"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateName:
    """One state; without any of the optional parts it is the head of the branch.

    Attributes:
        identity: A part of the snapshot's identity, as ids are used again after a fast-forward.
        time_millis: The newest snapshot at or before this time is meant.
    """

    branch: str
    snapshot_id: int | None = None
    identity: str | None = None
    tag: str | None = None
    time_millis: int | None = None

    @property
    def is_head(self) -> bool:
        """Whether the head is meant, whatever it is by then."""
        return self.snapshot_id is None and self.tag is None and self.time_millis is None

    def __str__(self) -> str:
        if self.tag is not None:
            return f"{self.branch}@{_TAG}{self.tag}"
        if self.time_millis is not None:
            at = datetime.fromtimestamp(self.time_millis / 1000, UTC)
            return f"{self.branch}@{at.isoformat(timespec='milliseconds')}"
        if self.snapshot_id is None:
            return self.branch
        suffix = "" if self.identity is None else f":{self.identity}"
        return f"{self.branch}@{self.snapshot_id}{suffix}"


def parse_state_name(text: str, branches: Collection[str], default_branch: str) -> StateName:
    """Parse `dev`, `dev@7`, `dev@7:1a2b3c4d`, `dev@tag:v1`, `tag:v1` or `dev@2026-05-01T12:00`.

    A time without an offset is one of this machine.

    Args:
        text: The text that somebody wrote.
        branches: The names of the table's branches: one that holds `@` goes before all else.
        default_branch: The branch of the tag if no branch is named.

    Raises:
        InvalidInput: The text names no state.
    """
    if text in branches:
        return StateName(branch=text)
    if text.startswith(_TAG) and len(text) > len(_TAG):
        return StateName(branch=default_branch, tag=text.removeprefix(_TAG))
    branch, separator, tag = text.partition(f"@{_TAG}")
    if separator and branch and tag:
        return StateName(branch=branch, tag=tag)
    branch, separator, version = text.rpartition("@")
    if not separator:
        return StateName(branch=text)
    number, has_identity, identity = version.partition(":")
    if branch and number.isascii() and number.isdecimal() and (identity or not has_identity):
        # A time of day holds colons too, but begins with its date.
        return StateName(branch=branch, snapshot_id=int(number), identity=identity or None)
    time_millis = _time_millis(version)
    if not branch or time_millis is None:
        raise InvalidInput(
            f"{text!r} names no state. Write a branch, branch@snapshot-id, branch@time, tag:NAME "
            "or branch@tag:NAME.",
            kind=ErrorKind.INVALID_ARGUMENT,
            state=text,
        )
    return StateName(branch=branch, time_millis=time_millis)


def _time_millis(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
