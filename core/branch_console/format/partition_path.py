"""Folder names of partitions, as Paimon derives them from partition values.

A name says less than the value it came from: take values from the `_PARTITION` bytes, and derive
paths from them, never the other way round. Source: Paimon PartitionPathUtils,
InternalRowPartitionComputer, and the casts to string.
"""

from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import AtomicType, DataType, TypeRoot
from branch_console.format.options import PARTITION_DEFAULT_NAME, PARTITION_LEGACY_NAME
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.java_floats import java_float

_ESCAPED: Final = frozenset("\"#%'*/:=?\\{}[]^\x7f") | {chr(code) for code in range(32)}
# Python counts these as white space, Java does not.
_NOT_WHITESPACE: Final = frozenset("\u00a0\u2007\u202f\u0085")
_NULL: Final = "NULL"
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()


def partition_path(values: tuple[object, ...], schema: TableSchema, *, zone: tzinfo = UTC) -> str:
    """Return the folder of a partition below the table, such as `dt=20240101/hh=8`.

    Args:
        values: One value a partition key, in key order, as `decode_row` gives them.
        schema: Names the keys, and how their values become text.
        zone: The zone of the writer, for TIMESTAMP WITH LOCAL TIME ZONE without legacy names.

    Returns:
        Names joined with slashes, empty for a table without partitions.

    Raises:
        InvalidInput: The path depends on the writer's memory (legacy names of binary values).
    """
    texts = partition_strings(values, schema, zone=zone)
    return "/".join(
        f"{escape_path_name(key)}={escape_path_name(text)}"
        for key, text in zip(schema.partition_keys, texts, strict=True)
    )


def partition_strings(
    values: tuple[object, ...], schema: TableSchema, *, zone: tzinfo = UTC
) -> tuple[str, ...]:
    """Return the text of each partition value before escaping; see `partition_path`."""
    is_legacy = schema.options.read(PARTITION_LEGACY_NAME)
    default = schema.options.read(PARTITION_DEFAULT_NAME)
    texts = []
    for value, data_type in zip(values, schema.partition_type.types, strict=True):
        text = "" if value is None else value_text(value, data_type, is_legacy=is_legacy, zone=zone)
        texts.append(default if _is_blank(text) else text)
    return tuple(texts)


def partition_words(values: tuple[object, ...], schema: TableSchema) -> str:
    """Return a partition as people write its values, such as `day=2013-03-08`, never as a path.

    A folder has the number of a date under legacy names, and one name for NULL and blanks.

    Args:
        values: One value a partition key, in key order, as `decode_row` gives them.
        schema: Names the keys.

    Returns:
        Names joined with slashes, empty for a table without partitions. A slash in a value is
        written as `%2F`, so that each one in the text ends a key.
    """
    pairs = zip(schema.partition_keys, value_words(values, schema), strict=True)
    return "/".join(f"{key}={text}".replace("/", "%2F") for key, text in pairs)


def value_words(values: tuple[object, ...], schema: TableSchema) -> tuple[str, ...]:
    """Return the partition values as people write them: NULL as `NULL`, blanks in quotes."""
    types = schema.partition_type.types
    return tuple(_in_words(value, each) for value, each in zip(values, types, strict=True))


def _in_words(value: object, data_type: DataType) -> str:
    if value is None:
        return _NULL
    if isinstance(value, bytes):
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return f"0x{value.hex().upper()}"
    else:
        text = value_text(value, data_type, is_legacy=False)
    return text_words(text)


def text_words(text: str | None) -> str:
    """Return the text of a partition value as people write it: NULL as `NULL`, blanks in quotes."""
    if text is None:
        return _NULL
    # Text that reads like no value, or like none at all, is not taken for it.
    return f"'{text}'" if _is_blank(text) or text == _NULL else text


def escape_path_name(name: str) -> str:
    """Write the characters that Paimon does not allow in a folder's name as %XX."""
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in name)


