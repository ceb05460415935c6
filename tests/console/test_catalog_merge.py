"""A branch of the catalog, merged: one verdict, a line an object, one list of conflicts."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, NotFound
from branch_console.jobs.progress import JobView
from branch_console.procedures.call.call import Argument
from branch_console.procedures.catalog_merge.catalog_resolution import find_catalog_resolution
from branch_console_app.services import Services
from tests.console.pages import Console, Page, settings
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse


class _QuietServices(Services):
    """The real services of a warehouse on disk, without jobs; commands are kept."""

    @cached_property
    def sent(self) -> list[tuple[str, Mapping[str, Argument]]]:
        return []

    def start(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> str:
        self.sent.append((name, arguments))
        return operation_id or ""

    def job(self, job_id: str) -> JobView:
        raise NotFound(f"There is no job {job_id!r}.", kind=ErrorKind.OPERATION_NOT_FOUND)

    def jobs(self, **_: object) -> tuple[()]:  # type: ignore[override]
        return ()


@pytest.fixture
def run(tmp_path: Path) -> CatalogBench:
    """A branch that renames, drops and makes tables, and sets a property; main made one alike."""
    made = CatalogWarehouse(tmp_path / "warehouse")
    bench = CatalogBench(root=made.folder)
    bench("CREATE BRANCH spring ON CATALOG LAZY")
    bench("USE BRANCH spring; ALTER TABLE air.planes RENAME TO air.aircraft")
    bench("USE BRANCH spring; DROP TABLE lab.notes")
    bench("USE BRANCH spring; CREATE TABLE air.routes (id INT)")
    bench("USE BRANCH spring; ALTER DATABASE lab SET DBPROPERTIES ('team' = 'ann')")
    return bench


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Page]:
    services = _QuietServices(settings(tmp_path))

    def page(**query: str) -> Page:
        asked = {"of": "catalog", "source": "spring", **query}
        return Console(services).open("merge", **asked)  # type: ignore[arg-type]

    return page


def with_conflict(run: CatalogBench) -> None:
    run("CREATE TABLE air.routes (id INT, code STRING)")


def test_one_verdict_stands_on_top_with_the_step_that_comes_next(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    page = opened()
    assert "**No conflicts. `spring` merges into `main`: 4 objects, all or none.**" in page.text
    assert page.has_button("merge-catalog")
    assert not page.has_button("settle-conflicts")
    for words in ("It is renamed from air", "It is dropped", "It is new", "Its properties change"):
        assert words in page.text, words


def test_an_object_opens_in_place(run: CatalogBench, opened: Callable[..., Page]) -> None:
    page = opened()
    (button,) = (each for each in page.at.button if each.label == "air\\.aircraft")
    button.click()
    page.run()
    assert "On the target afterwards" in page.text
    assert "`air.planes`" in page.text


def test_a_conflict_comes_first_and_is_settled_by_a_name(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    run("ALTER TABLE air.flights RENAME TO air.aircraft")
    page = opened()
    assert "**1 conflict to settle, in `air.aircraft`.**" in page.text
    assert not page.has_button("merge-catalog")
    page.click("settle-conflicts")
    (key,) = (each.key for each in page.at.text_input if each.key.startswith("name-"))
    page.at.text_input(key=key).set_value("planes_2026")
    page.run()
    page.click(key.replace("name-", "take-rename-"))
    assert "1 conflict settled." in page.text
    assert "`rename=planes_2026`" in page.text
    assert page.has_button("merge-catalog")
    # Somebody who opens the address sees the same decision, and may take it back.
    page = opened(cm_part="conflicts")
    page.click(key.replace("name-", "again-"))
    assert "1 conflict to settle" in page.text


def test_a_name_that_the_merge_cannot_give_is_not_offered(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    # Main has another table in the folder of the one that the source made.
    run("CREATE TABLE air.routes (id INT, code STRING)")
    page = opened(cm_part="conflicts")
    assert not [each.key for each in page.at.text_input if each.key.startswith("name-")]
    assert "cannot come under another name, as both lie in the folder air\\.db/routes" in page.text
    (key,) = (each.key for each in page.at.button if (each.key or "").startswith("take-ours-"))
    page.click(key)
    assert "1 conflict settled." in page.text
    assert page.has_button("merge-catalog")


def test_a_name_that_cannot_be_used_is_refused_and_settles_nothing(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    run("ALTER TABLE air.flights RENAME TO air.aircraft")
    page = opened(cm_part="conflicts")
    (key,) = (each.key for each in page.at.text_input if each.key.startswith("name-"))
    page.at.text_input(key=key).set_value("lab.routes")
    page.run()
    page.click(key.replace("name-", "take-rename-"))
    assert "The conflict was not settled." in page.text


def test_a_side_settles_a_conflict_of_one_table_and_of_no_other(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    for table in ("air.flights", "lab.notes"):
        run(f"ALTER TABLE {table} SET TBLPROPERTIES ('num-levels' = '5')")
    run("CREATE BRANCH late ON CATALOG LAZY")
    for table in ("air.flights", "lab.notes"):
        run(f"ALTER TABLE {table} SET TBLPROPERTIES ('num-levels' = '6')")
        run(f"USE BRANCH late; ALTER TABLE {table} SET TBLPROPERTIES ('num-levels' = '7')")
    page = opened(source="late", cm_part="conflicts", cf_table="lab.notes")
    assert "**2 conflicts to settle, in `air.flights` and `lab.notes`.**" in page.text
    (key,) = (each.key for each in page.at.button if (each.key or "").startswith("take-theirs-"))
    page.click(key)
    assert "**1 conflict to settle, in `air.flights`.**" in page.text
    assert ":green[✓ settled] `theirs`" in page.text
    # A run takes the policy of the page: it plans what the page has shown.
    kept = run.call("merge_catalog_branch", branch="late")
    found = find_catalog_resolution(run.warehouse(), kept)
    assert found.policy == (
        "version: 1\nrows: cell\ntables:\n  lab.notes:\n    kinds:\n      option: theirs\n"
    )
    page.click(key.replace("take-theirs-", "again-"))
    assert "**2 conflicts to settle" in page.text


def test_one_confirmation_counts_what_happens(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    page = opened(do="merge-catalog-branch")
    for words in (
        "1 database or table is new",
        "1 is renamed",
        "1 is dropped",
        "1 database gets other properties",
    ):
        assert words in page.text, words
    assert "No file is copied." in page.text
    assert "All of it arrives, or none of it." in page.text


def test_an_operator_overrides_the_gate_of_all_tables_in_the_confirmation(
    run: CatalogBench, tmp_path: Path
) -> None:
    run("USE BRANCH spring; ALTER TABLE air.flights ADD COLUMN extra INT")
    asked = {"of": "catalog", "source": "spring", "do": "merge-catalog-branch"}
    services = _QuietServices(settings(tmp_path))
    page = Console(services).open("merge", **asked)  # type: ignore[arg-type]
    assert "gate-reason" not in [each.key for each in page.at.text_input]
    rules = run.root / ".branch-console" / "quality" / "air.flights.yaml"
    rules.parent.mkdir(parents=True)
    rules.write_text(
        "table: air.flights\nrules:\n"
        "  - {id: number, rule: not_null, columns: [id], severity: block}\n"
    )
    services = _QuietServices(settings(tmp_path))
    page = Console(services).open("merge", **asked)  # type: ignore[arg-type]
    assert "**Quality rules:** 1 rule of `air.flights`, not run yet." in page.text
    page.at.text_input(key="gate-reason").set_value("  Known, see 41 ")
    (again,) = (each for each in page.at.selectbox if each.key == "merge-wait")
    assert again.value == "Stop, and show the new preview"
    again.select("Try again, up to 3 times")
    assert not page.at.checkbox, "what happens on new commits is asked once"
    page.run().click("run-merge_catalog_branch")
    ((name, arguments),) = services.sent
    assert (name, arguments["override_gate"]) == ("merge_catalog_branch", "Known, see 41")
    assert arguments["plan_again"] is True
    approver = _QuietServices(settings(tmp_path, role="approver"))
    page = Console(approver).open("merge", **asked)  # type: ignore[arg-type]
    assert page.at.text_input(key="gate-reason").disabled


def test_one_database_is_merged_alone(run: CatalogBench, opened: Callable[..., Page]) -> None:
    page = opened(of="database", db="lab")
    assert "2 objects, all or none" in page.text
    assert "aircraft" not in page.text


def test_a_branch_that_is_none_of_the_catalog_is_said_to_be_missing(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    page = opened(source="sprint")
    assert "**Branch `sprint` was not found.**" in page.text
    assert any("source=spring" in query for _, query in page.links())


def test_nothing_to_bring_is_up_to_date(run: CatalogBench, opened: Callable[..., Page]) -> None:
    run("CREATE BRANCH quiet ON CATALOG LAZY")
    page = opened(source="quiet")
    assert "**`main` already has every change of `quiet`.**" in page.text
    assert not page.has_button("merge-catalog")


def test_a_viewer_sees_all_and_settles_nothing(run: CatalogBench, tmp_path: Path) -> None:
    with_conflict(run)
    services = _QuietServices(settings(tmp_path, role="viewer"))
    page = Console(services).open(  # type: ignore[arg-type]
        "merge", of="catalog", source="spring", cm_part="conflicts"
    )
    assert "This asks for an editor" in page.text
    assert all(
        each.disabled for each in page.at.button if each.key and each.key.startswith("take-")
    )


def test_a_commit_in_between_makes_the_preview_stale(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    page = opened()
    run("ALTER DATABASE lab SET DBPROPERTIES ('team' = 'bo')")
    page.run()
    assert "changed since you opened this page" in page.text
    assert not page.has_button("merge-catalog")
    page.click("merge-plan-again")
    assert page.has_button("merge-catalog")


def test_conflicts_of_all_objects_are_filtered_by_table(
    run: CatalogBench, opened: Callable[..., Page]
) -> None:
    with_conflict(run)
    run("USE BRANCH spring; CREATE TABLE lab.boxes (id INT)")
    run("CREATE TABLE lab.boxes (id INT)")
    assert "`air.routes` and `lab.boxes`" in opened(cm_part="conflicts").text
    page = opened(cm_part="conflicts", cf_table="lab.boxes")
    assert "**lab\\.boxes**" in page.text
    assert "**air\\.routes**" not in page.text
