"""Whether rows of two sets of files can be equal at all, by the statistics of the files."""

from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.format.data_types import AtomicType, TypeRoot
from branch_console.format.table_schema import TableSchema

# Floats are left out: what a writer makes of NaN in its bounds is its own affair.
_ORDERED: Final = frozenset(
    {
        TypeRoot.TINYINT,
        TypeRoot.SMALLINT,
        TypeRoot.INT,
        TypeRoot.BIGINT,
        TypeRoot.DECIMAL,
        TypeRoot.DATE,
        TypeRoot.TIMESTAMP,
        TypeRoot.TIMESTAMP_LTZ,
        TypeRoot.CHAR,
        TypeRoot.VARCHAR,
    }
)
_Range: TypeAlias = tuple[pa.Scalar, pa.Scalar, bool]
"""The least and the greatest value, and whether there are nulls."""


def columns_to_tell(before: TableSchema, after: TableSchema) -> tuple[str, ...]:
    """The columns that are one and the same on both sides, and whose bounds tell values apart."""
    known = {field.id: field for field in before.fields}
    return tuple(
        field.name
        for field in after.fields
        if isinstance(field.type, AtomicType)
        and field.type.root in _ORDERED
        and (old := known.get(field.id)) is not None
        and (old.name, old.type) == (field.name, field.type)
    )


def cannot_be_equal(
    before: tuple[pa.StructArray, pa.Array],
    after: tuple[pa.StructArray, pa.Array],
    columns: tuple[str, ...],
) -> bool:
    """Whether no row of the one side's files equals one of the other side's.

    Args:
        before: As `value_stats` gives them, and the number of rows of each file.
        after: The same of the other side.
        columns: As `columns_to_tell` gives them.
    """
    for name in columns:
        left, right = _range(*before, name), _range(*after, name)
        if left is None or right is None or (left[2] and right[2]):
            continue
        if _is_less(left[1], right[0]) or _is_less(right[1], left[0]):
            return True
    return False


def _range(stats: pa.StructArray, row_counts: pa.Array, name: str) -> _Range | None:
    """The bounds of a column; None if a file does not tell its own, or no row has a value."""
    least, greatest, nulls = (
        pc.struct_field(stats, [part, name]) for part in ("min", "max", "null_count")
    )
    has_values = pc.not_equal(nulls, row_counts)
    low, high = least.filter(has_values), greatest.filter(has_values)
    if nulls.null_count or low.null_count or high.null_count or not len(low):
        return None
    return pc.min(low), pc.max(high), bool(pc.any(pc.greater(nulls, 0)).as_py())


def _is_less(left: pa.Scalar, right: pa.Scalar) -> bool:
    return bool(pc.less(left, right).as_py())
