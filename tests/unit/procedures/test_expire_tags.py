"""Tags expire, names first and files later; what something stands on stays, and undo works."""

import os
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from branch_console.commit.schema.tag_commit import put_tag, snapshot_bytes, with_retention
from branch_console.errors import InvalidInput, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import store_of
from tests.support.commit_tables import data_files, message
from tests.support.expiry_bench import LATER, ExpiryBench
from tests.support.faulty_store import At, FaultyStore, Killed, When

DAY = 86_400_000


# One way to be killed in CI: what is alike for the others is tried at night.
WHENS = [
    pytest.param(each, marks=() if each is When.AFTER else pytest.mark.depth("long"))
    for each in When
]


@pytest.fixture
def bench(tmp_path: Path) -> ExpiryBench:
    """A tag that lasts for a day, one for good; the snapshots of both have left main."""
    made = ExpiryBench(tmp_path / "made")
    made.add("a")
    lasting(made, "day", days=1)
    made.replace("b")
    made.tag("good")
    made.replace("c")
    made.expire("earlier")
    return made


def lasting(bench: ExpiryBench, name: str, *, days: float, branch: str = "main") -> None:
    """Make a tag of the head that lasts so many days from now on."""
    table = bench.table(branch)
    head = table.head()
    assert head is not None
    now = datetime.fromtimestamp(LATER / 1000)
    data = with_retention(snapshot_bytes(table, head), now, timedelta(days=days).total_seconds())
    put_tag(table, bench.store, name, data, replaces=None)


def expire(bench: ExpiryBench, operation: str, now: int, **given: object) -> tuple[str, ...]:
    receipt = bench.run("expire_tags", operation, now, {"grace": "0 s", **given})  # type: ignore[dict-item]
    return tuple(str(row["expired_tags"]) for row in receipt.answer)


def test_a_tag_past_its_time_goes_and_files_that_only_it_kept_with_it(bench: ExpiryBench) -> None:
    assert bench.data_names() == {"a", "b", "c"}
    assert expire(bench, "early", LATER + DAY) == ()
    assert expire(bench, "late", LATER + DAY + 1000) == ("day",)
    assert bench.table().tags.names() == ("good",)
    assert bench.data_names() == {"b", "c"}
    assert bench.broken() == []
    assert expire(bench, "again", LATER + 2 * DAY) == ()


def test_all_tags_go_that_are_older_than_asked(bench: ExpiryBench) -> None:
    made = (LATER - 9 * DAY) / 1000
    os.utime(bench.table().paths.tag("good"), (made, made))
    older = datetime.fromtimestamp((LATER - 8 * DAY) / 1000).isoformat(" ", "seconds")
    assert expire(bench, "old", LATER, older_than=older) == ("good",)
    assert bench.data_names() == {"a", "c"}
    with pytest.raises(InvalidInput, match="'soon', which is no time"):
        expire(bench, "none", LATER, older_than="soon")


def test_what_a_branch_stands_on_stays_and_is_told(bench: ExpiryBench) -> None:
    bench.branch("dev")
    os.utime(bench.table().paths.tag("branch-base-dev"), (1000, 1000))
    os.utime(bench.table().paths.tag("good"), (1000, 1000))
    receipt = bench.run("expire_tags", "old", LATER, {"older_than": "2000-01-01", "grace": "0 s"})
    assert receipt.answer == ({"expired_tags": "good"},)
    assert bench.table().tags.names() == ("branch-base-dev", "day")
    call_told = bench.run("expire_tags", "again", LATER, {"older_than": "2000-01-01"})
    assert call_told.notes == ("1 tag stays, which a branch, a rollback or the catalog stands on.",)


def test_undo_brings_tags_back_until_their_files_go(bench: ExpiryBench) -> None:
    before = Path(bench.table().paths.tag("day")).read_bytes()
    late = LATER + 2 * DAY
    done = bench.run("expire_tags", "first", late, {"grace": "10 min"})
    assert done.notes[-1] == "Their files go with the first expiry of the table after 10 minutes."
    assert bench.data_names() == {"a", "b", "c"}
    assert bench.table().ledger.events()[-1].kind is LineageKind.EXPIRED
    bench.run("undo", "back", late, {"operation": "first"})
    assert Path(bench.table().paths.tag("day")).read_bytes() == before
    bench.run("expire_tags", "second", late, {"grace": "10 min"})
    # Whichever expiry comes next takes the files, also one of snapshots.
    bench.expire("over", now=late + 600_000)
    assert bench.data_names() == {"b", "c"}
    with pytest.raises(Refused, match="files that only the expired names held were removed"):
        bench.run("undo", "late", late + 700_000, {"operation": "second"})


