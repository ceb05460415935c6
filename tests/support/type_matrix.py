"""Every type with its extremes, on every level, and an exact reading of what Java holds of them.

Values are Java's own, so that nothing is lost on the way into a table; what is read is compared as
the bits that Paimon holds, not as Python has them.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import jpype

from tests.support.java_paimon import JavaTable
from tests.support.java_values import FieldType
from tests.support.java_vm import java_class

Cell: TypeAlias = Any

FORMATS: Final = ("parquet", "orc", "avro")
ALL_KINDS: Final = slice(None)
_FAR: Final = (
    "0001-01-01T00:00:00",
    "9999-12-31T23:59:59.999999999",
    "-4800-02-28T23:59:59.999999999",
    "+10000-01-01T00:00:00.000000001",
    "1582-10-10T12:00:00.123456789",
    "1969-12-31T23:59:58.999999999",
    "1677-09-21T00:12:43.145224191",
    "2262-04-11T23:47:16.854775808",
    "1970-01-01T00:00:00",
)
FINE: Final = "TIMESTAMP(9)"
"""How the types begin of which an UPDATE is refused, as Spark does not keep them whole."""
_NEAR: Final = ("1969-12-31T23:59:58.999999999", "1970-01-01T00:00:00")
_WHOLE: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_BOXES: Final = {"TINYINT": "Byte", "SMALLINT": "Short", "INT": "Integer", "BIGINT": "Long"}
_LENGTH: Final = 3
_PRIMITIVES: Final = {
    "BOOLEAN": "JBoolean",
    "TINYINT": "JByte",
    "SMALLINT": "JShort",
    "INT": "JInt",
    "BIGINT": "JLong",
    "FLOAT": "JFloat",
    "DOUBLE": "JDouble",
}
_FLOATS: Final = (
    0x7FC00000, 0x7FC12345, 0xFFC00001, 0x80000000, 0x00000000,
    0x7F800000, 0xFF800000, 0x00000001, 0x80000001, 0x7F7FFFFF,
)  # fmt: skip
_DOUBLES: Final = (
    0x7FF8000000000000, 0x7FF8000012345678, 0xFFF8000000000001, 1 << 63, 0,
    0x7FF0000000000000, 0xFFF0000000000000, 1, (1 << 63) + 1, 0x7FEFFFFFFFFFFFFF,
)  # fmt: skip
_TEXTS: Final = ("", "a", "\0a\0", " b ", "ä€😀", "\uffff", "z" * 40_000)
_BYTES: Final = (b"", b"\0", b"\xff\xfe\0", b"\x80" * 40_000)


def values(file_format: str) -> dict[str, list[Any]]:
    """The extremes of every type that files of a format hold, as Java's values."""
    found: dict[str, list[Any]] = {"BOOLEAN": [_boxed("Boolean", each) for each in (True, False)]}
    for name, bits in _WHOLE.items():
        ends = (-(1 << bits - 1), (1 << bits - 1) - 1, 0, -1)
        found[name] = [_boxed(_BOXES[name], end) for end in ends]
    found["FLOAT"] = [java_class("java.lang.Float").intBitsToFloat(_signed(b, 32)) for b in _FLOATS]
    found["FLOAT"] = [_boxed("Float", value) for value in found["FLOAT"]]
    double = java_class("java.lang.Double").longBitsToDouble
    found["DOUBLE"] = [_boxed("Double", double(_signed(bits, 64))) for bits in _DOUBLES]
    for precision, scale in ((1, 0), (9, 2), (18, 18), (19, 3), (27, 5), (38, 0), (38, 38)):
        most = 10**precision - 1
        found[f"DECIMAL({precision}, {scale})"] = [
            java_class("data.Decimal").fromBigDecimal(
                java_class("java.math.BigDecimal")(
                    java_class("java.math.BigInteger")(str(number)), scale
                ),
                precision,
                scale,
            )
            for number in (most, -most, 0, 1, -1)
        ]
    text = java_class("data.BinaryString").fromString
    found["CHAR(5)"] = [text(each) for each in ("", "abc", "abcde", "a \0 b")]
    found["VARCHAR(4)"] = [text(each) for each in ("", "ab  ", "ä€😀")]
    found["STRING"] = [text(each) for each in _TEXTS]
    found["BINARY(3)"] = [jpype.JArray(jpype.JByte)(each) for each in (b"\0\0\0", b"\xff\0\x80")]
    found["VARBINARY(4)"] = [jpype.JArray(jpype.JByte)(each) for each in (b"", b"\0\xff", b"abcd")]
    found["BYTES"] = [jpype.JArray(jpype.JByte)(each) for each in _BYTES]
    days = ("0001-01-01", "9999-12-31", "-4800-01-01", "+20000-01-01", "1582-10-10", "1970-01-01")
    local_date = java_class("java.time.LocalDate")
    found["DATE"] = [_boxed("Integer", local_date.parse(day).toEpochDay()) for day in days]
    for precision in (0, 3):
        found[f"TIME({precision})"] = [
            _boxed("Integer", each * (1_000 if precision == 0 else 1))
            for each in ((0, 86_399) if precision == 0 else (0, 1, 86_399_999))
        ]
    for precision in (0, 3, 6, 9):
        for zone in ("", " WITH LOCAL TIME ZONE"):
            if _is_held(file_format, precision, zone):
                found[f"TIMESTAMP({precision}){zone}"] = list(_times(file_format, precision))
    return found


