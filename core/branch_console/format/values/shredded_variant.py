"""Values of VARIANT: put together from the parts that a Parquet file keeps, and as JSON.

A writer may shred: what many values have in common lies in `typed_value`, in columns with types of
their own, and `value` keeps the rest. Each file tells by its columns whether it does, whatever the
options of the table say today. Source: Parquet's VariantEncoding and VariantShredding, Paimon
ShreddingUtils, GenericVariantBuilder.
"""

import json
import struct
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.bounds import MOST_VARIANT_NESTING
from branch_console.format.data_types import AtomicType, TypeRoot
from branch_console.format.values.arrow_types import VARIANT_MARK, to_arrow
from branch_console.format.values.fine_times import as_numbers
from branch_console.format.values.java_floats import java_float

_METADATA: Final = "metadata"
_VALUE: Final = "value"
_TYPED: Final = "typed_value"
_PLAIN: Final = to_arrow(AtomicType(root=TypeRoot.VARIANT))

_VERSION: Final = 1
_NULL: Final = b"\0"
_PRIMITIVE, _SHORT_TEXT, _OBJECT, _ARRAY = range(4)
_TRUE, _FALSE, _DOUBLE, _DATE, _TIME_LTZ, _TIME, _FLOAT, _BINARY, _TEXT = (
    1, 2, 7, 11, 12, 13, 14, 15, 16
)  # fmt: skip
_WHOLE: Final = ((3, "<b", 7), (4, "<h", 15), (5, "<i", 31), (6, "<q", 63))
"""Kinds of whole numbers: how they are packed, and how many bits their amount has."""
_DECIMALS: Final = ((8, 4, 9), (9, 8, 18), (10, 16, 38))
"""Kinds of decimals: how many bytes and digits they have."""
_SIZES: Final[Mapping[int, int]] = MappingProxyType(
    {
        0: 1, _TRUE: 1, _FALSE: 1, 3: 2, 4: 3, 5: 5, 6: 9, _DOUBLE: 9, 8: 6, 9: 10, 10: 18,
        _DATE: 5, _TIME_LTZ: 9, _TIME: 9, _FLOAT: 5, 17: 9, 18: 9, 19: 9, 20: 17,
    }
)  # fmt: skip
"""How many bytes values of a kind have, with the first; texts and bytes tell theirs."""
_LONGEST_SHORT_TEXT: Final = 63
_MOST_SMALL: Final = 255

_Encode = Callable[[Any, "_Names"], bytes]


def plain_variants(array: pa.StructArray) -> pa.Array:
    """Return values of VARIANT as two binaries each, as files hold them that shred nothing.

    Names keep the numbers that the metadata gives them, so a value that Spark or Paimon made of
    JSON is the same bytes as before it was shredded, save for a name that stands in it twice.

    Args:
        array: A column of a Parquet file, in whatever order and with whatever parts it has there.

    Raises:
        InvalidInput: A part has a type that cannot be read here (UNSUPPORTED).
        ValueError: The parts are no VARIANT.
    """
    kind = array.type
    if kind.get_field_index(_METADATA) < 0:
        raise ValueError("a VARIANT has no metadata")
    metadata = array.field(_METADATA).cast(pa.binary())
    if kind.get_field_index(_TYPED) < 0:
        return _plain(array.field(_VALUE).cast(pa.binary()), metadata, array.is_null())
    encode = _group(kind, 0)
    values: list[bytes] = []
    names_of: list[bytes] = []
    try:
        parts = as_numbers(array).to_pylist()
        for row in parts:
            names = _Names(_NO_NAMES if row is None else row[_METADATA])
            found = None if row is None else encode(row, names)
            # What is missing where it must be there is a null of VARIANT, which is a value.
            values.append(_NULL if found is None else found)
            names_of.append(names.metadata())
    except (IndexError, KeyError, TypeError, struct.error) as error:
        raise ValueError(f"a VARIANT cannot be put together: {error}") from error
    return _plain(pa.array(values, pa.binary()), pa.array(names_of, pa.binary()), array.is_null())


def is_variant(kind: pa.DataType) -> bool:
    """Whether a type is the one that `to_arrow` has for VARIANT."""
    at = kind.get_field_index(_METADATA) if pa.types.is_struct(kind) else -1
    return at >= 0 and VARIANT_MARK.items() <= (kind.field(at).metadata or {}).items()


