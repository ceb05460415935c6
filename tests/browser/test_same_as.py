"""Each line under "Same as", run on a copy of the warehouse, does there what its page does here."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from app.services import Services
from app.settings import Settings
from core.errors import FormatError
from core.format.identifier import Identifier
from core.procedures.warehouse import Warehouse
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole, end_worker

pytestmark = pytest.mark.depth("full")

FLIGHTS = {"db": "air", "table": "flights"}
PLANES = {"db": "air", "table": "planes", "branch": "fleet-facts"}
WEATHER = {"db": "air", "table": "weather"}


def test_what_a_page_shows_its_line_prints(
    visit: NewVisit, demo_console: RunningConsole, demo_warehouse: Path, tmp_path: Path
) -> None:
    services = demo_console.services
    table = Identifier(database="air", table="flights")
    branches = [item.name for item in services.branches(table)]
    head = services.table(table).head
    assert head is not None
    copy = shutil.copytree(demo_warehouse, tmp_path / "copy")
    shown = [
        ("", {}, ["air.flights", "air.weather"]),
        ("table", FLIGHTS, [head.identity.short, "dep_delay"]),
        ("branches", FLIGHTS, branches),
        ("snapshots", FLIGHTS, [head.identity.short, "append"]),
        ("schemas", PLANES, ["seats"]),
        ("compare", {**FLIGHTS, "cmp_b": "fix-delays"}, ["fix-delays"]),
    ]
    seen = visit(demo_console)
    lines = []
    for page, view, _ in shown:
        seen.open(page, **view)
        lines += lines_under(seen.page.locator(".st-key-page"))
    with ThreadPoolExecutor(2) as side_by_side:
        answers = side_by_side.map(lambda line: run(line, copy), lines)
    for (_, _, facts), line, printed in zip(shown, lines, answers, strict=True):
        for fact in facts:
            assert fact in printed, f"{line}\n{printed}"


def test_what_a_page_does_its_lines_do(
    visit: NewVisit, own_demo_console: RunningConsole, demo_warehouse: Path, tmp_path: Path
) -> None:
    here = Path(own_demo_console.settings.get_warehouse())
    by_line, by_sql = (shutil.copytree(demo_warehouse, tmp_path / each) for each in ("cli", "sql"))
    seen = visit(own_demo_console)
    page = seen.page.locator(".st-key-page")
    pairs = []

    seen.open("branches", **FLIGHTS, branch="fix-delays", do="create-branch")
    dialog = seen.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("sandbox")
    pairs.append(lines_under(dialog))
    dialog.get_by_role("button", name="Create sandbox").click()
    seen.runs_job()

    seen.open("merge", **FLIGHTS, source="fix-delays", how="ff")
    pairs.append(lines_under(page))
    page.get_by_role("button", name="Fast-forward main").click()
    seen.runs_job()

    seen.open("merge", **WEATHER, source="fix-wind", isolation="snapshot")
    seen.chooses_publish()
    pairs.append(lines_under(page))
    page.get_by_role("button", name="Merge fix-wind into main").click()
    seen.runs_job()

    lines, statements = zip(*pairs, strict=True)
    queries = [
        shlex.join(["branch-console", "sql", each, "--warehouse", ""]) for each in statements
    ]
    with ThreadPoolExecutor(2) as side_by_side:
        list(side_by_side.map(run_all, (lines, queries), (by_line, by_sql)))
    for name in ("air.flights", "air.weather"):
        assert state_of(here, name) != state_of(demo_warehouse, name)
        assert state_of(by_line, name) == state_of(here, name)
        assert state_of(by_sql, name) == state_of(here, name)


def lines_under(area: Locator) -> list[str]:
    """Open "Same as", and return the line of the command, and of SQL where there is one."""
    part = area.locator('[class*="st-key-same_as_"]').last
    part.get_by_text("Same as").click()
    codes = part.locator('[data-testid="stCode"] code')
    codes.first.wait_for()
    return [text.strip() for text in codes.all_inner_texts()]


def run_all(lines: Iterable[str], warehouse: Path) -> None:
    """Run lines one after the other; see `run`. The worker that they start ends with them."""
    state = str(_state_dir(warehouse))
    settings = Settings.from_environment({"warehouse": str(warehouse), "state_dir": state}, {})
    try:
        for line in lines:
            run(line, warehouse)
    finally:
        end_worker(Services(settings))


def run(line: str, warehouse: Path) -> str:
    """Run a line as a shell would, on another warehouse, and return what it prints."""
    program, *words = shlex.split(line)
    assert program == "branch-console"
    assert words[-2] == "--warehouse"
    state = _state_dir(warehouse)
    done = subprocess.run(
        [sys.executable, "-m", "app", *words[:-1], str(warehouse)],
        env={
            **os.environ,
            "BRANCH_CONSOLE_STATE_DIR": str(state),
            "BRANCH_CONSOLE_CACHE_DIR": str(state / "cache"),
            "BRANCH_CONSOLE_ROLE": "operator",
            "COLUMNS": "240",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _state_dir(warehouse: Path) -> Path:
    return warehouse.with_name(f"{warehouse.name}-state")


def state_of(folder: Path, name: str) -> dict[str, tuple[int, int | None, list[str]]]:
    """Of each branch that can be read its head's id, rows and files."""
    main = Warehouse.open(str(folder), read_only=True).table(name)
    found = {}
    for ref in main.branches.all():
        table = main.on(ref.branch)
        head = ref.head
        if head is not None:
            with suppress(FormatError):
                files = table.live_files(head)["file_name"].to_pylist()
                found[ref.branch] = (head.id, head.total_record_count, sorted(files))
    return found
