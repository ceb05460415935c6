"""What one of many branches costs: the others are looked at once, and seen again if they change."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import Refused
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.history.dependents import commits_only_on, options_naming
from branch_console.procedures.preview import preview_call
from branch_console.storage.file_io import LocalFileIO
from tests.support.branch_bench import NOW, BranchBench
from tests.support.lifecycle import preview, run

_LONG_AGO = time.time() - 60


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Eight branches, whose folders nobody changed for a while."""
    bench = BranchBench(tmp_path)
    bench.append("a")
    for number in range(8):
        bench.branch(f"b{number}")
    _settle(bench)
    return bench


@contextmanager
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count what is asked of each path, but for names and whether it is there."""
    asked: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for name in ("read", "list"):
            real = getattr(LocalFileIO, name)

            def ask(self: LocalFileIO, path: str, real: Any = real) -> Any:
                asked[path] += 1
                return real(self, path)

            patch.setattr(LocalFileIO, name, ask)
        yield asked


def _settle(bench: BranchBench) -> None:
    for folder in Path(bench.table().paths.table).rglob("*"):
        if folder.is_dir():
            os.utime(folder, (_LONG_AGO, _LONG_AGO))


def _touches(asked: Counter[str], name: str) -> int:
    return sum(count for path, count in asked.items() if name in path)


@pytest.mark.parametrize("verb", ["drop_branch", "protect_branch"])
def test_a_second_preview_reads_nothing_of_other_branches(
    bench: BranchBench, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = bench.warehouse()

    def look(branch: str) -> None:
        arguments = {"table": "db.t", "branch": branch}
        call = ProcedureCall(name=verb, arguments=arguments, actor="ann", operation_id="op")
        preview_call(warehouse, call)

    look("b0")
    with reads(monkeypatch) as asked:
        look("b1")
    assert [_touches(asked, f"branch-b{number}/") for number in range(2, 8)] == [0] * 6
    assert _touches(asked, "/event-") == 0


def test_an_option_that_somebody_sets_is_seen(bench: BranchBench) -> None:
    assert options_naming(bench.table(), "b1") == ()
    options = set_options({"scan.fallback-branch": "b1"})
    change_schema(bench.table("b5"), bench.store, [options], now_millis=NOW)
    (use,) = options_naming(bench.table(), "b1")
    assert (use.branch, use.key) == ("b5", "scan.fallback-branch")
    assert not preview(bench, "drop_branch", branch="b1").can_run


def test_an_option_set_while_somebody_decides_is_seen_by_all_others(bench: BranchBench) -> None:
    table = bench.table()
    holder = bench.table("b5")
    options = set_options({"scan.fallback-branch": "b1"})
    with table.listing_once() as deciding:
        assert deciding.on_listed("b5").schemas.find_latest() is not None
        change_schema(holder, bench.store, [options], now_millis=NOW)
        # The clock of the folder went on since.
        _settle(bench)
        # Who decides sees one state of each folder.
        assert options_naming(deciding, "b1") == ()
    assert [use.branch for use in options_naming(table, "b1")] == ["b5"]


def test_options_of_a_schema_that_is_mended_are_seen(bench: BranchBench) -> None:
    holder = bench.table("b5")
    schema = Path(holder.paths.schema(0))
    options = set_options({"scan.fallback-branch": "b1"})
    change_schema(holder, bench.store, [options], now_millis=NOW)
    named = Path(holder.paths.schema(1))
    whole = named.read_bytes()
    named.write_bytes(b"{")
    _settle(bench)
    table = bench.table()
    assert options_naming(table, "b1") == ()
    # Nothing came or went: the folder looks as it did.
    named.write_bytes(whole)
    assert [use.branch for use in options_naming(table, "b1")] == ["b5"]
    named.unlink()
    assert schema.exists()
    assert options_naming(table, "b1") == ()


def test_the_options_of_a_branch_that_took_another_ones_place_are_seen(
    bench: BranchBench,
) -> None:
    options = set_options({"scan.fallback-branch": "b1"})
    change_schema(bench.table("b5"), bench.store, [options], now_millis=NOW)
    _settle(bench)
    table = bench.table()
    assert [use.branch for use in options_naming(table, "b1")] == ["b5"]
    # The folders have one time, and change places.
    folders = [Path(bench.table(name).paths.schema_dir) for name in ("b5", "b6")]
    beside = folders[0].with_name("beside")
    folders[0].rename(beside)
    folders[1].rename(folders[0])
    beside.rename(folders[1])
    assert [use.branch for use in options_naming(table, "b1")] == ["b6"]


def test_an_event_that_left_the_ledger_is_told_no_more(bench: BranchBench) -> None:
    ledger = bench.table().ledger
    before = ledger.whole()
    assert ledger.whole() == before
    run(bench, "rename_branch", branch="b1", to="later")
    assert [event.branch for event in ledger.whole()].count("later") == 2
    newest = max(Path(bench.table().paths.lineage_dir).glob("event-*"))
    newest.unlink()
    assert ledger.whole() == before


def test_a_commit_that_another_branch_takes_over_is_no_longer_lost(bench: BranchBench) -> None:
    bench.append("own", branch="b2")
    _settle(bench)
    table = bench.table("b2")
    (own,) = commits_only_on(table, ())
    assert own.id == 2
    copy = Path(bench.table("b3").paths.snapshot(2))
    copy.write_bytes(Path(table.paths.snapshot(2)).read_bytes())
    assert commits_only_on(table, ()) == ()


def test_an_event_that_is_put_back_is_read(bench: BranchBench) -> None:
    events = sorted(Path(bench.table().paths.lineage_dir).glob("event-*"))
    whole = events[0].read_bytes()
    events[0].write_bytes(b"{")
    with pytest.raises(Refused, match="history of operations is incomplete"):
        run(bench, "protect_branch", branch="b1")
    events[0].write_bytes(whole)
    run(bench, "protect_branch", branch="b1")
    assert len(bench.table().ledger.whole()) == 9


def test_a_file_beside_the_branches_is_none(bench: BranchBench) -> None:
    (Path(bench.table().paths.branch_dir) / "branch-note").write_text("not a folder")
    assert bench.table().branches.names() == tuple(f"b{number}" for number in range(8))
