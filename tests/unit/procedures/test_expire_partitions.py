"""Partitions expire in one commit, and are marked as done by a file."""

import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.errors import CommitConflict, InvalidInput, Refused
from branch_console.format.data_types import STRING
from branch_console.format.lineage_event import LineageKind
from branch_console.format.snapshot import CommitKind
from branch_console.format.values.binary_row import encode_row
from branch_console.procedures.recover import recover_table
from tests.support.branch_bench import NOW, BranchBench, store_of, tree
from tests.support.commit_tables import data_files, message
from tests.support.faulty_store import At, FaultyStore, Killed, When
from tests.support.lifecycle import preview, run

TODAY = datetime.fromtimestamp(NOW / 1000)


def day(days_ago: int) -> str:
    return (TODAY - timedelta(days=days_ago)).strftime("%Y-%m-%d")


def put(bench: BranchBench, name: str, value: str | None, branch: str = "main") -> None:
    """Commit a file to a partition, an hour old by its own time."""
    partition = encode_row([value], [STRING])
    files = data_files([name], partition=partition)
    place = files.schema.get_field_index("creation_time")
    written = pa.array([TODAY - timedelta(hours=1)], files.schema.field(place).type)
    files = files.set_column(place, files.schema.field(place), written)
    bench.committer(branch).commit(
        [message(partition, new_files=files)],
        user="alice",
        identifier=hash((branch, name)) % (1 << 40),
    )


