"""Profiles: what they say equals what pandas finds in the same rows, and parts add up."""

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    DataField,
    TypeRoot,
    parse_data_type,
)
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.quality.profile import (
    EXACT,
    SIDE,
    UNIT,
    ColumnProfile,
    Detail,
    Profile,
    kind_of,
    merge_profiles,
)
from branch_console.quality.profile_codec import profile_from_table, profile_to_table
from branch_console.quality.profile_rows import profile_rows

NAN = float("nan")
INT = AtomicType(root=TypeRoot.INT)
SHARES = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])

COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "tiny": ("TINYINT", [1, -3, 127, None, 1]),
    "big": ("BIGINT", [2**62, -(2**62), 0, None, 0]),
    "price": ("DECIMAL(20, 2)", [Decimal("-1.50"), Decimal("99999999999999.25"), None, None]),
    "ratio": ("DOUBLE", [1.5, NAN, NAN, -0.0, 0.0, None, 2.25]),
    "single": ("FLOAT", [0.1, 0.1, None, -7.5]),
    "day": ("DATE", [dt.date(1969, 12, 31), dt.date(2020, 2, 29), None]),
    "clock": ("TIME(3)", [dt.time(23, 59, 59), dt.time(0, 0), None]),
    "moment": ("TIMESTAMP(6)", [dt.datetime(2020, 1, 1, 12, 0, 0, 1), dt.datetime(1950, 1, 1)]),
    "text": ("STRING", ["b", "", None, "b", "ä€", "b\x00"]),
    "code": ("CHAR(2)", ["ab", "cd", "ab"]),
    "flag": ("BOOLEAN", [True, False, None, True]),
    "bytes": ("BYTES", [b"\xff", b"", b"\x00\x01", None]),
    "nothing": ("STRING", [None, None]),
    "no_number": ("DOUBLE", [None, None, None]),
    "only_nan": ("DOUBLE", [NAN, NAN]),
    "constant": ("INT", [7] * 300),
    "all_distinct": ("STRING", [f"id-{number}" for number in range(300)]),
}  # fmt: skip


def column(name: str, detail: Detail = EXACT, pieces: int = 1) -> ColumnProfile:
    kind, values = COLUMNS[name]
    field = DataField(id=0, name=name, type=parse_data_type(kind))
    return profiled([field], {name: values}, detail, pieces).columns[name]


