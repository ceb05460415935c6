"""What is said of the target of a job whose publishing step ended with an error, or was killed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import PaimonError
from branch_console.jobs.progress import TargetMove
from branch_console.jobs.target_moves import target_after_failure, target_when_done
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.run.open_operation import FRESH_MILLIS
from tests.support.branch_bench import NOW, BranchBench
from tests.support.faulty_store import At, FaultyStore, Killed, What, When
from tests.support.lifecycle import run

LATER = NOW + 2 * FRESH_MILLIS
CALL = ProcedureCall(
    name="fast_forward", arguments={"table": "db.t", "branch": "dev"}, actor="ann",
    operation_id="ff",
)  # fmt: skip
BEFORE, AFTER = 1, 2


@pytest.fixture
def new(tmp_path: Path) -> Callable[[], BranchBench]:
    """Makes a table each time: main at 1, and dev one commit ahead."""
    made = []

    def make() -> BranchBench:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        bench = BranchBench(folder)
        bench.append("a")
        bench.branch("dev")
        bench.append("b", branch="dev")
        made.append(bench)
        return bench

    return make


def head(bench: BranchBench) -> int | None:
    return bench.table().snapshots.latest_id()


def stopped(bench: BranchBench, fault: At) -> PaimonError | Killed | None:
    """Fast-forward main with a fault; the error that ended it, None if it was done all the same."""
    faulty = FaultyStore(inner=bench.store, fault=fault)
    try:
        run(bench, CALL.name, CALL.operation_id, store=faulty.store, branch="dev")
    except (PaimonError, Killed) as error:
        return error
    return None


def number_of_changes(bench: BranchBench) -> int:
    counting = FaultyStore(inner=bench.store)
    run(bench, CALL.name, CALL.operation_id, store=counting.store, branch="dev")
    return len(counting.changes)


@pytest.mark.parametrize("what", [What.FAIL, What.KILL])
@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_what_is_said_of_the_target_is_so_wherever_a_store_fails_or_a_process_dies(
    new: Callable[[], BranchBench], what: What, when: When
) -> None:
    seen = set()
    for number in range(1, number_of_changes(new()) + 1):
        bench = new()
        error = stopped(bench, At(call=number, when=when, what=what))
        if error is None:
            continue
        told = error if isinstance(error, PaimonError) else PaimonError(str(error))
        said = target_after_failure(bench.warehouse(), CALL, told)
        seen.add(said)
        if said is not TargetMove.UNKNOWN:
            assert head(bench) == (AFTER if said is TargetMove.MOVED else BEFORE), number
            at_once = head(bench)
            run(bench, "recover", "recovery", now=LATER)
            assert head(bench) == at_once, f"recovery still had something to decide at {number}"
        else:
            run(bench, "recover", "recovery", now=LATER)
            assert head(bench) == AFTER, number
            assert target_after_failure(bench.warehouse(), CALL, told) is TargetMove.MOVED
    assert TargetMove.UNKNOWN in seen


def test_a_run_that_was_killed_between_its_commit_and_its_receipt_is_not_called_unchanged(
    new: Callable[[], BranchBench],
) -> None:
    for number in range(1, number_of_changes(new()) + 1):
        bench = new()
        if isinstance(stopped(bench, At(call=number)), Killed) and head(bench) == AFTER:
            break
    assert head(bench) == AFTER, "it has moved, and no receipt says so"
    assert bench.table().ledger.events()[-1].operation_id != CALL.operation_id
    said = target_after_failure(bench.warehouse(), CALL, PaimonError("Worker lost."))
    assert said is TargetMove.UNKNOWN


def test_a_journal_that_cannot_be_read_leaves_it_unknown(new: Callable[[], BranchBench]) -> None:
    bench = new()
    stopped(bench, At(call=2))
    Path(f"{bench.table().paths.lineage_dir}/done-{CALL.operation_id}.json").write_text("{")
    assert target_after_failure(bench.warehouse(), CALL, PaimonError("")) is TargetMove.UNKNOWN


def test_a_call_without_a_journal_has_no_answer(new: Callable[[], BranchBench]) -> None:
    query = ProcedureCall(
        name="query", arguments={"sql": "SELECT 1"}, actor="ann", operation_id="q"
    )
    assert target_after_failure(new().warehouse(), query, PaimonError("")) is None


def call_of(name: str) -> ProcedureCall:
    arguments = (
        {"sql": "ALTER TABLE db.t SET ('a' = 'b')"} if "table" in name else {"table": "db.t"}
    )
    return ProcedureCall(name=name, arguments=arguments, actor="ann", operation_id="x")


@pytest.mark.parametrize(
    ("name", "so_far", "is_kept", "target_is"),
    [
        ("fast_forward", TargetMove.MOVED, True, TargetMove.MOVED),
        ("fast_forward", TargetMove.MOVED, False, TargetMove.UNCHANGED),
        ("drop_table", TargetMove.MOVED, False, TargetMove.UNCHANGED),
        ("create_branch", TargetMove.MOVED, True, TargetMove.MOVED),
        ("apply_policy", TargetMove.UNCHANGED, False, TargetMove.UNCHANGED),
        ("apply_policy", TargetMove.MOVED, False, TargetMove.UNKNOWN),
        ("set_policy", TargetMove.MOVED, False, TargetMove.UNKNOWN),
        ("recover", TargetMove.MOVED, False, TargetMove.UNKNOWN),
        ("alter_table", TargetMove.MOVED, False, TargetMove.UNKNOWN),
        ("insert", TargetMove.UNKNOWN, False, TargetMove.UNKNOWN),
        ("query", TargetMove.UNCHANGED, False, TargetMove.UNCHANGED),
    ],
)
def test_a_call_that_no_ledger_holds_is_not_called_unchanged_after_it_published(
    name: str, so_far: TargetMove, is_kept: bool, target_is: TargetMove
) -> None:
    assert target_when_done(call_of(name), so_far, is_kept=is_kept) is target_is


def test_an_alter_that_failed_has_no_answer_in_the_journal_of_the_catalog(
    new: Callable[[], BranchBench],
) -> None:
    alter = call_of("alter_table")
    assert target_after_failure(new().warehouse(), alter, PaimonError("")) is None
