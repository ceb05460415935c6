"""A program makes, lists, changes and previews branches of the catalog, by the promised names."""

from pathlib import Path

import pytest

from branch_console import api
from tests.support.catalog_warehouse import CatalogWarehouse


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A warehouse with the databases air and lab."""
    return CatalogWarehouse(tmp_path / "warehouse").folder


def test_branches_are_made_in_each_way_listed_and_dropped(folder: Path) -> None:
    warehouse = api.open_warehouse(str(folder))
    for wanted in (
        api.CreateBranchRequest(table="air.flights", branch="old"),
        api.CreateCatalogTagRequest(tag="v1"),
        api.CreateCatalogBranchRequest(branch="eager", databases="air"),
        api.CreateCatalogBranchRequest(branch="lazy", lazy=True, owner="ann"),
        api.CreateCatalogBranchRequest(branch="old", adopt=True),
        api.CreateCatalogBranchRequest(branch="then", tag="v1"),
    ):
        api.run(warehouse, api.ask(wanted))
    found = api.catalog_branches(warehouse)
    assert [(each.name, each.made, each.tables) for each in found] == [
        ("eager", 2, 2),
        ("lazy", 0, 3),
        ("old", 3, 3),
        ("then", 3, 3),
    ]
    asked = api.ask(api.DropCatalogBranchRequest(branch="then"))
    assert api.preview(warehouse, asked).title == "Drop catalog branch 'then'"
    api.run(warehouse, asked)
    assert [each.name for each in api.catalog_branches(warehouse)] == ["eager", "lazy", "old"]


def test_databases_of_a_branch_change_and_its_merge_is_previewed(folder: Path) -> None:
    warehouse = api.open_warehouse(str(folder))
    for wanted in (
        api.CreateCatalogBranchRequest(branch="dev", lazy=True),
        api.CreateDatabaseRequest(database="sea", branch="dev"),
        api.RenameDatabaseRequest(database="lab", to="laboratory", branch="dev"),
        api.SetDatabasePropertiesRequest(database="air", branch="dev", properties='{"a": "1"}'),
    ):
        api.run(warehouse, api.ask(wanted))
    assert warehouse.on("dev").databases() == ("air", "laboratory", "sea")
    assert warehouse.catalog.databases() == ("air", "lab")
    merged = api.preview(warehouse, api.ask(api.MergeCatalogRequest(source="dev")))
    assert merged.title == "Merge 'dev' into 'main', the catalog"
    assert merged.consequences[0].text == "dev merges into main, and nothing collides."
