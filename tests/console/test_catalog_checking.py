"""The check of a merge of the catalog: it says how many tables are done, and can be cancelled."""

import time
from pathlib import Path
from threading import Semaphore
from typing import Any

import pytest

from branch_console.procedures.catalog_merge import catalog_sides
from branch_console_app.services import Services
from branch_console_app.widgets.merge import checking
from tests.console.pages import Console, Page, settings
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import NAMES, CatalogWarehouse

CHECKS = "**Checking what `spring` would change in `main`.**"
ASKED = {"of": "catalog", "source": "spring"}


class HeldTables:
    """Plans a table of a merge only once it is let go, as with a store far away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._let_go = Semaphore(0)
        plan = catalog_sides._plan

        def wait_and_plan(*given: Any) -> Any:
            assert self._let_go.acquire(timeout=60)
            return plan(*given)

        monkeypatch.setattr(catalog_sides, "_plan", wait_and_plan)

    def let_go(self, number: int) -> None:
        self._let_go.release(number)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HeldTables:
    """A branch that changed columns of three tables, on a slow store."""
    bench = CatalogBench(root=CatalogWarehouse(tmp_path / "warehouse").folder)
    bench("CREATE BRANCH spring ON CATALOG LAZY")
    for table in NAMES:
        bench(f"USE BRANCH spring; ALTER TABLE {table} ADD COLUMN note STRING")
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 0.1)
    return HeldTables(monkeypatch)


@pytest.fixture
def page(tmp_path: Path, held: HeldTables) -> Page:
    return Console(Services(settings(tmp_path))).open("merge", **ASKED)  # type: ignore[arg-type]


def look_until(page: Page, words: str) -> str:
    deadline = time.monotonic() + 30
    while words not in page.run(reads_again=False).text:
        assert time.monotonic() < deadline, page.text
    return page.text


def test_a_long_check_says_how_many_tables_are_checked(
    page: Page, held: HeldTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At first it may take no longer than a moment.
    assert CHECKS in page.text
    assert "tables checked" not in page.text
    monkeypatch.setattr(checking, "COUNT_AFTER_MILLIS", 0)
    for number in (1, 2):
        held.let_go(1)
        assert CHECKS in look_until(page, f"{number} of 3 tables checked.")
        assert page.has_button("check-cancel")
        assert not page.has_button("merge-catalog")
    held.let_go(1)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    page.run(reads_again=False)
    assert "**No conflicts. `spring` merges into `main`: 3 objects, all or none.**" in page.text
    assert "tables checked" not in page.text


def test_a_check_that_is_cancelled_can_be_made_again(
    page: Page, held: HeldTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.click("check-cancel")
    assert "**The check of what `spring` would change in `main` was cancelled.**" in page.text
    assert not page.has_button("merge-catalog")
    # The first check is still under way: nobody asks for its answer.
    held.let_go(6)
    monkeypatch.setattr(checking, "PATIENCE_SECONDS", 30)
    page.click("check-check")
    assert page.has_button("merge-catalog")
