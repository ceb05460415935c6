"""The tags of a branch that expire: those past their time, or older than asked.

Times are local times of the caller, without a zone, as Paimon writes them.
Source: Paimon TagTimeExpire.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from branch_console.format.tag import Tag


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedTag:
    """A tag with the time at which its file was written."""

    tag: Tag
    written: datetime


def expired_tags(
    tags: Iterable[AgedTag], now: datetime, older_than: datetime | None
) -> tuple[Tag, ...]:
    """Decide which tags are past the time that they were made to last, or older than asked.

    Args:
        tags: The tags of a branch.
        now: The clock on the wall.
        older_than: Takes all tags that were made before, also those that last for good.
    """
    return tuple(each.tag for each in tags if _is_expired(each, now, older_than))


def _is_expired(aged: AgedTag, now: datetime, older_than: datetime | None) -> bool:
    made, seconds = aged.tag.create_time, aged.tag.time_retained_seconds
    if made is None or seconds is None:
        if older_than is None:
            return False
        made = aged.written  # nothing else tells when a tag was made that has no time in it
    is_over = seconds is not None and now > made + timedelta(seconds=seconds)
    return is_over or (older_than is not None and made < older_than)