def profiled(
    fields: Sequence[DataField], values: dict[str, list[Any]], detail: Detail, pieces: int = 1
) -> Profile:
    table = pa.table(values, schema=arrow_schema(tuple(fields)))
    size = max(1, -(-table.num_rows // pieces))
    parts = [
        profile_rows(table.slice(start, size), fields, [], detail)
        for start in range(0, table.num_rows, size)
    ]
    kinds = {field.name: kind_of(field.type) for field in fields}
    return merge_profiles(parts, kinds, detail)


@pytest.mark.parametrize("pieces", [1, 3], ids=["whole", "in pieces"])
@pytest.mark.parametrize("name", COLUMNS)
def test_figures_are_those_that_pandas_finds(name: str, pieces: int) -> None:
    found, values = column(name, pieces=pieces), COLUMNS[name][1]
    there = [each for each in values if each is not None]
    valid = [each for each in there if not (isinstance(each, float) and math.isnan(each))]
    assert (found.rows, found.nulls) == (len(values), len(values) - len(there))
    assert found.nans == len(there) - len(valid)
    assert found.distinct is not None
    assert found.distinct.is_complete
    # Pandas takes a text with a NUL for one without.
    assert found.distinct.count == len(set(valid)) + bool(found.nans)
    measures = measured(name, valid)
    if measures is None:
        return
    moments, distribution = found.moments, found.distribution
    assert distribution is not None
    assert (distribution.count, distribution.error) == (len(measures), 0)
    if not len(measures):
        assert (moments, found.low, found.high) == (None, None, None)
        return
    assert moments is not None
    assert moments.mean == pytest.approx(measures.mean(), rel=1e-12, abs=1e-9)
    if len(measures) > 1:
        assert moments.deviation == pytest.approx(measures.std(), rel=1e-9, abs=1e-9)
    wanted = np.quantile(measures, SHARES, method="inverted_cdf")
    told = distribution.numbers(distribution.quantiles(SHARES))
    assert [float(each) for each in told] == wanted.tolist()


def measured(name: str, valid: list[Any]) -> "pd.Series[float] | None":
    """The values on a line, as the measures of a column are documented."""
    if name == "flag":
        return None
    if name in ("text", "code", "bytes", "nothing", "all_distinct"):
        return pd.Series([len(each) for each in valid], dtype=float)
    if name == "day":
        return pd.Series([(each - dt.date(1970, 1, 1)).days for each in valid], dtype=float)
    if name == "clock":
        return pd.Series([(each.hour * 3600 + each.minute * 60 + each.second) * 1e6
                          for each in valid])  # fmt: skip
    if name == "moment":
        epoch = dt.datetime(1970, 1, 1)
        return pd.Series([(each - epoch) / dt.timedelta(microseconds=1) for each in valid])
    if name == "single":
        return pd.Series(np.float32(valid).astype(float))
    return pd.Series([float(each) for each in valid], dtype=float)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("tiny", "-3", "127"),
        ("big", str(-(2**62)), str(2**62)),
        ("price", "-1.50", "99999999999999.25"),
        ("ratio", "0", "2.25"),
        ("day", "1969-12-31", "2020-02-29"),
        ("moment", "1950-01-01 00:00:00.000000", "2020-01-01 12:00:00.000001"),
        ("text", "", "ä€"),
        ("bytes", "", "ff"),
        ("flag", "false", "true"),
        ("only_nan", None, None),
    ],
)
def test_ends_are_told_as_they_are(name: str, low: str | None, high: str | None) -> None:
    for pieces in (1, 2):
        found = column(name, pieces=pieces)
        assert (found.low, found.high) == (low, high)


def test_texts_are_counted() -> None:
    top = column("text", pieces=2).top
    assert top is not None
    assert dict(zip(top.values.to_pylist(), top.counts.to_pylist(), strict=True)) == {
        "b": 2, "": 1, "ä€": 1, "b\x00": 1,
    }  # fmt: skip


def test_numbers_that_no_double_can_add_up_are_profiled() -> None:
    field = DataField(id=0, name="x", type=parse_data_type("DOUBLE"))
    for pieces in (1, 4):
        values = [1e308, -1e308, 1e308, float("inf")]
        found = profiled([field], {"x": values}, EXACT, pieces).columns["x"]
        assert (found.low, found.high) == ("-1e+308", "inf")
        assert found.moments is not None
        assert found.moments.count == 3
        assert found.distribution is not None
        assert found.distribution.quantiles(np.array([0.5])).tolist() == [1e308]


def test_nested_values_are_only_counted() -> None:
    field = DataField(id=0, name="list", type=ArrayType(element=INT))
    found = profiled([field], {"list": [[1], None, [1]]}, EXACT).columns["list"]
    assert (found.rows, found.nulls, found.distinct, found.low) == (3, 1, None, None)


def test_no_rows_have_a_profile() -> None:
    field = DataField(id=0, name="x", type=INT)
    for found in (profiled([field], {"x": []}, UNIT), merge_profiles([], {}, EXACT)):
        assert found.rows == 0
    empty = profiled([field], {"x": []}, EXACT).columns["x"]
    assert (empty.low, empty.moments, empty.valid) == (None, None, 0)


