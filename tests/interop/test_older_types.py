"""Older values of a column whose type was changed are read as Java's casts have them."""

import datetime as dt
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Final

import jpype
import numpy as np
import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import new_schema
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import AtomicType, parse_data_type
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.fine_times import cast_times, is_fine, time_parts
from branch_console.format.values.value_casts import cast_values
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.files.row_files import check_format
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.java_paimon import JavaPaimon
from tests.support.java_values import FieldType, data_type, decoder, to_java
from tests.support.java_vm import java_class
from tests.support.local_tables import rows_of
from tests.support.our_rows import OurRows
from tests.support.type_matrix import FORMATS

Open = Callable[[Path], JavaPaimon]

_MOMENTS: Final = (
    dt.datetime(2024, 1, 1, 10, 11, 12, 123456),
    dt.datetime(1969, 12, 31, 23, 59, 58, 999999),
    dt.datetime(1969, 12, 30),
    dt.datetime(1, 1, 1, 0, 0, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
)
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "BOOLEAN": (True, False),
    "TINYINT": (-128, 127, 0),
    "SMALLINT": (-32768, 32767, 300),
    "INT": (-(2**31), 2**31 - 1, 40_000, -7, 2**24 + 1),
    "BIGINT": (-(2**63), 2**63 - 1, 5_000_000_000, -1, 2**53 + 1),
    "FLOAT": (1.5, -1.5, math.nan, math.inf, -math.inf, 0.1, 3e9, 1e-5, 2.0**24, -0.0),
    "DOUBLE": (
        *(1.5, -2.5, math.nan, math.inf, -math.inf, 0.1, 1e300, 1e-300, 123456789.125, 9.3e18),
        *(-0.0, 0.001, 1e7, 12345678.9, 5e-324, 0.05, 2.675, 99.95),
    ),
    "DECIMAL(10, 2)": tuple(map(Decimal, ("1.55", "-1.55", "99999999.99", "0.00", "999.95"))),
    "DECIMAL(38, 10)": (
        Decimal("1234567890123456789012345678.0123456789"),
        Decimal("-0.0000000001"),
    ),
    "DECIMAL(20, 0)": (Decimal(2**64 - 1), Decimal(-(2**63) - 1)),
    "CHAR(5)": ("abc  ", "12345"),
    "VARCHAR(8)": ("ab", "-5", "1.9", "yes", "0", "ä€😀x"),
    "STRING": (
        *("", "1", "-1", "+", "12.5", "128", "99999999999", "-9223372036854775809"),
        *("1e3", ".", "T"),
        *("2020-01-02", "2020-01-02 03:04:05.123456789", "10:11:12", "10:11:12.345", " 7 ", "abc"),
        *("1969-12-31 23:59:59.999999", "99999.95"),
    ),
    "BINARY(3)": (b"abc", b"\xff\0\1"),
    "VARBINARY(4)": (b"", b"ab", b"abcd"),
    "DATE": (dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)),
    "TIME(3)": (dt.time(0, 0), dt.time(23, 59, 59, 999000), dt.time(1, 2, 3, 120000)),
    **{
        f"TIMESTAMP({digits}){zone}": tuple(
            each.replace(microsecond=each.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits))
            for each in _MOMENTS
        )
        for digits, zone in product((0, 3, 6), ("", " WITH LOCAL TIME ZONE"))
    },
}  # fmt: skip
_TARGETS: Final = (
    *_VALUES,
    *("DECIMAL(3, 0)", "DECIMAL(12, 4)", "DECIMAL(38, 38)", "VARCHAR(3)", "CHAR(3)", "CHAR(9)"),
    *("BINARY(2)", "BINARY(5)", "VARBINARY(2)", "TIMESTAMP(1)", "TIMESTAMP(4)", "TIMESTAMP(9)"),
    "STRING NOT NULL",
)
_REFUSED: Final = object()
_FAR: Final = 2**50
_LOOSE: Final = ("CHAR", "VARCHAR", "STRING", "BINARY", "VARBINARY")
_MOST_OF_THEM: Final = 1_500
_YEAR_1: Final = -62_135_596_800_000
_YEAR_10_000: Final = 253_402_300_800_000
_LOCAL: Final = " WITH LOCAL TIME ZONE"


def _given(value: Any, kind: Any) -> pa.Array:
    target = to_arrow(kind)
    if isinstance(value, dt.datetime):
        return pa.array([value], pa.timestamp("us", target.tz)).cast(target)
    return pa.array([value], target)


