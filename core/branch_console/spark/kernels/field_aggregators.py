"""The functions that merge the values of one column when rows of a key merge, row by row.

These are Paimon's functions, retracts included. `merge_on_read` has kernels over whole columns for
the common functions and uses this module for all others. Source: Paimon FieldAggregatorFactory and
the aggregators that it finds.
"""

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import (
    COMPACT_DECIMAL_PRECISION,
    ArrayType,
    AtomicType,
    DataField,
    MapType,
    RowType,
    TypeRoot,
)
from branch_console.format.options import Options
from branch_console.format.values.roaring_bitmap import union_bitmaps

Value: TypeAlias = Any
_Pairs: TypeAlias = list[tuple[Value, Value]]

_WIDE: Final = Context(prec=80)
_BITS: Final = MappingProxyType(
    {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
)


class FieldAggregator:
    """Merges the values of a column within one key; `reset` comes before each key."""

    def __init__(self, field: DataField, options: Options) -> None:
        """Aggregate a column.

        Args:
            field: The column.
            options: The options of the table; those of the column start with `fields.<name>.`.
        """
        self.field = field
        self._options = options
        self._ignores_retract = self._flag("ignore-retract")

    def reset(self) -> None:
        """Begin another key."""

    def agg(self, merged: Value, value: Value) -> Value:
        """Return the value after a later row."""
        raise NotImplementedError

    def agg_reversed(self, merged: Value, value: Value) -> Value:
        """Return the value after a row that a sequence group puts before those merged so far."""
        return self.agg(value, merged)

    def retract(self, merged: Value, value: Value) -> Value:
        """Return the value after a row that retracts or deletes.

        Raises:
            InvalidInput: The function cannot retract, and no option ignores such rows.
        """
        return merged if self._ignores_retract else self._retract(merged, value)

    def _retract(self, merged: Value, value: Value) -> Value:
        name = self.field.name
        raise InvalidInput(
            f"A row takes back a value of column {name!r}, whose aggregate function cannot. Set "
            f"'fields.{name}.ignore-retract' if such rows may be left out.",
            kind=ErrorKind.UNSUPPORTED,
            column=name,
        )

    def _option(self, name: str, default: str) -> str:
        return self._options.get(f"fields.{self.field.name}.{name}", default)

    def _flag(self, name: str) -> bool:
        return self._option(name, "false").lower() == "true"

    def _names(self, name: str) -> tuple[str, ...]:
        return tuple(each.strip() for each in self._option(name, "").split(",") if each.strip())


class _Last(FieldAggregator):
    def agg(self, merged: Value, value: Value) -> Value:
        return value

    def _retract(self, merged: Value, value: Value) -> Value:
        return None


class _PrimaryKey(_Last):
    def _retract(self, merged: Value, value: Value) -> Value:
        return value


class _LastNonNull(FieldAggregator):
    def agg(self, merged: Value, value: Value) -> Value:
        return merged if value is None else value

    def _retract(self, merged: Value, value: Value) -> Value:
        return merged if value is None else None


class _First(FieldAggregator):
    _takes_null = True
    _is_set = False

    def reset(self) -> None:
        self._is_set = False

    def agg(self, merged: Value, value: Value) -> Value:
        if self._is_set or (value is None and not self._takes_null):
            return merged
        self._is_set = True
        return value


class _FirstNonNull(_First):
    _takes_null = False


class _OfBoth(FieldAggregator):
    """A function of two values; where one is null, the other."""

    def agg(self, merged: Value, value: Value) -> Value:
        if merged is None or value is None:
            return value if merged is None else merged
        return self._both(merged, value)

    def _both(self, merged: Value, value: Value) -> Value:
        raise NotImplementedError


class _Number(_OfBoth):
    """Arithmetic as Java's: of 32-bit floats in 32 bits, and decimals keep their scale."""

    _exact: Callable[[Value, Value], Value] = staticmethod(operator.add)
    _decimal: Callable[..., Decimal] = staticmethod(Context.add)

    def _both(self, merged: Value, value: Value) -> Value:
        return self._calculate(merged, value, self._exact, self._decimal)

    def _calculate(
        self,
        left: Value,
        right: Value,
        exact: Callable[[Value, Value], Value],
        decimal: Callable[[Context, Decimal, Decimal], Decimal],
    ) -> Value:
        kind = self.field.type
        assert isinstance(kind, AtomicType)
        match kind.root:
            case TypeRoot.DECIMAL:
                return self._fitting(decimal(_WIDE, left, right), kind)
            case TypeRoot.FLOAT:
                with np.errstate(all="ignore"):
                    return float(exact(np.float32(left), np.float32(right)))
            case TypeRoot.DOUBLE:
                with np.errstate(all="ignore"):
                    return float(exact(np.float64(left), np.float64(right)))
            case _:
                return self._whole(exact(left, right))

    def _whole(self, value: int) -> int:
        kind = self.field.type
        assert isinstance(kind, AtomicType)
        limit = 1 << (_BITS[kind.root] - 1)
        if not -limit <= value < limit:
            raise self._no_place(value)
        return value

    def _fitting(self, value: Decimal, kind: AtomicType) -> Decimal | None:
        """The value in the scale of its type; None if it has too many digits, as in Paimon."""
        found = value.quantize(Decimal(1).scaleb(-(kind.scale or 0)), ROUND_HALF_UP, _WIDE)
        return (
            found
            if abs(found) < Decimal(10) ** ((kind.precision or 0) - (kind.scale or 0))
            else None
        )

    def _no_place(self, value: int | Decimal) -> InvalidInput:
        return InvalidInput(
            f"Column {self.field.name!r} is {self.field.type}, in which a merged value of {value} "
            "has no place. Give the column a wider type.",
            column=self.field.name,
        )


class _Sum(_Number):
    def _fitting(self, value: Decimal, kind: AtomicType) -> Decimal | None:
        found = super()._fitting(value, kind)
        if found is None and (kind.precision or 0) <= COMPACT_DECIMAL_PRECISION:
            # Paimon goes on with more digits than the column has, which no column here can hold.
            raise self._no_place(value)
        return found

    def _retract(self, merged: Value, value: Value) -> Value:
        if value is None:
            return merged
        if merged is None:
            return -value
        return self._calculate(merged, value, operator.sub, Context.subtract)


class _Product(_Number):
    _exact = staticmethod(operator.mul)
    _decimal = staticmethod(Context.multiply)

    def _retract(self, merged: Value, value: Value) -> Value:
        if merged is None or value is None:
            return merged
        if isinstance(merged, int):
            return self._whole(_truncated(merged, value))
        return self._calculate(merged, value, operator.truediv, Context.divide)


class _Max(_OfBoth):
    def _both(self, merged: Value, value: Value) -> Value:
        return value if _rank(merged) < _rank(value) else merged


class _Min(_OfBoth):
    def _both(self, merged: Value, value: Value) -> Value:
        return merged if _rank(merged) < _rank(value) else value


class _BoolAnd(_OfBoth):
    def _both(self, merged: Value, value: Value) -> Value:
        return merged and value


class _BoolOr(_OfBoth):
    def _both(self, merged: Value, value: Value) -> Value:
        return merged or value


class _Listagg(FieldAggregator):
    def agg(self, merged: Value, value: Value) -> Value:
        if value is None or not value.strip():
            return merged
        if merged is None or not merged.strip():
            return value
        delimiter = self._option("list-agg-delimiter", ",")
        if not self._flag("distinct"):
            return f"{merged}{delimiter}{value}"
        known, found = set(merged.split(delimiter)), [merged]
        for part in value.split(delimiter):
            if part.strip() and part not in known:
                known.add(part)
                found.append(part)
        return delimiter.join(found)


class _Collect(FieldAggregator):
    def agg(self, merged: Value, value: Value) -> Value:
        is_distinct = self._flag("distinct")
        if merged is None and value is None:
            return None
        if (merged is None or value is None) and not is_distinct:
            return value if merged is None else merged
        found: list[Value] = []
        for each in (*(merged or ()), *(value or ())):
            if not is_distinct or each not in found:
                found.append(each)
        return found

    def agg_reversed(self, merged: Value, value: Value) -> Value:
        return self.agg(merged, value)

    def _retract(self, merged: Value, value: Value) -> Value:
        if not merged or not value:
            return merged
        gone = list(value)
        kept = []
        for each in merged:
            if each in gone:
                gone.remove(each)
            else:
                kept.append(each)
        return kept


class _MergeMap(_OfBoth):
    def _both(self, merged: _Pairs, value: _Pairs) -> _Pairs:
        return list({**dict(merged), **dict(value)}.items())

    def _retract(self, merged: Value, value: Value) -> Value:
        if merged is None or not value:
            return merged
        gone = {key for key, _ in value}
        return [(key, kept) for key, kept in merged if key not in gone]


class _NestedUpdate(FieldAggregator):
    """A list of rows that is a table of its own, perhaps with a key."""

    def agg(self, merged: Value, value: Value) -> Value:
        if value is None:
            return merged
        limit = int(self._option("count-limit", str(2**31 - 1)))
        keys = self._names("nested-key")
        if not keys:
            found = [] if merged is None else _rows(merged)
            if merged is not None and len(merged) >= limit:
                return merged
            return [*found, *_rows(value)[: limit - len(merged or ())]]
        rows: dict[tuple[Value, ...], Value] = {}
        for row in _rows(merged or ()):
            rows[_key(row, keys)] = row
        for row in _rows(value):
            rows[_key(row, keys)] = row
        return list(rows.values())

    def _retract(self, merged: Value, value: Value) -> Value:
        if merged is None or value is None:
            return merged
        keys = self._names("nested-key")
        if not keys:
            return [row for row in _rows(merged) if row not in value]
        gone = {_key(row, keys) for row in _rows(value)}
        rows = {_key(row, keys): row for row in _rows(merged)}
        return [row for key, row in rows.items() if key not in gone]


class _NestedPartialUpdate(FieldAggregator):
    def agg(self, merged: Value, value: Value) -> Value:
        if value is None:
            return merged
        keys = self._names("nested-key")
        rows: dict[tuple[Value, ...], dict[str, Value]] = {}
        for row in _rows([*(merged or ()), *value]):
            found = rows.setdefault(_key(row, keys), dict.fromkeys(row))
            found.update({name: part for name, part in row.items() if part is not None})
        return list(rows.values())


class _Bitmap32(_OfBoth):
    def _both(self, merged: bytes, value: bytes) -> bytes:
        return union_bitmaps(merged, value)


_AGGREGATORS: Final[Mapping[str, type[FieldAggregator]]] = MappingProxyType(
    {
        "primary-key": _PrimaryKey,
        "sum": _Sum,
        "product": _Product,
        "max": _Max,
        "min": _Min,
        "bool_and": _BoolAnd,
        "bool_or": _BoolOr,
        "last_value": _Last,
        "last_non_null_value": _LastNonNull,
        "first_value": _First,
        "first_non_null_value": _FirstNonNull,
        "first_not_null_value": _FirstNonNull,
        "listagg": _Listagg,
        "collect": _Collect,
        "merge_map": _MergeMap,
        "nested_update": _NestedUpdate,
        "nested_partial_update": _NestedPartialUpdate,
        "rbm32": _Bitmap32,
    }
)
_UNSERVED_OPTIONS: Final = ("nested-sequence-field", "nested-key-null-strategy")


def field_aggregator(function: str, field: DataField, options: Options) -> FieldAggregator:
    """The aggregator of a column.

    Raises:
        InvalidInput: The function, or an option of it, is not served, or does not take the type.
    """
    found = _AGGREGATORS.get(function)
    if found is None:
        raise _unserved(
            f"The aggregate function {function!r} of column {field.name!r} is not served."
        )
    for name in _UNSERVED_OPTIONS:
        if f"fields.{field.name}.{name}" in options:
            raise _unserved(f"The option {name!r} of column {field.name!r} is not served.")
    names = {f"fields.{field.name}.{name}" for name in ("nested-key", "count-limit")}
    if found is _NestedUpdate and names <= set(options):
        raise _unserved(
            f"The option 'count-limit' of column {field.name!r}, which has a 'nested-key', means "
            "something else to each version of Paimon."
        )
    if not _takes(found, field):
        raise InvalidInput(
            f"The aggregate function {function!r} takes no {field.type}, which column "
            f"{field.name!r} is.",
            kind=ErrorKind.INVALID_OPTION,
            column=field.name,
        )
    return found(field, options)


def _takes(aggregator: type[FieldAggregator], field: DataField) -> bool:
    kind = field.type
    if issubclass(aggregator, _Number):
        numbers = {*_BITS, TypeRoot.FLOAT, TypeRoot.DOUBLE, TypeRoot.DECIMAL}
        return isinstance(kind, AtomicType) and kind.root in numbers
    if issubclass(aggregator, _BoolAnd | _BoolOr):
        return isinstance(kind, AtomicType) and kind.root is TypeRoot.BOOLEAN
    if issubclass(aggregator, _Listagg):
        return isinstance(kind, AtomicType) and kind.root is TypeRoot.VARCHAR
    if issubclass(aggregator, _Bitmap32):
        return isinstance(kind, AtomicType) and kind.root is TypeRoot.VARBINARY
    if issubclass(aggregator, _Max | _Min):
        return isinstance(kind, AtomicType)
    if issubclass(aggregator, _MergeMap):
        return isinstance(kind, MapType)
    if issubclass(aggregator, _NestedUpdate | _NestedPartialUpdate):
        return isinstance(kind, ArrayType) and isinstance(kind.element, RowType)
    return not issubclass(aggregator, _Collect) or isinstance(kind, ArrayType)


def _rows(values: Iterable[Value]) -> list[Value]:
    return [value for value in values if value is not None]


def _key(row: Mapping[str, Value], names: Iterable[str]) -> tuple[Value, ...]:
    return tuple(row[name] for name in names)


def _rank(value: Value) -> Value:
    # Java puts NaN above all numbers, and the negative zero below the other.
    if isinstance(value, float):
        return math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1.0, value)
    return value


def _truncated(left: int, right: int) -> int:
    if right == 0:
        raise InvalidInput("A product cannot take back zero. Mend the row that deletes.")
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _unserved(message: str) -> InvalidInput:
    return InvalidInput(f"{message} Read the table with Paimon.", kind=ErrorKind.UNSUPPORTED)
