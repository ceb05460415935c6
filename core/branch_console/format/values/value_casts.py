"""Values of an older type of a column as Paimon reads them in today's type.

A narrower type loses what it cannot hold, by rules that are Java's: whole numbers wrap, decimals
round half up and are null if they are too large, texts are cut. What depends on the time zone of
the Java that reads, or has no rule there, is refused. Source: Paimon CastExecutors and its rules.
"""

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import (
    COMPACT_DECIMAL_PRECISION,
    COMPACT_TIMESTAMP_PRECISION,
    MAX_DECIMAL_PRECISION,
    MAX_LENGTH,
    STRING,
    AtomicType,
    DataType,
    TypeRoot,
)
from branch_console.format.values.arrow_types import to_arrow
from branch_console.format.values.fine_times import (
    FINE_LOCAL_TIME,
    FINE_TIME,
    NANOS_PER_MILLI,
    cast_times,
    fine_times,
    is_fine,
    parse_times,
    time_parts,
    time_texts,
)

_BITS: Final = MappingProxyType(
    {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
)
_DIGITS: Final = MappingProxyType(
    {TypeRoot.TINYINT: 3, TypeRoot.SMALLINT: 5, TypeRoot.INT: 10, TypeRoot.BIGINT: 19}
)
_WHOLE: Final = frozenset(_BITS)
_FLOATS: Final = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
_WIDTHS: Final = (*_BITS, TypeRoot.FLOAT, TypeRoot.DOUBLE)
_NUMBERS: Final = frozenset(_WIDTHS)
_TEXTS: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
_BYTES: Final = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})
_MOMENTS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})
_SECONDS: Final = frozenset({TypeRoot.INT, TypeRoot.BIGINT})
_DECIMAL_SOURCES: Final = frozenset({*_NUMBERS, *_TEXTS, TypeRoot.BOOLEAN, TypeRoot.DECIMAL})
_TO_TEXT: Final = frozenset({*_NUMBERS, TypeRoot.BOOLEAN, TypeRoot.DECIMAL})
_EXACT: Final = Context(prec=2_000)
_MILLIS: Final = 1_000
_MILLIS_PER_DAY: Final = 86_400_000
_LENGTH_OF_SECONDS: Final = len("0001-01-01 00:00:00")
_PLAIN_FROM: Final = 1e-3
_PLAIN_TO: Final = 1e7
_JAVA_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})
_WHOLE_TEXT: Final = re.compile(r"([+-]?[0-9]*)(?:\.[0-9]*)?")
_NUMBER_TEXT: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_DATE_TEXT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME_TEXT: Final = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{3})?")
_TIMESTAMP_TEXT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
)

Cast = Callable[[pa.Array, AtomicType, AtomicType], pa.Array]


def keeps_order(written: AtomicType, wanted: AtomicType) -> bool:
    """Whether values stay in their order when they are read in another type, and all are there.

    Bounds of such values, read in that type, bound them still.
    """
    if _is_same(written, wanted):
        return True
    one, other = written.root, wanted.root
    if other is TypeRoot.DECIMAL and (one is TypeRoot.DECIMAL or one in _WHOLE):
        scale = written.scale or 0
        before_point = _DIGITS[one] if one in _WHOLE else (written.precision or 0) - scale
        kept = (wanted.precision or 0) - (wanted.scale or 0)
        return (wanted.scale or 0) >= scale and kept >= before_point
    if one in _NUMBERS and other in _NUMBERS:
        return _WIDTHS.index(one) <= _WIDTHS.index(other)
    if one is TypeRoot.DATE:
        return other is TypeRoot.TIMESTAMP
    if (one in _TEXTS and other is TypeRoot.VARCHAR) or one is other is TypeRoot.VARBINARY:
        return (wanted.length or 0) >= (written.length or 0)
    return one is other and one in _MOMENTS and (wanted.precision or 0) >= (written.precision or 0)


def may_read_null(written: AtomicType, wanted: AtomicType) -> bool:
    """Whether a value that is there may be read as null, as decimals are that are too large."""
    return wanted.root is TypeRoot.DECIMAL and not keeps_order(written, wanted)


