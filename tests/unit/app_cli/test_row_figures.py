"""Every command, with its document, calls rows what `count(*)` returns, or says records.

The table has a key that several records share, and two branches that changed the same rows.
"""

import functools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer

from branch_console.sql.statement import CALLED
from branch_console_app.cli.commands import DONE, REFUSED, program
from tests.support.command_line import Answer, CommandLine
from tests.support.contested_table import NAME, ContestedTable
from tests.support.jobs_at_once import operate
from tests.support.row_figures import Truth, numbers_in, numbers_under_rows
from tests.support.spark_in_process import SessionInProcess
from tests.unit.app_cli.test_loaded_packages import paths

FLIGHTS = 300
OPERATION = "OPERATION"
"""In the words of a command: the operation that changed the table last."""

MAINTENANCE = "MAINTENANCE"
"""In the words of a command: a file with a maintenance policy."""

POLICY = "POLICY"
"""In the words of a command: a file that settles every conflict."""

NOTHING = ("NOTHING_TO_DO", "SNAPSHOT_NOT_FOUND", "FILES_IN_USE")
"""How what changes nothing is refused."""

SETTLED = 'version: 1\ntables: {"*": {take: theirs}}'
SIDES = ("main", "fix-delays")
KEPT = "rescue-kept"
"""A branch that may be released: no operation of the ledger needs it for its undo."""
GROUPS = {("jobs",), ("catalog",), ("policy",)}
# They tell nothing of a table: they serve, or stop and start what others asked for.
SERVE = {("open",), ("serve",), ("worker",), ("demo",), ("jobs", "cancel"), ("jobs", "resume")}
LOOKS: tuple[tuple[str, ...], ...] = (
    ("tables",),
    ("show", NAME),
    ("branches", NAME),
    ("snapshots", NAME),
    ("snapshots", NAME, "--branch", "fix-delays"),
    ("schemas", NAME),
    ("tags", NAME),
    ("files", NAME),
    ("system", NAME, "snapshots"),
    ("system", NAME, "partitions"),
    ("system", NAME, "files"),
    ("system", NAME, "branches"),
    ("graph", NAME),
    ("schema-diff", NAME, *SIDES),
    ("compare", NAME, *SIDES),
    ("compare", NAME, *SIDES, "--rows"),
    ("compare", NAME, *SIDES, "--quality"),
    ("count", NAME),
    ("count", NAME, *SIDES),
    ("merge", "fix-delays", "--table", NAME, "--preview"),
    ("conflicts", "fix-delays", "--table", NAME),
    ("lost-commits", NAME),
    ("doctor", NAME),
    ("storage", NAME),
    ("holds", NAME),
    ("jobs", "list"),
    ("catalog", "list"),
    ("catalog", "log"),
    ("catalog", "tags"),
)
# What changes the table, in an order in which each can be done.
ACTS: tuple[tuple[str, ...], ...] = (
    ("create-branch", NAME, "new", "--from-snapshot", "2"),
    ("rename-branch", NAME, "new", "newer"),
    ("protect-branch", NAME, "newer"),
    ("protect-branch", NAME, "newer", "--remove"),
    ("warn-branch", NAME, "newer"),
    ("archive-branch", NAME, "newer"),
    ("archive-branch", NAME, "newer", "--remove"),
    ("policy", "set", MAINTENANCE, "--table", NAME),
    ("policy", "show", NAME),
    ("policy", "report", NAME),
    ("policy", "apply", NAME, "--dry-run"),
    ("pin-branch", NAME, "fix-delays", "--twin"),
    ("repair-branch", NAME, "fix-delays"),
    ("fence", NAME, "newer"),
    ("create-tag", NAME, "v1"),
    ("cherry-pick", NAME, "fix-delays", "3", "--to", "newer"),
    ("merge", "newer", "--table", NAME, "--to", "fix-delays", "--policy", POLICY),
    ("merge", "fix-delays", "--table", NAME, "--policy", POLICY),
    ("revert", NAME, OPERATION),
    ("undo", OPERATION),
    ("rollback", NAME, "--snapshot", "1"),
    ("rename-tag", NAME, "v1", "v2"),
    ("delete-tag", NAME, "v2"),
    ("fast-forward", NAME, "newer", "--force", "--confirm", "main"),
    ("replace-main", NAME, "fix-delays", "--confirm", "main"),
    ("drop-branch", NAME, "newer", "--confirm", "newer"),
    ("undo", OPERATION),
    ("drop-branch", NAME, "newer", "--reclaim", "--confirm", "newer"),
    ("release", NAME, KEPT, "--confirm", KEPT),
    ("catalog", "create", "whole"),
    ("catalog", "add", "whole", "lab"),
    ("catalog", "show", "whole"),
    ("catalog", "compare", "main", "whole"),
    ("catalog", "list"),
    ("catalog", "log", "whole"),
    ("catalog", "tag", "release"),
    ("catalog", "tags"),
    ("catalog", "delete-tag", "release", "--confirm", "release"),
    ("catalog", "drop", "whole", "--confirm", "whole"),
    ("reset-consumer", NAME, "etl", "--next", "1"),
    ("compact-manifest", NAME),
    ("purge-files", NAME),
    ("clear-consumers", NAME, "--including", "etl"),
    ("repair-earliest-snapshot", NAME, "1"),
    ("expire", NAME, "--retain-max", "1", "--retain-min", "1"),
    ("orphans", NAME),
    ("remove-unexisting-files", NAME),
    ("expire-tags", NAME),
    ("expire-partitions", NAME, "--expiration-time", "9999 d", "--expire-strategy", "update-time"),
    ("recover",),
)
CALLS: tuple[str, ...] = (
    "create_branch(table => 'TABLE', branch => 'new', snapshot => 2)",
    "rename_branch('TABLE', 'new', 'newer')",
    "protect_branch(table => 'TABLE', branch => 'newer', protected => true)",
    "protect_branch(table => 'TABLE', branch => 'newer', protected => false)",
    "archive_branch(table => 'TABLE', branch => 'newer')",
    "archive_branch(table => 'TABLE', branch => 'newer', archived => false)",
    "pin_branch(table => 'TABLE', branch => 'fix-delays', twin => true)",
    "repair_branch(table => 'TABLE', branch => 'fix-delays')",
    "fence_branch(table => 'TABLE', branch => 'newer')",
    "doctor(table => 'TABLE')",
    "storage('TABLE')",
    "create_tag('TABLE', 'v1')",
    "cherry_pick(table => 'TABLE', branch => 'fix-delays', target => 'newer', snapshot => 3)",
    "merge_branch(source_branch => 'newer', table => 'TABLE', policy => 'SETTLED')",
    "revert(table => 'TABLE', operation => 'OPERATION')",
    "undo('TABLE', 'OPERATION')",
    "compact('TABLE')",
    "compact_database('air', 'TABLE')",
    "compact_manifest('TABLE')",
    "purge_files('TABLE', dry_run => true)",
    "rollback('TABLE', '1')",
    "rollback_to('TABLE', NULL, 2)",
    "rollback_to_as_latest('TABLE', 'v1')",
    "rollback_to_timestamp('TABLE', 9999999999999)",
    "rollback_to_watermark('TABLE', 9999999999999)",
    "reset_consumer('TABLE', 'etl', 1)",
    "clear_consumers('TABLE', 'etl')",
    "repair_earliest_snapshot('TABLE', 1)",
    "replace_tag('TABLE', 'v1')",
    "rename_tag('TABLE', 'v1', 'v2')",
    "delete_tag('TABLE', 'v2')",
    "fast_forward(table => 'TABLE', branch => 'newer', force => true, confirm => 'main')",
    "replace_main(table => 'TABLE', branch => 'newer', confirm => 'main')",
    "drop_branch(table => 'TABLE', branch => 'fix-delays', confirm => 'fix-delays')",
    "delete_branch('TABLE', 'newer')",
    f"release_branch('TABLE', '{KEPT}')",
    "expire_snapshots('TABLE', 1, 1)",
    "remove_orphan_files(table => 'TABLE', dry_run => true)",
    "remove_unexisting_files('TABLE')",
    "create_tag_from_timestamp('TABLE', 'v3', 0)",
    "create_tag_from_watermark('TABLE', 'v4', 0)",
    "expire_tags('TABLE')",
    "trigger_tag_automatic_creation('TABLE')",
    "expire_changelogs('TABLE')",
    "expire_partitions('TABLE', '9999 d', expire_strategy => 'update-time')",
    "mark_partition_done('TABLE', 'day=d1')",
    "create_catalog_branch(branch => 'whole', lazy => true)",
    "add_to_catalog_branch(branch => 'whole', pattern => 'lab')",
    "create_database(database => 'lab', branch => 'whole', properties => '{\"team\": \"ops\"}')",
    "set_database_properties(database => 'lab', branch => 'whole', properties => '{\"a\": \"0\"}')",
    "rename_database(database => 'lab', branch => 'whole', to => 'bench')",
    "drop_database(database => 'bench', branch => 'whole', confirm => 'bench')",
    "merge_catalog_branch(branch => 'whole')",
    "drop_catalog_branch(branch => 'whole')",
    "create_catalog_tag(tag => 'release')",
    "delete_catalog_tag(tag => 'release', confirm => 'release')",
)


