"""A branch is quiet after thirty days without any commit or operation."""

import pytest

from branch_console.diff.lifecycle.quiet import find_quiet_since
from branch_console.format.lineage_event import LineageEvent, LineageKind

DAY = 24 * 3_600_000
NOW = 100 * DAY


def event(kind: LineageKind, at: int, branch: str = "dev", source: str | None = None):
    return LineageEvent(
        id="e", branch=branch, operation_id="op", actor="ada", kind=kind, time_millis=at,
        source_branch=source,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("committed", "created", "events", "since"),
    [
        (NOW - 240 * DAY, NOW - 240 * DAY, (), NOW - 240 * DAY),
        # Made a minute ago from an old tag: its head is old, it is not.
        (NOW - 240 * DAY, NOW - 60_000, (), None),
        (NOW - 29 * DAY, None, (), None),
        (NOW - 31 * DAY, None, (), NOW - 31 * DAY),
        (NOW - 90 * DAY, NOW - 95 * DAY, (event(LineageKind.PROTECTED, NOW - DAY),), None),
        (NOW - 90 * DAY, None, (event(LineageKind.MERGED, NOW - DAY, "main", "dev"),), None),
        (
            NOW - 90 * DAY,
            None,
            (event(LineageKind.MERGED, NOW - DAY, "main", "x"),),
            NOW - 90 * DAY,
        ),
        # What looks after all branches by itself is no use of this one.
        (NOW - 90 * DAY, None, (event(LineageKind.WARNED, NOW - DAY),), NOW - 90 * DAY),
        (None, None, (), None),
    ],
)
def test_a_commit_or_an_operation_ends_the_quiet(
    committed: int | None, created: int | None, events: tuple[LineageEvent, ...], since: int | None
) -> None:
    found = find_quiet_since(
        "dev", committed_millis=committed, created_millis=created, events=events, now_millis=NOW
    )
    assert found == since
