"""What each procedure takes in SQL and answers: Paimon's arguments, columns and rows.

A golden file is one call that runs, with its answer. `pytest --update-golden
tests/golden/test_calls.py` writes them again.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final
from uuid import UUID

import pytest

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import InvalidInput
from branch_console.format.data_types import STRING
from branch_console.format.receipt import Counts
from branch_console.format.values.binary_row import encode_row
from branch_console.operations.request import Tells
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.kept_receipts import is_recorded
from branch_console.procedures.preview import preview_call
from branch_console.sql.call_result import CallResult, expected_of, result_of
from branch_console.sql.parser import parse_statements
from branch_console.sql.statement import CALLED, DRY_RUN, EITHER, QUERY, Statement
from tests.support.branch_bench import NOW, BranchBench, TrustingRows, tree
from tests.support.commit_tables import CommitBench, data_files, message
from tests.support.golden import Golden

OPERATION: Final = "op"


class WritesNothing(TrustingRows):
    """An engine whose writes have nothing to do."""

    def compact(self, *_: object, **__: object) -> PreparedRows:
        return PreparedRows(messages=(), row_count=0)

    insert = delete = update = merge = compact


def _commit(bench: BranchBench, number: int, branch: str = "main") -> None:
    """Commit a file, a second after the commit of the number before."""
    committer = FileStoreCommit(
        bench.table(branch), bench.store, clock=lambda: NOW + 1000 * number, sleep=lambda _: None
    )
    committer.commit(
        [message(new_files=data_files([f"{branch}-{number}"]))],
        user="alice",
        identifier=number,
        watermark=100 * number,
    )


def _consumer(bench: BranchBench, name: str, reads_next: int) -> None:
    path = Path(bench.table().paths.consumer(name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"nextSnapshot" : {reads_next}}}')


def _second_table(bench: BranchBench) -> None:
    _commit(BranchBench(Path(bench.file_io.root), name="u"), 1)


def _nothing(_: BranchBench) -> None:
    """Leave the table as it is."""


def _orphan(bench: BranchBench) -> None:
    orphan = Path(bench.table().paths.manifest(f"manifest-{UUID(int=7)}-0"))
    orphan.write_bytes(b"left")
    os.utime(orphan, (0, 0))


def _two_there(bench: BranchBench) -> None:
    """Have all files of main but the newest lie where they should."""
    _commit(bench, 4)
    folder = Path(bench.path) / "bucket-0"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"data-main-{number}.parquet").write_bytes(b"rows")


def _gap(bench: BranchBench) -> None:
    _commit(bench, 4)
    bench.store.remover.remove([bench.table().paths.snapshot(2)])


def _schema_lost(bench: BranchBench) -> None:
    bench.alter()
    _commit(bench, 4)
    bench.branch("late")
    _commit(bench, 5, "late")
    bench.store.remover.remove([bench.table("late").paths.schema(0)])


def _decoupled(bench: BranchBench) -> None:
    """Have the first snapshot leave a changelog behind."""
    paths = bench.table().paths
    Path(paths.changelog_dir).mkdir()
    Path(paths.snapshot(1)).rename(paths.changelog(1))


def _partitioned(bench: BranchBench) -> None:
    """Make another table, with two partitions that are old."""
    made = CommitBench(Path(bench.file_io.root), partition_keys=["name"], name="p")
    for number, day in enumerate(("2020-01-01", "2020-01-02")):
        partition = encode_row([day], [STRING])
        files = data_files([f"file-{number}"], partition=partition)
        made.committer().commit(
            [message(partition, new_files=files)], user="alice", identifier=number
        )


def _say(
    bench: BranchBench, called: str, operation: str, now: int = NOW
) -> tuple[Statement, CallResult]:
    """Run a call, and return how it was read and answered."""
    (statement,) = parse_statements(f"CALL sys.{called}")
    call = ProcedureCall(
        name=statement.procedure,
        arguments=statement.arguments,
        actor="ann",
        operation_id=operation,
    )
    warehouse = bench.warehouse(clock=lambda: now)
    receipt = run_call(warehouse, WritesNothing(), call, InlineStages())
    done = receipt if is_recorded(warehouse, call, receipt) else None
    assert statement.called is not None
    found = result_of(statement.called, done, operation, " ".join(receipt.notes))
    return statement, found


def _after(*calls: str) -> Callable[[BranchBench], None]:
    """What makes the table ready by other calls."""

    def prepare(bench: BranchBench) -> None:
        for number, called in enumerate(calls):
            _say(bench, called, f"earlier-{number}")

    return prepare


_ALONE: Final = _after("drop_branch(table => 'db.t', branch => 'dev')", "clear_consumers('db.t')")
_CATALOG_BRANCH: Final = _after("create_catalog_branch(branch => 'whole')")
_CATALOG_BRANCH_OF_LAB: Final = _after(
    "create_database(database => 'lab')",
    "create_catalog_branch(branch => 'whole', databases => 'lab')",
)
_CATALOG_TAG: Final = _after("create_catalog_tag(tag => 'release')")
_DATABASE: Final = _after("create_database(database => 'lab')")
_TAG: Final = _after("create_tag('db.t', 'v2')")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The arguments of a call, what is done to the table before, and when it is called."""

    arguments: str
    before: Callable[[BranchBench], None] = _nothing
    now: int = NOW


