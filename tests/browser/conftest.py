"""The consoles and browsers of these tests: one demo a run, a fresh tab a visit."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.consoles import RunningConsole, running_console
from tests.browser.large_table import write_large_table
from tests.browser.visits import Visit
from tests.support.contested_table import ContestedTable
from tests.support.requirements import need_chromium
from tests.support.warehouses import FixtureWarehouse

_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
              "--disable-background-networking"]  # fmt: skip

NewVisit = Callable[..., Visit]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-screenshots", action="store_true", help="take the pictures of the README anew"
    )


# Also where this folder is named, and xdist would look at the groups before.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # One process builds one demo and runs one browser.
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


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
    """The console of the demo, to look at."""
    with running_console(demo_warehouse, tmp_path_factory.mktemp("demo-state")) as running:
        yield running


@pytest.fixture
def own_demo_console(demo_warehouse: Path, tmp_path: Path) -> Iterator[RunningConsole]:
    """The console of a copy of the demo, to change."""
    copy = shutil.copytree(demo_warehouse, tmp_path / "demo")
    with running_console(copy, tmp_path / "state") as running:
        yield running


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
def contested(tmp_path: Path) -> Iterator[tuple[ContestedTable, RunningConsole]]:
    """A table with conflicts in a warehouse of its own, and the console of it."""
    table = ContestedTable(tmp_path / "warehouse", flights=12)
    with running_console(table.folder, tmp_path / "state") as running:
        yield table, running


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> dict[str, BrowserContext]:
    """A context for light and one for dark; their cache spares every tab Streamlit's scripts."""
    return {
        scheme: browser.new_context(
            viewport={"width": 1440, "height": 900},
            color_scheme=scheme,
            timezone_id="Europe/Berlin",
            locale="en-GB",
        )
        for scheme in ("light", "dark")
    }


@pytest.fixture
def visit(
    contexts: dict[str, BrowserContext], request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[NewVisit]:
    """Opens tabs; a test that fails keeps their pictures, and any error in a page fails it."""
    visits: list[Visit] = []

    def new(console: RunningConsole, *, scheme: str = "light") -> Visit:
        visits.append(Visit(contexts[scheme], console.url))
        return visits[-1]

    failed_before = request.session.testsfailed
    yield new
    try:
        for each in visits:
            each.assert_calm()
    finally:
        for number, each in enumerate(visits):
            if request.session.testsfailed > failed_before:
                each.page.screenshot(path=str(tmp_path / f"tab-{number}.png"), full_page=True)
            each.leave()
