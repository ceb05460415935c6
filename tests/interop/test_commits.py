"""What our commit makes of files that Java wrote, beside what Java's own commit makes of them."""

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable
from tests.support.comparison import differences
from tests.support.java_messages import to_our_messages
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_vm import java_class

KEPT = {"write-only": "true", "snapshot.num-retained.min": "1000"}
COLUMNS = {"id": "INT", "day": "STRING", "amount": "INT"}
Row = tuple[Any, ...]


class Twins:
    """Two equal tables in one warehouse: Java commits to one, we to the other."""

    def __init__(
        self, java: JavaPaimon, folder: Path, options: dict[str, str], **keys: Any
    ) -> None:
        self.java = java
        self.folder = folder
        for name in ("db.theirs", "db.ours"):
            java.create_table(name, COLUMNS, options={**KEPT, **options}, **keys)

    @property
    def theirs(self) -> JavaTable:
        return self.java.table("db.theirs")

    @property
    def ours(self) -> JavaTable:
        """Our table, as Java sees it."""
        return self.java.table("db.ours")

    def table(self) -> FileStoreTable:
        return Warehouse.open(str(self.folder)).table("db.ours")

    def committer(self) -> FileStoreCommit:
        return FileStoreCommit(self.table(), Warehouse.open(str(self.folder)).store)

    def write(self, rows: Sequence[Row], kind: str = "+I") -> None:
        """Commit the same rows to both."""
        self.theirs.write(rows, kind=kind)
        self.commit(self.ours.prepare(rows, kind=kind))

    def commit(self, messages: list[Any]) -> Snapshot | None:
        return self.committer().commit(self.converted(messages), user=str(uuid.uuid4()))

    def overwrite(self, messages: list[Any], partitions: list[bytes] | None = None) -> None:
        converted = self.converted(messages)
        self.committer().overwrite(converted, user=str(uuid.uuid4()), partitions=partitions)

    def converted(self, messages: list[Any]) -> list[Any]:
        return to_our_messages(messages, self.table().schema().num_buckets)

    def check(self) -> None:
        """Java reads the same from both, and says of ours what we say."""
        assert sorted(self.ours.rows(), key=repr) == sorted(self.theirs.rows(), key=repr)
        assert differences(self.table(), self.ours, system_tables=["files", "manifests"]) == {}

    def numbers(self, table: JavaTable) -> list[tuple[Any, ...]]:
        """What row tracking gave each live file, and the next id."""
        files = [
            (file["row_count"], file["min_sequence_number"], file["max_sequence_number"],
             file["first_row_id"])
            for file in table.live_files()
        ]  # fmt: skip
        head = table.load().snapshotManager().latestSnapshot()
        return [*sorted(files, key=repr), int(head.nextRowId())]


def test_row_tracking_numbers_rows_as_java_does(java: JavaPaimon, tmp_path: Path) -> None:
    # Grouped, Java takes the partitions in the order of a hash map.
    options = {
        "row-tracking.enabled": "true",
        "row-tracking.partition-group-on-commit": "false",
    }
    twins = Twins(java, tmp_path / "java", options, partition_keys=["day"])
    twins.write([(1, "a", 1), (2, "b", 2), (3, "a", 3)])
    twins.write([(4, "b", 4)])
    twins.write([(5, "c", 5), (6, "a", 6), (7, "c", 7)])
    assert twins.numbers(twins.ours) == twins.numbers(twins.theirs)
    assert twins.numbers(twins.ours)[-1] == 7
    assert twins.ours.system_table("row_tracking").rows
    columns = twins.ours.system_table("row_tracking").columns
    at = columns.index("_ROW_ID")
    assert sorted(row[at] for row in twins.ours.system_table("row_tracking").rows) == [*range(7)]


