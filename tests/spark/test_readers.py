"""Every branch of the fixtures, read by Spark tasks: the rows that Paimon itself returned."""

import datetime as dt
from collections import Counter
from typing import Any

import pytest

from core.errors import InvalidInput
from core.format.data_types import (
    ArrayType,
    AtomicType,
    DataType,
    MapType,
    MultisetType,
    RowType,
    TypeRoot,
)
from core.procedures.warehouse import Warehouse
from core.spark.readers import read_table
from core.spark.session import WarmSession
from core.table.file_store_table import FileStoreTable
from tests.support.golden import to_plain
from tests.support.warehouses import WRITERS, expected_tables

_UNSERVED = {
    "fixtures.data_evolution": "data evolution",
}
PLACES = [
    pytest.param(version, name, id=f"{version}-{name}")
    for version in WRITERS
    for name in sorted(expected_tables(version))
]


@pytest.fixture(scope="session")
def opened(request: pytest.FixtureRequest) -> Any:
    """The fixture warehouse of a writer and what Paimon says of it, opened once."""
    found: dict[str, tuple[Warehouse, dict[str, Any]]] = {}

    def get(version: str) -> tuple[Warehouse, dict[str, Any]]:
        if version not in found:
            names = {"1.4.2": "warehouse_142", "2.0.0": "warehouse_200"}
            fixture = request.getfixturevalue(names.get(version, "warehouse_pypaimon"))
            warehouse = Warehouse.open(str(fixture.path), read_only=True)
            found[version] = (warehouse, fixture.expected)
        return found[version]

    return get


@pytest.mark.parametrize(("version", "name"), PLACES)
def test_the_rows_are_those_that_paimon_reads(
    session: WarmSession, opened: Any, version: str, name: str
) -> None:
    warehouse, expected = opened(version)
    main = warehouse.table(name)
    for branch, said in expected[name]["on"].items():
        table = main.on(branch)
        if (branch, name) == ("main", "fixtures.branches_fallback"):
            with pytest.raises(InvalidInput, match="rows lie on two branches"):
                rows_of(session, warehouse, table)
            continue
        if name in _UNSERVED:
            with pytest.raises(InvalidInput, match=_UNSERVED[name]):
                rows_of(session, warehouse, table)
            continue
        assert _bag(rows_of(session, warehouse, table)) == _bag(said["rows"]), branch


def rows_of(
    session: WarmSession, warehouse: Warehouse, table: FileStoreTable, version: str | None = None
) -> list[list[Any]]:
    """The rows of a table as the fixtures keep them."""
    snapshot = None if version is None else table.snapshot_for(version)
    schema = table.schema() if snapshot is None else table.schemas.get(snapshot.schema_id)
    frame = read_table(session.spark, warehouse.file_io, table, snapshot)
    found = session.run(lambda _: frame.toArrow(), description="read a fixture")
    types = schema.row_type.types
    columns = [column.to_pylist() for column in found.columns]
    return [
        [_plain(value, kind) for value, kind in zip(row, types, strict=True)]
        for row in zip(*columns, strict=True)
    ]


def _plain(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    match kind:
        case RowType():
            return [_plain(value[field.name], field.type) for field in kind.fields]
        case ArrayType():
            return [_plain(each, kind.element) for each in value]
        case MapType():
            return [[_plain(k, kind.key), _plain(v, kind.value)] for k, v in value]
        case MultisetType():
            return [[_plain(k, kind.element), v] for k, v in value]
        case AtomicType(root=TypeRoot.TIMESTAMP_LTZ):
            return to_plain(value.astimezone(dt.UTC))
        case _:
            return to_plain(value)


def _bag(rows: list[Any]) -> Counter[str]:
    return Counter(repr(_normal(row)) for row in rows)


def _normal(value: Any) -> Any:
    return [_normal(each) for each in value] if isinstance(value, list | tuple) else value
