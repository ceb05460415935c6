"""Every number of ours about the fixture warehouses is the one that Paimon wrote down for them."""

from typing import Any

import pytest

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.format.identifier import Identifier
from branch_console.format.index_manifest import IndexType
from branch_console.format.table_schema import BucketMode
from branch_console.format.values.deletion_vector import DeletionVectorRange, read_deletion_vectors
from branch_console.table.data_file_paths import data_file_paths, index_file_paths
from branch_console.table.file_store_table import FileStoreTable
from tests.support.build_warehouses import NEWEST
from tests.support.our_answers import (
    in_micros,
    known_to,
    open_catalog,
    our_index_files,
    our_live_files,
    our_schemas,
    our_snapshots,
    our_tags,
)
from tests.support.warehouses import WRITERS, FixtureWarehouse, expected_tables

_TABLES = [(version, table) for version in WRITERS for table in expected_tables(version)]
_BRANCHES = [
    (version, table, branch)
    for version in WRITERS
    for table, branches in expected_tables(version).items()
    for branch in branches
]
_FIXTURES = ("warehouse_142", "warehouse_200", "warehouse_pypaimon")


class Case:
    """A table on a branch, and what Paimon says of it."""

    def __init__(self, warehouse: FixtureWarehouse, name: str, branch: str) -> None:
        self.warehouse = warehouse
        self.catalog = open_catalog(warehouse.path)
        database, table = name.split(".")
        self.table = self.catalog.open(Identifier(database=database, table=table, branch=branch))
        self.expected: dict[str, Any] = warehouse.expected[name]["on"][branch]
        self.branches: list[str] = warehouse.expected[name]["branches"]


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """The table and branch that a test is parametrised with."""
    version, table, *branch = request.param
    fixture = dict(zip(WRITERS, _FIXTURES, strict=True))[version]
    return Case(request.getfixturevalue(fixture), table, branch[0] if branch else "main")


each_table = pytest.mark.parametrize("case", _TABLES, ids=" ".join, indirect=True)
each_branch = pytest.mark.parametrize("case", _BRANCHES, ids=" ".join, indirect=True)


@pytest.mark.parametrize("fixture", _FIXTURES)
def test_the_catalog_lists_the_same_databases_and_tables(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    fixture_warehouse: FixtureWarehouse = request.getfixturevalue(fixture)
    catalog: FilesystemCatalog = open_catalog(fixture_warehouse.path)
    listed = [
        f"{database}.{entry.identifier.table}"
        for database in catalog.databases()
        for entry in catalog.tables(database)
        if entry.error is None
    ]
    assert listed == list(fixture_warehouse.expected)


@each_table
def test_the_branches_are_the_same(case: Case) -> None:
    assert list(case.table.branches.names()) == case.branches
    assert [ref.branch for ref in case.table.branches.all()] == ["main", *case.branches]


@each_branch
def test_the_schemas_are_the_same(case: Case) -> None:
    assert our_schemas(case.table) == case.expected["schemas"]


@each_branch
def test_the_snapshots_are_the_same(case: Case) -> None:
    ours = [known_to(NEWEST, item) for item in our_snapshots(case.table)]
    assert ours == case.expected["snapshots"]


@each_branch
def test_the_tags_are_the_same(case: Case) -> None:
    expected = {name: in_micros(tag) for name, tag in case.expected["tags"].items()}
    ours = {name: known_to(NEWEST, tag) for name, tag in our_tags(case.table).items()}
    assert ours == expected


@each_branch
def test_the_live_files_of_the_head_are_the_same(case: Case) -> None:
    assert our_live_files(case.table, case.table.head()) == case.expected["live_files"]


@each_branch
def test_the_live_files_of_each_tag_are_the_same(case: Case) -> None:
    for name, expected in case.expected["live_files_of_tags"].items():
        assert our_live_files(case.table, case.table.tags.get(name).snapshot) == expected


@each_branch
def test_the_live_files_of_each_snapshot_are_the_same(case: Case) -> None:
    for number, names in case.expected["live_file_names_of_snapshots"].items():
        files = our_live_files(case.table, case.table.snapshots.get(int(number)))
        assert [file["file_name"] for file in files] == names


@each_branch
def test_the_index_files_are_the_same(case: Case) -> None:
    assert our_index_files(case.table, case.table.head()) == case.expected["index_files"]


@each_branch
def test_deletion_vectors_mark_as_many_rows_as_paimon_counts(case: Case) -> None:
    head = case.table.head()
    if head is None:
        return
    entries = case.table.index_entries(head)
    paths = index_file_paths(case.table, entries)
    for entry, path in zip(entries.to_pylist(), paths, strict=True):
        if entry["index_type"] != IndexType.DELETION_VECTORS:
            continue
        ranges = [DeletionVectorRange(**item) for item in entry["dv_ranges"] or ()]
        found = read_deletion_vectors(case.table.reader.files.read(path), ranges, path)
        assert {name: len(positions) for name, positions in found.items()} == {
            item.data_file: item.cardinality for item in ranges
        }


@each_branch
def test_each_live_file_lies_where_paimon_looks_for_it(case: Case) -> None:
    answer = case.expected["system"]["files"]
    head = case.table.head()
    if "error" in answer or head is None:
        return
    schema = case.table.schema()
    ours = data_file_paths(case.table, case.table.live_files(head)).to_pylist()
    assert all(case.table.reader.files.exists(path) for path in ours)
    # `$files` leaves out what a batch reader does not see, and adds what it falls back to.
    if schema.bucket_mode is not BucketMode.POSTPONE_MODE and not _falls_back(case.table):
        position = answer["columns"].index("file_path")
        assert sorted(ours) == sorted(row[position] for row in answer["rows"])


def _falls_back(table: FileStoreTable) -> bool:
    return "scan.fallback-branch" in table.schema().options