def test_rows_of_one_key_are_duplicates_also_in_other_units() -> None:
    fields = [DataField(id=0, name="k", type=INT), DataField(id=1, name="j", type=INT)]
    rows = pa.table({"k": [1, 1, 1, 2], "j": [1, 2, 1, 1]}, schema=_ints("k", "j"))
    kinds = {field.name: kind_of(field.type) for field in fields}
    parts = [profile_rows(each, fields, ["k", "j"], EXACT) for each in (rows, rows.slice(3))]
    assert parts[0].duplicate_keys == 1
    assert merge_profiles(parts, kinds, EXACT).duplicate_keys == 2
    many = pa.table({"k": range(9_000), "j": [0] * 9_000}, schema=_ints("k", "j"))
    few = profile_rows(many, fields, ["k", "j"], UNIT)
    assert few.keys is not None
    assert not few.keys.is_complete
    assert few.duplicate_keys == 0


def _ints(*names: str) -> pa.Schema:
    return pa.schema([(name, pa.int32()) for name in names])


def test_what_is_kept_of_many_values_stays_within_its_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, units = 20_000, 12
    samples = {
        "normal": rng.normal(size=size * units),
        "skewed": np.exp(rng.normal(scale=3, size=size * units)),
        "heavy": np.round(rng.exponential(3, size * units)),
        "drifting": np.arange(size * units) + rng.normal(size=size * units),
    }
    fields = [
        DataField(id=at, name=name, type=parse_data_type("DOUBLE"))
        for at, name in enumerate(samples)
    ]
    table = pa.table(samples)
    parts = [
        profile_rows(table.slice(start * size, size), fields, [], UNIT) for start in range(units)
    ]
    whole = merge_profiles(parts, {field.name: kind_of(field.type) for field in fields}, SIDE)
    for name, values in samples.items():
        found = whole.columns[name]
        distribution, distinct = found.distribution, found.distinct
        assert distribution is not None
        assert distinct is not None
        assert distribution.rank_error <= 0.0025, name
        assert len(distribution.points) < 20_000, name
        points = rng.choice(values, 500)
        ranks = np.searchsorted(np.sort(values), points, side="right")
        assert np.abs(distribution.rank(points) - ranks).max() <= distribution.error, name
        there = len(np.unique(values))
        assert abs(distinct.count - there) <= distinct.error, name
        assert found.moments is not None
        assert found.moments.mean == pytest.approx(values.mean(), rel=1e-9, abs=1e-9)
        assert found.moments.deviation == pytest.approx(values.std(ddof=1), rel=1e-9)


def test_counts_of_texts_stay_within_their_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [f"user-{number}" for number in rng.zipf(1.3, 60_000) % 30_000]
    field = DataField(id=0, name="text", type=parse_data_type("STRING"))
    found = profiled([field], {"text": texts}, UNIT, pieces=6).columns["text"]
    real = pd.Series(texts).value_counts()
    assert found.top is not None
    assert found.top.error > 0
    listed = dict(zip(found.top.values.to_pylist(), found.top.counts.to_pylist(), strict=True))
    for text, count in real.items():
        assert listed.get(str(text), 0) <= count <= listed.get(str(text), 0) + found.top.error
    assert found.distinct is not None
    assert abs(found.distinct.count - len(real)) <= found.distinct.error


@pytest.mark.parametrize("detail", [EXACT, UNIT], ids=["exact", "small"])
def test_a_profile_travels_as_a_table(detail: Detail) -> None:
    values = np.random.default_rng(1).normal(size=9_000)
    field = DataField(id=0, name="x", type=parse_data_type("DOUBLE"))
    found = profile_rows(pa.table({"x": values}), [field], ["x"], detail)
    back = profile_from_table(profile_to_table(found))
    assert (back.rows, back.duplicate_keys) == (9_000, 0)
    old, new = found.columns["x"], back.columns["x"]
    assert (new.low, new.high, new.moments) == (old.low, old.high, old.moments)
    assert old.distribution is not None
    assert new.distribution is not None
    assert new.distribution.points.tolist() == old.distribution.points.tolist()
    assert new.distribution.error == old.distribution.error
    assert old.distinct is not None
    assert new.distinct is not None
    assert (new.distinct.count, new.distinct.error) == (old.distinct.count, old.distinct.error)
