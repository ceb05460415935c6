"""Nobody waits for a package that a command does not use: the heavy ones are loaded late."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence

import typer

from branch_console_app.cli.commands import DONE, WRONG_USAGE, program
from tests.support.warehouses import FixtureWarehouse
from tests.unit.test_architecture import HOMES

# What parses and prints the command line; all else of other people is for reading and deciding.
OF_EVERY_COMMAND = frozenset({"typer", "rich"})
CHILD = """
import contextlib, io, json, sys
from branch_console_app.cli.commands import run
commands, packages = json.loads(sys.argv[1])
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    codes = [run(command) for command in commands]
json.dump([codes, [package for package in packages if package in sys.modules]], sys.stdout)
"""


def paths(group: typer.core.TyperGroup, *before: str) -> Iterator[tuple[str, ...]]:
    """The words of every command below a group."""
    for name, command in group.commands.items():
        yield (*before, name)
        if isinstance(command, typer.core.TyperGroup):
            yield from paths(command, *before, name)


def loaded(
    commands: Sequence[Sequence[str]], packages: Sequence[str]
) -> tuple[list[int], list[str]]:
    """The exit codes of commands in one new process, and which packages they loaded."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps([commands, packages])],
        capture_output=True,
        text=True,
        check=True,
    )
    codes, found = json.loads(child.stdout)
    return codes, found


def test_help_and_wrong_usage_load_nothing_that_reads_or_decides() -> None:
    group = typer.main.get_command(program)
    assert isinstance(group, typer.core.TyperGroup)
    commands = list(paths(group))
    assert ("jobs", "cancel") in commands
    helped = [["--help"], ["--version"], *([*command, "--help"] for command in commands)]
    wrong = [["no-such-command"], ["merge"], ["jobs", "show"], ["-w"]]
    wrong += ([*command, "--no-such-option"] for command in commands)
    codes, found = loaded([*helped, *wrong], sorted({*HOMES} - OF_EVERY_COMMAND))
    assert codes == [DONE] * len(helped) + [WRONG_USAGE] * len(wrong)
    assert found == []


def test_a_list_of_tables_loads_nothing_but_what_reads_files(
    fixture_warehouse: FixtureWarehouse,
) -> None:
    command = ["tables", "--warehouse", str(fixture_warehouse.path)]
    codes, found = loaded([command, [*command, "--json"]], sorted({*HOMES} - OF_EVERY_COMMAND))
    assert codes == [DONE, DONE]
    assert found == ["fsspec"]


def test_what_shows_metadata_loads_nothing_that_merges_judges_or_runs_jobs(
    warehouse_142: FixtureWarehouse,
) -> None:
    table = ["fixtures.append", "--warehouse", str(warehouse_142.path)]
    commands = [[each, *table] for each in ("show", "snapshots", "schemas", "tags")]
    heavy = ["dbos", "pyarrow", "pyspark", "sqlalchemy", "sqlglot", "yaml"]
    # Arrow loads pandas for the first Python value that it takes: no module makes one at import.
    heavy += [
        "datafusion",
        "pandas",
        "branch_console.merge.plan",
        "branch_console.procedures.registry",
    ]
    codes, found = loaded(commands, heavy)
    assert codes == [DONE] * len(commands)
    assert found == ["pyarrow"]


def test_a_list_of_branches_loads_nothing_that_merges_judges_or_runs_jobs(
    warehouse_142: FixtureWarehouse,
) -> None:
    command = ["branches", "fixtures.append", "--warehouse", str(warehouse_142.path)]
    heavy = [
        "dbos",
        "pyspark",
        "sqlalchemy",
        "sqlglot",
        "yaml",
        "branch_console.procedures.registry",
    ]
    assert loaded([command], heavy) == ([DONE], [])
