"""A read with a condition opens fewer files and finds the same rows."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branch_console.errors import InvalidInput
from branch_console.expr.predicate import Condition, holds, parse_condition
from branch_console.format.data_types import (
    BIGINT,
    INT,
    STRING,
    AtomicType,
    DataField,
    TypeRoot,
    parse_data_type,
)
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.binary_row import encode_row
from branch_console.spark.read.file_pruning import may_hold_rows
from branch_console.spark.read.readers import TableRead, plan_table
from branch_console.table.table_state import ReadState
from tests.support.local_tables import LocalTable, as_bag, rows_of
from tests.support.table_files import a_schema
from tests.unit.format.entries import entries

COLUMNS = (
    ("part", STRING),
    ("id", INT),
    ("amount", INT),
    ("name", STRING),
    ("ratio", AtomicType(root=TypeRoot.DOUBLE)),
    ("day", AtomicType(root=TypeRoot.DATE)),
)
ARROW = pa.schema(
    [
        ("part", pa.string()),
        ("id", pa.int32()),
        ("amount", pa.int32()),
        ("name", pa.string()),
        ("ratio", pa.float64()),
        ("day", pa.date32()),
    ]
)


def make_table(
    folder: Path,
    commits: Sequence[Sequence[tuple[Any, ...]]],
    *,
    keys: Sequence[str] = (),
    partitions: Sequence[str] = (),
    **options: str,
) -> LocalTable:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    schema = a_schema(0, COLUMNS, primary_keys=keys, partition_keys=partitions, options=named)
    table = LocalTable(folder, schema)
    for rows in commits:
        columns = [list(column) for column in zip(*rows, strict=True)]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, ARROW, strict=True)]
        table.append(pa.table(arrays, schema=ARROW))
    return table


def pruned(table: LocalTable, text: str | Condition) -> TableRead:
    condition = parse_condition(text) if isinstance(text, str) else text
    return plan_table(table.file_io, ReadState.as_it_is(table.table()), filters=condition)


def row(part: str = "a", id: int = 1, amount: int | None = 1, name: str | None = "x") -> Any:
    return (part, id, amount, name, 0.5, dt.date(2026, 1, id % 28 + 1))


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("part = 'a'", 1),
        ("part <> 'a'", 2),
        ("part in ('a', 'c')", 2),
        ("not part in ('a', 'c')", 1),
        ("part is null", 0),
        ("amount > 15", 2),
        ("amount > 15 and part = 'b'", 1),
        ("amount > 100 or part = 'b'", 1),
        ("not (amount > 100 or part = 'b')", 2),
        ("15 < amount", 2),
        ("amount is null", 0),
        ("amount is not null", 3),
        ("name = 'x'", 3),
        ("name < 'a'", 0),
        ("day = '2026-01-02'", 1),
        ("ratio > 9", 3),
        ("ratio < 0.1", 0),
        ("amount = id", 3),
    ],
)
def test_files_of_an_append_table_are_left_out(tmp_path: Path, text: str, opened: int) -> None:
    table = make_table(
        tmp_path,
        [[row("a", 1, 10)], [row("b", 2, 20)], [row("c", 3, 30)]],
        partitions=("part",),
    )
    plan = pruned(table, text).plan
    assert (plan.read_files, plan.live_files) == (opened, 3)


def test_a_least_value_that_is_no_number_rules_nothing_out() -> None:
    # As Paimon writes it for ORC files with NaN in them.
    schema = a_schema(0, [("ratio", AtomicType(root=TypeRoot.DOUBLE))])
    bounds = [encode_row((least,), schema.row_type.types) for least in (math.nan, 5.0, None)]
    files = entries(
        *(
            {"value_stats": {"min_values": least, "max_values": least, "null_counts": [0]}}
            for least in bounds
        )
    )
    kept = may_hold_rows(files, parse_condition("ratio < 1"), schema, {0: schema})
    assert kept.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("text", "opened"), [("id = 7", 1), ("id in (7, 7)", 1), ("id = 7 or name = 'x'", 4)]
)
def test_one_bucket_is_read_for_one_key(tmp_path: Path, text: str, opened: int) -> None:
    table = make_table(
        tmp_path, [[row(id=number) for number in range(100)]], bucket="4", bucket_key="id"
    )
    read = pruned(table, text)
    assert read.plan.live_files == 4
    assert read.plan.read_files == opened
    assert 7 in rows_of(read)["id"].to_pylist()


def test_a_file_without_the_key_goes_and_one_that_only_overlaps_too(tmp_path: Path) -> None:
    table = make_table(
        tmp_path,
        [[row(id=1), row(id=9)], [row(id=2), row(id=3)], [row(id=8), row(id=20)]],
        keys=("id",),
        bucket="1",
    )
    assert pruned(table, "id = 1").plan.read_files == 1
    assert pruned(table, "id = 9").plan.read_files == 2
    assert pruned(table, "id = 30").plan.read_files == 0


@pytest.mark.parametrize(
    ("engine", "opened"),
    [("deduplicate", 0), ("partial-update", 2), ("aggregation", 2)],
)
def test_values_rule_out_a_section_whose_rows_are_merged_only_as_a_whole(
    tmp_path: Path, engine: str, opened: int
) -> None:
    # The newer file hides the old amount of key 1 and must not be left out with it.
    table = make_table(
        tmp_path,
        [
            [row(id=1, amount=50), row(id=2, amount=1)],
            [row(id=1, amount=2)],
            [row(id=30, amount=1)],
        ],
        keys=("id",),
        bucket="1",
        merge_engine=engine,
    )
    read = pruned(table, "amount > 40")
    assert rows_of(read).num_rows == 0
    assert read.plan.read_files == 2
    assert pruned(table, "amount > 60").plan.read_files == opened


def test_a_column_that_a_file_lacks_is_null_there(tmp_path: Path) -> None:
    table = make_table(tmp_path, [[row()]])
    added = DataField(id=6, name="note", type=STRING)
    old = table.newest
    table.change_schema(replace(old, id=1, fields=(*old.fields, added), highest_field_id=6))
    wide = pa.table([pa.array(each) for each in zip(*[row(id=2)], strict=True)], schema=ARROW)
    table.append(wide.append_column("note", pa.array(["hello"])))
    assert pruned(table, "note is null").plan.read_files == 1
    assert pruned(table, "note is not null").plan.read_files == 1
    assert pruned(table, "note = 'hello'").plan.read_files == 1
    assert rows_of(pruned(table, "note is null"))["id"].to_pylist() == [1]


def test_bounds_of_numbers_that_became_text_say_nothing(tmp_path: Path) -> None:
    table = make_table(tmp_path, [[row(amount=9), row(amount=10)]])
    old = table.newest
    fields = [replace(f, type=STRING if f.name == "amount" else f.type) for f in old.fields]
    table.change_schema(replace(old, id=1, fields=tuple(fields)))
    assert rows_of(pruned(table, "amount = '10'")).num_rows == 1


@pytest.mark.parametrize(
    ("written", "wanted", "amounts", "text"),
    [
        ("BIGINT", "INT", (5, 5_000_000_000), "amount = 705032704"),
        ("BIGINT", "TINYINT", (5, 300), "amount > 43"),
        ("BIGINT", "DECIMAL(3, 0)", (5, 5_000), "amount is null"),
        ("BIGINT", "DECIMAL(3, 0)", (5, 5_000), "not amount > 5"),
        ("BIGINT", "BOOLEAN", (2, 3), "amount = true"),
        ("DOUBLE", "INT", (-1e300, 1e300), "amount >= 2147483647"),
        ("DECIMAL(4, 2)", "DECIMAL(3, 1)", ("1.45", "1.49"), "amount = 1.5"),
        ("STRING", "VARCHAR(1)", ("bc", "bd"), "amount = 'b'"),
        ("TIMESTAMP(3)", "TIMESTAMP(0)", (-1_500, -1_200), "amount = '1969-12-31 23:59:59'"),
    ],
)
def test_bounds_of_a_column_that_was_narrowed_leave_out_no_row(
    tmp_path: Path, written: str, wanted: str, amounts: Sequence[Any], text: str
) -> None:
    kind = parse_data_type(written)
    old = a_schema(0, (("amount", kind),))
    table = LocalTable(tmp_path, old)
    table.append(pa.table({"amount": pa.array(amounts).cast(to_arrow(kind))}))
    field = replace(old.fields[0], type=parse_data_type(wanted))
    table.change_schema(replace(old, id=1, fields=(field,)))
    assert rows_of(pruned(table, text)).num_rows > 0


@pytest.mark.parametrize(
    ("text", "named"),
    [("nobody = 1", "'nobody'"), ("ours.id = 1", "'ours.id'"), ("id = 'seven'", "compare")],
)
def test_a_condition_that_does_not_fit_is_refused_before_files_are_read(
    tmp_path: Path, text: str, named: str
) -> None:
    table = make_table(tmp_path, [[row()]])
    with pytest.raises(InvalidInput, match=named):
        pruned(table, text)


# --- any table and any condition ----------------------------------------------------------------

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 12),
        st.none() | st.integers(-3, 3),
        st.none() | st.sampled_from(["", "a", "ab", "b" * 20, "é"]),
        st.none() | st.sampled_from([-0.0, 0.0, 1.5, math.nan, math.inf]),
        st.none() | st.dates(dt.date(2025, 12, 30), dt.date(2026, 1, 3)),
    ),
    min_size=1,
    max_size=8,
)
LITERALS = {
    "part": ["'a'", "'b'", "'zz'"],
    "id": ["0", "5", "12", "40"],
    "amount": ["-3", "0", "2", "9"],
    "name": ["''", "'ab'", f"'{'b' * 20}'", "'z'"],
    "ratio": ["0", "1.5", "-1"],
    "day": ["'2026-01-01'", "'2025-12-31'"],
}


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    if depth and draw(st.booleans()):
        word = draw(st.sampled_from(["and", "or"]))
        parts = [draw(conditions(depth - 1)) for _ in range(2)]
        joined = f"({parts[0]}) {word} ({parts[1]})"
        return f"not ({joined})" if draw(st.booleans()) else joined
    column = draw(st.sampled_from(list(LITERALS)))
    values = st.sampled_from(LITERALS[column])
    form = draw(st.sampled_from(["compare", "mirrored", "in", "not in", "null", "not null"]))
    sign = draw(st.sampled_from(["=", "!=", "<>", "<", "<=", ">", ">="]))
    match form:
        case "compare":
            return f"{column} {sign} {draw(values)}"
        case "mirrored":
            return f"{draw(values)} {sign} {column}"
        case "in" | "not in":
            return f"{column} {form} ({draw(values)}, {draw(values)})"
        case "null":
            return f"{column} is null"
        case _:
            return f"{column} is not null"


@given(
    commits=st.lists(ROWS, min_size=1, max_size=4),
    condition=conditions(),
    kind=st.sampled_from(
        [
            {},
            {"partitions": ("part",)},
            {"bucket": "3", "bucket_key": "id,amount"},
            {"keys": ("part", "id"), "partitions": ("part",), "bucket": "2"},
            {"keys": ("id",), "bucket": "2", "merge_engine": "partial-update"},
            {"keys": ("id", "part"), "bucket": "1", "sequence__field": "amount"},
            {"keys": ("id", "part"), "bucket": "1", "metadata__stats_mode": "counts"},
        ]
    ),
    is_altered=st.booleans(),
)
@settings(max_examples=max(10, settings.default.max_examples // 3))  # each writes a table
def test_a_pruned_read_is_the_full_read_filtered(
    commits: list[Any], condition: str, kind: dict[str, Any], is_altered: bool
) -> None:
    with TemporaryDirectory() as folder:
        table = make_table(Path(folder), commits, **kind)
        if is_altered:
            table.change_schema(_altered(table.newest))
        full = rows_of(plan_table(table.file_io, ReadState.as_it_is(table.table())))
        wanted = parse_condition(condition)
        expected = full.filter(holds(wanted, lambda name: full[name.column]))
        assert as_bag(rows_of(pruned(table, wanted))) == as_bag(expected)


def _altered(old: TableSchema) -> TableSchema:
    """Numbers are wider, and a text is another column of that name: it is null in old files."""
    changes = {"amount": {"type": BIGINT}, "name": {"id": 7}}
    fields = [replace(field, **changes.get(field.name, {})) for field in old.fields]
    return replace(old, id=1, fields=tuple(fields), highest_field_id=7)


@pytest.mark.parametrize("text", ["ratio = 0", "ratio = 0.0", "ratio in (0, 7)"])
def test_both_zeros_are_found_though_their_buckets_differ(tmp_path: Path, text: str) -> None:
    rows = [(*row(id=at)[:4], ratio, None) for at, ratio in enumerate((0.0, -0.0))]
    table = make_table(tmp_path, [rows], bucket="97", bucket_key="ratio")
    read = pruned(table, text)
    assert read.plan.live_files == 2
    assert sorted(rows_of(read)["id"].to_pylist()) == [0, 1]
