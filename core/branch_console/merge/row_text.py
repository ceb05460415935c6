"""Rows and cells as texts: what people see of a conflict, decide on and type in."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import InvalidInput
from branch_console.format.values.fine_times import is_fine, parse_times
from branch_console.format.values.nested_arrays import with_required_parts
from branch_console.format.values.readable import readable_values
from branch_console.format.values.shredded_variant import is_variant, parse_variants

_SEPARATOR: Final = "\x1f"
# JSON that nests deeper than Python reads or writes is no value either.
_NO_VALUE: Final = (pa.ArrowException, ValueError, RecursionError)


def cell_texts(values: pa.Array) -> pa.Array:
    """Values as texts, null if they are null; bytes as hexadecimal digits, VARIANT as JSON."""
    values = readable_values(values)
    kind = values.type
    if _is_bytes(kind):
        return pa.array([None if v is None else v.hex() for v in values.to_pylist()], pa.string())
    if pa.types.is_nested(kind):
        found = (None if v is None else _json(v) for v in values.to_pylist())
        return pa.array(list(found), pa.string())
    return values.cast(pa.string())


def row_texts(rows: pa.Table, is_there: pa.Array) -> pa.Array:
    """Rows as JSON objects, null if they are not there."""
    parts = [
        pc.binary_join_element_wise(json.dumps(name), _json_texts(column.combine_chunks()), ": ")
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    ]
    joined = pc.binary_join_element_wise(*parts, ", ") if parts else pa.nulls(len(is_there))
    whole = pc.binary_join_element_wise("{", joined, "}", "")
    return pc.if_else(is_there, whole, pa.scalar(None, pa.string()))


def key_ids(keys: pa.Table) -> pa.Array:
    """Return a short id of each key: 16 hexadecimal digits."""
    parts = [cell_texts(column.combine_chunks()) for column in keys.columns]
    texts = pc.binary_join_element_wise(
        *parts, _SEPARATOR, null_handling="replace", null_replacement="\x00"
    )
    return pa.array([_short_hash(text, 8) for text in texts.to_pylist()], pa.string())


def conflict_ids(keys: pa.Array, column: str | None) -> pa.Array:
    """Return the id of the conflict of a key (see `key_ids`) in a column, or of its whole row."""
    return (
        keys if column is None else pc.binary_join_element_wise(keys, _short_hash(column, 4), "-")
    )


def _short_hash(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def parse_cells(texts: pa.Array, kind: pa.DataType, column: str) -> pa.Array:
    """Texts that somebody typed as values of a column.

    Raises:
        InvalidInput: A text is no value of the type; it names the text.
    """
    try:
        return _parse(texts, kind)
    except _NO_VALUE:
        for text in texts:
            _check(text, kind, column)
        raise


def _check(text: pa.Scalar, kind: pa.DataType, column: str) -> None:
    try:
        _parse(pa.array([text.as_py()], pa.string()), kind)
    except _NO_VALUE as error:
        raise InvalidInput(
            f"{text.as_py()!r} is no value of column {column!r}, which is "
            f"{'VARIANT: JSON' if is_variant(kind) else kind}. Type another.",
            column=column,
        ) from error


def _parse(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_fine(kind):
        return parse_times(texts, kind)
    if is_variant(kind):
        return parse_variants(texts)
    if _is_bytes(kind):
        found = [None if text is None else bytes.fromhex(text) for text in texts.to_pylist()]
        return pa.array(found, kind)
    if pa.types.is_nested(kind):
        return _from_json([None if t is None else _read_json(t) for t in texts.to_pylist()], kind)
    if pa.types.is_time(kind):
        # Arrow reads times of day only behind a day.
        texts = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return texts.cast(pa.timestamp(kind.unit)).cast(kind)
    return texts.cast(kind)


class _Number(str):
    """A number of a JSON text, as it is written there."""

    __slots__ = ()


def _read_json(text: str) -> Any:
    return json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def _from_json(found: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values that `_read_json` read as values of a type: `cell_texts` wrote each part as a text."""
    nulls = pa.array([value is None for value in found], pa.bool_())
    if pa.types.is_struct(kind) and not is_variant(kind):
        rows = [_dict_of(value, kind) for value in found]
        parts = [_from_json([row.get(each.name) for row in rows], each.type) for each in kind]
        return with_required_parts(
            pa.StructArray.from_arrays(parts, fields=list(kind), mask=nulls), kind
        )
    if pa.types.is_map(kind):
        pairs = [pair for value in found for pair in _pairs_of(value)]
        keys = _from_json([key for key, _ in pairs], kind.key_type)
        items = _from_json([item for _, item in pairs], kind.item_type)
        return pa.MapArray.from_arrays(_ends(found, _pairs_of), keys, items, type=kind, mask=nulls)
    if pa.types.is_list(kind):
        values = _from_json([item for value in found for item in _list_of(value)], kind.value_type)
        return pa.ListArray.from_arrays(_ends(found, _list_of), values, kind, mask=nulls)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        lists = [[None] * size if value is None else _list_of(value) for value in found]
        if any(len(each) != size for each in lists):
            raise ValueError(f"a list has not {size} values")
        values = _from_json([item for each in lists for item in each], kind.value_type)
        return pa.FixedSizeListArray.from_arrays(values, type=kind, mask=nulls)
    text_of = _variant_text if is_variant(kind) else partial(_text_of, kind=kind)
    return _parse(pa.array([text_of(value) for value in found], pa.string()), kind)


