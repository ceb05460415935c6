import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import FormatError, InvalidInput
from branch_console.format.data_types import INT, STRING, DataField, RowType, parse_data_type
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import EMPTY_ROW, decode_row, encode_row
from branch_console.format.values.fine_times import cast_times, has_part, is_fine
from branch_console.format.values.simple_stats import (
    EMPTY_STATS,
    FULL,
    SYSTEM_FIELD_MODE,
    SimpleStats,
    StatsKind,
    StatsMode,
    collect_key_stats,
    collect_partition_stats,
    collect_stats,
    stats_modes,
    truncate_max,
    truncate_min,
    value_stats,
)
from tests.unit.format.entries import entries

_NONE = StatsMode(kind=StatsKind.NONE)
_COUNTS = StatsMode(kind=StatsKind.COUNTS)
_TRUNCATE = StatsMode(kind=StatsKind.TRUNCATE, length=16)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("none", _NONE),
        ("COUNTS", _COUNTS),
        ("full", FULL),
        ("truncate(16)", _TRUNCATE),
        ("Truncate(1)", StatsMode(kind=StatsKind.TRUNCATE, length=1)),
    ],
)
def test_modes_are_read(text: str, mode: StatsMode) -> None:
    assert StatsMode.parse(text) == mode


@pytest.mark.parametrize("text", ["", "some", "truncate", "truncate(0)", "truncate(-1)"])
def test_what_is_no_mode_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is no statistics mode"):
        StatsMode.parse(text)


@pytest.mark.parametrize(
    ("options", "level", "modes"),
    [
        ({}, None, [_TRUNCATE, _TRUNCATE, _TRUNCATE, SYSTEM_FIELD_MODE, SYSTEM_FIELD_MODE]),
        (
            {"metadata.stats-mode": "none", "fields.b.stats-mode": "full"},
            None,
            [_NONE, FULL, _NONE, SYSTEM_FIELD_MODE, SYSTEM_FIELD_MODE],
        ),
        (
            {"metadata.stats-keep-first-n-columns": "1", "fields.c.stats-mode": "counts"},
            None,
            [_TRUNCATE, _NONE, _COUNTS, SYSTEM_FIELD_MODE, SYSTEM_FIELD_MODE],
        ),
        (
            {"metadata.stats-mode.per.level": "0:none, 5:full"},
            0,
            [_NONE, _NONE, _NONE, SYSTEM_FIELD_MODE, SYSTEM_FIELD_MODE],
        ),
        (
            {"metadata.stats-mode.per.level": "0:none, 5:full"},
            3,
            [_TRUNCATE, _TRUNCATE, _TRUNCATE, SYSTEM_FIELD_MODE, SYSTEM_FIELD_MODE],
        ),
    ],
    ids=["default", "by field", "first columns", "by level", "another level"],
)
def test_modes_of_columns_follow_the_options(
    options: dict[str, str], level: int | None, modes: list[StatsMode]
) -> None:
    names = ["a", "b", "c", "_KEY_a", "_SEQUENCE_NUMBER"]
    assert stats_modes(names, Options(options), level=level) == tuple(modes)


CUTS: list[tuple[Any, int, Any, Any]] = [
    ("abc", 3, "abc", "abc"),
    ("abcd", 3, "abc", "abd"),
    ("ab\U0010ffff.", 3, "ab\U0010ffff", "ac"),
    ("\U0010ffff\U0010ffff.", 2, "\U0010ffff\U0010ffff", None),
    ("a\ud7ff.", 2, "a\ud7ff", "a\ue000"),
    ("\U0001f600\U0001f600", 1, "\U0001f600", "\U0001f601"),
    ("", 1, "", ""),
    (b"\x01\x02", 2, b"\x01\x02", b"\x01\x02"),
    (b"\x01\xff\x00", 2, b"\x01\xff", b"\x02"),
    (b"\xff\xff\x00", 2, b"\xff\xff", None),
    (12345, 2, 12345, 12345),
    (None, 2, None, None),
]


@pytest.mark.parametrize(("value", "length", "least", "greatest"), CUTS, ids=repr)
def test_bounds_are_cut_so_that_they_still_hold(
    value: Any, length: int, least: Any, greatest: Any
) -> None:
    assert truncate_min(value, length) == least
    assert truncate_max(value, length) == greatest