def _is_held(file_format: str, precision: int, zone: str) -> bool:
    """Whether we write such timestamps; else a test of refusals names them."""
    if file_format == "avro":
        return precision <= 6
    return file_format != "orc" or not zone


def _times(file_format: str, precision: int) -> Iterator[Any]:
    parse = java_class("java.time.LocalDateTime").parse
    for each in _FAR:
        whole, dot, digits = each.partition(".")
        kept = digits[:precision]
        if file_format == "orc":
            # Finer ones before 1970, or beside far ones, are refused.
            kept = digits[: min(precision, 3)]
        moment = parse(whole + dot * bool(kept) + kept)
        yield java_class("data.Timestamp").fromLocalDateTime(moment)


def _row(written: FieldType) -> FieldType:
    return {
        "type": "ROW",
        "fields": [
            {"id": 0, "name": "a", "type": written},
            {"id": 1, "name": "b", "type": "INT"},
        ],
    }


NESTINGS: Final[dict[str, Callable[[FieldType], FieldType]]] = {
    "top": lambda written: written,
    "row": _row,
    "array": lambda written: {"type": "ARRAY", "element": written},
    "map": lambda written: {"type": "MAP", "key": "STRING NOT NULL", "value": written},
    "rows": lambda written: {"type": "ARRAY", "element": _row(written)},
    "key": lambda written: {"type": "MAP", "key": f"{written} NOT NULL", "value": "INT"},
    "set": lambda written: {"type": "MULTISET", "element": f"{written} NOT NULL"},
    "keys": lambda written: _row({"type": "MAP", "key": f"{written} NOT NULL", "value": written}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Columns by name, and rows of Java's values."""

    columns: dict[str, FieldType]
    rows: list[tuple[Any, ...]]


def matrix(
    file_format: str, version: str, kinds: slice = ALL_KINDS, *, has_key: bool = False
) -> Matrix:
    """A column for each type on each level, and rows with nulls and nothing among its extremes.

    Args:
        file_format: Of the files that are to hold it.
        version: Of the Paimon that writes and reads it.
        kinds: Which of the types.
        has_key: Whether the table has a primary key.
    """
    columns: dict[str, FieldType] = {}
    cells: list[list[Any]] = []
    extremes = values(file_format)
    for number, (kind, held) in list(enumerate(extremes.items()))[kinds]:
        for nesting, make in NESTINGS.items():
            if nesting == "set" and not _is_held_in_sets(kind, file_format, version):
                continue
            columns[f"{nesting}_{number}"] = make(kind)
            cells.append(_nested(nesting, held))
    for kind in _vectors(file_format, version)[kinds]:
        held = _vector_values(kind, extremes[kind])
        written = {"type": "VECTOR", "element": kind, "length": _LENGTH}
        # Java sorts no rows by a key that hold vectors on a deeper level.
        for nesting in ("top",) if has_key else ("top", "row"):
            columns[f"{nesting}_vector_{kind}"] = NESTINGS[nesting](written)
            cells.append(_nested(nesting, held))
    longest = max(map(len, cells))
    filled = [[each[at % len(each)] for at in range(longest)] for each in cells]
    return Matrix(columns=columns, rows=list(zip(*filled, strict=True)))


def _nested(nesting: str, held: list[Any]) -> list[Any]:
    one, most = _boxed("Integer", 1), _boxed("Integer", (1 << 31) - 1)
    found: list[Any] = []
    for value, other in zip(held, [*held[1:], held[0]], strict=True):
        match nesting:
            case "top":
                found.append(value)
            case "row":
                found.append((value, one))
            case "array":
                found.append([value, None, other])
            case "map":
                found.append([("", value), ("k", None), ("\0", other)])
            case "rows":
                found.append([(value, one), None, (None, None), (other, None)])
            case "key":
                found.append([(value, one), (other, None)])
            case "set":
                found.append([(value, one), (other, most)])
            case "keys":
                found.append(([(value, other), (other, None)], one))
    empty: dict[str, list[Any]] = {
        "row": [(None, None), (None, one)],
        "array": [[], [None]],
        "map": [[], [("k", None)]],
        "rows": [[], [None]],
        "key": [[]],
        "set": [[]],
        "keys": [(None, None), ([], one)],
    }
    return [*found, *empty.get(nesting, []), None]


def _is_held_in_sets(kind: str, file_format: str, version: str) -> bool:
    """Whether Java reads what it writes of a MULTISET of such values."""
    if file_format == "avro":
        return kind.startswith(("CHAR", "VARCHAR", "STRING"))
    is_mixed_up = kind.startswith(("DECIMAL", "TIMESTAMP"))
    return not (file_format == "parquet" and version == "1.4.2" and is_mixed_up)


def _vectors(file_format: str, version: str) -> tuple[str, ...]:
    """The types of the elements of vectors that Java writes, as columns and fields of rows."""
    return () if file_format == "orc" or version == "1.4.2" else tuple(_PRIMITIVES)


def _vector_values(kind: str, held: list[Any]) -> list[Any]:
    make = java_class("data.BinaryVector").fromPrimitiveArray
    elements = jpype.JArray(getattr(jpype, _PRIMITIVES[kind]))
    around = [*held, *held[: _LENGTH - 1]]
    return [make(elements(around[at : at + _LENGTH])) for at in range(len(held))]


def held_in_keys(file_format: str, version: str) -> dict[str, list[Any]]:
    """The extremes of every type that we take in keys and partitions, each value once.

    Times that Python does not reach are refused there, by a message.
    """
    found = values(file_format)
    for kind, held in found.items():
        if kind in ("FLOAT", "DOUBLE"):
            # Java takes all NaNs for one key. 1.4 loses rows of them and of minus zero itself.
            del held[slice(1, 3) if version == "2.0.0" else slice(0, 4)]
        elif kind.startswith(FINE):
            held[:] = [held[_FAR.index(each)] for each in _NEAR]
        elif kind.startswith(("DATE", "TIMESTAMP")):
            del held[2:4]
    return found


def one_by_one(kinds: Sequence[Sequence[Any]]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Rows of a column for each type, of which each has another value in one column.

    Yields:
        The place of the value among those of its type, and the row.
    """
    plain = [held[-1] for held in kinds]
    yield 3, tuple(plain)
    for at, held in enumerate(kinds):
        for number, value in enumerate(held[:-1]):
            yield number, (*plain[:at], value, *plain[at + 1 :])


def exact_rows(table: JavaTable) -> dict[int, tuple[Cell, ...]]:
    """The rows of a table by their first column, as the bits that Java holds."""
    loaded = table.load()
    builder, row_type = loaded.newReadBuilder(), loaded.rowType()
    reader = builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator()
    read = _exact_row(row_type)
    found: dict[int, tuple[Cell, ...]] = {}
    while reader.hasNext():
        key, *cells = read(reader.next())
        assert key not in found
        found[key] = tuple(cells)
    reader.close()
    return found


def _exact_row(row_type: Any) -> Callable[[Any], tuple[Cell, ...]]:
    internal_row = java_class("data.InternalRow")
    parts = [
        (internal_row.createFieldGetter(field.type(), at), _exact(field.type()))
        for at, field in enumerate(row_type.getFields())
    ]

    def read(row: Any) -> tuple[Cell, ...]:
        found = ((getter.getFieldOrNull(row), exact) for getter, exact in parts)
        return tuple(None if value is None else exact(value) for value, exact in found)

    return read


def _exact(kind: Any) -> Callable[[Any], Cell]:
    match str(kind.getTypeRoot().name()):
        case "FLOAT":
            return lambda value: struct.pack(
                "<i", java_class("java.lang.Float").floatToRawIntBits(value)
            ).hex()
        case "DOUBLE":
            return lambda value: struct.pack(
                "<q", java_class("java.lang.Double").doubleToRawLongBits(value)
            ).hex()
        case "CHAR" | "VARCHAR":
            return lambda value: bytes(value.toBytes()).hex()
        case "BINARY" | "VARBINARY":
            return lambda value: bytes(value).hex()
        case "DECIMAL":
            return lambda value: str(value.toBigDecimal().toPlainString())
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            return lambda value: str(value.toLocalDateTime().toString())
        case "ARRAY":
            return _exact_elements(kind.getElementType())
        case "MAP":
            keys = _exact_elements(kind.getKeyType())
            items = _exact_elements(kind.getValueType())
            return lambda value: sorted(
                zip(keys(value.keyArray()), items(value.valueArray()), strict=True), key=repr
            )
        case "MULTISET":
            keys = _exact_elements(kind.getElementType())
            counts = _exact_elements(java_class("types.DataTypes").INT())
            return lambda value: sorted(
                zip(keys(value.keyArray()), counts(value.valueArray()), strict=True)
            )
        case "VECTOR":
            return _exact_elements(kind.getElementType())
        case "ROW":
            return _exact_row(kind)
        case "BOOLEAN":
            return bool
        case _:
            return int


def _exact_elements(kind: Any) -> Callable[[Any], list[Cell]]:
    getter = java_class("data.InternalArray").createElementGetter(kind)
    exact = _exact(kind)

    def read(array: Any) -> list[Cell]:
        found = (getter.getElementOrNull(array, at) for at in range(array.size()))
        return [None if value is None else exact(value) for value in found]

    return read


def _boxed(name: str, value: Any) -> Any:
    return java_class(f"java.lang.{name}")(value)


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits
