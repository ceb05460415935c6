"""The line under "Same as" of a page prints what the page shows."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from branch_console.format.identifier import Identifier
from branch_console_app.services import Services
from tests.console.pages import Console, settings
from tests.support.command_line import CommandLine
from tests.support.warehouses import FixtureWarehouse

TABLE = {"db": "fixtures", "table": "branches_diverged"}
IDENTIFIER = Identifier(database="fixtures", table="branches_diverged")


@pytest.mark.parametrize(
    ("page", "view", "command"),
    [
        ("overview", {}, "tables"),
        ("table", TABLE, "show"),
        ("branches", TABLE, "branches"),
        ("snapshots", TABLE, "snapshots"),
        ("schemas", {**TABLE, "branch": "evolved"}, "schema-diff"),
        ("compare", {**TABLE, "cmp_b": "diverged"}, "compare"),
    ],
)
def test_what_a_page_shows_its_line_prints(
    page: str,
    view: dict[str, str],
    command: str,
    warehouse_200: FixtureWarehouse,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    services: Any = Services(settings(tmp_path, warehouse=warehouse_200.path))
    for name, value in services.settings.to_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "240")
    head = services.table(IDENTIFIER).head
    facts = {
        "tables": ["fixtures.append", "fixtures.branches_diverged"],
        "show": [
            head.identity.short,
            *[field.name for field in services.table(IDENTIFIER).schema.fields],
        ],
        "branches": [item.name for item in services.branches(IDENTIFIER)],
        "snapshots": [head.identity.short, "append"],
        "schema-diff": ["evolved"],
        "compare": ["diverged"],
    }
    shown = Console(services).open(page, **view).unfold(f"same_as_{command}")
    (line,) = (each.value for each in shown.at.code if each.value.startswith("branch-console "))
    _, *words = shlex.split(line)
    assert words[0] == command
    printed = CommandLine(warehouse_200.path, capsys).bare(*words)
    assert printed.code == 0, printed
    for fact in facts[command]:
        assert fact in printed.out, f"{line}\n{printed.out}"
