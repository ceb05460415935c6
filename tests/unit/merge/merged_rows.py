"""Rows in short for tests of row merges."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from branch_console.diff.three_way import ThreeWay
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.arrow_types import arrow_schema
from branch_console.merge.policy import Policy
from branch_console.merge.row_merge import MergedRows, merge_rows

TABLE = "db.t"


def keyed(fields: Mapping[str, str], options: Mapping[str, str] | None = None) -> TableSchema:
    """A table whose first column is its primary key."""
    return TableSchema(
        id=0,
        fields=tuple(
            DataField(id=number, name=name, type=parse_data_type(kind))
            for number, (name, kind) in enumerate(fields.items())
        ),
        highest_field_id=len(fields) - 1,
        partition_keys=(),
        primary_keys=(next(iter(fields)),),
        options=Options(options or {}),
    )


def rows_of(schema: TableSchema, rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows in the order of the columns."""
    names = schema.row_type.names
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    return pa.Table.from_pylist(objects, schema=arrow_schema(schema.fields))


def merge(
    schema: TableSchema,
    base: list[tuple[Any, ...]],
    ours: list[tuple[Any, ...]],
    theirs: list[tuple[Any, ...]],
    policy: str = "",
) -> MergedRows:
    """Merge rows by a policy's text."""
    sides = ThreeWay(
        base=rows_of(schema, base), ours=rows_of(schema, ours), theirs=rows_of(schema, theirs)
    )
    parsed = Policy.from_yaml(f"version: 1\n{policy}")
    return merge_rows(sides, schema, parsed, table=TABLE)


def tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as tuples."""
    return [tuple(row.values()) for row in table.to_pylist()]


def cells(merged: MergedRows) -> dict[tuple[Any, str | None], Any]:
    """What conflicts are settled to, by key and column; `...` where they are open."""
    return {
        (next(iter(row["key"].values())), row["column"]): ...
        if row["take"] is None
        else row["result"]
        for row in merged.conflicts.to_pylist()
    }
