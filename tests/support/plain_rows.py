"""Rows of ours in the plain form in which Paimon's are kept, whatever their types."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
)
from tests.support.golden import to_plain


def plain_rows(rows: pa.Table, row_type: RowType) -> list[list[Any]]:
    """The rows of a table that has the columns of `row_type`."""
    columns = [column.to_pylist() for column in rows.columns]
    return [
        [plain_value(value, kind) for value, kind in zip(row, row_type.types, strict=True)]
        for row in zip(*columns, strict=True)
    ]


def plain_value(value: Any, kind: DataType) -> Any:
    """A value as `to_plain` gives it of what Java returned."""
    if value is None:
        return None
    match kind:
        case RowType():
            return [plain_value(value[field.name], field.type) for field in kind.fields]
        case ArrayType():
            return [plain_value(each, kind.element) for each in value]
        case MapType():
            return [[plain_value(k, kind.key), plain_value(v, kind.value)] for k, v in value]
        case MultisetType():
            return [[plain_value(k, kind.element), v] for k, v in value]
        case AtomicType(root=TypeRoot.TIMESTAMP_LTZ):
            return to_plain(value.astimezone(dt.UTC))
        case _:
            return to_plain(value)


def bag(rows: Iterable[Any]) -> Counter[str]:
    """Rows as a bag of texts, lists and tuples being the same."""
    return Counter(repr(_normal(row)) for row in rows)


def _normal(value: Any) -> Any:
    return [_normal(each) for each in value] if isinstance(value, list | tuple) else value
