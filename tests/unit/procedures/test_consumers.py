"""Streaming readers read on elsewhere, or go; the fence of a branch is out of reach."""

from pathlib import Path

import pytest

from branch_console.commit.base.fences import fence_state
from branch_console.errors import ErrorKind, InvalidInput, NotAllowed, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.recover import recover_table
from branch_console.storage.table_paths import FENCE_ID
from tests.support.branch_bench import NOW, BranchBench, store_of
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import metadata, preview, run, undo_chance


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    bench = BranchBench(tmp_path)
    for name in "abcd":
        bench.append(name)
    for name, reads_next in (("etl", 2), ("etl-late", 3), ("report", 4)):
        read(bench, name, reads_next)
    bench.fence()
    return bench


def read(bench: BranchBench, name: str, reads_next: int) -> None:
    """A reader comes to a snapshot."""
    path = Path(bench.table().paths.consumer(name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"nextSnapshot" : {reads_next}}}')


def places(bench: BranchBench, branch: str = "main") -> dict[str, int]:
    return {each.id: each.next_snapshot_id for each in bench.table(branch).consumers.all()}


def texts(bench: BranchBench, name: str, **arguments: str | int) -> list[str]:
    return [each.text for each in preview(bench, name, **arguments).consequences]


@pytest.mark.parametrize(
    ("reads_next", "told"),
    [
        (4, "It does not read snapshots 2 to 3 any more."),
        (3, "It does not read snapshot 2 any more."),
        (1, "It reads snapshot 1 again."),
        (5, "It does not read snapshots 2 to 4 any more."),
    ],
)
def test_a_consumer_reads_on_where_it_is_told(
    bench: BranchBench, reads_next: int, told: str
) -> None:
    assert texts(bench, "reset_consumer", consumer="etl", next=reads_next) == [
        f"Consumer 'etl' of 'main' reads snapshot {reads_next} next.",
        told,
        f"Snapshot {reads_next} and later ones do not expire until it has read them.",
    ]
    receipt = run(bench, "reset_consumer", consumer="etl", next=reads_next, reason="behind")
    assert places(bench) == {"etl": reads_next, "etl-late": 3, "report": 4}
    assert receipt.notes == (f"Consumer 'etl' of 'main' reads snapshot {reads_next} next.",)
    event = bench.table().ledger.events()[-1]
    assert (event.kind, event.reason) == (LineageKind.CONSUMERS_RESET, "behind")


def test_one_that_is_new_is_made_as_paimon_does(bench: BranchBench) -> None:
    run(bench, "reset_consumer", consumer="new", next=2)
    paths = bench.table().paths
    assert Path(paths.consumer("new")).read_text() == '{\n  "nextSnapshot" : 2\n}'


@pytest.mark.parametrize(
    ("arguments", "gone"),
    [
        ({}, {"etl", "etl-late", "report"}),
        ({"including": ""}, {"etl", "etl-late", "report"}),
        ({"including": "etl"}, {"etl"}),
        ({"including": "etl.*"}, {"etl", "etl-late"}),
        ({"including": ".*", "excluding": ".*late|report"}, {"etl"}),
        ({"excluding": "etl"}, {"etl-late", "report"}),
    ],
)
def test_consumers_go_by_their_whole_ids(
    bench: BranchBench, arguments: dict[str, str], gone: set[str]
) -> None:
    before = metadata(bench)
    run(bench, "clear_consumers", **arguments)
    assert {"etl", "etl-late", "report"} - places(bench).keys() == gone
    assert fence_state(bench.table()).is_effective
    run(bench, "undo", "back", operation="op")
    assert metadata(bench) == before


