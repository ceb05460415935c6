"""Paimon's data types and their JSON grammar.

Source: Paimon DataTypeJsonParser and the `asSQLString` of its types.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from branch_console.errors import FormatError
from branch_console.format.bounds import MOST_TYPE_NESTING
from branch_console.format.json_text import JsonObject


class TypeRoot(StrEnum):
    """The kind of an atomic type, by its SQL name."""

    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BOOLEAN = "BOOLEAN"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DECIMAL = "DECIMAL"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP WITH LOCAL TIME ZONE"
    VARIANT = "VARIANT"
    BLOB = "BLOB"
    GEOMETRY = "GEOMETRY"
    GEOGRAPHY = "GEOGRAPHY"


MAX_LENGTH: Final = 2147483647
MAX_DECIMAL_PRECISION: Final = 38
MAX_TIME_PRECISION: Final = 9
COMPACT_DECIMAL_PRECISION: Final = 18
COMPACT_TIMESTAMP_PRECISION: Final = 3
MICROSECOND_PRECISION: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicType:
    """A type without parts; `length` in characters or bytes, `precision` and `scale` in digits."""

    root: TypeRoot
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    parameter: str | None = None

    def __str__(self) -> str:
        return self._name + _suffix(self)

    @property
    def _name(self) -> str:
        match self.root:
            case TypeRoot.VARCHAR if self.length == MAX_LENGTH:
                return "STRING"
            case TypeRoot.VARBINARY if self.length == MAX_LENGTH:
                return "BYTES"
            case TypeRoot.CHAR | TypeRoot.VARCHAR | TypeRoot.BINARY | TypeRoot.VARBINARY:
                return f"{self.root}({self.length})"
            case TypeRoot.DECIMAL:
                return f"DECIMAL({self.precision}, {self.scale})"
            case TypeRoot.TIME | TypeRoot.TIMESTAMP:
                return f"{self.root}({self.precision})"
            case TypeRoot.TIMESTAMP_LTZ:
                return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"
            case TypeRoot.GEOMETRY | TypeRoot.GEOGRAPHY if self.parameter is not None:
                return f"{self.root}({self.parameter})"
            case _:
                return str(self.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    """A list of `element`."""

    element: "DataType"
    nullable: bool = True

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>{_suffix(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MultisetType:
    """A bag of `element`; kept as a map from element to its count."""

    element: "DataType"
    nullable: bool = True

    def __str__(self) -> str:
        return f"MULTISET<{self.element}>{_suffix(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapType:
    """A map from `key` to `value`."""

    key: "DataType"
    value: "DataType"
    nullable: bool = True

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>{_suffix(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorType:
    """A list of exactly `length` elements."""

    element: "DataType"
    length: int
    nullable: bool = True

    def __str__(self) -> str:
        return f"VECTOR<{self.element}, {self.length}>{_suffix(self)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataField:
    """A column of a table, or a field of a nested row; `id` never changes and is never reused."""

    id: int
    name: str
    type: "DataType"
    description: str | None = None
    default_value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowType:
    """A tuple of named fields."""

    fields: tuple[DataField, ...]
    nullable: bool = True

    def __str__(self) -> str:
        fields = ", ".join(f"`{field.name}` {field.type}" for field in self.fields)
        return f"ROW<{fields}>{_suffix(self)}"

    @property
    def types(self) -> tuple["DataType", ...]:
        """The types of the fields, in order."""
        return tuple(field.type for field in self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(field.name for field in self.fields)


DataType: TypeAlias = AtomicType | ArrayType | MultisetType | MapType | VectorType | RowType


def parts_of(data_type: DataType) -> tuple[DataType, ...]:
    """Return the types right inside a type: of elements, keys and values, or fields."""
    match data_type:
        case AtomicType():
            return ()
        case ArrayType(element=element) | MultisetType(element=element):
            return (element,)
        case VectorType(element=element):
            return (element,)
        case MapType(key=key, value=value):
            return (key, value)
        case RowType():
            return data_type.types
        case _:
            assert_never(data_type)


def has_fine_times(data_type: DataType) -> bool:
    """Whether values may have, on whatever level, a time that is finer than a microsecond."""
    if isinstance(data_type, AtomicType):
        is_timestamp = data_type.root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
        return is_timestamp and (data_type.precision or 0) > MICROSECOND_PRECISION
    return any(map(has_fine_times, parts_of(data_type)))


STRING: Final = AtomicType(root=TypeRoot.VARCHAR, length=MAX_LENGTH)
BIGINT: Final = AtomicType(root=TypeRoot.BIGINT)
INT: Final = AtomicType(root=TypeRoot.INT)


def _suffix(data_type: DataType) -> str:
    return "" if data_type.nullable else " NOT NULL"


def with_nullable(data_type: DataType, nullable: bool) -> DataType:
    """Return the same type, nullable or not."""
    return replace(data_type, nullable=nullable)


_ATOMIC: Final = re.compile(
    r"\s*(?P<name>[A-Za-z_]+(?:\s+PRECISION)?)"
    r"\s*(?:\(\s*(?P<parameters>[^)]*?)\s*\))?"
    r"(?P<zone>\s+WITH(?:OUT)?\s+(?:LOCAL\s+)?TIME\s+ZONE)?"
    r"(?P<null>\s+NOT\s+NULL|\s+NULL)?\s*",
    re.IGNORECASE,
)
_ALIASES: Final = {
    "INTEGER": TypeRoot.INT,
    "NUMERIC": TypeRoot.DECIMAL,
    "DEC": TypeRoot.DECIMAL,
    "DOUBLE PRECISION": TypeRoot.DOUBLE,
    "TIMESTAMP_LTZ": TypeRoot.TIMESTAMP_LTZ,
    "STRING": TypeRoot.VARCHAR,
    "BYTES": TypeRoot.VARBINARY,
}
_ZONES: Final = {
    "": TypeRoot.TIMESTAMP,
    "WITHOUT TIME ZONE": TypeRoot.TIMESTAMP,
    "WITH LOCAL TIME ZONE": TypeRoot.TIMESTAMP_LTZ,
}


def parse_data_type(json: object) -> DataType:
    """Parse a type as it stands in a schema file: SQL text, or an object for a type with parts.

    Raises:
        FormatError: It is not a type of Paimon.
    """
    if isinstance(json, str):
        return _parse_atomic(json)
    if not isinstance(json, dict):
        raise FormatError(f"{json!r} is not a data type.")
    _check_nesting(json)
    raw = JsonObject(json, "data type")
    text = raw.get("type", str)
    name = text.split(" ", 1)[0]
    nullable = "NOT NULL" not in text
    match name:
        case "ARRAY":
            return ArrayType(element=_part(raw, "element"), nullable=nullable)
        case "MULTISET":
            return MultisetType(element=_part(raw, "element"), nullable=nullable)
        case "MAP":
            return MapType(key=_part(raw, "key"), value=_part(raw, "value"), nullable=nullable)
        case "VECTOR":
            length = raw.get("length", int)
            return VectorType(element=_part(raw, "element"), length=length, nullable=nullable)
        case "ROW":
            fields = tuple(parse_field(field) for field in raw.objects("fields"))
            return RowType(fields=fields, nullable=nullable)
        case _:
            raise FormatError(f"{text!r} is not a data type.")


def parse_field(raw: JsonObject) -> DataField:
    """Parse a column of a schema file."""
    return DataField(
        id=raw.get("id", int),
        name=raw.get("name", str),
        type=_part(raw, "type"),
        description=raw.find("description", str),
        default_value=raw.find("defaultValue", str),
    )


def _part(raw: JsonObject, key: str) -> DataType:
    if key not in raw.values:
        raise FormatError(f"A data type has no {key!r}.")
    return parse_data_type(raw.values[key])


def _check_nesting(json: object) -> None:
    """Refuse a type that is too deep for Arrow, and for what walks it."""
    level = [json]
    for _ in range(MOST_TYPE_NESTING):
        level = [part for each in level if isinstance(each, dict) for part in _raw_parts(each)]
        if not level:
            return
    raise FormatError(f"A data type is nested more than {MOST_TYPE_NESTING} levels deep.")


def _raw_parts(raw: Mapping[str, object]) -> Iterator[object]:
    yield from (raw[key] for key in ("element", "key", "value") if key in raw)
    fields = raw.get("fields")
    if isinstance(fields, list):
        yield from (field.get("type") for field in fields if isinstance(field, dict))


def _parse_atomic(text: str) -> AtomicType:
    match = _ATOMIC.fullmatch(text)
    if not match:
        raise FormatError(f"{text!r} is not a data type.")
    name = " ".join(match["name"].upper().split())
    zone = " ".join((match["zone"] or "").upper().split())
    try:
        root = _ZONES[zone] if name == "TIMESTAMP" else _ALIASES.get(name) or TypeRoot(name)
        parameters = match["parameters"]
        is_free_text = root in {TypeRoot.GEOMETRY, TypeRoot.GEOGRAPHY}
        numbers = [] if is_free_text else [int(p) for p in (parameters or "").split(",") if p]
    except (ValueError, KeyError) as error:
        raise FormatError(f"{text!r} is not a data type.") from error
    nullable = "NOT" not in (match["null"] or "").upper()
    first = numbers[0] if numbers else None
    if not _are_in_range(root, numbers):
        raise FormatError(f"{text!r} is not a data type: Paimon has none of such a size.")
    match root:
        case TypeRoot.CHAR | TypeRoot.BINARY | TypeRoot.VARCHAR | TypeRoot.VARBINARY:
            default = MAX_LENGTH if name in {"STRING", "BYTES"} else 1
            length = default if first is None else first
            return AtomicType(root=root, nullable=nullable, length=length)
        case TypeRoot.DECIMAL:
            precision = 10 if first is None else first
            scale = numbers[1] if len(numbers) > 1 else 0
            return AtomicType(root=root, nullable=nullable, precision=precision, scale=scale)
        case TypeRoot.TIME:
            return AtomicType(root=root, nullable=nullable, precision=first or 0)
        case TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            precision = 6 if first is None else first
            return AtomicType(root=root, nullable=nullable, precision=precision)
        case _:
            parameter = parameters if is_free_text else None
            return AtomicType(root=root, nullable=nullable, parameter=parameter)


def _are_in_range(root: TypeRoot, numbers: list[int]) -> bool:
    match root:
        case TypeRoot.DECIMAL:
            precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
            is_one = 1 <= precision <= MAX_DECIMAL_PRECISION and 0 <= scale <= precision
            return is_one and len(numbers) <= 2
        case TypeRoot.TIME | TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ:
            return len(numbers) <= 1 and all(0 <= n <= MAX_TIME_PRECISION for n in numbers)
        case _:
            return len(numbers) <= 1 and all(0 <= n <= MAX_LENGTH for n in numbers)


def data_type_to_json(data_type: DataType) -> object:
    """Write a type as it stands in a schema file."""
    suffix = _suffix(data_type)
    match data_type:
        case AtomicType():
            return str(data_type)
        case ArrayType(element=element):
            return {"type": f"ARRAY{suffix}", "element": data_type_to_json(element)}
        case MultisetType(element=element):
            return {"type": f"MULTISET{suffix}", "element": data_type_to_json(element)}
        case MapType(key=key, value=value):
            parts = {"key": data_type_to_json(key), "value": data_type_to_json(value)}
            return {"type": f"MAP{suffix}", **parts}
        case VectorType(element=element, length=length):
            parts = {"element": data_type_to_json(element), "length": length}
            return {"type": f"VECTOR{suffix}", **parts}
        case RowType(fields=fields):
            return {"type": f"ROW{suffix}", "fields": [field_to_json(field) for field in fields]}
        case _:
            assert_never(data_type)


def field_to_json(field: DataField) -> dict[str, object]:
    """Write a column as it stands in a schema file."""
    json: dict[str, object] = {
        "id": field.id,
        "name": field.name,
        "type": data_type_to_json(field.type),
    }
    if field.description is not None:
        json["description"] = field.description
    if field.default_value is not None:
        json["defaultValue"] = field.default_value
    return json


_INTEGERS: Final = (TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT)
_INTEGER_DIGITS: Final = dict(zip(_INTEGERS, (3, 5, 10, 19), strict=True))
# The widest integer that every value of which a floating type holds.
_EXACT_IN: Final = {TypeRoot.FLOAT: TypeRoot.SMALLINT, TypeRoot.DOUBLE: TypeRoot.INT}
_CHARACTERS: Final = (TypeRoot.CHAR, TypeRoot.VARCHAR)
_BINARIES: Final = (TypeRoot.BINARY, TypeRoot.VARBINARY)
_WITH_PRECISION: Final = (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ, TypeRoot.TIME)


def is_widening(left: AtomicType, right: AtomicType) -> bool:
    """Whether every value of `left` is one of `right`, nullability aside."""
    source, target = left.root, right.root
    if source in _CHARACTERS and target in _CHARACTERS:
        return _holds_length(left, right) and (source == target or target is TypeRoot.VARCHAR)
    if source in _BINARIES and target in _BINARIES:
        return _holds_length(left, right) and (source == target or target is TypeRoot.VARBINARY)
    if source in _WITH_PRECISION and source == target:
        return (left.precision or 0) <= (right.precision or 0)
    if source in _INTEGERS:
        return _holds_integer(source, right)
    if source is TypeRoot.FLOAT:
        return target is TypeRoot.DOUBLE
    if source is TypeRoot.DECIMAL and target is TypeRoot.DECIMAL:
        return _whole_digits(left) <= _whole_digits(right) and (left.scale or 0) <= (
            right.scale or 0
        )
    return False


def _holds_length(left: AtomicType, right: AtomicType) -> bool:
    return (left.length or 0) <= (right.length or 0)


def _holds_integer(source: TypeRoot, right: AtomicType) -> bool:
    if right.root in _INTEGERS:
        return _INTEGERS.index(source) <= _INTEGERS.index(right.root)
    if right.root is TypeRoot.DECIMAL:
        return _INTEGER_DIGITS[source] <= _whole_digits(right)
    widest = _EXACT_IN.get(right.root)
    return widest is not None and _INTEGERS.index(source) <= _INTEGERS.index(widest)


def _whole_digits(decimal: AtomicType) -> int:
    return (decimal.precision or 0) - (decimal.scale or 0)
