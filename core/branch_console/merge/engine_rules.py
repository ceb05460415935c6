"""The row conflicts that each merge engine allows, and how it joins rows without one.

A sum that both sides raised holds both raises; a last value that both sides set is a conflict. The
merge follows what readers of the table do with rows of one key anyway. Source: Paimon
MergeEngine, FieldAggregator and its subclasses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.three_way import ThreeWay
from branch_console.errors import InvalidInput
from branch_console.format.sequence_groups import aggregate_function, grouped_functions
from branch_console.format.table_schema import MergeEngine, TableSchema

_REMOVES: Final = "aggregation.remove-record-on-delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRules:
    """How the merge engine of a table bears on its three-way merge.

    Attributes:
        keeps_ours: Whether the first row of a key stays, so that no row conflicts.
        adds_columns: Whether a row that is not there counts as one of nulls, which both sides may
            have filled in part.
        functions: The columns whose changes commute, with their aggregate function.
        starts_anew: Whether what comes after a deletion is added to the row that it wrote.
    """

    keeps_ours: bool
    adds_columns: bool
    functions: Mapping[str, str]
    starts_anew: bool

    @classmethod
    def of(cls, schema: TableSchema) -> "EngineRules":
        """Read them from the options of a table."""
        engine = schema.merge_engine
        named: Mapping[str, str]
        match engine:
            case MergeEngine.AGGREGATION:
                names = (name for name in schema.row_type.names if name not in schema.primary_keys)
                named = {name: _function(schema, name) for name in names}
            case MergeEngine.PARTIAL_UPDATE:
                named = {name: _function(schema, name) for name in grouped_functions(schema)}
            case MergeEngine.DEDUPLICATE | MergeEngine.FIRST_ROW | None:
                named = {}
            case _:
                assert_never(engine)
        return cls(
            keeps_ours=engine is MergeEngine.FIRST_ROW,
            adds_columns=engine in {MergeEngine.PARTIAL_UPDATE, MergeEngine.AGGREGATION},
            functions=MappingProxyType({k: v for k, v in named.items() if v in _COMBINE}),
            starts_anew=engine is MergeEngine.AGGREGATION
            and schema.options.get(_REMOVES, "false").lower() == "true",
        )

    def combine(self, column: str, sides: ThreeWay[pa.Array]) -> pa.Array:
        """Join what both sides did to a column whose changes commute.

        Raises:
            InvalidInput: The joined value does not fit the column's type.
        """
        return _fitting(column, _COMBINE[self.functions[column]], sides)

    def addition(self, column: str, result: pa.Array, seen: pa.Array) -> pa.Array:
        """The values to write on top of `seen`, so that readers find `result`."""
        match self.functions.get(column):
            case "sum" | "count":
                kind = _wider(result.type)
                before = pc.coalesce(seen.cast(kind), _number(0, kind))
                return pc.subtract(result.cast(kind), before).cast(result.type)
            case "product":
                is_there = pc.fill_null(pc.equal(result, seen), False)
                return pc.if_else(is_there, _number(1, result.type), result)
            case _:
                return result


def sum_of_deltas(sides: ThreeWay[pa.Array]) -> pa.Array:
    """The base with what both sides added; null if neither side has a value."""
    kind = sides.ours.type
    base, ours, theirs = (
        pc.coalesce(side.cast(_wider(kind)), _number(0, _wider(kind)))
        for side in (sides.base, sides.ours, sides.theirs)
    )
    found = pc.subtract_checked(pc.add_checked(ours, theirs), base).cast(kind)
    return _unless_both_null(sides, found)


def _product(sides: ThreeWay[pa.Array]) -> pa.Array:
    kind = sides.ours.type
    is_new = pc.fill_null(pc.equal(sides.base, _number(0, kind)), True)
    divisor = pc.if_else(is_new, _number(1, kind), sides.base)
    factor = pc.divide(pc.coalesce(sides.theirs, divisor), divisor).cast(kind)
    found = pc.multiply_checked(pc.coalesce(sides.ours, _number(1, kind)), factor).cast(kind)
    return _unless_both_null(sides, found)


def _unless_both_null(sides: ThreeWay[pa.Array], found: pa.Array) -> pa.Array:
    is_null = pc.and_(pc.is_null(sides.ours), pc.is_null(sides.theirs))
    return pc.if_else(is_null, pa.scalar(None, found.type), found)


def _number(value: int, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(value, kind)


def _wider(kind: pa.DataType) -> pa.DataType:
    # Arrow gives sums of decimals more digits, of which 38 have none left.
    return pa.decimal256(kind.precision, kind.scale) if pa.types.is_decimal128(kind) else kind


def _largest(sides: ThreeWay[pa.Array]) -> pa.Array:
    return pc.max_element_wise(sides.ours, sides.theirs)


def _smallest(sides: ThreeWay[pa.Array]) -> pa.Array:
    return pc.min_element_wise(sides.ours, sides.theirs)


def _all(sides: ThreeWay[pa.Array]) -> pa.Array:
    return pc.coalesce(pc.and_(sides.ours, sides.theirs), sides.ours, sides.theirs)


def _any(sides: ThreeWay[pa.Array]) -> pa.Array:
    return pc.coalesce(pc.or_(sides.ours, sides.theirs), sides.ours, sides.theirs)


def _union(sides: ThreeWay[pa.Array]) -> pa.Array:
    pairs = zip(sides.ours.to_pylist(), sides.theirs.to_pylist(), strict=True)
    return pa.array(
        [
            None
            if ours is theirs is None
            else list(dict.fromkeys([*(ours or ()), *(theirs or ())]))
            for ours, theirs in pairs
        ],
        sides.ours.type,
    )


_COMBINE: Final[Mapping[str, Callable[[ThreeWay[pa.Array]], pa.Array]]] = MappingProxyType(
    {
        "sum": sum_of_deltas,
        "count": sum_of_deltas,
        "product": _product,
        "max": _largest,
        "min": _smallest,
        "bool_and": _all,
        "bool_or": _any,
        "collect distinct": _union,
    }
)


def _function(schema: TableSchema, column: str) -> str:
    function = aggregate_function(schema, column)
    # Without `distinct` a list keeps every copy, and which side added one cannot be told.
    is_set = schema.options.get(f"fields.{column}.distinct", "false").lower() == "true"
    return "collect distinct" if function == "collect" and is_set else function


def _fitting(
    column: str, function: Callable[[ThreeWay[pa.Array]], pa.Array], sides: ThreeWay[pa.Array]
) -> pa.Array:
    try:
        return function(sides)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"What both sides did to column {column!r} cannot be joined: {error}. Widen its type.",
            column=column,
        ) from error