BOUNDS: list[tuple[str, list[Any], Any, Any]] = [
    ("BOOLEAN", [True, None, False], False, True),
    ("TINYINT", [5, -128], -128, 5),
    ("BIGINT", [None, None], None, None),
    ("BIGINT", [], None, None),
    ("FLOAT", [1.5, -0.5], -0.5, 1.5),
    ("DOUBLE", [1.0, float("nan")], None, None),
    ("DECIMAL(30, 2)", [Decimal("1.10"), Decimal("-7.00")], Decimal("-7.00"), Decimal("1.10")),
    ("STRING", ["b", "a", None], "a", "b"),
    # Versions of Paimon differ on the order of bytes.
    ("BYTES", [b"\xff", b"\x00"], None, None),
    ("BINARY(1)", [b"\xff", None], None, None),
    ("DATE", [dt.date(2024, 1, 2), dt.date(1960, 1, 1)], dt.date(1960, 1, 1), dt.date(2024, 1, 2)),
    ("TIME(3)", [dt.time(1), dt.time(2)], dt.time(1), dt.time(2)),
    ("TIMESTAMP(6)", [dt.datetime(2024, 1, 1)], dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1)),
    ("TIMESTAMP(9)", [dt.datetime(2024, 1, 1)], None, None),
]


@pytest.mark.parametrize(("written", "values", "least", "greatest"), BOUNDS, ids=str)
def test_bounds_and_nulls_of_each_type(
    written: str, values: list[Any], least: Any, greatest: Any
) -> None:
    stats = _collect([written], [values], [FULL])
    types = (parse_data_type(written),)
    assert decode_row(stats.min_values, types) == (least,)
    assert decode_row(stats.max_values, types) == (greatest,)
    assert stats.null_counts == (values.count(None),)
    assert stats.columns is None


def test_bounds_take_in_both_zeros() -> None:
    stats = _collect(["DOUBLE"], [[0.0, -0.0]], [FULL])
    types = (parse_data_type("DOUBLE"),)
    assert [str(*decode_row(row, types)) for row in (stats.min_values, stats.max_values)] == [
        "-0.0",
        "0.0",
    ]


def test_dates_beyond_those_of_python_have_bounds() -> None:
    column = pa.array([3_000_000], pa.int32()).cast(pa.date32())
    row_type = _row_type(["DATE"])
    stats = collect_stats(pa.table([column], names=["c0"]), row_type, [FULL])
    assert stats.max_values == encode_row((3_000_000,), (INT,))


def test_an_upper_bound_that_cannot_be_cut_leaves_the_count_alone() -> None:
    mode = StatsMode(kind=StatsKind.TRUNCATE, length=1)
    stats = _collect(["STRING"], [["a", "\U0010ffff\U0010ffff", None]], [mode])
    assert decode_row(stats.min_values, (STRING,)) == (None,)
    assert stats.null_counts == (1,)


def test_columns_without_statistics_are_left_out_and_the_others_listed() -> None:
    array = {"type": "ARRAY", "element": "INT"}
    written: list[object] = ["INT", "STRING", array, "INT"]
    values: list[list[Any]] = [[1, 2], ["a", None], [[1], None], [None, 5]]
    modes = [FULL, _COUNTS, FULL, _NONE]
    dense = _collect(written, values, modes)
    assert dense.columns == ("c0", "c1")
    assert decode_row(dense.min_values, (INT, STRING)) == (1, None)
    assert dense.null_counts == (0, 1)
    whole = _collect(written, values, modes, dense=False)
    types = tuple(map(parse_data_type, written))
    assert whole.columns is None
    assert decode_row(whole.max_values, types) == (2, None, None, None)
    assert whole.null_counts == (0, 1, None, None)


def test_no_statistics_at_all_are_empty_rows() -> None:
    stats = _collect(["INT"], [[1]], [_NONE])
    assert stats == SimpleStats(
        min_values=EMPTY_ROW, max_values=EMPTY_ROW, null_counts=(), columns=()
    )


def test_a_column_of_another_type_is_refused() -> None:
    table = pa.table({"c0": ["one"]})
    with pytest.raises(InvalidInput, match="is no INT"):
        collect_stats(table, _row_type(["INT"]), [FULL])


def test_key_statistics_cover_the_key_and_cut_late() -> None:
    text = "x" * 200
    table = pa.table({"other": [1], "c0": [text]})
    stats = collect_key_stats(table, _row_type(["STRING"]))
    assert decode_row(stats.min_values, (STRING,)) == (text[:128],)
    assert decode_row(stats.max_values, (STRING,)) == ("x" * 127 + "y",)
    assert collect_key_stats(table, RowType(fields=())) == EMPTY_STATS


def test_partition_statistics_count_every_entry() -> None:
    rows = [encode_row((value,), (INT,)) for value in (3, None, 1, None, 3)]
    stats = collect_partition_stats(pa.chunked_array([rows[:2], rows[2:]]), _row_type(["INT"]))
    assert decode_row(stats.min_values, (INT,)) == (1,)
    assert decode_row(stats.max_values, (INT,)) == (3,)
    assert stats.null_counts == (2,)
    unpartitioned = collect_partition_stats(pa.array([EMPTY_ROW]), RowType(fields=()))
    assert unpartitioned == EMPTY_STATS


