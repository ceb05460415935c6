"""Each line under "CLI and SQL", run on a copy of the tables, does there what its page does."""

import shlex
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Locator

from branch_console.errors import FormatError
from branch_console.procedures.call.warehouse import Warehouse
from tests.browser.conftest import NewVisit
from tests.browser.consoles import RunningConsole
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.depth("full")


def test_what_a_page_does_its_lines_do(
    visit: NewVisit,
    working_console: RunningConsole,
    new_air: Callable[[], str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, by_line, by_sql = new_air(), new_air(), new_air()
    flights, weather = ({"db": here, "table": name} for name in ("flights", "weather"))
    seen = visit(working_console)
    page = seen.page.locator(".st-key-page")
    pairs = []

    seen.turn_to("branches", **flights, branch="fix-delays", do="create-branch")
    dialog = seen.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("sandbox")
    pairs.append(lines_under(dialog))
    seen.runs_here(dialog.get_by_role("button", name="Create sandbox").click)

    seen.turn_to("merge", **flights, source="fix-delays", how="ff", tab="details")
    pairs.append(lines_under(page))
    seen.opens_merge()
    seen.merges()
    seen.is_merged()

    seen.turn_to("merge", **weather, source="fix-wind", isolation="snapshot", tab="details")
    pairs.append(lines_under(page))
    seen.chooses_publish()
    seen.merges()
    seen.is_merged()

    settings = working_console.settings
    for name, value in settings.to_environment().items():
        monkeypatch.setenv(name, value)
    warehouse = Path(settings.get_warehouse())
    commands = CommandLine(warehouse, capsys)
    for line, statement in pairs:
        program, *words = shlex.split(line.replace(f"{here}.", f"{by_line}."))
        assert program == "branch-console"
        assert words[-2:] == ["--warehouse", str(warehouse)]
        done = commands.bare(*words)
        assert done.code == 0, f"{line}\n{done}"
        done = commands("sql", statement.replace(f"{here}.", f"{by_sql}."))
        assert done.code == 0, f"{statement}\n{done}"
    for name in ("flights", "weather"):
        found = state_of(warehouse, f"{here}.{name}")
        assert found != state_of(warehouse, f"air.{name}")
        assert state_of(warehouse, f"{by_line}.{name}") == found
        assert state_of(warehouse, f"{by_sql}.{name}") == found


def lines_under(area: Locator) -> list[str]:
    """Open "CLI and SQL", and return the line of the command and that of SQL."""
    part = area.locator('[class*="st-key-same_as_"]').last
    part.get_by_text("CLI and SQL").click()
    codes = part.locator('[data-testid="stCode"] code')
    # They come one after the other.
    codes.nth(1).wait_for()
    return [text.strip() for text in codes.all_inner_texts()]


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