def _of_java(value: Any, java_type: Any) -> Any:
    if value is not None and str(java_type.getTypeRoot().name()).startswith("TIMESTAMP"):
        return int(value.getMillisecond()), int(value.getNanoOfMillisecond())
    return None if value is None else decoder(java_type)(value)


def _of_ours(array: pa.Array) -> Any:
    if array.null_count:
        return None
    kind = array.type
    if pa.types.is_timestamp(kind) or is_fine(kind):
        ticks = array if is_fine(kind) else cast_times(array, to_arrow(_FINEST[bool(kind.tz)]))
        millis, nanos = time_parts(ticks)
        return int(millis[0]), int(nanos[0])
    return array[0].as_py()


_FINEST: Final = tuple(parse_data_type(f"TIMESTAMP(9){zone}") for zone in ("", _LOCAL))


@pytest.mark.usefixtures("java")
def test_every_value_is_read_as_java_casts_it_or_refused_by_name() -> None:
    casts, allowed = java_class("casting.CastExecutors"), java_class("types.DataTypeCasts")
    wrong, read = [], 0
    for written, wanted in product(_VALUES, _TARGETS):
        theirs, to = data_type(written), data_type(wanted)
        if written == wanted or not allowed.supportsCast(theirs, to, True):
            continue
        rule = casts.resolve(theirs, to)
        for value in (*_VALUES[written], None):
            java = _java_cast(rule, value, theirs, to)
            ours = _our_cast(value, written, wanted)
            if ours is _REFUSED:
                is_ours = _LOCAL in written + wanted or written.startswith(_LOOSE)
                is_far = isinstance(java, tuple) and abs(java[0]) > _FAR
                if not (java is _REFUSED or value is None or is_ours or is_far):
                    wrong.append(f"{written} {value!r} as {wanted} is refused, Java has {java!r}")
                continue
            read += 1
            if not (value is ours is None or _is_same(ours, java)):
                wrong.append(f"{written} {value!r} as {wanted}: {ours!r}, Java has {java!r}")
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:30])
    assert read > _MOST_OF_THEM


def _java_cast(rule: Any, value: Any, theirs: Any, to: Any) -> Any:
    if rule is None:
        return _REFUSED
    try:
        return None if value is None else _of_java(rule.cast(to_java(value, theirs)), to)
    except jpype.JException:
        return _REFUSED


def _our_cast(value: Any, written: str, wanted: str) -> Any:
    ours, kind = parse_data_type(written), parse_data_type(wanted)
    assert isinstance(ours, AtomicType)
    assert isinstance(kind, AtomicType)
    try:
        return _of_ours(cast_values(_given(value, ours), ours, kind))
    except InvalidInput as error:
        return _REFUSED if error.kind is ErrorKind.UNSUPPORTED else error


def _is_same(ours: Any, java: Any) -> bool:
    if isinstance(ours, float) and isinstance(java, float):
        return np.float64(ours).tobytes() == np.float64(java).tobytes() or (
            math.isnan(ours) and math.isnan(java)
        )
    return type(ours) is type(java) and bool(ours == java)


_CHANGES: Final = {
    "b": ("BIGINT", "INT", (5_000_000_000, -1, None)),
    "d": ("DECIMAL(10, 2)", "DECIMAL(4, 1)", (Decimal("1.55"), Decimal("99999.00"), None)),
    "t": ("TIMESTAMP(6)", "TIMESTAMP(0)", (_MOMENTS[0], _MOMENTS[1], None)),
    "f": ("DOUBLE", "INT", (1.5, -1e300, None)),
    "s": ("STRING", "VARCHAR(2)", ("ä€😀", "a", None)),
    "n": ("INT", "STRING", (7, -7, None)),
}


@pytest.mark.parametrize("file_format", FORMATS)
def test_narrowed_columns_of_files_are_read_as_java_reads_them(
    open_java: Open, tmp_path: Path, file_format: str
) -> None:
    """Also inside of ROW, ARRAY and MAP."""
    java = open_java(tmp_path)
    row: FieldType = {"type": "ROW", "fields": [{"id": 90, "name": "v", "type": "BIGINT"}]}
    nested: dict[str, FieldType] = {
        "r": row,
        "a": {"type": "ARRAY", "element": "BIGINT"},
        "m": {"type": "MAP", "key": "INT", "value": "BIGINT"},
    }
    columns: dict[str, FieldType] = {
        "k": "INT",
        **{name: kind for name, (kind, _, _) in _CHANGES.items()},
        **nested,
    }
    table = java.create_table("db.t", columns, options={"file.format": file_format, "bucket": "-1"})
    values = zip(*(each for _, _, each in _CHANGES.values()), strict=True)
    large = 5_000_000_000
    table.write(
        [(at, *each, (large,), [large, None], {1: large}) for at, each in enumerate(values)]
    )
    for name, (_, kind, _) in _CHANGES.items():
        table.retype_column(name, kind)
    for path in ("r.v", "a.element", "m.value"):
        table.retype_column(path, "INT")
    warehouse = Warehouse.open(str(tmp_path))
    state = ReadState.as_it_is(warehouse.table("db.t"))
    found = rows_of(plan_table(warehouse.file_io, state)).to_pylist()
    ours = [
        tuple(tuple(v.values()) if isinstance(v, dict) else v for v in row.values())
        for row in found
    ]
    assert sorted(ours, key=lambda each: each[0]) == sorted(table.rows(), key=lambda each: each[0])