def variant_texts(array: pa.StructArray) -> pa.Array:
    """Return values of VARIANT as JSON, as Paimon and Spark write it; null where there is none.

    A value that cannot be read is the two binaries of it, as hexadecimal digits.
    """
    pairs = zip(array.field(_VALUE).to_pylist(), array.field(_METADATA).to_pylist(), strict=True)
    texts = [
        _read_text(value, metadata) if is_there else None
        for (value, metadata), is_there in zip(pairs, array.is_valid().to_pylist(), strict=True)
    ]
    return pa.array(texts, pa.string())


def parse_variants(texts: pa.Array) -> pa.Array:
    """Return values of VARIANT from JSON.

    Raises:
        ValueError: A text is no JSON, nests deeper than a VARIANT may, or has a number that is too
            large for a double.
    """
    values, names_of = [], []
    for text in texts.to_pylist():
        names = _Names(_NO_NAMES)
        values.append(_NULL if text is None else _encoded(_load(text), names))
        names_of.append(names.metadata())
    return _plain(pa.array(values, pa.binary()), pa.array(names_of, pa.binary()), texts.is_null())


def _plain(value: pa.Array, metadata: pa.Array, nulls: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([value, metadata], fields=list(_PLAIN), mask=nulls)


# --- parts --------------------------------------------------------------------------------------


def _group(kind: pa.DataType, depth: int) -> Callable[[Any, "_Names"], bytes | None]:
    """How a value is put together from a group of `value` and `typed_value`; None if missing."""
    if depth > MOST_VARIANT_NESTING:
        raise _unread(f"parts more than {MOST_VARIANT_NESTING} levels deep")
    if not pa.types.is_struct(kind):
        raise _unread(f"a part of type {kind}")
    at = kind.get_field_index(_TYPED)
    if at < 0:
        return lambda group, _: None if group is None else group[_VALUE]
    typed_kind = kind.field(at).type
    if pa.types.is_struct(typed_kind):
        return _objects(typed_kind, depth)
    encode = _lists(typed_kind, depth) if _is_list(typed_kind) else _scalar(typed_kind)

    def put_together(group: Any, names: "_Names") -> bytes | None:
        if group is None:
            return None
        typed = group[_TYPED]
        return group.get(_VALUE) if typed is None else encode(typed, names)

    return put_together


def _objects(kind: pa.StructType, depth: int) -> Callable[[Any, "_Names"], bytes | None]:
    parts = [(field.name, _group(field.type, depth + 1)) for field in kind]
    shredded = {name for name, _ in parts}

    def put_together(group: Any, names: "_Names") -> bytes | None:
        if group is None:
            return None
        typed, rest = group[_TYPED], group.get(_VALUE)
        if typed is None:
            return None if rest is None else bytes(rest)
        found = {name: part(typed[name], names) for name, part in parts}
        fields = {name: value for name, value in found.items() if value is not None}
        for name, value in [] if rest is None else _fields_of(rest, names):
            if name in shredded:
                raise ValueError(f"a VARIANT has the field {name!r} twice")
            fields[name] = value
        return _object(fields, names)

    return put_together


def _lists(kind: pa.DataType, depth: int) -> _Encode:
    element = _group(kind.value_type, depth + 1)

    def encode(items: Any, names: "_Names") -> bytes:
        found = (element(item, names) for item in items)
        return _array([_NULL if value is None else value for value in found])

    return encode


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _scalar(kind: pa.DataType) -> _Encode:
    types = pa.types
    if types.is_boolean(kind):
        return lambda value, _: _primitive(_TRUE if value else _FALSE)
    if types.is_signed_integer(kind):
        return lambda value, _: _whole(value)
    if types.is_float32(kind):
        return lambda value, _: _primitive(_FLOAT) + struct.pack("<f", value)
    if types.is_float64(kind):
        return lambda value, _: _primitive(_DOUBLE) + struct.pack("<d", value)
    if types.is_decimal(kind):
        return lambda value, _: _decimal(value, kind.scale)
    if types.is_string(kind) or types.is_large_string(kind):
        return lambda value, _: _text(value.encode())
    if types.is_binary(kind) or types.is_large_binary(kind):
        return lambda value, _: _primitive(_BINARY) + struct.pack("<I", len(value)) + value
    if types.is_date32(kind):
        return lambda value, _: _primitive(_DATE) + struct.pack("<i", value)
    if types.is_timestamp(kind) and kind.unit == "us":
        which = _TIME if kind.tz is None else _TIME_LTZ
        return lambda value, _: _primitive(which) + struct.pack("<q", value)
    raise _unread(f"a part of type {kind}")


def _unread(what: str) -> InvalidInput:
    return InvalidInput(
        f"A VARIANT has {what}, which cannot be read here. Read other columns, or the table with "
        "Paimon.",
        kind=ErrorKind.UNSUPPORTED,
    )


# --- values -------------------------------------------------------------------------------------


def _primitive(kind: int) -> bytes:
    return bytes([kind << 2 | _PRIMITIVE])


def _whole(value: int) -> bytes:
    kind, form = next(
        (kind, form) for kind, form, bits in _WHOLE if -(1 << bits) <= value < 1 << bits
    )
    return _primitive(kind) + struct.pack(form, value)


def _decimal(value: Decimal, scale: int) -> bytes:
    sign, digits, _ = value.as_tuple()
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    count = max(scale, len(str(abs(unscaled))))
    kind, width = next((kind, width) for kind, width, most in _DECIMALS if count <= most)
    return _primitive(kind) + bytes([scale]) + unscaled.to_bytes(width, "little", signed=True)


def _text(value: bytes) -> bytes:
    if len(value) <= _LONGEST_SHORT_TEXT:
        return bytes([len(value) << 2 | _SHORT_TEXT]) + value
    return _primitive(_TEXT) + struct.pack("<I", len(value)) + value


def _array(items: Sequence[bytes]) -> bytes:
    ends = list(_ends(items))
    width = _width(ends[-1])
    is_large = len(items) > _MOST_SMALL
    header = (is_large << 2 | width - 1) << 2 | _ARRAY
    return b"".join(
        [bytes([header]), _count(len(items), is_large=is_large), _numbers(ends, width), *items]
    )


def _object(fields: Mapping[str, bytes], names: "_Names") -> bytes:
    ids = {name: names.id_of(name) for name in fields}
    # Values lie as the names were met, so mostly as before; the header names them in their order.
    stored = sorted(fields, key=ids.__getitem__)
    starts = dict(zip(stored, _ends([fields[name] for name in stored]), strict=False))
    total = sum(map(len, fields.values()))
    # Spark and Paimon look names up by Java's order of texts.
    ordered = sorted(fields, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    id_width, width = _width(max(ids.values(), default=0)), _width(total)
    is_large = len(fields) > _MOST_SMALL
    header = (is_large << 4 | (id_width - 1) << 2 | width - 1) << 2 | _OBJECT
    return b"".join(
        [
            bytes([header]),
            _count(len(fields), is_large=is_large),
            _numbers([ids[name] for name in ordered], id_width),
            _numbers([*(starts[name] for name in ordered), total], width),
            *(fields[name] for name in stored),
        ]
    )


def _ends(items: Iterable[bytes]) -> Iterator[int]:
    end = 0
    yield end
    for item in items:
        end += len(item)
        yield end


def _count(count: int, *, is_large: bool) -> bytes:
    return count.to_bytes(4 if is_large else 1, "little")


def _numbers(numbers: Iterable[int], width: int) -> bytes:
    return b"".join(number.to_bytes(width, "little") for number in numbers)


def _width(most: int) -> int:
    return max(1, (most.bit_length() + 7) // 8)


def _fields_of(value: bytes, names: "_Names") -> Iterator[tuple[str, bytes]]:
    """The fields of what is left of an object."""
    header = value[0] >> 2
    if value[0] & 3 != _OBJECT:
        raise ValueError("what is left of an object in a VARIANT is none")
    width, id_width = (header & 3) + 1, (header >> 2 & 3) + 1
    count, at = _read_count(value, is_large=bool(header >> 4 & 1))
    ids = _read_numbers(value, at, id_width, count)
    at += id_width * count
    starts = _read_numbers(value, at, width, count + 1)
    at += width * (count + 1)
    for number, start in zip(ids, starts, strict=False):
        end = at + start + _size(value, at + start)
        if end > len(value):
            raise ValueError("a VARIANT ends within a field")
        yield names.name_of(number), value[at + start : end]


def _size(value: bytes, at: int) -> int:
    """How many bytes the value has that begins somewhere in another."""
    kind, header = value[at] & 3, value[at] >> 2
    if kind == _SHORT_TEXT:
        return 1 + header
    if kind == _PRIMITIVE:
        if header in (_BINARY, _TEXT):
            return 5 + _read_numbers(value, at + 1, 4, 1)[0]
        return _SIZES[header]
    is_object = kind == _OBJECT
    width = (header & 3) + 1
    id_width = (header >> 2 & 3) + 1 if is_object else 0
    is_large = bool(header >> (4 if is_object else 2) & 1)
    count, after = _read_count(value, at, is_large=is_large)
    last = after + (id_width + width) * count
    return last + width - at + _read_numbers(value, last, width, 1)[0]


def _read_count(value: bytes, at: int = 0, *, is_large: bool) -> tuple[int, int]:
    width = 4 if is_large else 1
    return _read_numbers(value, at + 1, width, 1)[0], at + 1 + width


def _read_numbers(data: bytes, at: int, width: int, count: int) -> list[int]:
    if at + width * count > len(data):
        raise ValueError("a VARIANT ends within its numbers")
    return [
        int.from_bytes(data[at + width * n : at + width * (n + 1)], "little") for n in range(count)
    ]


# --- JSON ---------------------------------------------------------------------------------------


def _read_text(value: bytes, metadata: bytes) -> str:
    try:
        return _text_of(value, 0, _read_names(metadata)[0])
    except (IndexError, KeyError, ValueError, RecursionError, struct.error):
        return f"value 0x{value.hex()}, metadata 0x{metadata.hex()}"


def _text_of(value: bytes, at: int, names: Sequence[str]) -> str:
    kind, header = value[at] & 3, value[at] >> 2
    match kind:
        case 0:
            return _primitive_text(value, at + 1, header)
        case 1:
            return _json(_cut(value, at + 1, header).decode())
        case 2:
            width, id_width = (header & 3) + 1, (header >> 2 & 3) + 1
            count, at = _read_count(value, at, is_large=bool(header >> 4 & 1))
            ids = _read_numbers(value, at, id_width, count)
            at += id_width * count
            starts = _read_numbers(value, at, width, count)
            at += width * (count + 1)
            fields = zip(ids, starts, strict=True)
            texts = (
                f"{_json(names[i])}:{_text_of(value, at + start, names)}" for i, start in fields
            )
            return f"{{{','.join(texts)}}}"
        case _:
            width = (header & 3) + 1
            count, at = _read_count(value, at, is_large=bool(header >> 2 & 1))
            starts = _read_numbers(value, at, width, count)
            at += width * (count + 1)
            return f"[{','.join(_text_of(value, at + start, names) for start in starts)}]"


def _primitive_text(value: bytes, at: int, kind: int) -> str:
    match kind:
        case 0:
            return "null"
        case 1 | 2:
            return "true" if kind == _TRUE else "false"
        case 3 | 4 | 5 | 6:
            return str(_int(value, at, 1 << kind - 3))
        case 7:
            return _float_text(np.float64(struct.unpack_from("<d", value, at)[0]))
        case 8 | 9 | 10:
            return _decimal_text(_int(value, at + 1, 1 << kind - 6), value[at])
        case 11:
            return _json(str(np.datetime64(_int(value, at, 4), "D")))
        case 12 | 13 | 18 | 19:
            time = str(np.datetime64(_int(value, at, 8), "us" if kind < 18 else "ns"))
            return _json(time.replace("T", " ") + ("+00:00" if kind in (12, 18) else ""))
        case 14:
            return _float_text(np.float32(struct.unpack_from("<f", value, at)[0]))
        case 15 | 16:
            content = _cut(value, at + 4, _read_numbers(value, at, 4, 1)[0])
            return _json(content.decode() if kind == _TEXT else b64encode(content).decode())
        case 17:
            return _json(str(np.datetime64(_int(value, at, 8), "us"))[11:])
        case 20:
            return _json(_uuid(_cut(value, at, 16).hex()))
        case _:
            raise ValueError(f"a VARIANT has a value of the unknown kind {kind}")


def _float_text(value: np.floating[Any]) -> str:
    text = java_float(value)
    return text if isfinite(value) else _json(text)


def _uuid(digits: str) -> str:
    return "-".join(digits[start:end] for start, end in pairwise((0, 8, 12, 16, 20, 32)))


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _cut(value: bytes, at: int, count: int) -> bytes:
    if at + count > len(value):
        raise ValueError("a VARIANT ends within a value")
    return value[at : at + count]


def _int(value: bytes, at: int, width: int) -> int:
    return int.from_bytes(_cut(value, at, width), "little", signed=True)


def _decimal_text(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).zfill(scale + 1)
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :].rstrip("0")
    return f"{'-' * (unscaled < 0)}{whole}{'.' * bool(fraction)}{fraction}"


class _Fraction(str):
    """A number of JSON with a fraction or an exponent, as it is written."""

    __slots__ = ()


def _load(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, parse_float=_Fraction, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("a VARIANT nests too deep") from error


def _encoded(found: Any, names: "_Names", depth: int = 0) -> bytes:
    """Encode a value of JSON as Paimon does: numbers as small as they fit."""
    if depth > MOST_VARIANT_NESTING:
        raise ValueError("a VARIANT nests too deep")
    match found:
        case None:
            return _NULL
        case bool():
            return _primitive(_TRUE if found else _FALSE)
        case int() if -(1 << 63) <= found < 1 << 63:
            return _whole(found)
        case int() | _Fraction():
            return _fraction(str(found))
        case str():
            return _text(found.encode())
        case list():
            return _array([_encoded(item, names, depth + 1) for item in found])
        case _:
            parts = {name: _encoded(part, names, depth + 1) for name, part in found.items()}
            return _object(parts, names)


def _fraction(text: str) -> bytes:
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    scale = -exponent if isinstance(exponent, int) else 0
    if "e" in text.lower() or scale < 0 or max(len(digits), scale) > _DECIMALS[-1][2]:
        double = float(text)
        if not isfinite(double):
            raise ValueError(f"{text} is too large for a number of JSON in a VARIANT")
        return _primitive(_DOUBLE) + struct.pack("<d", double)
    return _decimal(number, scale)


# --- names --------------------------------------------------------------------------------------

_NO_NAMES: Final = b"\x01\x00\x00"


class _Names:
    """The names of fields that the values of one row share, by number."""

    def __init__(self, metadata: bytes) -> None:
        self._metadata = metadata
        self._names, self._ids = _read_names(metadata)
        self._added: dict[str, int] = {}

    def id_of(self, name: str) -> int:
        found = self._ids.get(name)
        if found is None:
            # Not as the rules of Parquet have it, and Paimon reads it.
            found = self._added.setdefault(name, len(self._names) + len(self._added))
        return found

    def name_of(self, number: int) -> str:
        return self._names[number]

    def metadata(self) -> bytes:
        if not self._added:
            return self._metadata
        texts = [name.encode() for name in (*self._names, *self._added)]
        ends = list(_ends(texts))
        width = _width(max(ends[-1], len(texts)))
        header = bytes([width - 1 << 6 | _VERSION])
        return b"".join([header, _numbers([len(texts), *ends], width), *texts])


@lru_cache(maxsize=256)
def _read_names(metadata: bytes) -> tuple[tuple[str, ...], Mapping[str, int]]:
    if not metadata or metadata[0] & 15 != _VERSION:
        raise ValueError("the metadata of a VARIANT is of no version that is known")
    width = (metadata[0] >> 6) + 1
    (count,) = _read_numbers(metadata, 1, width, 1)
    ends = _read_numbers(metadata, 1 + width, width, count + 1)
    texts = metadata[1 + width * (count + 2) :]
    if ends[-1] > len(texts):
        raise ValueError("the metadata of a VARIANT ends within its names")
    names = tuple(texts[start:end].decode() for start, end in pairwise(ends))
    return names, MappingProxyType({name: number for number, name in enumerate(names)})