def cast_values(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    """Read values of one type as Paimon reads them in another.

    Args:
        array: The values, as a file holds them.
        written: Their type when they were written.
        wanted: The type of the column today.

    Returns:
        The values in the Arrow type of `wanted`.

    Raises:
        InvalidInput: They cannot be read so here (UNSUPPORTED).
        pa.ArrowException: They are none of the type that they were written in.
    """
    target = to_arrow(wanted)
    if _is_same(written, wanted):
        # INT96 of Hive is finer than its column: as in Paimon, the rest is left off.
        return cast_times(array, target)
    rule = _rule(written, wanted)
    if rule is None:
        raise unread_values(written, wanted)
    values = cast_times(array, to_arrow(written))
    try:
        return rule(values, written, wanted)
    except _Unread as error:
        raise unread_values(written, wanted, f": {error.value!r} is among them") from error
    except pa.ArrowException as error:
        raise unread_values(written, wanted, f": {error}") from error


class _Unread(Exception):
    """A value that has no reading in the type that is wanted."""

    def __init__(self, value: object) -> None:
        super().__init__(value)
        self.value = value


def unread_values(written: DataType, wanted: DataType, among: str = "") -> InvalidInput:
    """The refusal of values that are not read in today's type here."""
    return InvalidInput(
        f"A column was {written} and is {wanted} now. Its older values cannot be read as "
        f"{wanted} here{among}. Read other columns, give the column its older type again, or read "
        "the table with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
        written=str(written),
        wanted=str(wanted),
    )


def _is_same(written: AtomicType, wanted: AtomicType) -> bool:
    return replace(written, nullable=True) == replace(wanted, nullable=True)


def _rule(written: AtomicType, wanted: AtomicType) -> Cast | None:
    """How values are cast; None if Java has no rule, or one that asks for its time zone."""
    one, other = written.root, wanted.root
    match one, other:
        case _, TypeRoot.DECIMAL if keeps_order(written, wanted):
            return _as_arrow
        case _ if one in _NUMBERS and other in _NUMBERS:
            return _numbers
        case TypeRoot.BOOLEAN, _ if other in _NUMBERS:
            return _booleans_as_numbers
        case _, TypeRoot.BOOLEAN if one in _WHOLE:
            return _whole_as_booleans
        case TypeRoot.DECIMAL, _ if other in _NUMBERS:
            return _decimals_as_numbers
        case _, TypeRoot.DECIMAL if one in _DECIMAL_SOURCES:
            return _as_decimals
        case _ if one in _TEXTS and other in _FROM_TEXT:
            return _FROM_TEXT[other]
        case _ if one in _TEXTS and other in _BYTES:
            return _bytes
        case _ if one in _BYTES and other in _BYTES:
            return _bytes
        case _ if one in _BYTES and other in _TEXTS:
            return _bytes_as_texts
        case _ if one in _TO_TEXT and other in _TEXTS:
            return _as_texts
        case _ if one in _MOMENTS_TO_TEXT and other in _TEXTS:
            # Java knows STRING alone, and not one that must be there.
            return _MOMENTS_TO_TEXT[one] if wanted == STRING else None
        case _ if one is other and one in _MOMENTS:
            return _fewer_digits
        case _:
            return _MOMENT_RULES.get((one, other))


def _each(array: pa.Array, kind: pa.DataType, read: Callable[[Any], Any]) -> pa.Array:
    """Values read one by one; ValueError and what is like it tell that one cannot be read."""
    found = []
    for value in array.to_pylist():
        try:
            found.append(None if value is None else read(value))
        except (ValueError, ArithmeticError) as error:
            raise _Unread(value) from error
    return pa.array(found, kind)


def _nulls(array: pa.Array) -> Any:
    return array.is_null().to_numpy(zero_copy_only=False)


def _as_arrow(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    if written.root in _WHOLE:
        # Arrow takes the digits of the type for those of its values.
        array = array.cast(pa.decimal128(_DIGITS[written.root], 0))
    return array.cast(to_arrow(wanted))


# --- numbers ------------------------------------------------------------------------------------


def _numbers(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    target = to_arrow(wanted)
    values = array.fill_null(0).to_numpy(zero_copy_only=False)
    if written.root in _FLOATS and wanted.root in _WHOLE:
        values = _cut_to_whole(values, max(_BITS[wanted.root], _BITS[TypeRoot.INT]))
    with np.errstate(over="ignore"):
        found = values.astype(target.to_pandas_dtype())
    return pa.array(found, target, mask=_nulls(array))


def _cut_to_whole(values: Any, bits: int) -> Any:
    """Floats as Java cuts them: the nearest whole number that there is, and 0 for NaN."""
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    is_low, is_high = values < float(least), values >= float(most + 1)
    is_in = ~(is_low | is_high | np.isnan(values))
    found = np.where(is_in, values, 0).astype(np.int64)
    found[is_low], found[is_high] = least, most
    return found


def _wrapped(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half) % (half << 1) - half


def _booleans_as_numbers(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    return array.cast(pa.int8()).cast(to_arrow(wanted))


def _whole_as_booleans(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    return pc.not_equal(array, pa.scalar(0, array.type))


def _decimals_as_numbers(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    scale = written.scale or 0
    is_compact = (written.precision or 0) <= COMPACT_DECIMAL_PRECISION

    def read(value: Decimal) -> int | float:
        if wanted.root in _WHOLE:
            return _wrapped(int(value), _BITS[wanted.root])
        if is_compact:
            return float(int(value.scaleb(scale, _EXACT))) / float(10**scale)
        return float(value)

    if wanted.root in _WHOLE:
        return _each(array, to_arrow(wanted), read)
    as_double = AtomicType(root=TypeRoot.DOUBLE)
    return _numbers(_each(array, pa.float64(), read), as_double, wanted)


# --- decimals -----------------------------------------------------------------------------------


def _as_decimals(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    precision, scale = wanted.precision or 0, wanted.scale or 0
    is_text = written.root in _TEXTS

    def read(value: Any) -> Decimal | None:
        if is_text and not _NUMBER_TEXT.fullmatch(value):
            raise ValueError(value)
        exact = value if isinstance(value, Decimal) else Decimal(_number_text(value))
        if exact and exact.adjusted() > MAX_DECIMAL_PRECISION:
            return None
        rounded = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
        return rounded if not rounded or rounded.adjusted() < precision - scale else None

    if written.root is TypeRoot.FLOAT:
        array = array.cast(pa.float64())
    return _each(array, to_arrow(wanted), read)


def _number_text(value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    return str(int(value) if isinstance(value, bool) else value)


# --- texts and bytes ----------------------------------------------------------------------------


def _as_texts(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    match written.root:
        case TypeRoot.BOOLEAN:
            texts = _each(array, pa.string(), lambda value: str(value).lower())
        case TypeRoot.DECIMAL:
            texts = _each(array, pa.string(), lambda value: format(value, "f"))
        case TypeRoot.FLOAT:
            values = array.to_numpy(zero_copy_only=False)
            found = [
                _float_text(value) if there else None
                for value, there in zip(values, array.is_valid().to_pylist(), strict=True)
            ]
            texts = pa.array(found, pa.string())
        case TypeRoot.DOUBLE:
            texts = _each(array, pa.string(), lambda value: _float_text(np.float64(value)))
        case _:
            texts = array.cast(pa.string())
    return _cut(texts, wanted)


def _float_text(value: Any) -> str:
    """A float as Java 19 and later write it: with the fewest digits that tell it from others."""
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return str(np.format_float_positional(value, unique=True, trim="0"))
    digits, _, exponent = np.format_float_scientific(value, unique=True, trim="0").partition("e")
    if digits.endswith(".0"):
        # Java wants two digits at least, and of those the nearest.
        digits, _, exponent = f"{float(value):.1e}".partition("e")
    return f"{digits}E{int(exponent)}"


def _cut(texts: pa.Array, wanted: AtomicType) -> pa.Array:
    length = wanted.length or 0
    if length == MAX_LENGTH:
        return texts
    cut = pc.utf8_slice_codeunits(texts, 0, length)
    return pc.utf8_rpad(cut, length, " ") if wanted.root is TypeRoot.CHAR else cut


def _bytes(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    length, is_padded = wanted.length or 0, wanted.root is TypeRoot.BINARY
    cut = pc.binary_slice(array.cast(pa.binary()), 0, length)
    return _each(cut, pa.binary(), lambda v: v.ljust(length, b"\0")) if is_padded else cut


def _bytes_as_texts(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    # Java takes them as they are, whatever the length.
    return _each(array, pa.string(), bytes.decode)


def _texts_as_texts(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    return _cut(array, wanted)


def _texts_as_whole(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    half = 1 << _BITS[wanted.root] - 1

    def read(text: str) -> int:
        found = _WHOLE_TEXT.fullmatch(text)
        if found is None or not text:
            raise ValueError(text)
        number = int(found[1] or 0) if found[1] not in {"+", "-"} else 0
        if text in {"+", "-"} or not -half <= number < half:
            raise ValueError(text)
        return number

    return _each(array, to_arrow(wanted), read)


def _texts_as_floats(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    def check(text: str) -> str:
        if not _NUMBER_TEXT.fullmatch(text.strip(_JAVA_BLANKS)):
            raise ValueError(text)
        return text.strip(_JAVA_BLANKS)

    return _each(array, pa.string(), check).cast(to_arrow(wanted))


def _texts_as_booleans(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    def read(text: str) -> bool:
        if text.lower() not in _TRUE | _FALSE:
            raise ValueError(text)
        return text.lower() in _TRUE

    return _each(array, pa.bool_(), read)


def _texts_as_dates(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    def read(text: str) -> dt.date:
        if not _DATE_TEXT.fullmatch(text):
            raise ValueError(text)
        return dt.date.fromisoformat(text)

    return _each(array, pa.date32(), read)


def _texts_as_times(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    def read(text: str) -> dt.time:
        if not _TIME_TEXT.fullmatch(text):
            raise ValueError(text)
        return dt.time.fromisoformat(text)

    return _each(array, to_arrow(wanted), read)


def _texts_as_timestamps(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    digits = wanted.precision or 0

    def read(text: str) -> str:
        found = _TIMESTAMP_TEXT.fullmatch(text)
        if found is None:
            raise ValueError(text)
        dt.datetime.fromisoformat(found[1])
        return f"{found[1]}.{(found[2] or '').ljust(9, '0')[:digits].ljust(9, '0')}"

    texts = _each(array, pa.string(), read)
    return cast_times(parse_times(texts, FINE_TIME), to_arrow(wanted))


_FROM_TEXT: Final[Mapping[TypeRoot, Cast]] = MappingProxyType(
    {
        **dict.fromkeys(_TEXTS, _texts_as_texts),
        **dict.fromkeys(_WHOLE, _texts_as_whole),
        **dict.fromkeys(_FLOATS, _texts_as_floats),
        TypeRoot.BOOLEAN: _texts_as_booleans,
        TypeRoot.DATE: _texts_as_dates,
        TypeRoot.TIME: _texts_as_times,
        TypeRoot.TIMESTAMP: _texts_as_timestamps,
    }
)


# --- dates and times ----------------------------------------------------------------------------


def _parts(array: pa.Array) -> tuple[Any, Any]:
    kind = FINE_TIME if not getattr(array.type, "tz", None) else FINE_LOCAL_TIME
    return time_parts(array if is_fine(array.type) else cast_times(array, kind))


def _towards_zero(values: Any, step: int) -> Any:
    return np.sign(values) * (np.abs(values) // step)


def _fewer_digits(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    target, digits = to_arrow(wanted), wanted.precision or 0
    if digits >= (written.precision or 0):
        return cast_times(array, target)
    millis, nanos = _parts(array)
    is_whole = ((millis % _MILLIS) * NANOS_PER_MILLI + nanos) % 10 ** (9 - digits) == 0
    if digits <= COMPACT_TIMESTAMP_PRECISION:
        # Java cuts milliseconds towards 1970, nanoseconds towards the past.
        step = 10 ** (COMPACT_TIMESTAMP_PRECISION - digits)
        cut, rest = _towards_zero(millis, step) * step, np.zeros_like(nanos)
    else:
        step = 10 ** (9 - digits)
        cut, rest = millis, nanos // step * step
    kind = FINE_LOCAL_TIME if wanted.root is TypeRoot.TIMESTAMP_LTZ else FINE_TIME
    nulls = _nulls(array)
    found = fine_times(
        np.where(is_whole, millis, cut), np.where(is_whole, nanos, rest), nulls, kind
    )
    return cast_times(found, target)


def _moments_as_dates(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    days = _towards_zero(_parts(array)[0], _MILLIS_PER_DAY)
    return pa.array(days, pa.int32(), mask=_nulls(array)).cast(pa.date32())


def _moments_as_times(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    millis = _parts(array)[0]
    return pa.array(millis % _MILLIS_PER_DAY, pa.int32(), mask=_nulls(array)).cast(pa.time32("ms"))


def _moments_as_seconds(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    seconds = _towards_zero(_parts(array)[0], _MILLIS)
    found = seconds.astype(to_arrow(wanted).to_pandas_dtype())
    return pa.array(found, mask=_nulls(array))


def _seconds_as_moments(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    seconds = array.cast(pa.int64()).fill_null(0).to_numpy()
    found = fine_times(seconds * _MILLIS, np.zeros_like(seconds), _nulls(array), FINE_TIME)
    return cast_times(found, to_arrow(wanted))


def _dates_as_moments(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    return cast_times(array, to_arrow(wanted))


def _times_as_moments(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    millis = array.cast(pa.int32()).cast(pa.int64()).fill_null(0).to_numpy()
    found = fine_times(millis, np.zeros_like(millis), _nulls(array), FINE_TIME)
    return cast_times(found, to_arrow(wanted))


_MOMENT_RULES: Final[Mapping[tuple[TypeRoot, TypeRoot], Cast]] = MappingProxyType(
    {
        (TypeRoot.TIMESTAMP, TypeRoot.DATE): _moments_as_dates,
        (TypeRoot.TIMESTAMP, TypeRoot.TIME): _moments_as_times,
        **dict.fromkeys(product(_MOMENTS, _SECONDS), _moments_as_seconds),
        **dict.fromkeys(product(_SECONDS, (TypeRoot.TIMESTAMP,)), _seconds_as_moments),
        (TypeRoot.DATE, TypeRoot.TIMESTAMP): _dates_as_moments,
        (TypeRoot.TIME, TypeRoot.TIMESTAMP): _times_as_moments,
    }
)


def _dates_as_texts(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    return _each(array, pa.string(), str)


def _times_as_texts(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    digits = written.precision or 0

    def read(value: dt.time) -> str:
        fraction = f"{value.microsecond // 1_000:03d}".rstrip("0")[:digits] or "0"
        return f"{value:%H:%M:%S}" + (f".{fraction}" if digits else "")

    return _each(array, pa.string(), read)


def _moments_as_texts(array: pa.Array, written: AtomicType, wanted: AtomicType) -> pa.Array:
    digits = written.precision or 0
    texts = time_texts(array if is_fine(array.type) else cast_times(array, FINE_TIME))

    def read(text: str) -> str:
        whole, _, fraction = text.partition(".")
        if len(whole) != _LENGTH_OF_SECONDS:
            raise ValueError(text)
        fraction = fraction[:digits] + fraction[digits:].rstrip("0")
        return f"{whole}.{fraction}" if fraction else whole

    return _each(texts, pa.string(), read)


_MOMENTS_TO_TEXT: Final[Mapping[TypeRoot, Cast]] = MappingProxyType(
    {
        TypeRoot.DATE: _dates_as_texts,
        TypeRoot.TIME: _times_as_texts,
        TypeRoot.TIMESTAMP: _moments_as_texts,
    }
)