# One way to be killed in CI: what is alike for the others is tried at night.
WHENS = [
    pytest.param(each, marks=() if each is When.AFTER else pytest.mark.depth("long"))
    for each in When
]


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A partition a day, the oldest of nine days ago, and one that is no day."""
    bench = BranchBench(tmp_path / "made", partition_keys=["name"])
    for ago in (1, 3, 9):
        put(bench, f"ago-{ago}", day(ago))
    put(bench, "strange", "strange")
    return bench


def days_of(bench: BranchBench, branch: str = "main") -> set[str]:
    return {
        name.removeprefix("data-").removesuffix(".parquet") for name in bench.live_names(branch)
    }


def set_all(bench: BranchBench, options: dict[str, str], branch: str = "main") -> None:
    change_schema(bench.table(branch), bench.store, [set_options(options)], now_millis=NOW)


def test_old_partitions_go_in_one_overwrite(bench: BranchBench) -> None:
    receipt = run(bench, "expire_partitions", expiration_time="2 d", reason="asked")
    assert days_of(bench) == {"ago-1", "strange"}
    head = bench.table().head()
    assert head is not None
    assert (head.id, head.commit_kind) == (5, CommitKind.OVERWRITE)
    assert receipt.answer == (
        {"expired_partitions": f"name={day(9)}"},
        {"expired_partitions": f"name={day(3)}"},
    )
    assert receipt.counts.records_added == -20
    noted = bench.table().ledger.events()[-1]
    assert (noted.kind, noted.reason) == (LineageKind.PARTITIONS_EXPIRED, "asked")
    again = run(bench, "expire_partitions", "again", expiration_time="2 d")
    assert again.notes == ("No partition of 'main' is due to expire.",)


def test_options_say_how_long_partitions_stay_and_how_many_go(bench: BranchBench) -> None:
    with pytest.raises(InvalidInput, match=r"Nothing says how long partitions of db\.t stay"):
        run(bench, "expire_partitions")
    set_all(bench, {"partition.expiration-time": "2 d", "partition.expiration-max-num": "1"})
    run(bench, "expire_partitions", "one")
    assert days_of(bench) == {"ago-1", "ago-3", "strange"}
    run(bench, "expire_partitions", "two", options="partition.expiration-time=30 min",
        expire_strategy="update-time", max_expires=9)  # fmt: skip
    assert days_of(bench) == set()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"expiration_time": "soon"}, "'expiration_time' of expire_partitions is 'soon'"),
        ({"expire_strategy": "random"}, "'random' is no strategy"),
        ({"timestamp_formatter": "EEE"}, "The formatter 'EEE' of the times of partitions"),
        ({"options": "x"}, "'options' of expire_partitions must be pairs"),
    ],
)
def test_what_is_none_is_refused(bench: BranchBench, given: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        run(bench, "expire_partitions", **{"expiration_time": "2 d", **given})
    assert bench.table().snapshots.latest_id() == 4


def test_a_table_without_partitions_is_refused(tmp_path: Path) -> None:
    plain = BranchBench(tmp_path)
    plain.append("a")
    with pytest.raises(InvalidInput, match="has no partitions, so none can expire"):
        run(plain, "expire_partitions", expiration_time="1 d")


def test_partitions_of_a_branch_go_there_alone(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="dev")
    run(bench, "expire_partitions", table="db.t$branch_dev", expiration_time="2 d")
    assert days_of(bench, "dev") == {"ago-1", "strange"}
    assert days_of(bench) == {"ago-1", "ago-3", "ago-9", "strange"}


def test_rows_that_a_fallback_branch_would_show_again_stand_in_the_way(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="old")
    put(bench, "ago-5", day(5))
    set_all(bench, {"scan.fallback-branch": "old"})
    before = tree(Path(bench.file_io.root))
    told = preview(bench, "expire_partitions", expiration_time="2 d")
    assert told.blocks[0].details == (f"name={day(9)}", f"name={day(3)}")
    with pytest.raises(Refused, match="would see older rows of 2 partitions again"):
        run(bench, "expire_partitions", expiration_time="2 d")
    assert tree(Path(bench.file_io.root)) == before
    run(bench, "expire_partitions", "old", table="db.t$branch_old", expiration_time="2 d")
    run(bench, "expire_partitions", "main", expiration_time="2 d")
    assert days_of(bench) == {"ago-1", "strange"}


def test_rows_that_a_primary_branch_shows_anyway_do_not(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="first")
    set_all(bench, {"scan.primary-branch": "first"})
    run(bench, "expire_partitions", expiration_time="2 d")
    assert days_of(bench) == {"ago-1", "strange"}


def test_undo_brings_the_partitions_back_until_the_branch_moves(bench: BranchBench) -> None:
    run(bench, "expire_partitions", "first", expiration_time="2 d")
    run(bench, "undo", "back", operation="first")
    assert days_of(bench) == {"ago-1", "ago-3", "ago-9", "strange"}
    assert bench.table().snapshots.latest_id() == 4
    run(bench, "expire_partitions", "second", expiration_time="2 d")
    put(bench, "new", day(0))
    with pytest.raises(Refused, match="'main' moved since"):
        run(bench, "undo", "late", operation="second")


@pytest.mark.parametrize("when", WHENS)
def test_a_kill_at_any_change_drops_all_or_nothing(bench: BranchBench, when: When) -> None:
    root = Path(bench.file_io.root)
    counter = FaultyStore(inner=store_of(shutil.copytree(root, root.parent / "clean")))
    run(BranchBench(root.parent / "clean", partition_keys=["name"]), "expire_partitions", "op",
        store=counter.store, expiration_time="2 d")  # fmt: skip
    for number in range(1, len(counter.changes) + 1):
        copy = shutil.copytree(root, root.parent / f"{when}-{number}")
        cut = BranchBench(copy, partition_keys=["name"])
        faulty = FaultyStore(inner=store_of(copy), fault=At(call=number, when=when))
        with pytest.raises(Killed):
            run(cut, "expire_partitions", "op", store=faulty.store, expiration_time="2 d")
        recover_table(cut.warehouse(clock=lambda: NOW + 3_600_000), cut.table())
        ids = cut.table().snapshots.ids()
        assert (ids[-1], days_of(cut)) in (
            (4, {"ago-1", "ago-3", "ago-9", "strange"}),
            (5, {"ago-1", "strange"}),
        )


def test_a_merge_sees_that_partitions_were_dropped(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="dev")
    run(bench, "expire_partitions", "expire", table="db.t$branch_dev", expiration_time="2 d")
    run(bench, "merge_branch", "merge", branch="dev")
    assert days_of(bench) == {"ago-1", "strange"}


def mark(bench: BranchBench, value: str) -> Path:
    return Path(bench.path) / f"name={value}" / "_SUCCESS"


def test_partitions_are_marked_as_paimon_marks_them(bench: BranchBench) -> None:
    said = f"name={day(1)}; name={day(3)};name={day(1)}"
    receipt = run(bench, "mark_partition_done", "first", partitions=said, now=NOW)
    assert receipt.notes == ("Marked 2 partitions as done.",)
    assert json.loads(mark(bench, day(1)).read_text()) == {
        "creationTime": NOW, "modificationTime": NOW,
    }  # fmt: skip
    run(bench, "mark_partition_done", "second", partitions=f"name={day(1)}", now=NOW + 7)
    assert json.loads(mark(bench, day(1)).read_text()) == {
        "creationTime": NOW, "modificationTime": NOW + 7,
    }  # fmt: skip
    with pytest.raises(Refused, match="_SUCCESS was changed since"):
        run(bench, "undo", "early", operation="first")
    run(bench, "undo", "one", operation="second")
    run(bench, "undo", "two", operation="first")
    assert not mark(bench, day(1)).exists()
    assert not mark(bench, day(3)).exists()


def test_a_mark_that_changed_meanwhile_is_left_alone(bench: BranchBench) -> None:
    path = mark(bench, day(1))

    def meanwhile() -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text("theirs")

    faulty = FaultyStore(inner=bench.store, meanwhile={1: meanwhile})
    with pytest.raises(CommitConflict, match="was changed by somebody else in the meantime"):
        run(bench, "mark_partition_done", store=faulty.store, partitions=f"name={day(1)}")
    assert path.read_text() == "theirs"


@pytest.mark.parametrize("said", ["", "name=", "id=1", "name=a,id=1", "name", "name=a;"])
def test_what_is_no_partition_is_not_marked(bench: BranchBench, said: str) -> None:
    with pytest.raises(InvalidInput):
        run(bench, "mark_partition_done", partitions=said)


@pytest.mark.parametrize("action", ["done-partition", "mark-event", "http-report", "custom"])
def test_what_would_tell_a_metastore_or_a_program_is_refused(
    bench: BranchBench, action: str
) -> None:
    set_all(bench, {"partition.mark-done-action": f"success-file,{action}"})
    with pytest.raises(Refused, match=f"asks for '{action}', which tells a metastore"):
        run(bench, "mark_partition_done", partitions=f"name={day(1)}")
    assert not mark(bench, day(1)).exists()


def test_a_mark_for_a_branch_says_whose_folder_it_is(bench: BranchBench) -> None:
    run(bench, "create_branch", "make", branch="dev")
    told = preview(
        bench, "mark_partition_done", table="db.t$branch_dev", partitions=f"name={day(1)}"
    )
    assert told.consequences[-1].text.startswith("All branches share these folders")
