"""Dropped branches that cannot be read: each can be released, and then files go again."""

import os
import re
import shutil
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from branch_console.commit.base.commit_store import CommitStore
from branch_console.diff.health.finding import HealthFinding
from branch_console.errors import FormatError, InvalidInput, Refused
from branch_console.format.receipt import Receipt
from branch_console.format.scan_options import moment_text
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.maintenance.doctor import examine
from branch_console.procedures.preview import Preview, Weight, preview_call
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import store_of, tree
from tests.support.expiry_bench import LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When

DAY = 86_400_000
GRACE = 600_000
Damage = Callable[[ExpiryBench, str], None]


def tear_snapshot(bench: ExpiryBench, branch: str, snapshot: int = 2) -> None:
    Path(bench.table(branch).paths.snapshot(snapshot)).write_text("{")


def lose_list(bench: ExpiryBench, branch: str) -> None:
    table = bench.table(branch)
    Path(table.paths.manifest(table.snapshots.get(2).delta_manifest_list)).unlink()


def tear_manifest(bench: ExpiryBench, branch: str, snapshot: int = 2) -> None:
    table = bench.table(branch)
    listed = table.scan.read_list(table.paths, table.snapshots.get(snapshot).delta_manifest_list)
    Path(table.paths.manifest(listed["file_name"][0].as_py())).write_bytes(b"Obj")


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """Main and good hold files of their own, as do one and two, which are about to break."""
    made = ExpiryBench(tmp_path / "made")
    made.add("a")
    for branch, name in (("one", "b"), ("two", "c"), ("good", "d")):
        made.branch(branch)
        made.add(name, branch=branch)
    made.replace("e")
    return made


def blocking(bench: ExpiryBench, now: int) -> list[HealthFinding]:
    """What Health says of removed branches that block expiry."""
    found = examine(bench.warehouse(clock=lambda: now), bench.identifier).findings
    return [each for each in found if each.rule == "F34"]


def drop_broken(bench: ExpiryBench, damage: Damage, *branches: str) -> ExpiryBench:
    for each in branches:
        damage(bench, each)
    fresh = ExpiryBench(bench.root)
    for each in branches:
        fresh.run("drop_branch", each, LATER, {"branch": each})
    return ExpiryBench(bench.root)


def ask(
    bench: ExpiryBench,
    branch: str,
    operation: str,
    *,
    now: int,
    store: CommitStore | None = None,
    **arguments: Argument,
) -> Receipt:
    return bench.run("release_branch", operation, now, {"branch": branch, **arguments}, store)


def look(bench: ExpiryBench, branch: str, now: int, **arguments: Argument) -> Preview:
    call = ProcedureCall(
        name="release_branch",
        arguments={"table": "db.t", "branch": branch, **arguments},
        actor="ann",
        operation_id="look",
    )
    return preview_call(bench.warehouse(clock=lambda: now), call)


def clean(bench: ExpiryBench, operation: str, now: int) -> Receipt:
    return bench.run("remove_orphan_files", operation, now, {"grace": "0 s", "trash_keep": "0 s"})


def orphan(bench: ExpiryBench) -> Path:
    """A file that a failed write left, long ago."""
    path = bench.data_path(f"data-{uuid.uuid4()}-0.parquet")
    path.write_bytes(b"left")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    return path


def world(bench: ExpiryBench) -> dict[str, bytes]:
    """All files but ours."""
    return {path: data for path, data in tree(bench.root).items() if "branch-lineage" not in path}


