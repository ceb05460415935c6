"""Procedures of Paimon beside ours: consumers, rollbacks by time, and a history with a gap."""

import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import jpype
import pytest

from branch_console.errors import NotFound, PaimonError
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.sql.not_served import NOT_SERVED
from branch_console.sql.statement import CALLED
from branch_console.storage.table_paths import FENCE_ID
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import data_files, message
from tests.support.java_paimon import JavaPaimon
from tests.support.lifecycle import run
from tests.support.local_row_engine import LocalFiles
from tests.support.requirements import find_jar

REGEXES = ("etl", "etl.*", ".*late", "[a-r]+", "", "etl|report", "x")


def consumers(folder: Path) -> dict[str, bytes]:
    """The files of the consumers of main, without its fence."""
    found = (folder / "db.db" / "t" / "consumer").glob("consumer-*")
    return {each.name: each.read_bytes() for each in found if not each.name.endswith(FENCE_ID)}


def pattern(text: str) -> Any:
    return jpype.JClass("java.util.regex.Pattern").compile(text or ".*")


def test_consumers_are_reset_and_cleared_as_java_does(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path, rng: Random
) -> None:
    bench = BranchBench(tmp_path / "ours")
    for name in "abcd":
        bench.append(name)
    bench.fence()
    names = ("etl", "etl-late", "late", "report")
    java = open_java(tmp_path / "ours").table("db.t")
    for name in names:
        java.set_consumer(name, rng.randint(1, 4))
    theirs = tmp_path / "theirs"
    shutil.copytree(tmp_path / "ours", theirs)
    other = open_java(theirs).table("db.t")
    other.set_consumer("etl", 5)
    other.set_consumer("new", 2)
    other.load().consumerManager().deleteConsumer("report")
    run(bench, "reset_consumer", "one", consumer="etl", next=5)
    run(bench, "reset_consumer", "two", consumer="new", next=2)
    run(bench, "reset_consumer", "three", consumer="report")
    assert consumers(tmp_path / "ours") == consumers(theirs)
    for number in range(6):
        including, excluding = rng.choice(REGEXES), rng.choice((None, *REGEXES))
        copies = [tmp_path / f"{number}-{side}" for side in ("ours", "theirs")]
        for copy in copies:
            shutil.copytree(theirs, copy)
        excluded = pattern(excluding) if excluding else None
        manager = open_java(copies[1]).table("db.t").load().consumerManager()
        manager.clearConsumers(pattern(including), excluded)
        try:
            run(BranchBench(copies[0]), "clear_consumers", including=including, excluding=excluding)
        except PaimonError as error:
            assert "no such consumer" in error.message  # noqa: PT017
        assert consumers(copies[0]) == consumers(copies[1]), (including, excluding)
        # Java clears whatever matches; the fence is none of ours to clear.
        fence = copies[0] / "db.db" / "t" / "consumer" / f"consumer-{FENCE_ID}"
        assert fence.exists()


def watermarked(bench: BranchBench, marks: tuple[int | None, ...]) -> None:
    """Commit a file for each watermark."""
    for number, mark in enumerate(marks):
        bench.committer().commit(
            [message(new_files=data_files([f"file-{number}"]))],
            user="alice",
            identifier=number,
            watermark=mark,
        )


def places(
    bench: BranchBench, java: JavaPaimon
) -> Iterator[tuple[dict[str, Argument], int | None]]:
    """Times and watermarks, each with the snapshot that Java goes back to."""
    snapshots = java.table("db.t").load().snapshotManager()
    known = bench.table().snapshots.all()
    for each in known:
        for time in (each.time_millis - 1, each.time_millis, each.time_millis + 1):
            found = snapshots.earlierOrEqualTimeMills(time)
            yield {"timestamp": time}, None if found is None else int(found.id())
    first = next(each for each in known if each.watermark is not None)
    for mark in range(first.watermark or 0, 60, 5):
        found = snapshots.earlierOrEqualWatermark(mark)
        yield {"watermark": mark}, None if found is None else int(found.id())


