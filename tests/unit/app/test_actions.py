"""What a form asks for, as arguments of a call."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from branch_console.procedures.call.call import Argument
from branch_console_app.models.parts.actions import (
    Start,
    kept_for,
    millis_of,
    name_problem,
    start_arguments,
)


@pytest.mark.parametrize(
    ("start", "place", "expected"),
    [
        (Start.HEAD, None, {}),
        (Start.EMPTY, None, {"empty": True}),
        (Start.TAG, "q1", {"tag": "q1"}),
        (Start.TAG, None, None),
        (Start.SNAPSHOT, 7, {"snapshot": 7}),
        (Start.SNAPSHOT, None, None),
        (Start.TIME, 1_700_000_000_000, {"timestamp": 1_700_000_000_000}),
    ],
)
def test_one_place_is_named(
    start: Start, place: str | int | None, expected: dict[str, Argument] | None
) -> None:
    assert start_arguments(start, place) == expected


def test_a_minute_counts_in_full_on_the_clock_of_who_looks() -> None:
    moment = datetime(2026, 3, 1, 12, 30)  # a wall clock has no zone
    in_berlin = millis_of(moment, ZoneInfo("Europe/Berlin"))
    assert datetime.fromtimestamp(in_berlin / 1000, UTC).strftime("%H:%M:%S.%f") == (
        "11:30:59.999000"
    )
    assert millis_of(moment, None) - in_berlin == 3_600_000


@pytest.mark.parametrize(
    ("words", "expected"), [("for good", None), ("7 days", "P7D"), (" pt12h ", "PT12H")]
)
def test_words_become_a_duration(words: str, expected: str | None) -> None:
    assert kept_for(words) == expected


def test_nothing_typed_is_no_problem_and_a_taken_name_is() -> None:
    assert name_problem("", ("dev",)) is None
    assert name_problem("new", ("dev",)) is None
    assert "already" in (name_problem("dev", ("dev",)) or "")
