"""A table is emptied where nothing but main needs its files; a rescue branch keeps them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, Refused
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import metadata, preview, run, without_hints


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    for name in "abc":
        bench.append(name)
    return bench


def test_main_is_empty_and_comes_back_byte_for_byte(bench: BranchBench) -> None:
    before = without_hints(bench)
    found = preview(bench, "purge_files")
    assert (found.typed_name, str(found.role)) == ("db.t", "operator")
    receipt = run(bench, "purge_files", reason="a new beginning")
    main = bench.table()
    assert (main.head(), main.snapshots.ids(), main.schemas.ids()) == (None, (), (0,))
    assert bench.table("rescue-op").snapshots.ids() == (1, 2, 3)
    assert bench.live_names("rescue-op") == {f"data-{each}.parquet" for each in "abc"}
    assert receipt.rescue_branch == "rescue-op"
    run(bench, "undo", "back", operation="op")
    after = without_hints(bench)
    assert {name: after[name] for name in before} == before


def test_main_begins_anew_after_a_purge(bench: BranchBench) -> None:
    run(bench, "purge_files")
    assert bench.append("new").id == 1
    assert bench.live_names() == {"data-new.parquet"}
    assert bench.live_names("rescue-op") == {f"data-{each}.parquet" for each in "abc"}


def a_branch(bench: BranchBench) -> None:
    bench.branch("dev")


def a_tag(bench: BranchBench) -> None:
    bench.tag("v1")


def a_consumer(bench: BranchBench) -> None:
    path = Path(bench.table().paths.consumer("etl"))
    path.parent.mkdir()
    path.write_text('{"nextSnapshot" : 1}')


def a_changelog(bench: BranchBench) -> None:
    path = Path(bench.table().paths.changelog(1))
    path.parent.mkdir()
    path.write_bytes(Path(bench.table().paths.snapshot(1)).read_bytes())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (a_branch, "The branches of the table would lose"),
        (a_tag, "The tags of the table would lose"),
        (a_consumer, "The consumers of the table would lose"),
        (a_changelog, "The changelogs of the table would lose"),
    ],
)
def test_whoever_needs_its_files_stops_it(
    bench: BranchBench, make: Callable[[BranchBench], None], words: str
) -> None:
    make(bench)
    before = metadata(bench)
    with pytest.raises(Refused, match=words) as caught:
        run(bench, "purge_files")
    assert caught.value.kind is ErrorKind.FILES_IN_USE
    assert metadata(bench) == before


def test_an_empty_table_has_nothing_to_purge(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="nothing to purge") as caught:
        run(BranchBench(tmp_path), "purge_files")
    assert caught.value.kind is ErrorKind.NOTHING_TO_DO
