"""Times as messages write them and options read them."""

import pytest

from branch_console.format.scan_options import ScanOptions, moment_millis, moment_text

NEW_YEAR = 1_577_836_800_000


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (NEW_YEAR, "2020-01-01 00:00:00+00:00"),
        (NEW_YEAR + 1, "2020-01-01 00:00:00.001+00:00"),
        (0, "1970-01-01 00:00:00+00:00"),
        (-1, "1969-12-31 23:59:59.999+00:00"),
        (-62_135_596_800_000, "0001-01-01 00:00:00+00:00"),
        (253_402_300_799_000, "9999-12-31 23:59:59+00:00"),
    ],
)
def test_a_time_is_written_as_a_date_and_read_back(millis: int, text: str) -> None:
    assert moment_text(millis) == text
    assert moment_millis(text) == millis


@pytest.mark.parametrize("millis", [253_402_300_800_000, -62_135_596_800_001, 10**18 - 1])
def test_a_time_that_no_calendar_has_is_a_number(millis: int) -> None:
    assert moment_text(millis) == f"{millis} ms"


@pytest.mark.parametrize(
    ("asked", "text"),
    [(str(NEW_YEAR), "2020-01-01 00:00:00+00:00"), ("9" * 18, f"{'9' * 18} ms")],
)
def test_what_a_read_was_asked_for_is_told_whatever_the_time(asked: str, text: str) -> None:
    options = ScanOptions.parse({"scan.timestamp-millis": asked})
    assert options.asked == text


def test_times_between_which_changes_are_read_are_told_as_dates() -> None:
    between = ScanOptions.parse({"incremental-between-timestamp": f"{NEW_YEAR},0"}).between
    assert between is not None
    assert str(between) == f"{NEW_YEAR},0"
    assert between.names == ("2020-01-01 00:00:00+00:00", "1970-01-01 00:00:00+00:00")