def _schema(schema_id: int, *fields: tuple[int, str, str]) -> TableSchema:
    return TableSchema(
        id=schema_id,
        fields=tuple(DataField(id=i, name=n, type=parse_data_type(t)) for i, n, t in fields),
        highest_field_id=9,
        partition_keys=(),
        primary_keys=(),
        options=Options(),
    )


_OLD = _schema(0, (0, "id", "INT"), (1, "name", "STRING"), (2, "gone", "INT"))
_NEW = _schema(1, (0, "id", "BIGINT"), (1, "title", "STRING"), (3, "name", "INT"))


def _file(schema: TableSchema, low: tuple[Any, ...], high: tuple[Any, ...], **entry: Any) -> Any:
    names = entry.get("value_stats_cols") or schema.row_type.names
    types = schema.project(tuple(names)).types
    stats = {
        "min_values": encode_row(low, types),
        "max_values": encode_row(high, types),
        "null_counts": [2] * len(types),
    }
    return {"schema_id": schema.id, "row_count": 7, "value_stats": stats, **entry}


def test_statistics_follow_their_column_by_id_through_renames_and_wider_types() -> None:
    table = entries(
        _file(_OLD, (1, "a", 5), (9, "z", 6)),
        _file(_NEW, (2**40, "b", None), (2**41, "y", None)),
        _file(_OLD, ("c",), ("d",), value_stats_cols=["name"]),
    )
    shown = value_stats(table, {0: _OLD, 1: _NEW}, _NEW).to_pylist()
    assert [row["min"] for row in shown] == [
        {"id": 1, "title": "a", "name": None},
        {"id": 2**40, "title": "b", "name": None},
        {"id": None, "title": "c", "name": None},
    ]
    assert [row["max"]["title"] for row in shown] == ["z", "y", "d"]
    assert [row["null_count"] for row in shown] == [
        {"id": 2, "title": 2, "name": 7},
        {"id": 2, "title": 2, "name": 2},
        {"id": None, "title": 2, "name": 7},
    ]


def test_dropped_statistics_are_nulls() -> None:
    dropped = {"min_values": EMPTY_ROW, "max_values": EMPTY_ROW, "null_counts": []}
    table = entries(
        {"schema_id": 0, "value_stats": dropped},
        {"schema_id": 0, "value_stats": dropped, "value_stats_cols": []},
    )
    for row in value_stats(table, {0: _OLD}, _OLD).to_pylist():
        assert set(row["min"].values()) == set(row["null_count"].values()) == {None}


def test_bounds_that_the_new_type_cannot_hold_are_nulls() -> None:
    texts = _schema(0, (0, "id", "STRING"))
    numbers = _schema(1, (0, "id", "INT"))
    table = entries(_file(texts, ("a",), ("b",)))
    (row,) = value_stats(table, {0: texts}, numbers).to_pylist()
    assert row == {"min": {"id": None}, "max": {"id": None}, "null_count": {"id": 2}}


def test_files_with_some_columns_have_statistics_of_those() -> None:
    table = entries(
        {
            "schema_id": 0,
            "write_cols": ["id"],
            "value_stats": {
                "min_values": encode_row((1,), (INT,)),
                "max_values": encode_row((2,), (INT,)),
                "null_counts": [0],
            },
        }
    )
    (row,) = value_stats(table, {0: _OLD}, _OLD).to_pylist()
    assert row["max"] == {"id": 2, "name": None, "gone": None}
    assert row["null_count"] == {"id": 0, "name": 10, "gone": 10}


def test_an_unknown_schema_is_named() -> None:
    table = entries(_file(_OLD, (1, "a", 5), (9, "z", 6)))
    with pytest.raises(FormatError, match="schema 0, which this branch does not have"):
        value_stats(table, {}, _NEW)


def test_no_files_have_no_statistics() -> None:
    assert len(value_stats(entries(), {}, _NEW)) == 0


def _row_type(written: list[Any]) -> RowType:
    return RowType(
        fields=tuple(
            DataField(id=i, name=f"c{i}", type=parse_data_type(text))
            for i, text in enumerate(written)
        )
    )


def _collect(
    written: list[Any], values: list[list[Any]], modes: list[StatsMode], *, dense: bool = True
) -> SimpleStats:
    row_type = _row_type(written)
    columns = [
        cast_times(pa.array(column), to_arrow(data_type))
        if has_part(to_arrow(data_type), is_fine)
        else pa.array(column, to_arrow(data_type))
        for column, data_type in zip(values, row_type.types, strict=True)
    ]
    table = pa.table(columns, names=list(row_type.names))
    return collect_stats(table, row_type, modes, dense=dense)
