"""Rows of append tables that both sides delete by deletion vectors, which Java writes and reads."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.format.receipt import Receipt
from branch_console.merge.plan import conflicts_of
from branch_console.operations.isolation import Isolation
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import COPIED, SHARED, MergeBench, Rows, put, three_way

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

Act: TypeAlias = Callable[[MergeBench], None]

_VECTORS: Final = {"deletion-vectors.enabled": "true"}


def _other_rows(bench: MergeBench) -> None:
    bench.hide("dev", 1)
    bench.hide("main", 2)


def _the_same_row(bench: MergeBench) -> None:
    bench.hide("dev", 1, 2)
    bench.hide("main", 2)


def _compacted_by_the_target(bench: MergeBench) -> None:
    bench.hide("dev", 1)
    bench.hide("main", 2)
    bench.compact("main")


def _compacted_by_the_source(bench: MergeBench) -> None:
    bench.hide("dev", 1, 5)
    bench.compact("dev")
    bench.hide("main", 2)


def _hidden_in_what_the_source_compacted(bench: MergeBench) -> None:
    bench.compact("dev")
    bench.hide("dev", 1, 5)
    bench.insert("main", 41)


def _beside_a_file_that_goes(bench: MergeBench) -> None:
    bench.hide("main", 2)
    bench.compact("main")
    bench.delete("dev", 5, 6, 7, 8)


def _hidden_in_a_file_that_goes(bench: MergeBench) -> None:
    bench.delete("dev", 5, 6, 7, 8)
    bench.hide("main", 2, 6)


def _gone_on_the_target(bench: MergeBench) -> None:
    bench.hide("dev", 1, 6)
    bench.delete("main", 5, 6, 7, 8)


def _rows_of_its_own(bench: MergeBench) -> None:
    bench.insert("dev", 21, 22, 23)
    bench.hide("dev", 22, 3)
    bench.insert("main", 41, 42)
    bench.hide("main", 42, 4)


# Each leaves rows that either side has deleted nowhere, and all others.
_CELLS: Final[Mapping[str, Act]] = {
    "other rows of a file": _other_rows,
    "the same row": _the_same_row,
    "the target compacted": _compacted_by_the_target,
    "the source compacted": _compacted_by_the_source,
    "hidden in what the source compacted": _hidden_in_what_the_source_compacted,
    "a compaction with hidden rows is taken back": _beside_a_file_that_goes,
    "the source gave the file up": _hidden_in_a_file_that_goes,
    "the target gave the file up": _gone_on_the_target,
    "rows of its own": _rows_of_its_own,
}


def _update(bench: MergeBench, branch: str, number: int) -> None:
    bench.update(branch, number, amount=7)


def _written_by_the_source(bench: MergeBench) -> None:
    bench.delete("dev", 1)
    bench.hide("main", 2, 6)


def _written_by_the_target(bench: MergeBench) -> None:
    bench.hide("dev", 1, 2, 6)
    bench.delete("main", 2)


def _written_and_compacted(bench: MergeBench) -> None:
    bench.hide("dev", 1)
    bench.delete("main", 2)
    bench.compact("main")


def _hidden_and_compacted(bench: MergeBench) -> None:
    bench.delete("dev", 1)
    bench.hide("main", 2)
    bench.compact("main")


def _hidden_in_what_was_written(bench: MergeBench) -> None:
    bench.delete("dev", 1)
    bench.hide("dev", 2)
    bench.delete("main", 3)
    bench.hide("main", 4)


def _written_by_both_after_hiding(bench: MergeBench) -> None:
    bench.hide("dev", 1)
    bench.delete("dev", 2)
    bench.hide("main", 2)
    bench.delete("main", 3)


# Each leaves rows that either side has deleted nowhere, and a file that one of them wrote again.
_WRITTEN: Final[Mapping[str, Act]] = {
    "the source wrote it again": _written_by_the_source,
    "the target wrote it again": _written_by_the_target,
    "the target compacted what it wrote": _written_and_compacted,
    "the target compacted what it hid": _hidden_and_compacted,
    "hidden in what was written": _hidden_in_what_was_written,
    "both wrote what they had hidden rows of": _written_by_both_after_hiding,
}


@pytest.fixture(params=[SHARED, COPIED], ids=["shared", "copied"])
def diverging(
    request: pytest.FixtureRequest, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> Callable[[str], MergeBench]:
    """Makes a table of two files and a branch."""

    def make(name: str) -> MergeBench:
        folder = tmp_path / name
        bench = MergeBench(open_java(folder), folder, options={**request.param, **_VECTORS})
        bench.insert("main", 1, 2, 3, 4)
        bench.insert("main", 5, 6, 7, 8)
        bench.branch("dev")
        if request.param is SHARED:
            # Else what comes back to main from before its compaction is copied.
            bench.call("fence_branch", branch="main")
        return bench

    return make


def test_rows_that_either_side_hid_are_gone_and_no_data_file_is_written(
    diverging: Callable[[str], MergeBench],
) -> None:
    wrong = {}
    for name, act in _CELLS.items():
        bench = diverging(name.replace(" ", "-"))
        base = bench.rows["dev"]
        act(bench)
        try:
            _merges(bench, base)
        except (AssertionError, Refused) as error:
            wrong[name] = str(error)
    assert not wrong


def test_merges_of_hidden_rows_repeat_go_back_and_are_reverted(
    diverging: Callable[[str], MergeBench],
) -> None:
    bench = diverging("story")
    base = bench.rows["dev"]
    bench.hide("dev", 1)
    bench.hide("main", 2)
    first = _merges(bench, base)
    base = bench.rows["dev"]
    bench.hide("dev", 3)
    bench.hide("main", 4, 5)
    _merges(bench, base)
    base = bench.rows["dev"]
    bench.compact("main")
    bench.hide("dev", 6)
    _merges(bench, base)
    bench.merge("main", "dev", rows=bench.rows["main"])
    base = bench.rows["dev"]
    bench.insert("dev", 21, 22)
    bench.hide("dev", 21, 7)
    bench.hide("main", 8)
    _merges(bench, base)
    bench.check_history()
    bench.call("revert", operation=first.operation_id)
    # What the first merge hid is shown again, what the target hid itself is not.
    bench.rows["main"] = bench.rows["main"] | put([1])
    bench.check()
    bench.go_on()


@pytest.mark.parametrize("is_hidden_before", [False, True])
def test_rows_that_one_side_hid_and_the_other_left_out_of_a_new_file_are_gone(
    is_hidden_before: bool, diverging: Callable[[str], MergeBench]
) -> None:
    wrong = {}
    for name, act in _WRITTEN.items():
        bench = diverging(name.replace(" ", "-"))
        if is_hidden_before:
            bench.hide("main", 8, 3)
            bench.merge("main", "dev", rows=bench.rows["main"])
        base = bench.rows["dev"]
        act(bench)
        try:
            _joins(bench, base)
        except (AssertionError, Refused) as error:
            wrong[name] = str(error)
    assert not wrong


def test_joins_of_hidden_rows_repeat_go_back_and_are_reverted(
    diverging: Callable[[str], MergeBench],
) -> None:
    bench = diverging("joins")
    base = bench.rows["dev"]
    bench.delete("dev", 1)
    bench.hide("main", 2)
    first = _joins(bench, base)
    base = bench.rows["dev"]
    bench.hide("dev", 3, 5)
    bench.hide("main", 4)
    _joins(bench, base)
    bench.merge("main", "dev", rows=bench.rows["main"])
    base = bench.rows["dev"]
    bench.hide("dev", 6)
    bench.delete("main", 7)
    _joins(bench, base)
    bench.check_history()
    bench.go_on()
    with pytest.raises(Refused):
        bench.call("revert", operation=first.operation_id)


def test_a_row_that_was_changed_is_a_conflict_with_those_that_are_hidden_beside_it(
    diverging: Callable[[str], MergeBench],
) -> None:
    bench = diverging("conflict")
    _update(bench, "dev", 1)
    bench.hide("main", 2)
    assert {each.rule for each in conflicts_of(bench.plan())} == {"M1"}
    before = bench.files()
    with pytest.raises(Refused) as refused:
        bench.merge(rows={})
    assert refused.value.kind is ErrorKind.CONFLICTS_OPEN
    assert bench.files() == before


def _joins(bench: MergeBench, base: Rows) -> Receipt:
    """Merge, writing a file again, and have Java read what is left."""
    assert bench.plan(isolation=Isolation.SNAPSHOT).cost.files_joined
    return _merged(bench, base)


def _merges(bench: MergeBench, base: Rows) -> Receipt:
    """Merge, and have Java read what is left; `base` is what the source held at the merge base."""
    before = _data_files(bench)
    receipt = _merged(bench, base)
    if "write-only" in bench.table().schemas()[-1]["options"]:
        assert _data_files(bench) == before
    return receipt


def _merged(bench: MergeBench, base: Rows) -> Receipt:
    merged = three_way(base, bench.rows["main"], bench.rows["dev"])
    receipt = bench.merge(rows=merged, isolation=Isolation.SNAPSHOT)
    bench.check(others=False)
    return receipt


def _data_files(bench: MergeBench) -> set[str]:
    return {name for name in bench.files() if "/bucket-" in name}
