"""A history that has a gap begins behind it; what stands before it is retired, and comes back."""

from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, InvalidInput, NotFound, Refused
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import store_of
from tests.support.expiry_bench import LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import metadata, preview, run, without_hints


def broken(root: Path, *gone: int) -> ExpiryBench:
    """A table of six snapshots, each of which replaced the file before, without some of them."""
    bench = ExpiryBench(root)
    for name in "abcdef":
        bench.replace(name)
    paths = bench.table().paths
    bench.store.remover.remove(paths.snapshot(each) for each in gone)
    return bench


def numbers(bench: ExpiryBench) -> set[int]:
    folder = Path(bench.table().paths.snapshot_dir)
    return {int(each.name.removeprefix("snapshot-")) for each in folder.glob("snapshot-*")}


def data(bench: ExpiryBench) -> set[str]:
    return {each.name[5] for each in (Path(bench.path) / "bucket-0").iterdir()}


@pytest.mark.parametrize(
    ("gone", "first", "previous"), [((3,), 4, 1), ((2, 4), 5, 1), ((1, 2, 4), 5, 3)]
)
def test_what_stands_before_the_gap_leaves_and_comes_back(
    tmp_path: Path, gone: tuple[int, ...], first: int, previous: int
) -> None:
    bench = broken(tmp_path, *gone)
    before = without_hints(bench)
    receipt = run(bench, "repair_earliest_snapshot", snapshot=first)
    assert receipt.answer == (
        {"previous_earliest_snapshot_id": previous, "current_earliest_snapshot_id": first},
    )
    assert numbers(bench) == set(range(first, 7))
    assert bench.table().snapshots.find_earliest_hint() == first
    run(bench, "undo", "back", operation="op")
    assert without_hints(bench) == before


def test_its_files_go_with_the_first_expiry_after_the_grace(tmp_path: Path) -> None:
    bench = broken(tmp_path, 3)
    run(bench, "repair_earliest_snapshot", snapshot=4)
    assert data(bench) == set("abcdef")
    limits = {"retain_max": 3, "retain_min": 3}
    bench.call("expire_snapshots", operation="later", clock=lambda: LATER, **limits)
    # What only the lost snapshot held is found by a search for orphans.
    assert data(bench) == set("cdef")


def test_names_below_a_hint_that_hides_them_go_too(tmp_path: Path) -> None:
    bench = broken(tmp_path)
    bench.store.publisher.replace_hint(bench.table().paths.earliest_hint, b"3")
    run(bench, "repair_earliest_snapshot", snapshot=3)
    assert numbers(bench) == {3, 4, 5, 6}


@pytest.mark.parametrize(
    ("gone", "first", "kind", "words"),
    [
        ((3,), 5, ErrorKind.INVALID_ARGUMENT, "Snapshot 4 of 'main' is there, so no gap ends at"),
        ((2, 4), 3, ErrorKind.INVALID_ARGUMENT, "would have another gap. Begin with snapshot 5."),
        ((1,), 2, ErrorKind.NOTHING_TO_DO, "Snapshot 2 is the earliest of 'main' already."),
    ],
)
def test_what_is_refused_changes_nothing(
    tmp_path: Path, gone: tuple[int, ...], first: int, kind: ErrorKind, words: str
) -> None:
    bench = broken(tmp_path, *gone)
    before = metadata(bench)
    with pytest.raises(Refused, match=words) as caught:
        run(bench, "repair_earliest_snapshot", snapshot=first)
    assert caught.value.kind is kind
    assert metadata(bench) == before


def test_a_snapshot_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="has no snapshot 3"):
        run(broken(tmp_path, 3), "repair_earliest_snapshot", snapshot=3)
    with pytest.raises(InvalidInput, match="'grace' of repair_earliest_snapshot is 'soon'"):
        run(broken(tmp_path / "other", 3), "repair_earliest_snapshot", snapshot=4, grace="soon")


def test_a_snapshot_that_cannot_be_read_stops_it(tmp_path: Path) -> None:
    bench = broken(tmp_path, 3)
    path = Path(bench.table().paths.snapshot(2))
    path.write_text("{")
    told = preview(bench, "repair_earliest_snapshot", snapshot=4).blocks
    assert [each.details for each in told] == [(str(path),)]
    assert told[0].kind is ErrorKind.BROKEN_FILE


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_kill_at_each_change_ends_with_none_or_all(tmp_path: Path, when: When) -> None:
    ended = []
    for number in range(1, 60):
        root = tmp_path / str(number)
        bench = broken(root, 3)
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
        try:
            run(bench, "repair_earliest_snapshot", store=faulty.store, snapshot=4)
        except Killed:
            recover_table(bench.warehouse(clock=lambda: LATER), bench.table())
        ended.append(len(numbers(bench)))
        if len(faulty.changes) < number:
            break
    assert ended == sorted(ended, reverse=True)
    # From the intent on all goes, which is the first change.
    assert {*ended} == ({3, 5} if when is When.BEFORE else {3})
