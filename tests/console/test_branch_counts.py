"""Branches are counted alike on Overview, Catalog, Branches and by commands, with rescues."""

from pathlib import Path
from typing import Any

import pytest

from branch_console_app.services import Services
from tests.console.pages import Console, settings
from tests.support.command_line import CommandLine
from tests.support.contested_table import ContestedTable


def test_pages_and_commands_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = ContestedTable(tmp_path / "warehouse", flights=20)
    table.call("create_branch", branch="audit")
    table.call("create_branch", branch="old")
    table.call("drop_branch", branch="old")
    services: Any = Services(settings(tmp_path))
    console, command = Console(services), CommandLine(table.folder, capsys)
    assert "3 branches, 1 rescue" in console.open("branches", **table.place).text
    assert "3 branches, 1 rescue" in console.open("branches", **table.place, br_show="true").text
    assert command("branches", table.name).out.splitlines()[-1] == "3 branches, 1 rescue"
    for page in ("overview", "catalog"):
        assert "1 table, 3 branches, 1 rescue" in console.open(page).text
    assert "3, 1 rescue" in console.open().text
    assert "3, 1 rescue" in command("tables").out