def _is_blank(text: str) -> bool:
    return all(c.isspace() and c not in _NOT_WHITESPACE for c in text)


def value_text(value: Any, data_type: DataType, *, is_legacy: bool, zone: tzinfo = UTC) -> str:
    """Return the text of a value that is not null, as Java writes it.

    Args:
        value: As `decode_row` gives it.
        data_type: Its type.
        is_legacy: Whether it is the text of the value inside Paimon (days for a date), as in
            legacy folder names and statistics, or that of a cast to STRING.
        zone: For TIMESTAMP WITH LOCAL TIME ZONE in a cast.

    Raises:
        InvalidInput: The text depends on the writer's memory (binary values, inside Paimon).
    """
    match data_type:
        case AtomicType(root=TypeRoot.CHAR | TypeRoot.VARCHAR):
            return str(value)
        case AtomicType(root=TypeRoot.BOOLEAN):
            return "true" if value else "false"
        case AtomicType(root=TypeRoot.DECIMAL, scale=scale):
            return format(Decimal(value), f".{scale or 0}f")
        case AtomicType(root=TypeRoot.FLOAT):
            return java_float(np.float32(value))
        case AtomicType(root=TypeRoot.DOUBLE):
            return java_float(np.float64(value))
        case AtomicType(root=TypeRoot.DATE):
            # The legacy name is Java's text of the value inside: days since 1970.
            return str(value.toordinal() - _EPOCH_DAY) if is_legacy else value.isoformat()
        case AtomicType(root=TypeRoot.TIME, precision=precision):
            millis: int = pa.scalar(value, pa.time32("ms")).value
            return str(millis) if is_legacy else _time_text(millis, precision or 0)
        case AtomicType(root=TypeRoot.TIMESTAMP | TypeRoot.TIMESTAMP_LTZ):
            seconds, nanos = _wall_clock(value, data_type, UTC if is_legacy else zone)
            if is_legacy:
                return _local_date_time(seconds, nanos)
            return _timestamp_text(seconds, nanos, data_type.precision or 0)
        case AtomicType(root=TypeRoot.BINARY | TypeRoot.VARBINARY):
            if is_legacy:
                raise InvalidInput(
                    "Partitions by binary columns have names that cannot be derived from their "
                    "values. Set partition.legacy-name = false on such a table.",
                    kind=ErrorKind.UNSUPPORTED,
                )
            return bytes(value).decode("utf-8", "replace")
        case _:
            return str(value)


def _wall_clock(value: Any, data_type: AtomicType, zone: tzinfo) -> tuple[datetime, int]:
    """The whole seconds and the nanoseconds behind them."""
    if isinstance(value, np.datetime64):
        total = int(value.astype("datetime64[ns]").astype(np.int64))
        whole, nanos = divmod(total, 1_000_000_000)
        value = datetime.fromtimestamp(whole, UTC)
    else:
        nanos = value.microsecond * 1000
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    shown_in = zone if data_type.root is TypeRoot.TIMESTAMP_LTZ else UTC
    return value.astimezone(shown_in).replace(tzinfo=None, microsecond=0), nanos


def _local_date_time(seconds: datetime, nanos: int) -> str:
    """Java's LocalDateTime.toString: seconds and fraction only if needed, by three digits."""
    if nanos == 0 and seconds.second == 0:
        return seconds.isoformat(timespec="minutes")
    digits = f"{nanos:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return seconds.isoformat() + (f".{digits}" if digits else "")


def _timestamp_text(seconds: datetime, nanos: int, precision: int) -> str:
    digits = f"{nanos:09d}"
    while len(digits) > precision and digits.endswith("0"):
        digits = digits[:-1]
    return seconds.isoformat(" ") + (f".{digits}" if digits else "")


def _time_text(millis: int, precision: int) -> str:
    seconds, millis = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if precision == 0:
        return text
    digits = f"{millis:03d}".rstrip("0") or "0"
    return f"{text}.{digits[:precision]}"
