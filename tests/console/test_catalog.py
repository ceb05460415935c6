"""The page of the catalog: its branches as lanes, the card of one, and objects by branch."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.procedures.catalog_merge.table_steps import MoveTable
from branch_console_app.services import Services
from tests.console.pages import Console, Page, settings
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.support.faulty_store import Killed


class SeenServices(Services):
    """The real services of a warehouse on disk; jobs are left out, calls are kept."""

    def jobs(self, **_: object) -> tuple[()]:  # type: ignore[override]
        return ()


@pytest.fixture
def made(tmp_path: Path) -> CatalogWarehouse:
    """Main with air.flights, air.planes and lab.notes."""
    return CatalogWarehouse(tmp_path / "warehouse")


@pytest.fixture
def run(made: CatalogWarehouse) -> CatalogBench:
    """Statements on that warehouse."""
    return CatalogBench(root=made.folder)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Page]:
    def page(name: str = "catalog", **query: str) -> Page:
        services = SeenServices(settings(tmp_path))
        return Console(services).open(name, **query)  # type: ignore[arg-type]

    return page


def clean(run: CatalogBench) -> None:
    """A branch that renames, drops, makes and writes tables, and sets a property."""
    run("CREATE BRANCH spring ON CATALOG LAZY")
    run("USE BRANCH spring; ALTER TABLE air.planes RENAME TO air.aircraft")
    run("USE BRANCH spring; DROP TABLE lab.notes")
    run("USE BRANCH spring; CREATE TABLE air.routes (id INT)")
    run("USE BRANCH spring; ALTER DATABASE lab SET DBPROPERTIES ('team' = 'ann')")


def test_without_a_branch_the_page_says_what_one_is_and_how_to_make_it(
    made: CatalogWarehouse, opened: Callable[..., Page]
) -> None:
    page = opened()
    assert "**No branch of the catalog yet.**" in page.text
    assert "branch-console catalog create spring-cleaning --lazy" in page.text
    assert page.has_button("create-first-catalog")


def test_the_form_has_the_fields_and_the_help_of_the_request(
    made: CatalogWarehouse, opened: Callable[..., Page]
) -> None:
    page = opened(do="create-catalog-branch")
    labels = {each.label: each.proto.help for each in (*page.at.text_input, *page.at.selectbox)}
    assert labels["Name"] == "The name of the new branch."
    page.at.text_input(key="do-name").set_value("spring")
    page.at.toggle(key="do-lazy").set_value(True)
    page.run()
    assert "Create catalog branch" in page.text
    assert page.has_button("run-create_catalog_branch")


def test_objects_stand_by_branch_with_changed_ones_first(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    clean(run)
    page = opened()
    assert "**4 objects changed** :gray[of 6]" in page.text
    for words in (
        ":violet[→ renamed] `air.aircraft`",
        ":red[\N{MINUS SIGN} dropped]",
        ":green[+ new]",
        ":blue[~ changed]",
        ":gray[same]",
    ):
        assert words in page.text, words
    assert "Changes 4 databases or tables; main has changed none since." in page.text
    assert page.has_button("review-merge")


def test_filters_leave_what_was_asked_for(run: CatalogBench, opened: Callable[..., Page]) -> None:
    clean(run)
    page = opened(ca_show="changed", ca_kind="table")
    assert ":gray[same]" not in page.text
    assert "air\\.routes :gray[· not on main]" in page.text
    assert "No database, table or branch matches these filters." in opened(ca_q="nowhere").text


def test_the_box_finds_a_branch_by_its_name(run: CatalogBench, opened: Callable[..., Page]) -> None:
    clean(run)
    page = opened(ca_q="spring")
    (query,) = (query for label, query in page.links() if "spring :gray[of the catalog]" in label)
    assert "ca_b=spring" in query
    assert "No database, table or branch matches" not in page.text


def test_main_moving_on_is_told_as_behind(run: CatalogBench, opened: Callable[..., Page]) -> None:
    clean(run)
    run("ALTER DATABASE air SET DBPROPERTIES ('comment' = 'flights')")
    page = opened()
    assert "main has changed 1 since." in page.text
    assert "4 ahead, 1 behind" in page.text


def test_a_lost_table_is_told_first_and_spoils_no_other(
    made: CatalogWarehouse, run: CatalogBench, opened: Callable[..., Page]
) -> None:
    run("CREATE BRANCH spring ON CATALOG")
    shutil.rmtree(made.folder / "air.db/flights/branch/branch-spring")
    page = opened()
    assert "1 table lost its table branch" in page.text
    assert ":red[✕ lost]" in page.text
    assert ":red-badge[✕ files broken]" in page.text


def test_a_branch_that_cannot_be_read_leaves_the_others(
    made: CatalogWarehouse, run: CatalogBench, opened: Callable[..., Page]
) -> None:
    run("CREATE BRANCH spring ON CATALOG LAZY")
    run("CREATE BRANCH torn ON CATALOG LAZY")
    versions = made.folder / ".branch-console/catalog/versions/torn"
    (versions / "version-0000000001.json").write_text("{")
    page = opened(ca_b="spring")
    assert "`spring`" in page.text
    assert "cannot be read" in page.text


def test_an_unknown_branch_of_the_address_is_said_to_be_missing(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    clean(run)
    page = opened(ca_b="sprin")
    assert "**Branch `sprin` was not found.**" in page.text
    assert any("ca_b=spring" in query for _, query in page.links()), page.links()


def test_while_a_merge_publishes_each_page_says_how_far_it_is(
    run: CatalogBench, opened: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("CREATE BRANCH spring ON CATALOG LAZY")
    run("USE BRANCH spring; ALTER TABLE air.planes RENAME TO air.aircraft")
    run("USE BRANCH spring; DROP TABLE lab.notes")
    run("USE BRANCH spring; ALTER DATABASE lab SET DBPROPERTIES ('team' = 'ann')")

    def killed(*_: object) -> None:
        raise Killed("before the second step")

    with monkeypatch.context() as patched:
        patched.setattr(MoveTable, "carry_out", killed)
        with pytest.raises(Killed):
            run("MERGE BRANCH spring")
    for page in ("catalog", "overview"):
        assert "**`main@2`, publishing 1 of 3.**" in opened(page).text
    assert "The branches are shown when all of it is there." in opened().text
    run.recover()
    assert "publishing" not in opened().text


def test_the_receipt_of_a_merge_offers_undo_of_all_and_of_one(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    clean(run)
    merged = run.run("MERGE BRANCH spring")
    page = opened("receipt", id=merged.operation_id)
    assert page.has_button("undo")
    names = ["air.routes: create table", "air.aircraft: move table"]
    assert set(names) <= set(page.at.selectbox(key="undo-part").options)
    page.at.selectbox(key="undo-part").select(names[1])
    page.run().click("undo-one")
    assert page.has_button("run-undo")
    run.undo(merged.operation_id)
    page = opened("receipt", id=merged.operation_id)
    assert not page.has_button("undo")
    assert not page.at.selectbox