def test_a_time_and_a_watermark_lead_back_to_the_snapshot_of_java(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = BranchBench(tmp_path)
    watermarked(bench, (None, 10, 20, 35, 50))
    tried = 0
    for number, (asked, expected) in enumerate(places(bench, open_java(tmp_path))):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(tmp_path / "db.db", copy / "db.db")
        ours = BranchBench(copy)
        if expected is None:
            with pytest.raises(NotFound):
                run(ours, "rollback", **asked)
        elif expected == 5:
            with pytest.raises(PaimonError, match="is the head of 'main' already"):
                run(ours, "rollback", **asked)
        else:
            (row,) = run(ours, "rollback", **asked).answer
            assert row["rolled_back_snapshot_id"] == expected, asked
            tried += 1
    assert tried > 8


def test_a_watermark_before_all_is_refused_where_java_goes_to_a_later_one(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = BranchBench(tmp_path)
    watermarked(bench, (None, 10, 20))
    snapshots = open_java(tmp_path).table("db.t").load().snapshotManager()
    assert int(snapshots.earlierOrEqualWatermark(5).id()) == 2
    with pytest.raises(NotFound, match="has a watermark at or before 5"):
        run(bench, "rollback", watermark=5)


def test_as_latest_leaves_the_rows_that_java_leaves(java: JavaPaimon, tmp_path: Path) -> None:
    if java.version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no rollback_to_as_latest")
    table = java.create_table("db.t", {"id": "INT"}, options={"write-only": "true"})
    table.write([(1,)])
    table.create_tag("v1")
    table.write([(2,)], overwrite={})
    table.write([(3,)])
    shutil.copytree(tmp_path / "java", tmp_path / "ours")
    loaded = table.load()
    commit = loaded.newCommit("java")
    assert commit.rollbackToAsLatest(loaded.tagManager().getOrThrow("v1"))
    commit.close()
    warehouse = Warehouse.open(str(tmp_path / "ours"))
    call = ProcedureCall(
        name="rollback", arguments={"table": "db.t", "tag": "v1"}, actor="ann", operation_id="op"
    )
    (row,) = run_call(warehouse, LocalFiles(), call, InlineStages()).answer
    ours = JavaPaimon(tmp_path / "ours", java.version).table("db.t")
    assert ours.rows() == table.rows() == [(1,)]
    assert len(ours.snapshots()) == len(table.snapshots()) == 4
    assert row["rolled_back_snapshot_id"] == 1


@pytest.mark.parametrize("gone", [(3,), (2, 4), (1, 2, 4), (1, 3, 4)])
def test_a_history_begins_behind_its_gap_where_java_begins(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path, paimon_version: str, gone: tuple[int]
) -> None:
    if paimon_version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no repair_earliest_snapshot")
    bench = BranchBench(tmp_path / "ours")
    for name in "abcdef":
        bench.append(name)
    paths = bench.table().paths
    bench.store.remover.remove([paths.earliest_hint, *map(paths.snapshot, gone)])
    for snapshot in range(1, 7):
        mine, theirs = (tmp_path / f"{snapshot}-{side}" for side in ("ours", "theirs"))
        for copy in (mine, theirs):
            shutil.copytree(tmp_path / "ours", copy)
        manager = open_java(theirs).table("db.t").load().snapshotManager()
        try:
            expected = int(manager.repairEarliestSnapshot(snapshot))
        except jpype.JException:
            with pytest.raises(PaimonError):
                run(BranchBench(mine), "repair_earliest_snapshot", snapshot=snapshot)
            continue
        ours = BranchBench(mine)
        if expected == snapshot:
            with pytest.raises(PaimonError, match="is the earliest of 'main' already"):
                run(ours, "repair_earliest_snapshot", snapshot=snapshot)
            continue
        (row,) = run(ours, "repair_earliest_snapshot", snapshot=snapshot).answer
        assert [*row.values()] == [expected, snapshot]
        hints = [(side / "db.db" / "t" / "snapshot" / "EARLIEST") for side in (mine, theirs)]
        assert hints[0].read_text() == hints[1].read_text() == str(snapshot)
        there = open_java(mine).table("db.t").load().snapshotManager()
        assert int(there.earliestSnapshotId()) == int(manager.earliestSnapshotId()) == snapshot


def test_manifests_are_merged_as_java_merges_them(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = BranchBench(tmp_path / "ours")
    for name in "abcdef":
        bench.append(name)
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    run(bench, "compact_manifest")
    theirs = BranchBench(tmp_path / "theirs")
    java = open_java(tmp_path / "theirs").table("db.t")
    commit = java.load().newBatchWriteBuilder().newCommit()
    commit.compactManifests()
    commit.close()
    heads = [each.table().head() for each in (bench, theirs)]
    facts = [
        (head.id, head.commit_kind, head.delta_record_count, head.total_record_count)
        for head in heads
        if head is not None
    ]
    assert facts[0] == facts[1]
    assert bench.live_names() == theirs.live_names()
    counts = [
        each.table().manifests(head).num_rows
        for each, head in zip((bench, theirs), heads, strict=True)
        if head is not None
    ]
    assert counts == [1, 1]
    assert len(open_java(tmp_path / "ours").table("db.t").snapshots()) == len(java.snapshots())


def missing_in_java(table: Any) -> dict[str, Any]:
    """What Java's look at each partition finds, by the path: the message that removes it."""
    look = jpype.JClass("org.apache.paimon.operation.ListUnexistingFiles")(table)
    increment, whole = (
        jpype.JClass(f"org.apache.paimon.io.{name}")
        for name in ("DataIncrement", "CompactIncrement")
    )
    new_message = jpype.JClass("org.apache.paimon.table.sink.CommitMessageImpl")
    none = jpype.JClass("java.util.Collections").emptyList()
    found = {}
    for partition in table.newScan().listPartitions():
        for bucket, files in look.list(partition).items():
            gone = jpype.JClass("java.util.ArrayList")(files.values())
            made = new_message(
                partition, bucket, None, increment(none, gone, none), whole.emptyIncrement()
            )
            found |= {str(path).removeprefix("file:"): made for path in files.keySet()}
    return found


@pytest.mark.parametrize("keys", [(), ("day", "id")], ids=["without keys", "with keys"])
def test_missing_files_are_those_of_java_and_leave_what_java_leaves(
    java: JavaPaimon, tmp_path: Path, rng: Random, keys: tuple[str, ...]
) -> None:
    columns = {"day": "STRING NOT NULL", "id": "INT NOT NULL", "n": "INT"}
    options = {"bucket": "2" if keys else "-1", "write-only": "true"}
    table = java.create_table(
        "db.t", columns, primary_keys=keys, partition_keys=("day",), options=options
    )
    for number in range(4):
        table.write([(f"d{each % 3}", each, number) for each in range(number, number + 6)])
    paths = sorted((tmp_path / "java" / "db.db" / "t").glob("day=*/bucket-*/data-*"))
    for path in rng.sample(paths, 4):
        path.unlink()
    shutil.copytree(tmp_path / "java", tmp_path / "ours")
    loaded = table.load()
    theirs = missing_in_java(loaded)
    commit = loaded.newCommit("java")
    messages = jpype.JClass("java.util.ArrayList")(list(dict.fromkeys(theirs.values())))
    commit.commit(messages)
    commit.close()
    call = ProcedureCall(
        name="remove_unexisting_files", arguments={"table": "db.t"}, actor="ann", operation_id="op"
    )
    done = run_call(Warehouse.open(str(tmp_path / "ours")), LocalFiles(), call, InlineStages())
    named = {str(row["fileName"]).replace("/ours/", "/java/") for row in done.answer}
    assert named == theirs.keys()
    assert len(named) == 4
    ours = JavaPaimon(tmp_path / "ours", java.version).table("db.t")
    assert sorted(ours.rows()) == sorted(table.rows())
    mine, yours = (each.snapshots()[-1] for each in (ours, table))
    for key in ("id", "commitKind", "totalRecordCount", "deltaRecordCount"):
        assert mine[key] == yours[key], key


@pytest.mark.parametrize("wide", ["false", "true"])
def test_java_reads_the_vectors_of_what_stays(
    java: JavaPaimon, tmp_path: Path, rng: Random, wide: str
) -> None:
    options = {
        "bucket": "-1",
        "deletion-vectors.enabled": "true",
        "deletion-vectors.bitmap64": wide,
        "write-only": "true",
    }
    table = java.create_table("db.t", {"id": "INT"}, options=options)
    rows = {}
    for number in range(3):
        known = {str(each["file_name"]) for each in table.live_files()}
        table.write([(10 * number + each,) for each in range(10)])
        (name,) = {str(each["file_name"]) for each in table.live_files()} - known
        rows[name] = number
    gone = {name: sorted(rng.sample(range(10), 4)) for name in rows}
    table.delete_positions(gone)
    lost = rng.choice(sorted(rows))
    (tmp_path / "java" / "db.db" / "t" / "bucket-0" / lost).unlink()
    call = ProcedureCall(
        name="remove_unexisting_files", arguments={"table": "db.t"}, actor="ann", operation_id="op"
    )
    run_call(Warehouse.open(str(tmp_path / "java")), LocalFiles(), call, InlineStages())
    left = {
        (10 * number + each,)
        for name, number in rows.items()
        for each in range(10)
        if name != lost and each not in gone[name]
    }
    assert sorted(table.rows()) == sorted(left)
    marked = {each["file"] for file in table.index_files() for each in file["deletion_vectors"]}
    assert marked == rows.keys() - {lost}


STILL_TO_COME = {
    "create_tag_from_timestamp",
    "create_tag_from_watermark",
    "expire_changelogs",
    "expire_partitions",
    "expire_tags",
    "mark_partition_done",
    "trigger_tag_automatic_creation",
}


def test_every_procedure_of_paimon_is_served_or_says_why() -> None:
    with zipfile.ZipFile(find_jar("2.0.0")) as jar:
        factories = jar.read("META-INF/services/org.apache.paimon.factories.Factory").decode()
    classes = re.findall(r"\.procedure\.[\w.]*?(\w+)Procedure$", factories, re.MULTILINE)
    names = {re.sub(r"(?<!^)(?=[A-Z])", "_", each).lower() for each in classes}
    assert len(names) > 50
    assert names - {*CALLED} - {*NOT_SERVED} <= STILL_TO_COME
