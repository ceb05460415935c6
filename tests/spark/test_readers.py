"""Every branch of the fixtures, read by Spark tasks: the rows that Paimon itself returned."""

from typing import Any

import pytest

from branch_console.errors import InvalidInput
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import WarmSession
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.support.plain_rows import bag, plain_rows
from tests.support.warehouses import VERSIONS, WRITERS, expected_tables

_UNSERVED = {
    "fixtures.data_evolution": "data evolution",
}
PLACES = [
    pytest.param(
        version,
        name,
        id=f"{version}-{name}",
        marks=[pytest.mark.depth("full")] if version == VERSIONS[-1] else [],
    )
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
        if name in _UNSERVED:
            with pytest.raises(InvalidInput, match=_UNSERVED[name]):
                rows_of(session, warehouse, table)
            continue
        assert bag(rows_of(session, warehouse, table)) == bag(said["rows"]), branch


def rows_of(
    session: WarmSession, warehouse: Warehouse, table: FileStoreTable, version: str | None = None
) -> list[list[Any]]:
    """The rows of a table as the fixtures keep them."""
    state = ReadState.as_it_is(table)
    if version is not None:
        state = ReadState.as_it_was(table, table.snapshot_for(version))
    frame = read_table(session.spark, warehouse.file_io, state)
    found = session.run(lambda _: frame.toArrow(), description="read a fixture")
    return plain_rows(found, state.schema.row_type)