@pytest.fixture
def table(tmp_path: Path) -> ContestedTable:
    return ContestedTable(tmp_path / "warehouse", flights=FLIGHTS)


@pytest.fixture
def console(
    table: ContestedTable,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    return operate(table.folder, monkeypatch, capsys, SessionInProcess)


class Walk:
    """Runs commands, and checks what each prints."""

    def __init__(self, console: CommandLine, table: ContestedTable, folder: Path) -> None:
        self._console, self._policy = console, folder / "policy.yaml"
        self._truth = Truth(table.folder, NAME, (SIDES,))
        self._operation = ""
        self._policy.write_text(SETTLED)
        self._maintenance = folder / "maintenance.yaml"
        self._maintenance.write_text("version: 1\ndefaults: {stale_after: 30 d}")

    def look(self, words: Sequence[str]) -> Answer:
        """Run a command as text and as a document."""
        self._check_text(words)
        answer = self._check_document(words)
        assert answer.code in (DONE, REFUSED), answer
        return answer

    def act(self, words: Sequence[str]) -> None:
        """Look at what a command would do, let it do that, and look at the receipt."""
        if has_dry_run(words):
            self.look((*words, "--dry-run"))
        done = self._check_document(words)
        assert done.code == 0 or any(each in done.out for each in NOTHING), done
        self._truth.learn()
        operation = done.document.get("operation_id")
        if operation:
            self._operation = operation
            if done.document.get("receipt"):
                self.look(("receipt", operation))
            if operation in self._jobs():
                self.look(("jobs", "show", operation))

    def _jobs(self) -> set[str]:
        return {each["id"] for each in self._console.json("jobs", "list")["jobs"]}

    def _check_text(self, words: Sequence[str]) -> None:
        answer = self._console(*self._filled(words))
        self._truth.check(numbers_in(answer.out + answer.err), (words, answer.out, answer.err))

    def _check_document(self, words: Sequence[str]) -> Answer:
        answer = self._console(*self._filled(words), "--json")
        self._truth.learn()
        self._truth.check(numbers_under_rows(answer.document), (words, answer.out))
        return answer

    def _filled(self, words: Sequence[str]) -> Iterator[str]:
        for word in words:
            files = {POLICY: self._policy, MAINTENANCE: self._maintenance}
            found = files.get(word)
            yield word.replace(OPERATION, self._operation) if found is None else str(found)


@pytest.fixture
def walk(console: CommandLine, table: ContestedTable, tmp_path: Path) -> Walk:
    return Walk(console, table, tmp_path)


# To build all commands takes as long as to run one of them.
@functools.cache
def commands() -> typer.core.TyperGroup:
    group = typer.main.get_command(program)
    assert isinstance(group, typer.core.TyperGroup)
    return group


def has_dry_run(words: Sequence[str]) -> bool:
    """Whether a command tells what it would do."""
    command = commands().commands[words[0]]
    if isinstance(command, typer.core.TyperGroup):
        command = command.commands[words[1]]
    return any("--dry-run" in each.opts for each in command.params)


def test_looks_call_rows_what_readers_get(walk: Walk) -> None:
    for words in LOOKS:
        walk.look(words)


def keep_branch(table: ContestedTable) -> None:
    """Leave a branch such as operations keep."""
    (branch,) = table.path.glob("branch/branch-fix-delays")
    shutil.copytree(branch, branch.with_name(f"branch-{KEPT}"))


def test_acts_and_receipts_call_rows_what_readers_get(walk: Walk, table: ContestedTable) -> None:
    keep_branch(table)
    for words in ACTS:
        walk.act(words)
    walk.look(("jobs", "list"))


@pytest.mark.depth("full")
def test_calls_in_sql_call_rows_what_readers_get(walk: Walk, table: ContestedTable) -> None:
    keep_branch(table)
    for call in CALLS:
        words = call.replace("TABLE", NAME).replace("SETTLED", SETTLED)
        walk.act(("sql", f"CALL sys.{words}"))


def test_every_command_and_every_procedure_is_walked() -> None:
    every_walk = (*LOOKS, *ACTS)
    walked = {words[:1] for words in every_walk} | {words[:2] for words in every_walk}
    every = {words for words in paths(commands()) if words not in GROUPS}
    # What a rule or a query counts is what readers get: nothing is told from metadata there.
    by_rows = {("check",), ("answer",)}
    # Each act is followed by its receipt and its job, and each procedure is called in SQL.
    beside = SERVE | by_rows | {("sql",), ("receipt",), ("jobs", "show")}
    assert every - walked == beside
    assert {call.partition("(")[0] for call in CALLS} == {*CALLED}


def test_lists_show_rows_that_were_counted_of_just_that_state(
    console: CommandLine, table: ContestedTable
) -> None:
    def rows() -> list[int | None]:
        (listed,) = console.json("tables")["tables"]
        branches = {each["name"]: each for each in console.json("branches", NAME)["branches"]}
        shown = (listed, console.json("show", NAME), branches["main"], branches["fix-delays"])
        return [each["figure"]["rows"] for each in shown]

    assert rows() == [None] * 4
    console("count", NAME)
    assert rows() == [598, 598, 598, None]
    console("count", NAME, *SIDES)
    assert rows() == [598, 598, 598, 600]
    table.write("main", delay=9, note="later")
    assert rows() == [None, None, None, 600]