def _variant_text(value: Any) -> str | None:
    """JSON of a part that is VARIANT: a text is JSON already, as `cell_texts` shows such parts."""
    return value if value is None or isinstance(value, str) else _written(value)


def _written(value: Any) -> str:
    """Write what `_read_json` read again as JSON, with its numbers as they were."""
    match value:
        case _Number():
            return str(value)
        case dict():
            parts = (f"{_json(name)}:{_written(part)}" for name, part in value.items())
            return f"{{{','.join(parts)}}}"
        case list():
            return f"[{','.join(map(_written, value))}]"
        case _:
            return _json(value)


def _text_of(value: Any, kind: pa.DataType) -> str | None:
    if value is None:
        return None
    is_boolean = isinstance(value, bool)
    if is_boolean != pa.types.is_boolean(kind) or not isinstance(value, bool | str):
        raise ValueError(f"{value!r} is no {kind}")
    if isinstance(value, _Number) and (pa.types.is_string(kind) or _is_bytes(kind)):
        raise ValueError(f"{value} is no {kind}")
    return str(value).lower() if is_boolean else str(value)


def _dict_of(value: Any, kind: pa.StructType) -> dict[str, Any]:
    names = {each.name for each in kind}
    if value is None:
        return {}
    if not isinstance(value, dict) or value.keys() - names:
        raise ValueError(f"{value!r} is no {kind}")
    if any(value.get(each.name) is None for each in kind if not each.nullable):
        raise ValueError(f"{value!r} lacks a part of {kind}")
    return value


def _list_of(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list")
    return value


def _pairs_of(value: Any) -> list[list[Any]]:
    pairs = _list_of(value)
    if any(not isinstance(pair, list) or len(pair) != 2 or pair[0] is None for pair in pairs):
        raise ValueError(f"{value!r} is no list of pairs")
    return pairs


def _ends(found: Sequence[Any], items: Callable[[Any], list[Any]]) -> pa.Array:
    return pa.array([0, *accumulate(len(items(value)) for value in found)], pa.int32())


def _json_texts(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pc.fill_null(cell_texts(values), "null")
    if pa.types.is_nested(kind):
        return pc.fill_null(cell_texts(values), "null")
    texts = cell_texts(values)
    if pc.any(pc.match_substring_regex(texts, r'[\x00-\x1f"\\]')).as_py():
        return pa.array([json.dumps(text, ensure_ascii=False) for text in texts.to_pylist()])
    return pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "null")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
