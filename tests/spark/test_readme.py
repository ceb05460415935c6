"""What the README and the documents beside it have people type runs as it stands there."""

import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest

from branch_console.jobs import warm_rows
from branch_console.jobs.warm_rows import WarmRows
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.session.session import WarmSession
from branch_console_app.services import Services
from tests.support.command_line import CommandLine
from tests.support.jobs_at_once import run_jobs_at_once

_ROOT = Path(__file__).parents[2]
README = _ROOT / "README.md"
DOCS = _ROOT / "assets/docs"


def test_the_notebook_examples_run(
    session: WarmSession, demo_warehouse: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notebooks = DOCS / "notebooks.md"
    snippets = re.findall(r"```python\n(.*?)```", notebooks.read_text(), flags=re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        # Spark asks the data source in a process that stands where Spark was started.
        code = snippet.replace("./warehouse", str(demo_warehouse))
        exec(compile(code, str(notebooks), "exec"), {"spark": session.spark})
        assert "|carrier|" in capfd.readouterr().out


@pytest.fixture
def console(
    session: WarmSession,
    demo_warehouse: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """The program on a demo of this test, with the session of these tests."""

    class SharedRows(WarmRows):
        def _open(self) -> WarmSession:
            return session

        def close(self) -> None:
            """Leave the session to the tests to come."""

    def rows(services: Services) -> WarmRows:
        return SharedRows(services.job_settings, services.warehouse.file_io)

    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(warm_rows, "WarmRows", SharedRows)
    folder = shutil.copytree(demo_warehouse, tmp_path / "warehouse")
    run_jobs_at_once(monkeypatch, lambda: Warehouse.open(str(folder)), rows)
    return CommandLine(folder, capsys)


@pytest.mark.depth("full")
def test_the_commands_of_the_readme_end_in_their_order_as_it_says(console: CommandLine) -> None:
    (walk,) = re.findall(
        r"order on a fresh demo -->\n```console\n(.*?)```", README.read_text(), re.DOTALL
    )
    ended = {}
    for line in walk.splitlines():
        command, _, comment = line.removeprefix("$ ").partition("  #")
        program, *arguments = shlex.split(command)
        if program == "branch-console":
            answer = console(*arguments)
            expected = 1 if "exit code 1" in comment else 0
            ended[command.strip()] = answer.code
            assert answer.code == expected, (command, answer)
    assert Counter(ended.values()) == {0: 7, 1: 4}


@pytest.mark.depth("full")
def test_commands_about_many_tables_print_what_stands_there(console: CommandLine) -> None:
    text = (DOCS / "catalog-branches.md").read_text()
    (walk,) = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    told = 0
    for each in re.split(r"^\$ branch-console ", walk, flags=re.MULTILINE)[1:]:
        command, _, printed = each.partition("\n")
        # A shell drops the backslash before these between double quotes; shlex keeps it.
        answer = console(*shlex.split(re.sub(r"\\([`$])", r"\1", command)))
        assert answer.code == 0, answer
        if printed:
            told += 1
            assert _at_any_time(answer.out) == _at_any_time(printed), command
    assert told == 4


# What a reader fills in first, and commands that do not end.
_TO_FILL_IN = ("OPERATION_ID", "JOB_ID", "shop.orders", ".yaml", "$ export ", "policy ")


@pytest.mark.depth("long")
@pytest.mark.parametrize("name", ["command-line", "merging", "rules", "sql"])
def test_the_commands_of_the_documents_run_on_a_fresh_demo(
    console: CommandLine, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / f"{name}.md").read_text()
    ran = 0
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        for line in block.splitlines():
            if any(part in line for part in _TO_FILL_IN):
                continue
            command, _, comment = line.removeprefix("$ branch-console ").partition("  #")
            answer = console(*shlex.split(re.sub(r"\\([`$])", r"\1", command)))
            assert answer.code == (1 if "exit code 1" in comment else 0), (line, answer)
            ran += 1
    assert ran


def _at_any_time(printed: str) -> str:
    return re.sub(r"^(created +).*$", r"\1…", printed, flags=re.MULTILINE)
