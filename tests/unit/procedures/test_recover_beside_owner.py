"""Recovery beside an owner that is still at work: one of them carries the operation out."""

import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from branch_console.commit.journal import Journal
from branch_console.errors import PaimonError
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument
from tests.support.branch_bench import NOW, BranchBench
from tests.support.examples import Examples
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import run, without_hints, without_renames
from tests.support.two_branches import dev_ahead, move_main

LATER = NOW + 120_000
AFTER_A_WHILE = NOW + 400_000

CALLS: dict[str, dict[str, Argument]] = {
    "create_branch": {"branch": "new"},
    "drop_branch": {"branch": "dev"},
    "rename_branch": {"branch": "dev", "to": "fix"},
    "fast_forward": {"branch": "dev", "force": True},
    "rollback": {"snapshot": 1, "cut": True},
    "undo": {"operation": "earlier"},
}
verbs = pytest.mark.parametrize("name", CALLS)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """Main and dev went apart, and a branch was dropped."""
    bench = dev_ahead(tmp_path / "origin")
    move_main(bench)
    bench.append("y", user="etl")
    bench.branch("old")
    run(bench, "drop_branch", "earlier", branch="old")
    return tmp_path / "origin"


def copied(origin: Path, name: str) -> BranchBench:
    to = origin.parent / name
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(origin, to)
    return BranchBench(to)


def open_operations(bench: BranchBench) -> list[str]:
    return [each.operation_id for each in Journal(bench.store, bench.table().paths).unfinished()]


def stores(has_renames: bool, bench: BranchBench) -> FaultyStore:
    inner = bench.store if has_renames else without_renames(Path(bench.file_io.root))
    return FaultyStore(inner=inner)


@pytest.mark.depth("full")
@pytest.mark.parametrize("has_renames", [True, False], ids=["renames", "copies"])
@verbs
def test_recovery_at_any_moment_of_the_owner_does_no_harm(
    origin: Path, name: str, has_renames: bool, examples: Examples
) -> None:
    clean = copied(origin, "clean")
    counter = stores(has_renames, clean)
    run(clean, name, store=counter.store, **CALLS[name])
    wanted = without_hints(clean)
    # But for long runs a store that renames and one that does not share the changes.
    every = 1 if examples.depth == "long" else 2
    for number in range(2 + int(has_renames) % every, len(counter.changes) + 1, every):
        bench = copied(origin, "beside")
        faulty = stores(has_renames, bench)
        other = BranchBench(Path(bench.file_io.root))
        faulty.meanwhile[number] = partial(run, other, "recover", "other", now=LATER)
        receipt = run(bench, name, store=faulty.store, **CALLS[name])
        assert receipt.operation_id == "op"
        assert without_hints(bench) == wanted, counter.changes[number - 1]
        assert open_operations(bench) == []


@pytest.mark.depth("full")
@verbs
def test_an_owner_that_goes_on_beside_recovery_does_no_harm(origin: Path, name: str) -> None:
    """The owner comes back to an operation that recovery is in the middle of."""
    clean = copied(origin, "clean")
    counter = stores(True, clean)
    run(clean, name, store=counter.store, **CALLS[name])
    wanted = without_hints(clean)
    for number in range(2, len(counter.changes)):
        bench = copied(origin, "beside")
        with pytest.raises(Killed):
            run(bench, name, store=killed_at(bench, 2).store, **CALLS[name])
        told: list[Receipt | PaimonError] = []
        owner = threading.Thread(target=again, args=(bench, name, told))
        recovering = stores(True, BranchBench(Path(bench.file_io.root)))

        def start(owner: threading.Thread = owner) -> None:
            owner.start()
            owner.join(0.05)

        recovering.meanwhile[number] = start
        run(bench, "recover", "other", store=recovering.store, now=LATER)
        if owner.ident is None:
            break
        owner.join(30)
        assert [getattr(each, "operation_id", each) for each in told] == ["op"]
        assert without_hints(bench) == wanted
        assert open_operations(bench) == []


def killed_at(bench: BranchBench, number: int) -> FaultyStore:
    return FaultyStore(inner=bench.store, fault=At(call=number, when=When.BEFORE))


def again(bench: BranchBench, name: str, told: list[Receipt | PaimonError]) -> None:
    try:
        told.append(run(BranchBench(Path(bench.file_io.root)), name, **CALLS[name]))
    except PaimonError as error:
        told.append(error)


@verbs
def test_an_owner_sees_what_recovery_ended_before_it_went_on(origin: Path, name: str) -> None:
    """An intent is written, its owner stands still, recovery carries the operation out."""
    clean = copied(origin, "clean")
    run(clean, name, **CALLS[name])
    bench = copied(origin, "beside")
    meanwhile = [partial(run, bench, "recover", "other", now=LATER)]
    held = Journal.hold

    def paused(journal: Journal, operation_id: str, *, longest_wait_seconds: float) -> object:
        if operation_id == "op" and meanwhile:
            meanwhile.pop()()
        return held(journal, operation_id, longest_wait_seconds=longest_wait_seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "hold", paused)
        assert run(bench, name, **CALLS[name]).operation_id == "op"
    assert without_hints(bench) == without_hints(clean)


def test_the_operation_of_another_machine_is_left_alone_for_longer(origin: Path) -> None:
    bench = copied(origin, "beside")
    with pytest.raises(Killed):
        run(bench, "drop_branch", store=killed_at(bench, 2).store, branch="dev")
    journal = Journal(bench.store, bench.table().paths)
    (intent,) = journal.unfinished()
    journal.remove_intent("op")
    journal.begin(replace(intent, host="elsewhere"))
    run(bench, "recover", "soon", now=LATER)
    assert open_operations(bench) == ["op"]
    run(bench, "recover", "then", now=AFTER_A_WHILE)
    assert open_operations(bench) == []


def test_a_branch_that_somebody_takes_away_at_the_last_moment_is_told_as_gone(
    origin: Path,
) -> None:
    bench = copied(origin, "beside")
    faulty = FaultyStore(inner=bench.store)
    root = bench.table("dev").paths.root
    faulty.meanwhile[2] = lambda: shutil.rmtree(root)
    with pytest.raises(PaimonError, match="Branch 'dev' is gone"):
        run(bench, "drop_branch", store=faulty.store, branch="dev")
    assert open_operations(bench) == []