def test_a_tag_that_is_replaced_by_another_one_is_not_brought_back_over_it(
    bench: ExpiryBench,
) -> None:
    late = LATER + 2 * DAY
    bench.run("expire_tags", "first", late, {"grace": "10 min"})
    bench.tag("day")
    with pytest.raises(Refused, match="'main' has another tag 'day' now"):
        bench.run("undo", "back", late, {"operation": "first"})


@pytest.mark.parametrize("grace", ["0 s", "10 min"])
@pytest.mark.parametrize("when", WHENS)
def test_a_kill_at_any_change_breaks_nothing(bench: ExpiryBench, grace: str, when: When) -> None:
    folder, late = bench.root.parent, LATER + 2 * DAY
    counter = FaultyStore(inner=store_of(shutil.copytree(bench.root, folder / "clean")))
    whole = ExpiryBench(folder / "clean")
    whole.run("expire_tags", "expiry", late, {"grace": grace}, counter.store)
    for number in range(1, len(counter.changes) + 1):
        cut = ExpiryBench(shutil.copytree(bench.root, folder / f"{when}-{number}"))
        faulty = FaultyStore(inner=store_of(cut.root), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            cut.run("expire_tags", "expiry", late, {"grace": grace}, faulty.store)
        assert cut.broken() == []
        recover_table(cut.warehouse(clock=lambda: late + 3_600_000), cut.table())
        assert cut.broken() == []
        if cut.table().tags.names() == ("good",):
            assert cut.data_names() == whole.data_names()


def test_a_branch_gets_its_tags_in_its_own_folder(tmp_path: Path) -> None:
    """F11: Paimon writes them to main."""
    bench = ExpiryBench(
        tmp_path,
        options={
            "tag.automatic-creation": "process-time",
            "tag.creation-period": "hourly",
            "tag.default-time-retained": "7 d",
        },
    )
    bench.add("a")
    bench.branch("dev")
    bench.add("b", branch="dev")
    asked = {"table": "db.t$branch_dev", "reason": "asked"}
    receipt = bench.run("trigger_tag_automatic_creation", "make", LATER, asked)
    (made,) = (each for each in bench.table("dev").tags.all() if each.name != "branch-base-dev")
    assert receipt.notes == (f"Tag {made.name!r} of 'dev' was made.",)
    assert made.time_retained_seconds == 604_800
    assert bench.table().ledger.events()[-1].reason == "asked"
    assert bench.table().tags.names() == ("branch-base-dev",)
    again = bench.run("trigger_tag_automatic_creation", "again", LATER, asked)
    assert again.notes == ("No tag of 'dev' is due: the next period is not over.",)
    bench.run("undo", "back", LATER, {"operation": "make"})
    assert made.name not in bench.table("dev").tags.names()


@pytest.mark.parametrize(
    ("creation", "told"), [("none", "is 'none': it gets no tag"), ("batch", "is 'batch': Paimon")]
)
def test_options_that_make_no_tag_are_told(tmp_path: Path, creation: str, told: str) -> None:
    bench = ExpiryBench(tmp_path, options={"tag.automatic-creation": creation})
    bench.add("a")
    receipt = bench.run("trigger_tag_automatic_creation", "make", LATER, {})
    assert told in receipt.notes[0]


def test_tags_beyond_what_the_options_keep_go_once_one_is_made(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "watermark", "tag.num-retained-max": "1"}
    bench = ExpiryBench(tmp_path, options=options)

    for number in range(3):
        bench.committer().commit(
            [message(new_files=data_files([f"f{number}"]))],
            user="alice",
            identifier=number,
            watermark=number * DAY + 10,
        )
        bench.run("trigger_tag_automatic_creation", f"make-{number}", LATER, {})
    assert bench.table().tags.names() == ("1970-01-02",)