@pytest.mark.parametrize("damage", [tear_snapshot, lose_list, tear_manifest])
@pytest.mark.parametrize("grace", ["0 s", "10 min"])
def test_two_broken_branches_are_released_one_after_the_other_and_files_go_again(
    bench: ExpiryBench, damage: Damage, grace: str
) -> None:
    broken, left = drop_broken(bench, damage, "one", "two"), orphan(bench)
    with pytest.raises(FormatError, match="no file may leave the table"):
        clean(broken, "early", LATER + 1)
    now = LATER + 8 * DAY
    before = world(broken)
    preview = look(broken, "rescue-one", now, grace=grace)
    assert preview.can_run
    told = {each.text: each.details for each in preview.consequences}
    (why,) = next(details for text, details in told.items() if "cannot be read either" in text)
    assert why.startswith("Branch 'rescue-two' of db.t is broken and may need any file")
    assert preview.undo.startswith("Undo brings the branch back ")
    first = ask(broken, "rescue-one", "first", now=now, grace=grace)
    assert broken.table().branches.names() == ("good", "rescue-two")
    assert first.counts.files_removed == 0
    # Only the names of the branch have left it, and they are kept.
    gone = before.keys() - world(broken).keys()
    assert all("/branch/branch-rescue-one/" in path for path in gone)
    # What is left still stops all files.
    with pytest.raises(FormatError, match="rescue-two"):
        clean(broken, "between", now + 1)
    ask(broken, "rescue-two", "second", now=now + 2, grace=grace)
    assert broken.table().branches.names() == ("good",)
    # The first expiry after the grace lets go of both, and files can leave the table again.
    broken.expire("expire", now=now + 3 + GRACE)
    clean(broken, "last", now + 4 + GRACE)
    fresh = ExpiryBench(bench.root)
    assert fresh.broken() == []
    assert {"a", "d", "e"} <= fresh.data_names()
    assert not left.exists()
    fresh.run(
        "drop_branch", "gone", now + 5 + GRACE, {"branch": "good", "reclaim": True, "grace": "0 s"}
    )
    assert ExpiryBench(bench.root).broken() == []
    assert {"a", "e"} <= fresh.data_names()
    assert "d" not in fresh.data_names()


def test_a_broken_branch_is_released_for_good_only_when_the_table_can_be_read(
    bench: ExpiryBench,
) -> None:
    """Until then undo brings it back to the byte, also without a grace."""
    broken = drop_broken(bench, tear_manifest, "one", "two")
    before, now = world(broken), LATER + 8 * DAY
    done = ask(broken, "rescue-one", "first", now=now, grace="0 s")
    assert done.notes[0].startswith(
        "Branch 'rescue-one' is gone. No file was removed, as another branch cannot be read: they "
        "go with the first expiry of the table once all can be read. Branch 'rescue-two' of db.t "
        "is broken"
    )
    with pytest.raises(FormatError, match="rescue-two"):
        broken.expire("expire", now=now + 1)
    broken.run("undo", "back", now + 2, {"operation": "first"})
    assert world(broken) == before


def test_a_drop_with_reclaim_of_a_broken_branch_waits_for_no_other_broken_one(
    bench: ExpiryBench,
) -> None:
    for each in ("one", "two"):
        lose_list(bench, each)
    broken = ExpiryBench(bench.root)
    for number, each in enumerate(("one", "two")):
        given = {"branch": each, "reclaim": True, "grace": "0 s"}
        broken.run("drop_branch", f"drop-{each}", LATER + number, given)
    broken.expire("expire", now=LATER + 2)
    left = orphan(broken)
    clean(broken, "clean", LATER + 3)
    assert not left.exists()
    fresh = ExpiryBench(bench.root)
    assert (fresh.table().branches.names(), fresh.broken()) == (("good",), [])
    assert {"a", "d", "e"} <= fresh.data_names()


def test_a_branch_that_can_be_read_takes_no_file_along_while_another_is_broken(
    bench: ExpiryBench,
) -> None:
    broken = drop_broken(bench, lose_list, "one")
    before = world(broken)
    given = {"branch": "good", "reclaim": True, "grace": "0 s"}
    with pytest.raises(FormatError, match=r"'rescue-one' of db\.t is broken and may need any file"):
        broken.run("drop_branch", "gone", LATER + 8 * DAY, given)
    assert world(broken) == before


def test_the_promise_of_undo_holds_a_branch_that_can_be_read_and_no_broken_one(
    bench: ExpiryBench,
) -> None:
    bench.run("drop_branch", "good", LATER, {"branch": "good"})
    with pytest.raises(Refused, match=r"Undo of operation good \(dropped\) is promised until"):
        ask(bench, "rescue-good", "early", now=LATER + 1)
    broken = drop_broken(bench, lose_list, "one")
    preview = look(broken, "rescue-one", LATER + DAY)
    assert preview.can_run
    assert preview.typed_name == "rescue-one"
    lost = [each.text for each in preview.consequences if each.weight is Weight.LOSES]
    # Said once.
    (undo,) = (each for each in lost if "peration one" in each)
    assert undo.startswith("Operation one (dropped) can then no longer be undone, though that is ")
    later = look(broken, "rescue-one", LATER + 8 * DAY)
    assert "Operation one can then not be undone: this branch keeps it." in {
        each.text for each in later.consequences
    }
    ask(broken, "rescue-one", "first", now=LATER + DAY)
    broken.expire("expire", now=LATER + DAY + GRACE)
    clean(broken, "clean", LATER + DAY + GRACE + 1)
    assert ExpiryBench(bench.root).broken() == []
    assert {"a", "d", "e"} <= ExpiryBench(bench.root).data_names()