@pytest.mark.parametrize(
    "file_format",
    [
        pytest.param("parquet", marks=pytest.mark.depth("full")),
        *(pytest.param(each, marks=pytest.mark.depth("long")) for each in ("orc", "avro")),
    ],
)
@pytest.mark.parametrize("keys", [(), ("k",)], ids=["append", "key"])
def test_java_reads_the_same_of_rows_that_are_written_again(
    open_java: Open, tmp_path: Path, file_format: str, keys: tuple[str, ...]
) -> None:
    """A column for each pair of types, and what a DELETE or a compaction wrote of the rows."""
    java = open_java(tmp_path)
    pairs = list(_pairs_in_files(file_format))
    assert len(pairs) > 100
    options = {"file.format": file_format, "bucket": "1" if keys else "-1"}
    columns: dict[str, FieldType] = {f"c{at}": written for at, (written, _) in enumerate(pairs)}
    table = java.create_table("db.t", {"k": "INT", **columns}, options=options, primary_keys=keys)
    most = max(len(_VALUES[written]) for written, _ in pairs)
    padded = [(*_VALUES[written], *(None,) * (most + 1))[: most + 1] for written, _ in pairs]
    table.write([(at, *row) for at, row in enumerate(zip(*padded, strict=True))])
    change = java_class("schema.SchemaChange").updateColumnType
    table._alter(*(change(f"c{at}", data_type(wanted)) for at, (_, wanted) in enumerate(pairs)))
    before = _by_key(table.rows())
    files = {file["file_name"] for file in table.live_files()}
    ours = OurRows(Warehouse.open(str(tmp_path)), "db.t")
    if keys:
        ours.compact()
    else:
        (name,) = files
        ours.delete_positions({name: [most]})
        del before[most]
    assert files.isdisjoint(file["file_name"] for file in table.live_files())
    after = _by_key(table.rows())
    assert before.keys() == after.keys()
    wrong = [
        f"{pairs[at]} {_VALUES[pairs[at][0]][key : key + 1]}: {old!r} became {new!r}"
        for key, row in before.items()
        for at, (old, new) in enumerate(zip(row[1:], after[key][1:], strict=True))
        if repr(old) != repr(new)
    ]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:30])


def _pairs_in_files(file_format: str) -> Iterator[tuple[str, str]]:
    """The types that Paimon lets one change into each other, both of which we read and write."""
    casts, allowed = java_class("casting.CastExecutors"), java_class("types.DataTypeCasts")
    for written, wanted in product(_VALUES, _TARGETS):
        theirs, to = data_type(written), data_type(wanted)
        is_change = written != wanted and not wanted.endswith("NOT NULL")
        if not (is_change and allowed.supportsCast(theirs, to, True)):
            continue
        rule = casts.resolve(theirs, to)
        read = [
            (_java_cast(rule, value, theirs, to), _our_cast(value, written, wanted))
            for value in _VALUES[written]
        ]
        is_read = all(java is not _REFUSED and ours is not _REFUSED for java, ours in read)
        if wanted == "TIMESTAMP(9)" or any(_is_far(java) for java, _ in read):
            continue  # Python, which compares, does not reach such times
        if is_read and _is_writable(written, file_format) and _is_writable(wanted, file_format):
            yield written, wanted


def _is_far(java: Any) -> bool:
    return isinstance(java, tuple) and not _YEAR_1 <= java[0] < _YEAR_10_000


def _is_writable(written: str, file_format: str) -> bool:
    fields = [("c", parse_data_type(written))]
    try:
        check_format(new_schema(fields, options={"file.format": file_format}))
    except InvalidInput:
        return False
    return True


def _by_key(rows: list[tuple[Any, ...]]) -> dict[int, tuple[Any, ...]]:
    return {row[0]: row for row in rows}