def test_java_goes_on_numbering_where_we_stopped(java: JavaPaimon, tmp_path: Path) -> None:
    twins = Twins(java, tmp_path / "java", {"row-tracking.enabled": "true"})
    twins.write([(1, "a", 1), (2, "b", 2)])
    twins.ours.write([(3, "c", 3)])
    twins.commit(twins.ours.prepare([(4, "d", 4)]))
    firsts = [file["first_row_id"] for file in twins.ours.live_files()]
    assert sorted(firsts) == [0, 2, 3]


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "keys"])
def test_java_reads_what_was_restored(
    java: JavaPaimon, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    twins = Twins(java, tmp_path / "java", {"bucket": "1", "bucket-key": "id"}, primary_keys=keys)
    table = twins.ours
    for row in ((1, "a", 1), (2, "b", 2)):
        twins.commit(table.prepare([row]))
    then = twins.table().head()
    assert then is not None
    rows = table.rows()
    twins.overwrite(table.prepare([(9, "z", 9)]))
    assert table.rows() == [(9, "z", 9)]
    for number in range(2):
        twins.committer().restore(then, user="rollback", identifier=number)
        assert sorted(table.rows()) == sorted(rows)
        assert differences(twins.table(), table, system_tables=["files"]) == {}
        # Whoever merges manifests next meets no file that is deleted and added again.
        table.write([(number + 3, "c", 3)], options={"manifest.merge-min-count": "2"})
        assert len(table.rows()) == 3


@pytest.mark.shared_cells
@pytest.mark.depth("full")
@pytest.mark.parametrize(
    "options",
    [
        {"manifest.merge-min-count": "3"},
        {"manifest.merge-min-count": "3", "manifest.target-file-size": "2 kb"},
        {"manifest.full-compaction-threshold-size": "6 kb"},
        {"manifest.merge-min-count": "2", "manifest.compression": "deflate"},
    ],
    ids=lambda options: " ".join(options.values()),
)
@pytest.mark.parametrize("partition_keys", [(), ("day",)], ids=["whole", "in partitions"])
def test_c25_merged_manifests_hold_what_java_reads(
    java: JavaPaimon,
    tmp_path: Path,
    rng: Random,
    options: dict[str, str],
    partition_keys: tuple[str, ...],
) -> None:
    twins = Twins(java, tmp_path / "java", options, partition_keys=partition_keys)
    for number in range(12):
        day = rng.choice("abc")
        rows = [(number, day, number)]
        overwrites = rng.random() < 0.3
        twins.theirs.write(rows, overwrite={} if overwrites else None)
        if rng.random() < 0.3:
            twins.ours.write(rows, overwrite={} if overwrites else None)
        elif overwrites:
            twins.overwrite(twins.ours.prepare(rows))
        else:
            twins.commit(twins.ours.prepare(rows))
        if number % 3 == 2:
            twins.check()


@pytest.mark.parametrize("codec", ["zstd", "zstandard", "snappy", "deflate", "bzip2", "xz", "null"])
def test_java_reads_every_codec_of_manifests(java: JavaPaimon, tmp_path: Path, codec: str) -> None:
    twins = Twins(
        java, tmp_path / "java", {"manifest.compression": codec, "manifest.merge-min-count": "2"}
    )
    for number in range(3):
        twins.write([(number, "a", number)])
        twins.ours.write([(number + 10, "a", number)])
        twins.theirs.write([(number + 10, "a", number)])
    twins.check()


def test_deleted_files_lose_their_statistics_where_the_option_asks(
    java: JavaPaimon, tmp_path: Path
) -> None:
    twins = Twins(java, tmp_path / "java", {"manifest.delete-file-drop-stats": "true"})
    twins.write([(1, "a", 1)])
    twins.overwrite(twins.ours.prepare([(2, "b", 2)]))
    twins.theirs.write([(2, "b", 2)], overwrite={})
    twins.check()
    assert deleted_stats(twins.table()) == [[]]


def deleted_stats(table: FileStoreTable) -> list[Any]:
    head = table.head()
    assert head is not None
    delta = table.read_manifests(table.scan.read_list(table.paths, head.delta_manifest_list))
    return [
        row["value_stats"]["null_counts"]
        for row in delta.select(["kind", "value_stats"]).to_pylist()
        if row["kind"] == 1
    ]


@pytest.mark.parametrize("is_dynamic", [True, False], ids=["dynamic", "static"])
def test_an_overwrite_replaces_what_javas_replaces(
    java: JavaPaimon, tmp_path: Path, is_dynamic: bool
) -> None:
    options = {"dynamic-partition-overwrite": str(is_dynamic).lower()}
    twins = Twins(java, tmp_path / "java", options, partition_keys=["day"])
    twins.write([(1, "a", 1), (2, "b", 2)])
    twins.theirs.write([(3, "a", 3)], overwrite={})
    twins.overwrite(twins.ours.prepare([(3, "a", 3)]))
    twins.check()
    assert len(twins.ours.rows()) == (2 if is_dynamic else 1)


@pytest.mark.parametrize("upgrades", ["true", "false"])
def test_an_overwrite_of_keys_lifts_files_as_javas_does(
    java: JavaPaimon, tmp_path: Path, upgrades: str
) -> None:
    options = {"bucket": "2", "overwrite-upgrade": upgrades}
    twins = Twins(java, tmp_path / "java", options, primary_keys=["id"])
    twins.write([(number, "a", number) for number in range(10)])
    rows = [(number, "b", number) for number in range(5)]
    twins.theirs.write(rows, overwrite={})
    twins.overwrite(twins.ours.prepare(rows))
    twins.check()
    levels = [sorted(file["level"] for file in each.live_files()) for each in both(twins)]
    assert levels[0] == levels[1]


def both(twins: Twins) -> tuple[JavaTable, JavaTable]:
    return twins.ours, twins.theirs


def test_changelog_files_are_found_by_java(java: JavaPaimon, tmp_path: Path) -> None:
    options = {"bucket": "1", "changelog-producer": "input"}
    twins = Twins(java, tmp_path / "java", options, primary_keys=["id"])
    twins.write([(1, "a", 1), (2, "b", 2)])
    twins.write([(1, "a", 1)], kind="-D")
    twins.check()
    for snapshot_id in (1, 2):
        counts = [changelog_rows(each, snapshot_id) for each in both(twins)]
        assert counts[0] == counts[1] == (3 - snapshot_id)


def changelog_rows(table: JavaTable, snapshot_id: int) -> int:
    scan = table.load().store().newScan().withSnapshot(snapshot_id)
    mode = java_class("table.source.ScanMode").CHANGELOG
    return sum(int(entry.file().rowCount()) for entry in scan.withKind(mode).plan().files())


def test_deletion_vectors_of_a_compaction_land_with_it(java: JavaPaimon, tmp_path: Path) -> None:
    options = {"bucket": "1", "deletion-vectors.enabled": "true"}
    twins = Twins(java, tmp_path / "java", options, primary_keys=["id"])
    for rows in ([(1, "a", 1), (2, "b", 2)], [(2, "c", 3)], [(1, "d", 4)]):
        twins.write(rows)
        twins.theirs.compact(full=False)
        twins.commit(twins.ours.prepare(compact=True))
        assert sorted(twins.ours.rows()) == sorted(twins.theirs.rows())
    kinds = [
        [str(each["commit_kind"]) for each in table.system_table("snapshots").records()]
        for table in both(twins)
    ]
    assert kinds[0] == kinds[1]


def test_statistics_are_carried_on(java: JavaPaimon, tmp_path: Path) -> None:
    twins = Twins(java, tmp_path / "java", {})
    twins.write([(1, "a", 1)])
    twins.ours.analyze(rows=1, size=100, columns={})
    analyzed = twins.table().head()
    twins.commit(twins.ours.prepare([(2, "b", 2)]))
    head = twins.table().head()
    assert analyzed is not None
    assert head is not None
    assert head.statistics == analyzed.statistics is not None
    assert twins.ours.load().statistics().isPresent()


def test_strict_mode_gives_way_where_javas_does(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path / "java")
    options = {"commit.strict-mode.last-safe-snapshot": "1"}
    twins = Twins(java, tmp_path / "java", {}, partition_keys=["day"])
    table = twins.ours
    table.write([(1, "a", 1), (2, "b", 2)])
    in_a, in_b = table.prepare([(3, "a", 3)]), table.prepare([(4, "b", 4)])
    table.write([(5, "a", 5)], overwrite={})
    table.set_options(options)
    with pytest.raises(Exception, match="OVERWRITE snapshot 2"):
        twins.commit(in_a)
    with pytest.raises(Exception, match="a OVERWRITE snapshot"):
        table.load().newBatchWriteBuilder().newCommit().commit(list_of(in_a))
    twins.commit(in_b)
    assert sorted(table.rows()) == [(2, "b", 2), (4, "b", 4), (5, "a", 5)]


@pytest.mark.parametrize("left", [None, b""], ids=["gone", "empty"])
def test_java_reads_and_goes_on_where_a_crash_took_the_hints(
    java: JavaPaimon, tmp_path: Path, left: bytes | None
) -> None:
    """A hint is not brought to the disk, and gets its name where for a moment there is none."""
    twins = Twins(java, tmp_path / "java", {})
    twins.write([(1, "a", 1)])
    twins.write([(2, "a", 2)])
    table = twins.table()
    for hint in (table.paths.latest_hint, table.paths.earliest_hint):
        Path(hint).unlink()
        if left is not None:
            Path(hint).write_bytes(left)
    twins.ours.write([(3, "a", 3)])
    assert sorted(twins.ours.rows()) == [(1, "a", 1), (2, "a", 2), (3, "a", 3)]
    head = twins.table().head()
    assert head is not None
    assert head.id == 3


def list_of(messages: list[Any]) -> Any:
    content = java_class("java.util.ArrayList")()
    for message in messages:
        content.add(message)
    return content
