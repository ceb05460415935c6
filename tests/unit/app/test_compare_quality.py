"""The quality of two sides in words: measures as people write them, figures with their labels."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from branch_console.diff.rows.row_diff import ComparedColumn
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.quality.comparison import (
    ColumnComparison,
    Scope,
    ScopeComparison,
    compare_profiles,
)
from branch_console.quality.drift import Drift, Measure, Rating
from branch_console.quality.findings import RuleFinding
from branch_console.quality.profile import EXACT, Detail
from branch_console.quality.profile_rows import profile_rows
from branch_console.quality.rules import Outcome
from branch_console_app.charts.compare_quality import bins_figure, drift_figure
from branch_console_app.models.compare.quality import (
    bin_shares,
    drift_bars,
    drift_words,
    explaining_words,
    key_words,
    rating_words,
    scope_words,
    summary,
)
from branch_console_app.models.compare.quality_figures import figure_lines
from branch_console_app.models.compare.quality_verdict import QualityChange, quality_verdict


def compared(
    before: list[Any], after: list[Any], kind: str, *, detail: Detail = EXACT, keyed: bool = False
) -> ScopeComparison:
    field = DataField(id=0, name="x", type=parse_data_type(kind))
    keys = ["x"] if keyed else []
    layout = arrow_schema((field,))
    sides = [
        profile_rows(pa.table({"x": each}, schema=layout), [field], keys, detail)
        for each in (before, after)
    ]
    column = ComparedColumn(name="x", type=field.type, before=field, after=field)
    return compare_profiles(sides[0], sides[1], [column], keys, Scope.WHOLE)


def lines(column: ColumnComparison) -> dict[str, tuple[str, str, str, str]]:
    return {
        each.name: (each.before, each.after, each.delta, each.label)
        for each in figure_lines(column)
    }


def test_each_type_is_written_as_people_write_it() -> None:
    days = [dt.date(2024, 1, day) for day in (1, 2, 3)]
    moments = [dt.datetime(1960, 1, 1, 0, 0, 1), dt.datetime(1960, 1, 2)]
    cases: dict[str, tuple[list[Any], list[Any], str, tuple[str, str, str, str]]] = {
        "DATE": (days, [*days, dt.date(2024, 1, 9)], "max",
                 ("2024-01-03", "2024-01-09", "", "exact")),
        "DATE ": (days, days[1:], "p50", ("2024-01-02", "2024-01-02", "0", "exact")),
        "TIMESTAMP(3)": (moments[:1], moments[1:], "mean",
                         ("1960-01-01 00:00:01", "1960-01-02 00:00:00", "+24.00 h", "exact")),
        "TIME(0)": ([dt.time(1, 2, 3)], [dt.time(1, 2, 4)], "p50",
                    ("01:02:03", "01:02:04", "+1 s", "exact")),
        "DECIMAL(30, 2)": ([-1], [10**25], "max",
                           ("\N{MINUS SIGN}1.00", "10000000000000000000000000.00",
                            "+10,000,000,000,000,000,000,000,001.00", "exact")),
        "DOUBLE": ([1.0, float("inf")], [None, float("nan")], "max",
                   ("inf", "\N{EN DASH}", "", "exact")),
        "STRING": (["", "abc"], ["ab"], "length, mean", ("1.5", "2", "+0.5", "exact")),
        "STRING ": ([""], [None], "min", ('""', "\N{EN DASH}", "", "exact")),
        "BOOLEAN": ([True], [False, True], "min", ("true", "false", "", "exact")),
        "BYTES": ([b"\xff"], [b""], "max", ("ff", '""', "", "exact")),
    }  # fmt: skip
    for kind, (before, after, name, wanted) in cases.items():
        (column,) = compared(before, after, kind.strip()).columns
        assert lines(column)[name] == wanted, kind


def test_figures_that_are_not_exact_say_by_how_much() -> None:
    small = Detail(points=10, hashes=64, top=5)
    (column,) = compared(list(range(5_000)), list(range(4_000)), "INT", detail=small).columns
    found = lines(column)
    assert found["distinct"][3].startswith("≈ ±")
    assert found["p50"][3].startswith("≈ ±")
    assert found["rows"] == ("5,000", "4,000", "\N{MINUS SIGN}1,000", "exact")
    assert found["max"][:2] == ("4999", "3999")
    keys = compared(list(range(5_000)), [1, 1], "INT", detail=small, keyed=True)
    assert key_words(keys) == (
        ("0 duplicate keys in A", "at least"), ("1 duplicate key in B", "exact"),
    )  # fmt: skip


def test_a_shift_is_named_before_its_measure() -> None:
    shift = Drift(
        measure=Measure.PSI, value=21.168, error=0.0, sure=21.168, chance=0.1, rating=Rating.ALARM
    )
    assert drift_words(shift) == "shift of the distribution (PSI) 21.168"


def test_a_comparison_is_summed_up_in_a_sentence() -> None:
    steady = list(range(200))
    assert summary(compared(steady, steady, "INT")) == "No column drifted."
    steady += steady
    moved = compared(steady, [each + 500 for each in steady], "INT")
    assert summary(moved) == "x is beyond the alarm threshold."
    assert rating_words(moved.columns[0]).endswith(" deviations")
    assert drift_bars(moved).bars[0].severity > 1
    assert summary(compared([], steady, "INT")) == "One side has no rows to compare."
    assert "fewer than 100" in summary(compared([1], steady, "INT"))
    assert scope_words(moved) == "All 400 rows of A against all 400 rows of B."
    assert drift_bars(compared(steady, steady, "INT")).bars == ()


def test_charts_hold_what_their_tables_say() -> None:
    names = [f"n{number:02}" for number in range(30)]
    texts = [name for at, name in enumerate(names) for _ in range(40 - at)]
    (column,) = compared([*texts, None, "NULL"], ["", *texts], "STRING").columns
    shares = bin_shares(column)
    assert shares.labels[0] == "n00"
    assert shares.labels[-2:] == ("all others", "NULL")
    assert sum(shares.before) == 100
    assert len(shares.labels) == 17
    figure = bins_figure(shares, uirevision="x")
    assert [trace.name for trace in figure.data] == ["A", "B"]
    (number,) = compared(list(range(100)), list(range(50, 150)), "INT").columns
    line = bins_figure(bin_shares(number), uirevision="x")
    assert [trace.name for trace in line.data] == ["A", "B", "A, cumulated", "B, cumulated"]
    assert line.data[2].y[-1] == 100
    bars = drift_bars(compared(list(range(200)), [1] * 200, "INT"))
    (drawn,) = drift_figure(bars, uirevision="x").data
    assert list(drawn.customdata[0]) == ["x"]
    # The bar is cut, and says so before its whole number.
    assert drawn.text[0].startswith("≈ !")
    assert (
        drawn.x[0]
        < bars.bars[0].severity
        == pytest.approx(float(drawn.text[0].split()[-1]), abs=0.01)
    )


def finding(rule: str, before: Outcome, after: Outcome) -> RuleFinding:
    return RuleFinding(
        rule=rule, asked="", severity="block", verdict="block", said="", outcome=after,
        outcome_before=before,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "findings", "change", "sentence"),
    [
        (200, 500, (), QualityChange.WORSE, "1 column beyond the alarm threshold (`x`)."),
        (200, 200, (("tail", "passes", "fails"),), QualityChange.WORSE, "1 rule newly fails"),
        (200, 200, (("tail", "fails", "fails"),), QualityChange.NO_CHANGE, "No notable change"),
        (200, 200, (("tail", "fails", "passes"),), QualityChange.BETTER, "1 rule now passes"),
        (200, 200, (), QualityChange.NO_CHANGE, "no column is beyond the alarm threshold."),
    ],
)
def test_the_verdict_is_one_sentence(
    before: int,
    after: int,
    findings: tuple[tuple[str, str, str], ...],
    change: QualityChange,
    sentence: str,
) -> None:
    start = [*range(before)] * 2
    other = start if before == after else [each + after for each in start]
    found = [finding(rule, Outcome(old), Outcome(new)) for rule, old, new in findings]
    verdict = quality_verdict(compared(start, other, "INT"), found, "main")
    assert verdict.change is change
    assert sentence in verdict.sentence


def test_the_verdict_of_few_rows_is_none() -> None:
    verdict = quality_verdict(compared([1], list(range(200)), "INT"), (), "main")
    assert verdict.change is QualityChange.FEW_ROWS


def test_the_values_in_which_sides_differ_most_are_named() -> None:
    before = ["US"] * 880 + ["DE"] * 120
    after = ["US"] * 390 + ["DE"] * 600 + [None] * 10
    (column,) = compared(before, after, "STRING").columns
    told = explaining_words(column, Scope.MERGED)
    assert told is not None
    first, second = told.split("; ")
    assert first.endswith("in DE (12.0 % of A, 60.0 % of Merged)")
    assert second.endswith("in US (88.0 % of A, 39.0 % of Merged).")
    shares = [float(each.split(" in ")[0].split()[-2]) for each in (first, second)]
    assert shares[0] > shares[1] > 10
    assert sum(shares) <= 100
    (steady,) = compared(before, before, "STRING").columns
    assert explaining_words(steady, Scope.WHOLE) is None
    (number,) = compared(list(range(200)), [150] * 200, "INT").columns
    assert "in 139 … 159 (10.0 % of A, 100.0 % of B)" in (
        explaining_words(number, Scope.WHOLE) or ""
    )
