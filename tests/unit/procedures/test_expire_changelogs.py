"""Decoupled changelogs leave a branch by Paimon's limits, and come back until their files go."""

import shutil
from pathlib import Path

import pytest

from branch_console.diff.expiry.retention import (
    HoldKind,
    Retention,
    SnapshotHold,
    plan_changelog_expiry,
)
from branch_console.errors import InvalidInput, Refused
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import Argument
from branch_console.procedures.recover import recover_table
from branch_console.sql.parser import parse_statements
from tests.support.branch_bench import store_of, tree
from tests.support.expiry_bench import LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import preview

KEPT = "snapshot.num-retained.min=1,snapshot.time-retained=1 ms,changelog.num-retained.max=20"


# One way to be killed in CI: what is alike for the others is tried at night.
WHENS = [
    pytest.param(each, marks=() if each is When.AFTER else pytest.mark.depth("long"))
    for each in When
]


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Seven snapshots, of which the first five left a changelog when they expired."""
    made = ExpiryBench(tmp_path / "made", options={"changelog.num-retained.min": "1"})
    for name in "abcdefg":
        made.replace(name)
    made.expire("decouple", retain_max=2, retain_min=2, options=KEPT)
    assert numbers(made) == [1, 2, 3, 4, 5]
    return made


def numbers(bench: ExpiryBench, branch: str = "main") -> list[int]:
    folder = Path(bench.table(branch).paths.changelog_dir)
    return sorted(int(each.name.split("-")[1]) for each in folder.glob("changelog-*"))


def hints(bench: ExpiryBench) -> dict[str, str]:
    folder = Path(bench.table().paths.changelog_dir)
    return {
        name: (folder / name).read_text()
        for name in ("EARLIEST", "LATEST")
        if (folder / name).exists()
    }


def expire(bench: ExpiryBench, operation: str = "expiry", **given: Argument) -> Receipt:
    return bench.run("expire_changelogs", operation, LATER, {"grace": "0 s", **given})


@pytest.mark.parametrize(
    ("retention", "holds", "end"),
    [
        # All but the newest may go; Paimon keeps that one to know what the next one builds on.
        (Retention(retain_max=1, retain_min=1, older_than_millis=0, max_deletes=9), (), 5),
        (Retention(retain_max=4, retain_min=1, older_than_millis=0, max_deletes=9), (), 4),
        (Retention(retain_max=9, retain_min=4, older_than_millis=99, max_deletes=9), (), 4),
        (Retention(retain_max=9, retain_min=9, older_than_millis=99, max_deletes=9), (), 1),
        (Retention(retain_max=9, retain_min=1, older_than_millis=3, max_deletes=9), (), 3),
        (Retention(retain_max=1, retain_min=1, older_than_millis=0, max_deletes=2), (), 3),
        (Retention(retain_max=1, retain_min=1, older_than_millis=0, max_deletes=9), (2,), 2),
        (Retention(retain_max=4, retain_min=1, older_than_millis=0, max_deletes=9), (5,), 4),
    ],
)
def test_changelogs_go_by_the_limits_of_paimon(
    retention: Retention, holds: tuple[int, ...], end: int
) -> None:
    times = {number: number for number in range(1, 6)}
    held = [SnapshotHold(kind=HoldKind.CONSUMER, owner="etl", since_id=each) for each in holds]
    found = plan_changelog_expiry(times, 7, retention, held)
    assert (found.first_id, found.end_id) == (1, end)
    assert [each.since_id for each in found.holds] == [each for each in holds if each < 5 > end]


def test_changelogs_beyond_the_limits_go_with_their_files(bench: ExpiryBench) -> None:
    before = bench.data_names()
    done = expire(bench, retain_min=4, reason="asked")
    assert numbers(bench) == [4, 5]
    assert hints(bench) == {"EARLIEST": "4", "LATEST": "5"}
    assert done.answer == ({"result": "3"},)
    assert bench.table().ledger.events()[-1].reason == "asked"
    assert before - bench.data_names() == {"a", "b"}
    assert bench.broken() == []
    again = expire(bench, "again", retain_min=4)
    assert again.notes == ("No changelog of 'main' is due to expire.",)


def test_a_reader_keeps_what_it_reads_next(bench: ExpiryBench) -> None:
    path = Path(bench.table().paths.consumer("etl"))
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"nextSnapshot" : 2}')
    done = expire(bench, retain_max=2)
    assert numbers(bench) == [2, 3, 4, 5]
    told = preview(bench, "expire_changelogs", retain_max=2).consequences
    assert told[-1].text == (
        "Changelog 2 of 'main' and later ones stay: consumer 'etl' reads 2 next."
    )
    assert done.answer == ({"result": "1"},)


def test_all_changelogs_go_only_for_whom_names_the_branch(bench: ExpiryBench) -> None:
    (said,) = parse_statements("CALL sys.expire_changelogs('db.t', delete_all => true)")
    assert (said.confirms, said.arguments["delete_all"]) == (None, True)
    (confirmed,) = parse_statements(
        "CALL sys.expire_changelogs('db.t', delete_all => true, confirm => 'main')"
    )
    assert confirmed.confirms == "main"
    assert preview(bench, "expire_changelogs", delete_all=True).typed_name == "main"
    assert preview(bench, "expire_changelogs", retain_min=4).typed_name is None
    done = expire(bench, delete_all=True)
    assert done.answer == ({"result": "Delete all separated changelogs success."},)
    assert numbers(bench) == []
    assert hints(bench) == {}
    assert bench.broken() == []


def test_what_another_branch_or_a_tag_needs_stays(bench: ExpiryBench) -> None:
    other = ExpiryBench(bench.root.parent / "other")
    other.add("a")
    other.branch("dev")
    for name in "bcd":
        other.replace(name)
    for path in Path(other.table().paths.tag_dir).iterdir():
        path.unlink()
    for path in Path(other.table("dev").paths.tag_dir).iterdir():
        path.unlink()
    other.expire("decouple", options=KEPT)
    expire(other, delete_all=True)
    assert other.broken() == []
    assert "a" in other.data_names()


def test_undo_brings_changelogs_back_until_their_files_go(bench: ExpiryBench) -> None:
    folder = Path(bench.table().paths.changelog_dir)
    before = {each: data for each, data in tree(folder).items() if each.startswith("changelog-")}
    expire(bench, "first", retain_min=4, grace="10 min")
    assert numbers(bench) == [4, 5]
    assert bench.broken() == []
    back = bench.run("undo", "back", LATER, {"operation": "first"})
    assert back.notes == ("3 changelogs of 'main' came back.",)
    found = {each: data for each, data in tree(folder).items() if each.startswith("changelog-")}
    assert found == before
    assert hints(bench) == {"EARLIEST": "1", "LATEST": "5"}
    expire(bench, "second", retain_min=4, grace="10 min")
    bench.expire("over", now=LATER + 600_000)
    assert bench.data_names().isdisjoint({"a", "b"})
    with pytest.raises(Refused, match="files that only the expired names held were removed"):
        bench.run("undo", "late", LATER + 600_000, {"operation": "second"})


@pytest.mark.parametrize("when", WHENS)
def test_a_kill_at_any_change_breaks_nothing(bench: ExpiryBench, when: When) -> None:
    folder = bench.root.parent
    counter = FaultyStore(inner=store_of(shutil.copytree(bench.root, folder / "clean")))
    given: dict[str, Argument] = {"retain_min": 4, "grace": "0 s"}
    whole = ExpiryBench(folder / "clean")
    whole.run("expire_changelogs", "expiry", LATER, given, counter.store)
    for number in range(1, len(counter.changes) + 1):
        cut = ExpiryBench(shutil.copytree(bench.root, folder / f"{when}-{number}"))
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            cut.run("expire_changelogs", "expiry", LATER, given, faulty.store)
        assert cut.broken() == []
        recover_table(cut.warehouse(clock=lambda: LATER + 3_600_000), cut.table())
        assert cut.broken() == []
        if numbers(cut) == [4, 5]:
            assert cut.data_names() == whole.data_names()


def test_limits_that_contradict_each_other_are_refused(bench: ExpiryBench) -> None:
    with pytest.raises(InvalidInput, match=r"retainMax \(2\) must not be less than retainMin"):
        expire(bench, retain_max=2, retain_min=3)
