"""Every command, on everything that the fixture warehouses hold."""

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from branch_console_app.cli.commands import DONE, FAILED, REFUSED, STOPPED, WRONG_USAGE, program
from tests.support.command_line import Answer, CommandLine, tree_of
from tests.support.warehouses import FixtureWarehouse, expected_tables

ROOT = Path(__file__).resolve().parents[2]
SYSTEM_TABLES = (
    "snapshots",
    "schemas",
    "options",
    "branches",
    "tags",
    "manifests",
    "files",
    "partitions",
    "buckets",
    "consumers",
    "statistics",
    "table_indexes",
)
POSTPONED = -2
ON_A_TABLE = ("show", "branches", "snapshots", "schemas", "tags", "files", "graph")
WITH_BRANCH = ("show", "snapshots", "schemas", "tags", "files")
ALL_COMMANDS = typer.main.get_command(program)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory of the test's own."""
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BRANCH_CONSOLE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("BRANCH_CONSOLE_WAREHOUSE", raising=False)
    return tmp_path / "state"


@pytest.fixture
def console(fixture_warehouse: FixtureWarehouse, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(fixture_warehouse.path, capsys)


def done(answer: Answer) -> Answer:
    assert answer.code == DONE, answer
    assert answer.err == "", answer
    return answer


def test_all_tables_are_listed(console: CommandLine, expected: dict[str, Any]) -> None:
    found = console.json("tables")
    assert [item["identifier"] for item in found["tables"]] == sorted(expected)
    assert {item["health"] for item in found["tables"]} <= {"healthy", "at-risk"}
    assert all(item["error"] is None for item in found["tables"])
    lines = done(console("tables")).lines
    assert [line.split()[0] for line in lines[1:]] == sorted(expected)


def test_one_database_is_listed(console: CommandLine) -> None:
    assert [item["identifier"] for item in console.json("tables", "-d", "other")["tables"]] == [
        "other.solo"
    ]


@pytest.mark.parametrize("command", ON_A_TABLE)
def test_a_command_opens_every_table(
    console: CommandLine, expected: dict[str, Any], command: str
) -> None:
    for table in expected:
        assert console(command, table).code == DONE, table
        # The others are looked at in `test_figures_are_those_of_paimon`.
        assert command not in {"show", "branches", "graph"} or console.json(command, table)


def test_the_lists_speak_of_files_as_no_rule_was_asked(
    console: CommandLine, expected: dict[str, Any]
) -> None:
    for call in (("tables",), *(("branches", table) for table in expected)):
        heading, *lines = done(console(*call)).lines
        assert heading.endswith("  files")
        assert any(line.endswith(("  intact", "  at risk", "  broken")) for line in lines)


@pytest.mark.parametrize("command", WITH_BRANCH)
def test_a_command_opens_every_branch(
    console: CommandLine, expected: dict[str, Any], command: str
) -> None:
    for table, branch in branches_of(expected):
        by_name = done(console(command, f"{table}$branch_{branch}"))
        by_option = done(console(command, table, "--branch", branch))
        assert by_name.out == by_option.out


@pytest.mark.depth("full")
@pytest.mark.parametrize("name", SYSTEM_TABLES)
def test_every_system_table_opens_with_the_columns_of_paimon(
    console: CommandLine, expected: dict[str, Any], name: str
) -> None:
    for table, content in expected.items():
        document = console.json("system", table, name)
        wanted = content["on"]["main"]["system"][name]
        assert document["count"] == len(document["rows"])
        if "error" in wanted:
            continue
        assert document["count"] == len(wanted["rows"]), (table, name)
        if document["rows"]:
            assert list(document["rows"][0])[: len(wanted["columns"])] == wanted["columns"]
        if table in {"fixtures.all_types", "fixtures.key_levels", "fixtures.partition_binary"}:
            assert console("system", table, name).code == DONE


def test_figures_are_those_of_paimon(console: CommandLine, expected: dict[str, Any]) -> None:
    for table, content in expected.items():
        for branch, wanted in content["on"].items():
            where = (table, "--branch", branch)
            snapshots = console.json("snapshots", *where)["snapshots"]
            ids = [snapshot["id"] for snapshot in wanted["snapshots"]]
            assert [item["id"] for item in snapshots] == sorted(ids, reverse=True)
            schemas = console.json("schemas", *where)["schemas"]
            assert {item["id"] for item in schemas} == {each["id"] for each in wanted["schemas"]}
            tags = console.json("tags", *where)["tags"]
            assert {item["name"] for item in tags} == set(wanted["tags"])
            # Paimon shows no files of rows that no bucket has taken in yet.
            live = [file for file in wanted["live_files"] if file["bucket"] != POSTPONED]
            files = console.json("files", *where)
            assert files["count"] == len(live), where
            rows = sum(file["record_count"] for file in files["files"])
            assert rows == sum(file["row_count"] for file in live)
        names = [item["name"] for item in console.json("branches", table)["branches"]]
        assert [name for name in names if name != "main"] == content["branches"]


def test_two_branches_have_a_schema_difference(console: CommandLine) -> None:
    where = ("schema-diff", "fixtures.branches_diverged")
    document = console.json(*where, "main", "evolved")
    assert document["verdict"]
    assert done(console(*where, "main@0", "evolved@2")).out
    assert console.json(*where, "main", "main")["changes"] == []
    assert "the same schema" in done(console(*where, "main", "main")).out


def test_the_graph_draws_every_branch(console: CommandLine, expected: dict[str, Any]) -> None:
    table = "fixtures.branches_diverged"
    out = done(console("graph", table)).out
    for branch in ("main", *expected[table]["branches"]):
        assert branch in out
    document = console.json("graph", table)
    assert {lane["branch"] for lane in document["lanes"]} >= set(expected[table]["branches"])


def test_many_rows_are_cut_for_people_and_whole_for_programs(console: CommandLine) -> None:
    table = "fixtures.key_levels"
    everything = console.json("system", table, "snapshots")["count"]
    assert everything > 3
    short = done(console("system", table, "snapshots", "--limit", "2")).lines
    assert short[-1] == f"… {everything - 2:,} more"
    assert len(console.json("system", table, "snapshots", "--limit", "2")["rows"]) == 2
    assert len(done(console("system", table, "snapshots", "--limit", "0")).lines) == everything + 1


def test_reading_writes_nothing_into_the_warehouse(
    console: CommandLine, fixture_warehouse: FixtureWarehouse
) -> None:
    before = tree_of(fixture_warehouse.path)
    table = "fixtures.branches_ahead"
    done(console("tables"))
    for command in ON_A_TABLE:
        done(console(command, table))
    done(console("fast-forward", table, "ahead", "--dry-run"))
    assert tree_of(fixture_warehouse.path) == before


def test_a_dry_run_prints_the_plan(console: CommandLine) -> None:
    answer = done(console("fast-forward", "fixtures.branches_ahead", "ahead", "--dry-run"))
    assert "fast-forward" in answer.out
    plan = console.json("fast-forward", "fixtures.branches_ahead", "ahead", "--dry-run")
    assert plan["verdict"] == "fast-forward"
    assert plan["arrives"]["snapshots"]
    assert plan["would_remove"]["snapshots"] == []


def test_a_target_that_moved_is_refused_with_what_would_go(
    console: CommandLine, fixture_warehouse: FixtureWarehouse, state: Path
) -> None:
    before = tree_of(fixture_warehouse.path)
    for more in ((), ("--dry-run",)):
        answer = console("fast-forward", "fixtures.branches_diverged", "diverged", *more)
        assert answer.code == REFUSED
        assert answer.error.startswith("error TARGET_MOVED: ")
        assert "would go" in answer.out
        assert "--force" in answer.out
        document = console("fast-forward", "fixtures.branches_diverged", "diverged", "--json")
        assert document.code == REFUSED
        assert document.document["verdict"] == "refused"
        assert document.document["would_remove"]["snapshots"]
    assert tree_of(fixture_warehouse.path) == before
    assert not state.exists(), "a refused fast-forward needs no job"


def test_nothing_to_bring_is_no_failure(console: CommandLine) -> None:
    answer = done(console("fast-forward", "fixtures.branches_ahead", "idle"))
    assert "up-to-date" in answer.out


def test_jobs_of_a_fresh_warehouse_are_none(console: CommandLine) -> None:
    assert console.json("jobs") == {"worker": None, "jobs": []}
    assert "none" in done(console("jobs", "list")).lines
    answer = console("jobs", "show", "nothing")
    assert answer.code == FAILED
    assert answer.error.startswith("error JOB_NOT_FOUND: ")


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("show", "fixtures.none"), FAILED, "TABLE_NOT_FOUND"),
        (("show", "none.none"), FAILED, "DATABASE_NOT_FOUND"),
        (("show", "fixtures.append", "-b", "none"), FAILED, "BRANCH_NOT_FOUND"),
        (("show", "nodatabase"), WRONG_USAGE, "INVALID_NAME"),
        (("show", "../etc.passwd"), WRONG_USAGE, "INVALID_NAME"),
        (("show", "fixtures.append", "-b", "../../x"), WRONG_USAGE, "INVALID_NAME"),
        (("show", "fixtures.append$files"), WRONG_USAGE, "INVALID_NAME"),
        (("show", "fixtures.append$branch_a", "-b", "b"), WRONG_USAGE, "INVALID_ARGUMENT"),
        (("system", "fixtures.append", "nonsense"), WRONG_USAGE, "INVALID_NAME"),
        (("receipt", "nothing"), FAILED, "OPERATION_NOT_FOUND"),
        (("nonsense",), WRONG_USAGE, "INVALID_ARGUMENT"),
        (("show",), WRONG_USAGE, "INVALID_ARGUMENT"),
        (("files", "fixtures.append", "--limit", "many"), WRONG_USAGE, "INVALID_ARGUMENT"),
        (("fast-forward", "fixtures.append", "none"), FAILED, "BRANCH_NOT_FOUND"),
        (
            ("create-branch", "fixtures.append", "x", "--at", "noon"),
            WRONG_USAGE,
            "INVALID_ARGUMENT",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_failure_is_one_line_with_its_code_or_one_document(
    console: CommandLine, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    answer = console(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.error.startswith(f"error {kind}: ")
    answer = console(*arguments, "--json")
    assert (answer.code, answer.err) == (code, "")
    assert answer.document["error"]["code"] == kind


@pytest.mark.parametrize("what", ["missing", "file", "table", "database", "other"])
def test_a_path_that_is_no_warehouse_says_what_it_is(
    warehouse_142: FixtureWarehouse,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    (tmp_path / "a.txt").write_text("text")
    warehouse = warehouse_142.path
    path, said = {
        "missing": (tmp_path / "none", "nothing is stored there"),
        "file": (tmp_path / "a.txt", "it is a file"),
        "table": (
            warehouse / "fixtures.db" / "append",
            f"the folder of a table. Open {warehouse}.",
        ),
        "database": (warehouse / "fixtures.db", f"the folder of a database. Open {warehouse}."),
        "other": (tmp_path, "'a.txt'"),
    }[what]
    for command in (("tables",), ("open", str(path)), ("serve",), ("worker",)):
        console = CommandLine(path, capsys)
        answer = console.bare(*command) if command[0] == "open" else console(*command)
        assert answer.code in (WRONG_USAGE, FAILED)
        assert str(path) in answer.error
        assert said in answer.error


def test_an_empty_folder_is_an_empty_warehouse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wh").mkdir()
    console = CommandLine(tmp_path / "wh", capsys)
    assert done(console("tables")).lines == [f"No tables under {tmp_path / 'wh'}."]
    assert console.json("tables")["tables"] == []


def test_the_warehouse_may_come_from_the_environment(
    warehouse_142: FixtureWarehouse,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = CommandLine("unused", capsys)
    assert "--warehouse PATH_OR_URL" in console.bare("tables").error
    monkeypatch.setenv("BRANCH_CONSOLE_WAREHOUSE", str(warehouse_142.path))
    assert done(console.bare("tables")).lines


def test_every_command_has_help_and_takes_the_shared_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console = CommandLine("unused", capsys)
    assert done(console.bare()).out == done(console.bare("--help")).out
    names = [
        command.name or command.callback.__name__
        for command in program.registered_commands
        if command.callback
    ]
    for name in names:
        text = done(console.bare(name, "--help")).out
        assert "--json" in text, name
        assert "--warehouse" in text or name == "open", name


def test_every_option_and_argument_says_what_it_is() -> None:
    def commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
        for name, command in getattr(group, "commands", {}).items():
            yield (*names, name), command
            yield from commands(command, *names, name)

    found = dict(commands(typer.main.get_command(program)))
    assert ("jobs", "show") in found
    unsaid = [
        (*names, each.name)
        for names, command in found.items()
        for each in command.params
        if not each.help
    ]
    assert unsaid == []


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("opne",), "No such command 'opne'. Did you mean 'open'? See: branch-console --help."),
        (
            ("tables", "--databse", "x"),
            "(Possible options: --database). See: branch-console tables --help.",
        ),
        (("branches",), "Missing argument 'TABLE'. See: branch-console branches --help."),
    ],
)
def test_wrong_usage_is_told_in_whole_sentences(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], told: str
) -> None:
    answer = CommandLine("unused", capsys).bare(*command)
    assert answer.code == WRONG_USAGE
    assert answer.error.endswith(told)
    assert "?." not in answer.error


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    answer = done(CommandLine("unused", capsys).bare("--version"))
    assert answer.out == f"branch-console {importlib.metadata.version('paimon-branch-console')}\n"


def test_a_defect_is_one_line_too(console: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_warehouse: str | None) -> None:
        raise RuntimeError("no such thing\nas this")

    monkeypatch.setattr("branch_console_app.cli.browse.open_lists", fail)
    answer = console("tables")
    assert (answer.code, answer.out) == (FAILED, "")
    assert answer.error.startswith("error UNEXPECTED: RuntimeError: no such thing⏎as this. ")
    assert console("tables", "--json").document["error"]["code"] == "UNEXPECTED"


def test_ctrl_c_ends_a_command_without_a_word(
    console: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_warehouse: str | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("branch_console_app.cli.browse.open_lists", interrupt)
    assert console("tables") == Answer(code=STOPPED, out="", err="")


@pytest.mark.parametrize(
    "words",
    [
        ("-w", "{}", "tables"),
        ("--warehouse", "{}", "show", "fixtures.key_levels"),
        ("-w", "{}", "--json", "tables"),
        ("--json", "snapshots", "fixtures.key_levels", "-w", "{}"),
        ("-w", "{}", "jobs"),
        ("-w", "{}", "jobs", "list"),
        ("jobs", "-w", "{}", "--json", "list"),
        ("--json", "-w", "{}", "jobs", "list", "--limit", "1"),
    ],
    ids=" ".join,
)
def test_options_of_every_command_stand_before_it_too(
    console: CommandLine, words: tuple[str, ...]
) -> None:
    named = [word.format(console.warehouse) for word in words]
    # The same words with the options behind.
    options = [at for at, word in enumerate(words) if word in {"-w", "--warehouse", "{}", "--json"}]
    rest = [word for at, word in enumerate(named) if at not in options]
    assert done(console.bare(*named)) == console.bare(*rest, *(named[at] for at in options))


def test_an_option_behind_a_command_goes_before_one_in_front_of_it(
    console: CommandLine, tmp_path: Path
) -> None:
    assert done(console.bare("-w", str(tmp_path), "tables", "-w", str(console.warehouse))).out
    assert done(console.bare("-w", str(tmp_path), "tables")).out.startswith("No tables under ")


def commands_of(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command with the words that name it; those of groups have two."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, (*words, name))
        else:
            yield (*words, name), command


@pytest.mark.parametrize("name", [" ".join(words) for words, _ in commands_of(ALL_COMMANDS)])
def test_warehouse_and_json_count_in_front_of_every_command_as_behind_it(name: str) -> None:
    given: list[dict[str, Any]] = []
    program_now = typer.main.get_command(program)
    (command,) = (each for words, each in commands_of(program_now) if " ".join(words) == name)
    known = {each.name for each in command.params}
    if "warehouse" not in known:
        pytest.skip(f"{name} names its warehouse itself, and is refused by name")
    command.callback = lambda **options: given.append(options)
    words = [*name.split()]
    for each in command.params:
        if each.required:
            words += [*each.opts[:1], "1"] if each.opts[0].startswith("-") else ["1"]
    for line in (
        ["--warehouse", "wh", "--json", *words],
        ["-w", "wh", *words, "--json"],
        ["--json", *words, "-w", "wh"],
        [*words, "-w", "wh", "--json"],
        ["-w", "other", *words, "-w", "wh", "--json"],
    ):
        program_now(args=line, standalone_mode=False)
        assert (given[-1]["warehouse"], given[-1]["as_json"]) == ("wh", True), line
    program_now(args=words, standalone_mode=False)
    assert (given[-1]["warehouse"], given[-1]["as_json"]) == (None, False)


def test_a_warehouse_in_front_of_open_is_refused(console: CommandLine) -> None:
    answer = console.bare("-w", "here", "open", "there")
    assert (answer.code, answer.out) == (WRONG_USAGE, "")
    assert answer.error == (
        "error INVALID_ARGUMENT: open names its warehouse itself: leave out --warehouse here."
    )
    assert console.bare("--json", "-w", "here", "open", "there").document["error"]["code"] == (
        "INVALID_ARGUMENT"
    )


def test_a_setting_that_cannot_be_is_wrong_usage(
    console: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "king")
    answer = console("tables")
    assert answer.code == WRONG_USAGE
    assert "BRANCH_CONSOLE_ROLE" in answer.error


def test_the_program_starts_from_any_folder(
    warehouse_142: FixtureWarehouse, tmp_path: Path
) -> None:
    # Folders of these names where the user stands must not be taken for ours.
    for name in ("app", "core"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('a stranger')")
    program_path = Path(sys.executable).with_name("branch-console")
    answer = subprocess.run(
        [program_path, "tables", "--json", "--warehouse", str(warehouse_142.path)],
        cwd=tmp_path,
        env={**os.environ, "BRANCH_CONSOLE_STATE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert answer.stderr == ""
    assert len(json.loads(answer.stdout)["tables"]) == len(expected_tables("1.4.2"))


def test_a_reader_that_leaves_early_is_no_failure(
    warehouse_142: FixtureWarehouse, tmp_path: Path
) -> None:
    command = f"{sys.executable} -m branch_console_app files fixtures.key_levels --json | head -c 1"
    answer = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=ROOT,
        env={
            **os.environ,
            "BRANCH_CONSOLE_STATE_DIR": str(tmp_path),
            "BRANCH_CONSOLE_WAREHOUSE": str(warehouse_142.path),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "{", "")


def branches_of(expected: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (table, branch) for table, content in expected.items() for branch in content["branches"]
    ]


@pytest.mark.parametrize("command", [("jobs", "list"), ("demo", "--build-only")])
def test_a_folder_that_cannot_be_made_is_no_defect(
    warehouse_142: FixtureWarehouse,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BRANCH_CONSOLE_STATE_DIR", str(tmp_path / "file" / "state"))
    warehouse = tmp_path / "file" / "demo" if command[0] == "demo" else warehouse_142.path
    answer = CommandLine(warehouse, capsys)(*command)
    assert answer.code == FAILED
    assert "Not a directory" in answer.error
    assert str(tmp_path / "file") in answer.error
    assert "defect" not in answer.error
