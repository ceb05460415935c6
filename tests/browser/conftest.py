"""The consoles and browsers of these tests: one demo a run, a fresh tab a visit."""

from __future__ import annotations

import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.consoles import RunningConsole, running_console
from tests.browser.large_table import write_large_table
from tests.browser.visits import Scheme, Visit
from tests.support.below import items_below
from tests.support.contested_table import ContestedTable
from tests.support.requirements import need_chromium
from tests.support.warehouses import FixtureWarehouse

# Pages are painted without a graphics card and without one that is played in software, which a
# distribution may ask for in its own settings; nor does a test need the extensions that it brings.
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
              "--disable-gpu-rasterization", "--disable-software-rasterizer",
              "--disable-extensions", "--disable-background-networking"]  # fmt: skip

NewVisit = Callable[..., Visit]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-screenshots", action="store_true", help="take the pictures of the README anew"
    )


# Also where this folder is named, and xdist would look at the groups before.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one process run what looks at pages, and one what runs jobs with the worker of all."""
    for item in items_below(Path(__file__).parent, items):
        works = "working_console" in getattr(item, "fixturenames", ())
        group = "browser and worker" if works else "browser"
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def update_screenshots(pytestconfig: pytest.Config) -> bool:
    """Whether pictures are taken; the option is known only where this folder was named."""
    return bool(pytestconfig.getoption("--update-screenshots", default=False))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's Chromium."""
    program = need_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(program), headless=True, args=_ARGUMENTS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo_console(
    demo_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningConsole]:
    """The console of the demo, to look at; no test has it run a job."""
    with running_console(demo_warehouse, tmp_path_factory.mktemp("demo-state")) as running:
        yield running


@pytest.fixture(scope="session")
def working_console(
    demo_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningConsole]:
    """The one console, with one worker, of all tests that run jobs.

    Its `air` is the demo's and stays as it is: what a test changes is in a database of its own.
    """
    folder = tmp_path_factory.mktemp("work")
    warehouse = shutil.copytree(demo_warehouse, folder / "warehouse")
    with running_console(warehouse, folder / "state") as running:
        yield running


_numbers = itertools.count(1)


@pytest.fixture
def new_air(working_console: RunningConsole) -> Callable[[], str]:
    """Makes databases of this test alone with the tables of the demo, to change."""
    warehouse = Path(working_console.settings.get_warehouse())

    def new() -> str:
        name = f"air{next(_numbers)}"
        shutil.copytree(warehouse / "air.db", warehouse / f"{name}.db")
        return name

    return new


@pytest.fixture
def own_air(new_air: Callable[[], str]) -> str:
    """One such database."""
    return new_air()


@pytest.fixture(scope="session")
def broken_console(
    warehouse_200: FixtureWarehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningConsole]:
    """The console of a warehouse that Paimon wrote and somebody damaged."""
    folder = tmp_path_factory.mktemp("broken")
    warehouse = shutil.copytree(warehouse_200.path, folder / "warehouse")
    tables = warehouse / "fixtures.db"
    (tables / "truncated" / "schema" / "schema-0").write_text('{"version": 3, "id"')
    torn = tables / "branches_diverged" / "branch" / "branch-evolved"
    for schema in (torn / "schema").iterdir():
        schema.unlink()
    shutil.copytree(tables / "append", tables / "<img src=x onerror=alert(1)>")
    write_large_table(warehouse)
    with running_console(warehouse, folder / "state") as running:
        yield running


@pytest.fixture
def new_contested(working_console: RunningConsole) -> Callable[[], ContestedTable]:
    """Makes tables with conflicts, each in a database of its own."""
    warehouse = Path(working_console.settings.get_warehouse())
    return lambda: ContestedTable(warehouse, flights=12, database=f"air{next(_numbers)}")


@pytest.fixture
def contested(new_contested: Callable[[], ContestedTable]) -> ContestedTable:
    """One such table."""
    return new_contested()


class Tabs:
    """The tabs of a run: a test takes those that others have left, and loads no page for it."""

    def __init__(self, browser: Browser) -> None:
        self._contexts: dict[Scheme, BrowserContext] = {
            scheme: browser.new_context(
                viewport={"width": 1440, "height": 900},
                color_scheme=scheme,
                timezone_id="Europe/Berlin",
                locale="en-GB",
                reduced_motion="reduce",
            )
            for scheme in get_args(Scheme)
        }
        self._left: defaultdict[tuple[str, Scheme], list[Visit]] = defaultdict(list)

    def take(self, url: str, scheme: Scheme) -> Visit:
        """Return a tab that shows a page of a console, or an empty one."""
        left = self._left[url, scheme]
        found = left.pop() if left else Visit(self._contexts[scheme], url)
        return found.begin(scheme)

    def leave(self, url: str, scheme: Scheme, tab: Visit) -> None:
        """Leave a tab to tests to come."""
        self._left[url, scheme].append(tab)


@pytest.fixture(scope="session")
def tabs(browser: Browser) -> Tabs:
    """The tabs of this process."""
    return Tabs(browser)


@pytest.fixture
def visit(tabs: Tabs, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewVisit]:
    """Takes tabs; a test that fails keeps their pictures, and any error in a page fails it."""
    visits: list[tuple[str, Scheme, Visit]] = []

    def new(console: RunningConsole, *, scheme: Scheme = "light") -> Visit:
        taken = tabs.take(console.url, scheme)
        visits.append((console.url, scheme, taken))
        return taken

    failed_before, is_well = request.session.testsfailed, False
    yield new
    try:
        for *_, each in visits:
            each.assert_calm()
        is_well = request.session.testsfailed == failed_before
    finally:
        for number, (url, scheme, each) in enumerate(visits):
            if is_well:
                tabs.leave(url, scheme, each)
            else:
                each.page.screenshot(path=str(tmp_path / f"tab-{number}.png"), full_page=True)
                each.leave()