def tear_tag(bench: ExpiryBench, branch: str) -> None:
    Path(bench.table(branch).paths.tag("v1")).write_text("{")


def lose_changelog_list(bench: ExpiryBench, branch: str) -> None:
    """Only readers of changes miss it: all rows of the head can be read."""
    table = bench.table(branch)
    head = table.snapshots.get(3)
    lost = replace(head, changelog_manifest_list="manifest-list-lost")
    Path(table.paths.snapshot(3)).write_text(lost.to_json())


def lose_list_of_head(bench: ExpiryBench, branch: str) -> None:
    table = bench.table(branch)
    Path(table.paths.manifest(table.snapshots.get(3).base_manifest_list)).unlink()


def tear_schema(bench: ExpiryBench, branch: str) -> None:
    Path(bench.table(branch).paths.schema(0)).write_text("{")


def add_third(bench: ExpiryBench) -> None:
    """Branch one gets a snapshot 3, and its second a tag."""
    bench.call("create_tag", operation="tag", table="db.t$branch_one", tag="v1", snapshot=2)
    bench.add("f", branch="one")


@pytest.mark.parametrize("damage", [lose_list, tear_snapshot, tear_tag, lose_changelog_list])
def test_the_promise_of_undo_holds_a_branch_whose_head_can_be_read(
    bench: ExpiryBench, damage: Damage
) -> None:
    """Damage elsewhere stops the cleaning, and is no reason to lose what undo brings back."""
    add_third(bench)
    broken = drop_broken(bench, damage, "one")
    before = world(broken)
    head = broken.table("rescue-one").head()
    assert head is not None
    assert head.id == 3
    with pytest.raises(FormatError, match="no file may leave the table"):
        clean(broken, "early", LATER + 1)
    refused = r"Undo of operation one \(dropped\) is promised until .* or undo that operation first"
    with pytest.raises(Refused, match=refused):
        ask(broken, "rescue-one", "away", now=LATER + 1, grace="0 s")
    given = {"branch": "rescue-one", "reclaim": True, "grace": "0 s"}
    with pytest.raises(Refused, match=refused):
        broken.run("drop_branch", "reclaim", LATER + 1, given)
    assert world(broken) == before
    broken.run("undo", "back", LATER + 2, {"operation": "one"})
    back = ExpiryBench(bench.root).live_names("one")
    assert set(back) == {f"data-{each}.parquet" for each in "abf"}
    assert all(bench.data_path(each).exists() for each in back)


@pytest.mark.parametrize(
    "damage",
    [
        lose_list_of_head,
        pytest.param(partial(tear_manifest, snapshot=3), id="tear_manifest_of_head"),
        pytest.param(partial(tear_snapshot, snapshot=3), id="tear_head"),
        tear_schema,
    ],
)
def test_the_promise_of_undo_ends_for_a_branch_whose_head_cannot_be_read(
    bench: ExpiryBench, damage: Damage
) -> None:
    add_third(bench)
    broken = drop_broken(bench, damage, "one")
    with pytest.raises(FormatError, match=r"run branch-console release db\.t rescue-one"):
        clean(broken, "early", LATER + 1)
    ask(broken, "rescue-one", "away", now=LATER + 1, grace="0 s")
    clean(broken, "clean", LATER + 2)
    fresh = ExpiryBench(bench.root)
    assert (fresh.table().branches.names(), fresh.broken()) == (("good", "two"), [])


def test_a_kill_while_one_of_two_broken_branches_goes_loses_no_file(bench: ExpiryBench) -> None:
    broken, now = drop_broken(bench, tear_manifest, "one", "two"), LATER + 8 * DAY
    data = broken.data_names()
    counter = FaultyStore(inner=store_of(shutil.copytree(bench.root, bench.root.parent / "clean")))
    ask(
        ExpiryBench(bench.root.parent / "clean"), "rescue-one", "first", now=now, grace="0 s",
        store=counter.store,
    )  # fmt: skip
    for number in range(1, len(counter.changes) + 1, 2):
        cut = ExpiryBench(shutil.copytree(bench.root, bench.root.parent / f"{number}"))
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=When.AFTER))
        with pytest.raises(Killed):
            ask(cut, "rescue-one", "first", now=now, grace="0 s", store=faulty.store)
        recover_table(cut.warehouse(clock=lambda: now + 3_600_000), cut.table())
        assert cut.data_names() == data, counter.changes[number - 1]
        if "rescue-one" in cut.table().branches.names():
            ask(cut, "rescue-one", "again", now=now + 7_200_000, grace="0 s")
        ask(cut, "rescue-two", "second", now=now + 7_200_001, grace="0 s")
        cut.expire("expire", now=now + 7_200_002)
        fresh = ExpiryBench(cut.root)
        assert fresh.broken() == [], counter.changes[number - 1]
        assert {"a", "d", "e"} <= fresh.data_names()
        assert fresh.table().branches.names() == ("good",)
        shutil.rmtree(cut.root)


