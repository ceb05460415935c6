"""The limits of an expiry: the table's own ones in words, and what is wrong with those typed."""

from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.options import (
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
    Options,
)
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest
from branch_console_app.models.parts.wording import code, full_count, span

_ENDLESS: Final = 1_000_000
"""From this many snapshots on, an option was set so that none expires."""
_NO_TIME: Final = "is no time. Write it as 2026-01-31 12:00:00."
_NO_DURATION: Final = "is no duration. Write it as 10 min."


def limits_sentence(options: Options, branch: str) -> str:
    """Say as Markdown which snapshots stay by the options of a branch.

    Raises:
        InvalidInput: An option has no valid value.
    """
    least = options.read(SNAPSHOT_NUM_RETAINED_MIN)
    if least >= _ENDLESS:
        return f"By the options of {code(branch)}, all snapshots stay."
    most = options.read(SNAPSHOT_NUM_RETAINED_MAX)
    newest = "newest snapshot stays" if least == 1 else f"newest {full_count(least)} snapshots stay"
    if most == least:
        return f"By the options of {code(branch)}, only the {newest}."
    limit = "" if most >= _ENDLESS else f", at most {full_count(most)} in all"
    return (
        f"By the options of {code(branch)}, the {newest}, and those younger than "
        f"{span(options.read(SNAPSHOT_TIME_RETAINED))}{limit}."
    )


def typing_problem(request: ExpireSnapshotsRequest) -> str | None:
    """Return what is wrong with the time or the duration of a form, as Markdown; None if nothing.

    A dry run would refuse it, too, but only after it was asked for.
    """
    try:
        request.older_than_millis()
    except InvalidInput:
        return f"Expire only older than: {code(request.older_than or '')} {_NO_TIME}"
    try:
        request.grace_millis()
    except InvalidInput:
        return f"Remove files after: {code(request.grace or '')} {_NO_DURATION}"
    return None
