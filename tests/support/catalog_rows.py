"""Rows of tables of a whole warehouse: written on main and on catalog branches, and read again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from branch_console.catalog.catalog import Catalog
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.scan_options import ScanOptions
from branch_console.procedures.branch.member_branch import open_to_write
from branch_console.procedures.catalog.states import state_of_branch
from branch_console.spark.read.readers import plan_table
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.scan_state import state_asked
from tests.support.catalog_bench import CatalogBench
from tests.support.local_tables import rows_of
from tests.support.our_rows import OurRows

Content: TypeAlias = tuple[tuple[Any, ...], ...]

KEYED: Final = "(id INT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED)"
PLAIN: Final = "(id INT, name STRING)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCatalog:
    """All that a person sees of a branch: databases with properties, tables with columns and rows.

    Attributes:
        databases: Properties by name.
        tables: Columns and rows by the whole name.
    """

    databases: Mapping[str, Mapping[str, str]]
    tables: Mapping[str, tuple[tuple[str, ...], Content]]


def put(sql: CatalogBench, name: str, *rows: tuple[Any, ...], branch: str = MAIN_BRANCH) -> None:
    """Commit rows to a table, by the name that it has on the branch, which is made if need be."""
    warehouse, identifier = sql.warehouse(), Identifier.parse(name)
    if branch != MAIN_BRANCH:
        seen = warehouse.on(branch)
        member = seen.find_member(identifier)
        assert member is not None
        open_to_write(warehouse, seen, member, sql.call("write_rows"))
        identifier = replace(identifier, catalog_branch=branch)
    OurRows(warehouse, identifier.full_name).write(rows)


def rows_in(table: FileStoreTable) -> Content:
    """The rows of a table at its head, in an order of their own."""
    read = plan_table(table.reader.files, state_asked(table, ScanOptions()))
    return tuple(sorted((tuple(row.values()) for row in rows_of(read).to_pylist()), key=repr))


def seen_on(sql: CatalogBench, branch: str = MAIN_BRANCH) -> SeenCatalog:
    """Read everything on a branch, as a new process does."""
    warehouse = sql.warehouse(read_only=True)
    seen: Catalog = warehouse.catalog if branch == MAIN_BRANCH else warehouse.on(branch)
    state = state_of_branch(warehouse, branch)
    properties = {each.name: dict(each.properties) for each in state.databases.values()}
    assert sorted(properties) == sorted(seen.databases())
    return SeenCatalog(
        databases=properties,
        tables={
            f"{database}.{name}": _columns_and_rows(
                seen.open(Identifier(database=database, table=name))
            )
            for database in seen.databases()
            for name in seen.table_names(database)
        },
    )


def _columns_and_rows(table: FileStoreTable) -> tuple[tuple[str, ...], Content]:
    return tuple(table.schema().row_type.names), rows_in(table)
