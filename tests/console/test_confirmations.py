"""The three dialogs that merge: the same things in the same order, whatever is merged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.procedures.call.consequence import changes, keeps
from branch_console_app.services import Services
from tests.console.pages import Console, Page, air_console, settings
from tests.console.pretend import preview
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse

ORDER = ("**What happens**", "**Checks**", "**What stays**")
TABLE = {"db": "air", "table": "flights", "do": "merge"}


def of_a_table(tmp_path: Path) -> Page:
    console = air_console(tmp_path)
    console.services.previews["merge_branch"] = preview(
        "merge_branch", changes("'main' gets 1 snapshot: +20 rows."), keeps("The rest stays.")
    )
    return console.open("merge", **TABLE, source="fix-delays")


def by_fast_forward(tmp_path: Path) -> Page:
    return air_console(tmp_path).open("merge", **TABLE, source="backfill")


def of_the_catalog(tmp_path: Path) -> Page:
    bench = CatalogBench(root=CatalogWarehouse(tmp_path / "warehouse").folder)
    bench("CREATE BRANCH spring ON CATALOG LAZY")
    bench("USE BRANCH spring; ALTER TABLE air.planes ADD COLUMN note STRING")
    console = Console(Services(settings(tmp_path)))  # type: ignore[arg-type]
    asked = {"of": "catalog", "source": "spring", "do": "merge-catalog-branch"}
    return console.open("merge", **asked)


KINDS = pytest.mark.parametrize("opened", [of_a_table, by_fast_forward, of_the_catalog])


def dialog(page: Page) -> list[str]:
    """Everything that the sentences of the dialog say, in the order of the page."""
    (dialog,) = page.at.get("dialog")
    return [str(each.value) for each in (*dialog.markdown, *dialog.caption)]


@KINDS
def test_what_happens_the_checks_and_what_stays_come_in_one_order(
    opened: Callable[[Path], Page], tmp_path: Path
) -> None:
    texts = dialog(opened(tmp_path))
    places = [
        next(number for number, text in enumerate(texts) if text.endswith(title)) for title in ORDER
    ]
    assert places == sorted(places)
    assert "`main`" in texts[places[0] + 1]
    assert any(text.startswith(":material/undo:") for text in texts)
    assert len(texts) == len(set(texts)), "no text stands there twice"


@KINDS
def test_each_closes_by_cancel_and_sends_nothing(
    opened: Callable[[Path], Page], tmp_path: Path
) -> None:
    page = opened(tmp_path)
    assert page.has_button("confirm-cancel")
    page.click("confirm-cancel")
    assert "do" not in page.at.query_params
    assert not page.has_button("confirm-cancel")
    # It opens again by the button of the page.
    opener = next(key for key in ("merge-merge", "merge-catalog") if page.has_button(key))
    page.click(opener)
    assert page.has_button("confirm-cancel")