def test_a_drop_says_how_long_a_branch_that_cannot_be_read_blocks_expiry(
    bench: ExpiryBench,
) -> None:
    tear_snapshot(bench, "one")
    broken = ExpiryBench(bench.root)

    def told(**given: Argument) -> str:
        call = ProcedureCall(
            name="drop_branch",
            arguments={"table": "db.t", "branch": "one", **given},
            actor="ann",
            operation_id="look",
        )
        found = preview_call(broken.warehouse(clock=lambda: LATER), call)
        (text,) = (each.text for each in found.consequences if "Expiry" in each.text)
        return text

    assert told().startswith("Expiry of db.t stays blocked: the rescue branch cannot be read")
    assert told(reclaim=True).startswith("Expiry of the table stays blocked for 10 minutes")
    assert told(reclaim=True, grace="0 s") == "Expiry of the table works again at once."


def test_a_released_branch_that_cannot_be_read_blocks_expiry_until_a_time_that_all_tell(
    tmp_path: Path,
) -> None:
    bench = ExpiryBench(tmp_path / "made")
    bench.add("a")
    bench.branch("one")
    bench.add("b", branch="one")
    bench.replace("e")
    broken = drop_broken(bench, tear_manifest, "one")
    ask(broken, "rescue-one", "away", now=LATER + 1)
    until = moment_text(LATER + 1 + GRACE)
    with pytest.raises(FormatError, match=re.escape(f"Expiry of db.t is blocked until {until}. ")):
        broken.expire("early", now=LATER + 2)
    (finding,) = blocking(broken, LATER + 2)
    assert finding.text.startswith(f"Expiry of db.t is blocked until {until}")
    # As the advice says: undo, then release without a grace.
    broken.run("undo", "back", LATER + 3, {"operation": "away"})
    ask(broken, "rescue-one", "now", now=LATER + 4, grace="0 s")
    broken.expire("late", now=LATER + 5)
    assert blocking(broken, LATER + 6) == []
    assert ExpiryBench(bench.root).broken() == []


def test_a_dropped_branch_that_cannot_be_read_blocks_expiry_until_the_advice_is_followed(
    tmp_path: Path,
) -> None:
    """A release is refused for it: its name is an ordinary one."""
    bench = ExpiryBench(tmp_path / "made")
    bench.add("a")
    bench.branch("one")
    bench.add("b", branch="one")
    bench.replace("e")
    tear_snapshot(bench, "one")
    broken = ExpiryBench(bench.root)
    gone: dict[str, Argument] = {"branch": "one", "reclaim": True}
    broken.run("drop_branch", "away", LATER, gone)
    with pytest.raises(FormatError, match=r"Expiry of db\.t is blocked until"):
        broken.expire("early", now=LATER + 1)
    (finding,) = blocking(broken, LATER + 1)
    assert "the dropped branch 'one' cannot be read" in finding.text
    assert finding.advice.endswith(
        "undo operation away, and drop the branch with reclaim and the grace '0 s'."
    )
    broken.run("undo", "back", LATER + 2, {"operation": "away"})
    with pytest.raises(InvalidInput, match="cannot be released"):
        ask(broken, "one", "release", now=LATER + 3, grace="0 s")
    broken.run("drop_branch", "now", LATER + 3, {**gone, "grace": "0 s"})
    broken.expire("late", now=LATER + 4)
    assert blocking(broken, LATER + 5) == []
    assert ExpiryBench(bench.root).broken() == []


def test_a_release_is_told_as_blocking_until_its_grace_ends_and_no_longer(
    bench: ExpiryBench,
) -> None:
    broken = drop_broken(bench, tear_manifest, "one")
    ask(broken, "rescue-one", "away", now=LATER + 1)
    assert blocking(broken, LATER + 1 + GRACE) == []
    broken.expire("expire", now=LATER + 1 + GRACE)
    assert ExpiryBench(bench.root).broken() == []