def test_a_consumer_of_a_branch_is_of_that_branch_alone(bench: BranchBench) -> None:
    bench.branch("dev")
    run(bench, "reset_consumer", table="db.t$branch_dev", consumer="etl", next=5)
    assert (places(bench, "dev"), places(bench)["etl"]) == ({"etl": 5}, 2)
    run(bench, "clear_consumers", "clear", table="db.t$branch_dev")
    assert places(bench, "dev") == {}
    assert len(places(bench)) == 3
    assert fence_state(bench.table("dev")).is_effective


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "words"),
    [
        ("reset_consumer", {"consumer": FENCE_ID, "next": 3}, ErrorKind.FILES_IN_USE, "fence"),
        ("reset_consumer", {"consumer": FENCE_ID}, ErrorKind.FILES_IN_USE, "fenced => false"),
        ("reset_consumer", {"consumer": "who"}, ErrorKind.NOTHING_TO_DO, "no consumer 'who'"),
        ("reset_consumer", {"consumer": "etl", "next": 2}, ErrorKind.NOTHING_TO_DO, "already"),
        (
            "reset_consumer",
            {"consumer": "etl", "next": 6},
            ErrorKind.SNAPSHOT_NOT_FOUND,
            "consumer 'etl' of 'main' may read 1 to 5 next",
        ),
        ("clear_consumers", {"including": "x"}, ErrorKind.NOTHING_TO_DO, "no such consumer"),
        (
            "clear_consumers",
            {"including": FENCE_ID},
            ErrorKind.NOTHING_TO_DO,
            "no such consumer",
        ),
    ],
)
def test_what_is_refused_changes_nothing(
    bench: BranchBench, name: str, arguments: dict[str, str | int], kind: ErrorKind, words: str
) -> None:
    before = metadata(bench)
    with pytest.raises(Refused, match=words) as caught:
        run(bench, name, **arguments)
    assert caught.value.kind is kind
    assert metadata(bench) == before


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("reset_consumer", {"consumer": "../etl"}, "no id of a consumer"),
        ("reset_consumer", {"consumer": "etl", "next": 0}, "must be 1 or more"),
        ("clear_consumers", {"including": "("}, "no regular expression"),
        ("clear_consumers", {"excluding": "*"}, "'excluding' of clear_consumers"),
    ],
)
def test_what_means_nothing_is_refused(
    bench: BranchBench, name: str, arguments: dict[str, str | int], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        run(bench, name, **arguments)


def test_only_operators_move_readers(bench: BranchBench) -> None:
    with pytest.raises(NotAllowed, match="You may not reset a consumer"):
        run(bench, "reset_consumer", role="approver", consumer="etl", next=3)


def test_a_reader_that_reads_on_changes_no_plan(bench: BranchBench) -> None:
    agreed = preview(bench, "clear_consumers").plan_id
    read(bench, "etl", 4)
    run(bench, "clear_consumers", plan_id=agreed)
    assert places(bench) == {}


def test_a_consumer_that_cannot_be_read_goes_too(bench: BranchBench) -> None:
    Path(bench.table().paths.consumer("torn")).write_text("{")
    before = metadata(bench)
    run(bench, "reset_consumer", consumer="torn")
    assert len(places(bench)) == 3
    run(bench, "undo", "back", operation="op")
    assert metadata(bench) == before


def test_an_undo_does_not_take_a_reader_back_that_moved_since(bench: BranchBench) -> None:
    run(bench, "reset_consumer", consumer="etl", next=4)
    read(bench, "etl", 5)
    assert undo_chance(bench, "op").obstacle == (
        "Undo is not possible: consumer 'etl' of 'main' has moved since."
    )


def test_an_undo_does_not_take_a_reader_back_to_what_has_expired(bench: BranchBench) -> None:
    run(bench, "reset_consumer", consumer="etl", next=4)
    paths = bench.table().paths
    bench.store.remover.remove([paths.snapshot(1), paths.snapshot(2), paths.earliest_hint])
    assert undo_chance(bench, "op").obstacle == (
        "Undo is not possible: snapshot 2, which consumer 'etl' of 'main' would read next, has "
        "expired."
    )


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_a_kill_at_each_change_ends_with_none_or_all(tmp_path: Path, when: When) -> None:
    ended = []
    for number in range(1, 40):
        root = tmp_path / str(number)
        bench = BranchBench(root)
        bench.append("a")
        read(bench, "one", 1)
        read(bench, "two", 1)
        faulty = FaultyStore(inner=store_of(root), fault=At(call=number, when=when))
        try:
            run(bench, "clear_consumers", store=faulty.store)
        except Killed:
            recover_table(bench.warehouse(clock=lambda: NOW + 7_200_000), bench.table())
        ended.append(len(places(bench)))
        if len(faulty.changes) < number:
            break
    # From the intent on all go, which is the first change.
    assert ended == sorted(ended, reverse=True)
    assert {*ended} == ({0, 2} if when is When.BEFORE else {0})
