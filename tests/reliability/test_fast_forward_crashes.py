"""A kill before, after or in the middle of every change: then the same again, as if unkilled."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.commit.journal import Ending, Journal
from core.errors import CommitConflict, StorageError
from core.procedures.recover import FRESH_MILLIS, recover_table
from tests.support.branch_bench import NOW, BranchBench, opened, store_of, tree
from tests.support.commit_tables import data_files, message
from tests.support.faulty_store import At, FaultyStore, Killed, What, When

Run = Callable[[BranchBench, FaultyStore | None], object]


def ahead(root: Path) -> None:
    """A branch that is three snapshots, a schema and a tag ahead of main."""
    bench = BranchBench(root)
    bench.append("a")
    bench.append("b")
    bench.tag("v1")
    bench.branch("dev")
    bench.append("c", branch="dev")
    bench.alter("dev")
    bench.append("d", branch="dev")
    bench.tag("v2", "dev")
    bench.append("e", branch="dev")


def diverged(root: Path) -> None:
    """The same, and main went on with a commit, a schema and a tag of the same name."""
    ahead(root)
    bench = opened(root)
    bench.append("x")
    bench.alter("main", "other")
    bench.tag("v2")
    bench.append("y")


def fast_forward(bench: BranchBench, faulty: FaultyStore | None) -> object:
    return bench.call("fast_forward", store=faulty and faulty.store, branch="dev")


def replace(bench: BranchBench, faulty: FaultyStore | None) -> object:
    return bench.call("fast_forward", store=faulty and faulty.store, branch="dev", force=True)


def create(bench: BranchBench, faulty: FaultyStore | None) -> object:
    return bench.call("create_branch", store=faulty and faulty.store, branch="new", tag="v1")


def create_empty(bench: BranchBench, faulty: FaultyStore | None) -> object:
    return bench.call("create_branch", store=faulty and faulty.store, branch="new", empty=True)


SCENARIOS: dict[str, tuple[Callable[[Path], None], Run]] = {
    "fast-forward": (ahead, fast_forward),
    "replace": (diverged, replace),
    "create branch": (ahead, create),
    "create empty branch": (ahead, create_empty),
}


@pytest.mark.parametrize("repair", ["again", "recover"])
@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_at_any_change_and_repaired_is_as_if_unkilled(
    tmp_path: Path, scenario: str, when: When, repair: str
) -> None:
    build, run = SCENARIOS[scenario]
    origin = tmp_path / "origin"
    origin.mkdir()
    build(origin)
    clean = _copy(origin, tmp_path / "clean")
    counter = FaultyStore(inner=store_of(clean))
    run(opened(clean), counter)
    expected, before = tree(clean), tree(origin)

    for number in range(1, len(counter.changes) + 1):
        where = f"{when} {number}: {counter.changes[number - 1]}"
        root = _copy(origin, tmp_path / "killed")
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            run(opened(root), faulty)
        _check_valid(opened(root), before, where, replaced=scenario == "replace")
        if repair == "recover":
            _recover(root)
        # Whatever recovery could not know of, because no intent was written, is done by the call.
        run(opened(root), None)
        assert tree(root) == expected, where


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
@pytest.mark.parametrize("what", [What.SAY_UNKNOWN, What.SAY_LOST, What.FAIL])
def test_answers_that_are_lost_or_wrong_are_looked_up(
    tmp_path: Path, when: When, what: What
) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    ahead(origin)
    clean = _copy(origin, tmp_path / "clean")
    counter = FaultyStore(inner=store_of(clean))
    fast_forward(opened(clean), counter)

    for number in range(1, len(counter.changes) + 1):
        root = _copy(origin, tmp_path / "faulty")
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when, what=what))
        try:
            fast_forward(opened(root), faulty)
        except StorageError:
            assert what is What.FAIL
            fast_forward(opened(root), None)
        got, want = tree(root), tree(clean)
        hints = {name for name in want if name.endswith(("LATEST", "EARLIEST"))}
        # A hint that could not be written costs readers a listing, no more.
        assert {k: v for k, v in got.items() if k not in hints} == {
            k: v for k, v in want.items() if k not in hints
        }, counter.changes[number - 1]


def test_a_writer_in_between_stops_a_fast_forward_and_loses_nothing(tmp_path: Path) -> None:
    ahead(tmp_path)
    clean = FaultyStore(inner=store_of(_copy(tmp_path, tmp_path.parent / "count")))
    fast_forward(opened(tmp_path.parent / "count"), clean)
    last = next(i for i, each in enumerate(clean.changes, 1) if each.endswith("/snapshot-5"))

    def commit_on_main() -> None:
        bench = opened(tmp_path)
        bench.committer().commit([message(new_files=data_files(["etl"]))], user="etl", identifier=1)

    faulty = FaultyStore(inner=store_of(tmp_path), meanwhile={last: commit_on_main})
    with pytest.raises(CommitConflict, match="snapshot-5 was written by somebody else"):
        fast_forward(opened(tmp_path), faulty)
    bench = opened(tmp_path)
    assert bench.table().snapshots.get(5).commit_user == "etl"
    assert "data-etl.parquet" in bench.live_names()
    journal = Journal(store_of(tmp_path), bench.table().paths)
    end = journal.end_of("op")
    assert end is not None
    assert end.ending is Ending.STOPPED
    assert journal.unfinished() == ()


def test_a_branch_whose_fork_is_gone_is_taken_back_by_recovery(tmp_path: Path) -> None:
    ahead(tmp_path)
    before = set(tree(tmp_path))
    # Killed right behind the intent and the claim; then the tag and its snapshot go.
    faulty = FaultyStore(inner=store_of(tmp_path), fault=At(call=3))
    with pytest.raises(Killed):
        create(opened(tmp_path), faulty)
    paths = opened(tmp_path).table().paths
    store_of(tmp_path).remover.remove([paths.tag("v1"), paths.snapshot(2)])
    _recover(tmp_path)
    bench = opened(tmp_path)
    assert bench.table().branches.names() == ("dev",)
    added = set(tree(tmp_path)) - before
    assert all("branch-lineage/" in name for name in added)
    assert not any("claim" in name for name in added)


def _recover(root: Path) -> None:
    bench = opened(root)
    later = bench.warehouse(clock=lambda: NOW + FRESH_MILLIS)
    warehouse = bench.warehouse()
    # The clock of the end is that of the first run, so that the trees can be compared.
    assert later.clock() > warehouse.clock()
    for _ in range(2):
        recover_table(_Later(warehouse), bench.table())  # type: ignore[arg-type]


class _Later:
    """A warehouse whose clock is late once, when the age of an intent is asked for."""

    def __init__(self, warehouse: object) -> None:
        self._warehouse = warehouse
        self._asked = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._warehouse, name)

    def clock(self) -> int:
        late = not self._asked
        self._asked = True
        return NOW + (FRESH_MILLIS if late else 0)


def _check_valid(
    bench: BranchBench, before: dict[str, bytes], where: str, *, replaced: bool
) -> None:
    """Every branch that can be read is whole, and main keeps what it had."""
    table = bench.table()
    for ref in table.branches.all():
        branch = table.on(ref.branch)
        ids = branch.snapshots.ids()
        assert list(ids) == list(range(ids[0], ids[-1] + 1)) if ids else True, where
        for snapshot in branch.snapshots.all():
            branch.live_files(snapshot)
            branch.schemas.get(snapshot.schema_id)
        for tag in branch.tags.all():
            branch.live_files(tag.snapshot)
    if replaced:
        return
    after = tree(Path(bench.file_io.root))
    assert {k: v for k, v in after.items() if k in before and not _is_hint(k)} == {
        k: v for k, v in before.items() if not _is_hint(k)
    }, where


def _is_hint(name: str) -> bool:
    return name.endswith(("LATEST", "EARLIEST"))


def _copy(origin: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(origin, to)
    return to
