"""The command line, called in this process: what it answers and with which exit code."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from branch_console_app.cli.commands import run
from branch_console_app.services import services_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines on stdout."""
        return self.out.splitlines()

    @property
    def error(self) -> str:
        """The one line on stderr of a command that failed."""
        (line,) = self.err.splitlines()
        return line


class CommandLine:
    """The program, used on one warehouse; each call reads everything anew."""

    def __init__(self, warehouse: Path | str, capsys: pytest.CaptureFixture[str]) -> None:
        self.warehouse = warehouse
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        """Run a command with `--warehouse`."""
        return self.bare(*arguments, "--warehouse", str(self.warehouse))

    def json(self, *arguments: str) -> Any:
        """Run a command that must be done, with `--json`, and return its document."""
        answer = self(*arguments, "--json")
        assert answer.code == 0, answer
        return answer.document

    def bare(self, *arguments: str) -> Answer:
        """Run a command as it is."""
        services_for.cache_clear()
        self._capsys.readouterr()
        code = run(arguments)
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Answer(code=code, out=captured.out, err=captured.err)


def tree_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder with its time and bytes, to see that nothing was written."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
