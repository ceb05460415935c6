"""A warehouse of many tables: names at once, figures for the page that is looked at."""

from pathlib import Path

import pytest

from branch_console.format.identifier import Identifier
from branch_console.procedures.browse.page_values import TableItem
from branch_console_app.services import Services
from tests.console.pages import Console, Page, settings
from tests.support.branch_bench import BranchBench

TABLES = 1_000
LAST = f"t{TABLES - 1:04}"


class WatchedServices(Services):
    """The real services, which remember what tables they opened; jobs are left out."""

    opened: list[str]

    def table_items(self, *tables: Identifier) -> tuple[TableItem, ...]:
        self.opened += [table.table for table in tables]
        return super().table_items(*tables)

    def tables(self, database: str | None = None) -> tuple[TableItem, ...]:
        raise AssertionError("every table was opened")

    def jobs(self, **_: object) -> tuple[()]:  # type: ignore[override]
        return ()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of one schema each; the last one has a commit and a branch."""
    root = tmp_path_factory.mktemp("many")
    bench = BranchBench(root / "warehouse", name=LAST)
    bench.append("a", rows=70)
    schema = Path(bench.table().paths.schema(0)).read_bytes()
    for number in range(TABLES - 1):
        folder = root / "warehouse" / "db.db" / f"t{number:04}" / "schema"
        folder.mkdir(parents=True)
        (folder / "schema-0").write_bytes(schema)
    return root


@pytest.fixture
def services(root: Path) -> WatchedServices:
    services = WatchedServices(settings(root))
    services.opened = []
    return services


def opened(services: WatchedServices, **query: str) -> Page:
    return Console(services).open(**query)  # type: ignore[arg-type]


def names(page: Page) -> list[str]:
    mark = ":gray[db.]"
    return [label.removeprefix(mark) for label, _ in page.links() if label.startswith(mark)]


def test_the_first_page_opens_a_part_of_the_tables(services: WatchedServices) -> None:
    page = opened(services)
    assert names(page) == [f"t{number:04}" for number in range(25)]
    assert 25 <= len(set(services.opened)) < TABLES / 2
    assert f"{TABLES:,} tables, at least" in page.text


def test_figures_of_a_part_are_lower_bounds_and_say_of_how_many(services: WatchedServices) -> None:
    page = opened(services)
    assert "at least 150 branches" in page.text
    assert f"of {TABLES:,} tables read" in page.text


def test_search_finds_the_last_table_with_its_figures(services: WatchedServices) -> None:
    page = opened(services, ov_q=LAST)
    assert names(page) == [LAST]
    assert LAST in services.opened
    assert "70" in page.text


def test_another_page_is_read_when_it_is_opened(services: WatchedServices) -> None:
    page = opened(services, ov_p="40")
    assert names(page)[-1] == LAST
    assert set(names(page)) <= set(services.opened)


def test_sorting_by_what_is_still_being_read_says_so(services: WatchedServices) -> None:
    page = opened(services, ov_sort="rows")
    assert "tables read: only these are sorted." in page.text


def test_an_unknown_table_is_told_with_near_names_and_none_is_opened(
    services: WatchedServices,
) -> None:
    page = Console(services).open("table", db="db", table="t999")  # type: ignore[arg-type]
    assert "**Table `db.t999` was not found.**" in page.text
    assert services.opened == []