CASES: Mapping[str, Case] = MappingProxyType(
    {
        "add_to_catalog_branch": Case(
            arguments="branch => 'whole', pattern => 'db'", before=_CATALOG_BRANCH_OF_LAB
        ),
        "archive_branch": Case(arguments="table => 'db.t', branch => 'dev'"),
        "cherry_pick": Case(arguments="table => 'db.t', branch => 'dev', snapshot => 3"),
        "clear_consumers": Case(arguments="'db.t', 'e.*', NULL"),
        "compact": Case(
            arguments="'db.p', NULL, NULL, NULL, NULL, 'name > \\'2020-01-01\\''",
            before=_partitioned,
        ),
        "compact_database": Case(arguments="'db', 'db\\\\.t'"),
        "compact_manifest": Case(arguments="'db.t'"),
        "create_branch": Case(arguments="'db.t', 'new', 'v1'"),
        "create_catalog_branch": Case(arguments="branch => 'whole', lazy => true"),
        "create_catalog_tag": Case(arguments="tag => 'release'"),
        "create_database": Case(arguments="database => 'lab'"),
        "create_tag": Case(arguments="'db.t', 'v2', 2, 'P7D'"),
        "delete_branch": Case(arguments="'db.t', 'dev'"),
        "delete_catalog_tag": Case(arguments="tag => 'release'", before=_CATALOG_TAG),
        "create_tag_from_timestamp": Case(arguments=f"'db.t', 'v2', {NOW + 1001}, '7 d'"),
        "create_tag_from_watermark": Case(arguments="'db.t', 'v2', 101"),
        "delete_tag": Case(arguments="'db.t', 'v1'"),
        "drop_branch": Case(arguments="table => 'db.t', branch => 'dev'"),
        "drop_catalog_branch": Case(arguments="branch => 'whole'", before=_CATALOG_BRANCH),
        "drop_database": Case(arguments="database => 'lab'", before=_DATABASE),
        "expire_changelogs": Case(
            arguments="'db.t', 1, 1, delete_all => true, confirm => 'main', grace => '0 s'",
            before=_decoupled,
        ),
        "expire_partitions": Case(arguments="'db.p', '2 d'", before=_partitioned),
        "expire_snapshots": Case(arguments="'db.t', 1, 1", before=_ALONE),
        "expire_tags": Case(
            arguments="'db.t'",
            before=_after("create_tag('db.t', 'v2', 2, '1 min')"),
            now=NOW + 61_000,
        ),
        "fast_forward": Case(arguments="'db.t', 'dev'"),
        "fence_branch": Case(arguments="table => 'db.t', branch => 'main'"),
        "mark_partition_done": Case(arguments="'db.p', 'name=2020-01-01'", before=_partitioned),
        "merge_branch": Case(arguments="'db.t', 'dev', 'main'"),
        "merge_catalog_branch": Case(arguments="branch => 'whole'", before=_CATALOG_BRANCH),
        "pin_branch": Case(arguments="table => 'db.t', branch => 'dev', twin => true"),
        "protect_branch": Case(arguments="table => 'db.t', branch => 'dev'"),
        "purge_files": Case(arguments="'db.u'", before=_second_table),
        "release_branch": Case(
            arguments="table => 'db.t', branch => 'rescue-earlier-0', grace => '0 s'",
            before=_ALONE,
            now=NOW + 8 * 86_400_000,
        ),
        "remove_orphan_files": Case(arguments="'db.t', grace => '0 s'", before=_orphan),
        "remove_unexisting_files": Case(arguments="'db.t', false", before=_two_there),
        "rename_branch": Case(arguments="'db.t', 'dev', 'fix'"),
        "rename_database": Case(
            arguments="database => 'lab', to => 'bench'",
            before=_DATABASE,
        ),
        "rename_tag": Case(arguments="'db.t', 'v1', 'v2'"),
        "repair_branch": Case(arguments="table => 'db.t', branch => 'late'", before=_schema_lost),
        "repair_earliest_snapshot": Case(arguments="'db.t', 3", before=_gap),
        "reset_consumer": Case(arguments="'db.t', 'etl', 2"),
        "replace_tag": Case(arguments="'db.t', 'v1', 2"),
        "replace_main": Case(arguments="table => 'db.t', branch => 'dev'"),
        "revert": Case(arguments="table => 'db.t', snapshot => 2"),
        "rollback": Case(arguments="'db.t', '1'"),
        "rollback_to": Case(arguments="'db.t', NULL, 1"),
        "rollback_to_as_latest": Case(arguments="'db.t', 'v1'"),
        "rollback_to_timestamp": Case(arguments=f"'db.t', {NOW + 1999}"),
        "rollback_to_watermark": Case(arguments="'db.t', 199"),
        "set_database_properties": Case(
            arguments="database => 'lab', properties => '{\"team\": \"ops\"}'",
            before=_DATABASE,
        ),
        "trigger_tag_automatic_creation": Case(arguments="'db.t'"),
        "undo": Case(arguments="'db.t', 'earlier-0'", before=_TAG),
    }
)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main with two snapshots, a tag and a reader; a branch with one more."""
    bench = BranchBench(tmp_path)
    _commit(bench, 1)
    bench.tag("v1")
    _commit(bench, 2)
    bench.branch("dev")
    _commit(bench, 3, "dev")
    _consumer(bench, "etl", 1)
    return bench


def _text(call: str, found: CallResult, root: str) -> str:
    rows = "\n".join(json.dumps(list(row)) for row in found.rows).replace(root, "WAREHOUSE")
    return f"{call}\n{json.dumps(list(found.columns))}\n{rows}\n"


@pytest.mark.parametrize("name", CASES)
def test_a_call_is_answered_with_the_columns_of_paimon(
    name: str, bench: BranchBench, golden: Golden
) -> None:
    case = CASES[name]
    case.before(bench)
    statement, found = _say(bench, f"{name}({case.arguments})", OPERATION, case.now)
    assert statement.called == name
    golden.check(f"calls/{name}.txt", _text(statement.text, found, bench.file_io.root))


# What the rows of a dry run tell is what goes; a run with a grace has removed nothing yet.
DRY: Mapping[str, str] = MappingProxyType(
    {
        "expire_changelogs": "'db.t', 1, 1, NULL, NULL, true",
        "expire_partitions": "'db.p', '2 d'",
        "expire_snapshots": "'db.t', 1, 1",
        "expire_tags": "'db.t'",
        "remove_orphan_files": "'db.t'",
        "remove_unexisting_files": "'db.t'",
        "repair_earliest_snapshot": "'db.t', 3",
    }
)


@pytest.mark.parametrize("name", DRY)
def test_a_dry_run_answers_with_the_rows_of_paimon_and_changes_nothing(
    name: str, bench: BranchBench, golden: Golden
) -> None:
    case = CASES[name]
    case.before(bench)
    before = tree(Path(bench.file_io.root))
    (statement,) = parse_statements(f"CALL sys.{name}({DRY[name]}, dry_run => true)")
    assert statement.is_dry
    call = ProcedureCall(
        name=statement.procedure,
        arguments=statement.arguments,
        actor="ann",
        operation_id=OPERATION,
    )
    found = preview_call(bench.warehouse(clock=lambda: case.now), call)
    assert found.expected is not None
    assert tree(Path(bench.file_io.root)) == before
    text = _text(statement.text, expected_of(name, found.expected), bench.file_io.root)
    golden.check(f"calls/dry/{name}.txt", text)


def test_every_procedure_of_which_a_dry_run_has_rows_has_a_golden_one() -> None:
    told = {
        name
        for name, called in CALLED.items()
        if DRY_RUN in called.arguments and called.answers[0].tells is not Tells.DONE
    }
    assert told == DRY.keys()


def test_every_procedure_has_a_golden_call() -> None:
    # `doctor` and the like are queries, and answer with the rows of that.
    assert {name for name in CALLED if CALLED[name].procedure != QUERY} == {*CASES}


_LITERAL: Final = re.compile(r"(?:(\w+) => )?('(?:\\.|[^'])*'|[^',]+)(?:, |$)")
"""An argument of a call, and its name where it has one."""
_SPELLED: Final = {name: case.arguments for name, case in CASES.items()} | {
    # Queries, which answer with their own rows.
    "doctor": "'db.t'",
    "storage": "'db.t'",
}


def _by_name(name: str) -> dict[str, str]:
    """The arguments of the golden call of a procedure, as they are written there."""
    said = _LITERAL.findall(_SPELLED[name])
    order = CALLED[name].order
    given = {named or order[number]: text for number, (named, text) in enumerate(said)}
    return {each: text for each, text in given.items() if text != "NULL"}


def _written(name: str, order: Sequence[str], named: Mapping[str, str]) -> str:
    texts = [*order, *(f"{each} => {text}" for each, text in named.items())]
    return f"{name}({', '.join(texts)})"


def _spellings(name: str) -> Iterator[str]:
    """The golden call of a procedure, in each way in which it can be written."""
    called, given = CALLED[name], _by_name(name)
    beside = {each: text for each, text in given.items() if each not in called.order}
    ordered = [given.get(each, "NULL") for each in called.order]
    last = max((number for number, text in enumerate(ordered, 1) if text != "NULL"), default=0)
    yield _written(name, ordered[:last], beside)
    yield _written(name, [], given)
    for each, text in given.items():
        ours = called.arguments[each]
        for alias in (name for name, other in called.arguments.items() if other == ours != EITHER):
            if alias != each:
                rest = {key: said for key, said in given.items() if key != each}
                yield _written(name, [], {alias: text, **rest})


def _read(spelling: str) -> Statement:
    (statement,) = parse_statements(f"CALL sys.{spelling}")
    return replace(statement, text="")


@pytest.mark.parametrize("name", CALLED)
def test_every_spelling_of_a_call_is_the_call_that_is_answered(name: str, golden: Golden) -> None:
    spellings = [*_spellings(name)]
    asked = _read(f"{name}({_SPELLED[name]})")
    assert all(_read(each) == asked for each in spellings), name
    golden.check(f"calls/spelled/{name}.txt", "".join(f"CALL sys.{each}\n" for each in spellings))


@pytest.mark.parametrize("name", CALLED)
def test_null_is_an_argument_that_is_not_given(name: str) -> None:
    called, given = CALLED[name], _by_name(name)
    asked = _read(f"{name}({_SPELLED[name]})")
    beside = {each: text for each, text in given.items() if each not in called.order}
    ordered = [given.get(each, "NULL") for each in called.order]
    assert _read(_written(name, ordered, beside)) == asked
    left = dict.fromkeys((*called.order, *called.arguments, *called.refuses), "NULL")
    assert _read(_written(name, [], {**left, **given})) == asked


@pytest.mark.parametrize("name", CALLED)
def test_an_argument_is_given_once_in_its_place_and_by_its_name(name: str) -> None:
    called, given = CALLED[name], _by_name(name)
    first, text = next(iter(given.items()))

    def told(order: Sequence[str], *named: str) -> str:
        with pytest.raises(InvalidInput) as error:
            parse_statements(f"CALL sys.{name}({', '.join((*order, *named))})")
        return error.value.message

    assert "as the one before has a name" in told((), f"{first} => {text}", text)
    assert f"the arguments are {', '.join(called.order)}" in told(["NULL"] * len(called.order), "1")
    assert f"{first!r} is given twice" in told((), f"{first} => {text}", f"{first} => {text}")
    assert f"{called.order[0]!r} is given twice" in told(["NULL"], f"{called.order[0]} => 'x'")
    for each in called.arguments:
        if len(each) > 3:
            assert f"did you mean {each}?" in told((), f"{each[:2]}{each[3:]}x => 1")


def test_every_column_tells_something_that_a_receipt_has() -> None:
    counts = {each.name for each in fields(Counts)}
    for name, called in CALLED.items():
        assert called.answers, name
        for column in called.answers:
            assert isinstance(column.tells, Tells) or column.tells in counts, (name, column)


def test_every_procedure_takes_the_arguments_of_paimon_in_their_order(golden: Golden) -> None:
    lines = []
    for name in sorted(CALLED):
        called = CALLED[name]
        beside = [each for each in called.arguments if each not in called.order]
        lines.append(f"{name}({', '.join(called.order)}; {', '.join(beside)})")
    golden.check("calls/arguments.txt", "\n".join(lines) + "\n")
