"""What Java plans where an option names a second branch to read is what we say."""

from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import NotFound
from branch_console.format.identifier import Identifier
from branch_console.format.scan_options import ScanOptions
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.read.readers import plan_table
from branch_console.storage.file_io import FileIO
from branch_console.table.fallback_branch import FallbackRead, read_fallback
from branch_console.table.scan_state import state_asked
from branch_console.table.system_tables import read_system_table
from tests.support.java_paimon import JavaPaimon, JavaTable, serialized_row
from tests.support.local_tables import rows_of

pytestmark = pytest.mark.shared_cells

Places = dict[bytes, tuple[str, int, int]]
"""Per partition the branch that it is read from, with files and rows."""

OPTIONS = ["scan.fallback-branch", "scan.primary-branch"]


def build(
    java: JavaPaimon,
    *,
    main: str,
    other: str,
    keys: bool = False,
    partitioned: bool = True,
    options: dict[str, str] | None = None,
) -> JavaTable:
    """A table on two branches, with two rows for each letter, which is a partition."""
    table = java.create_table(
        "db.t",
        {"id": "INT NOT NULL", "day": "STRING NOT NULL", "source": "STRING"},
        partition_keys=("day",) if partitioned else (),
        primary_keys=("id", "day") if keys else (),
        options={"bucket": "1" if keys else "-1", **(options or {})},
    )
    table.create_branch("other")
    for branch, days in (("main", main), ("other", other)):
        for day in days:
            table.on(branch).write([(1, day, branch), (2, day, branch)])
    return table


def ours(path: Path, branch: str = "main") -> FallbackRead | None:
    warehouse = Warehouse.open(str(path / "java"), read_only=True)
    return read_fallback(warehouse.table(Identifier(database="db", table="t").on_branch(branch)))


def our_places(read: FallbackRead | None) -> Places:
    assert read is not None
    assert read.problem is None
    return {
        row["partition"]: (row["branch"], row["file_count"], row["row_count"])
        for row in read.partitions.to_pylist()
    }


def java_places(table: JavaTable, option: str) -> Places:
    order = ("main", "other") if option == "scan.fallback-branch" else ("other", "main")
    places: Places = {}
    for split in table.load().newReadBuilder().newScan().plan().splits():
        key = serialized_row(split.partition())
        branch = order[1] if split.isFallback() else order[0]
        files = list(split.dataFiles())
        known, count, rows = places.get(key, (branch, 0, 0))
        assert known == branch
        places[key] = (branch, count + len(files), rows + sum(int(f.rowCount()) for f in files))
    return places


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("keys", [False, True], ids=["append", "primary key"])
@pytest.mark.parametrize(
    ("main", "other"), [("ab", "bcd"), ("", "ab"), ("ab", "")], ids=["both", "other", "own"]
)
def test_each_partition_is_read_where_java_reads_it(
    option: str, keys: bool, main: str, other: str, java: JavaPaimon, tmp_path: Path
) -> None:
    table = build(java, main=main, other=other, keys=keys)
    table.set_options({option: "other"})
    found = our_places(ours(tmp_path))
    assert found == java_places(table, option)
    assert len(found) == len({*main, *other})
    read = {(str(day), str(branch)) for _, day, branch in table.rows()}
    assert len(read) == len(found)
    by_branch = sorted(branch for branch, _, _ in found.values())
    assert sorted(branch for _, branch in read) == by_branch


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(("main", "other"), [("a", "b"), ("", "b")], ids=["both", "other"])
def test_without_partitions_it_is_all_or_nothing(
    option: str, main: str, other: str, java: JavaPaimon, tmp_path: Path
) -> None:
    table = build(java, main=main, other=other, partitioned=False)
    table.set_options({option: "other"})
    found = our_places(ours(tmp_path))
    assert found == java_places(table, option)
    ((branch, _, _),) = found.values()
    assert {row[2] for row in table.rows()} == {branch}


@pytest.mark.parametrize("option", OPTIONS)
def test_level_zero_of_a_table_with_deletion_vectors_waits_for_its_compaction(
    option: str, java: JavaPaimon, tmp_path: Path
) -> None:
    options = {"deletion-vectors.enabled": "true", "write-only": "true"}
    table = build(java, main="ab", other="bc", keys=True, options=options)
    table.set_options({option: "other"})
    assert our_places(ours(tmp_path)) == java_places(table, option) == {}
    table.on("other").compact()
    found = our_places(ours(tmp_path))
    assert found == java_places(table, option)
    assert {branch for branch, _, _ in found.values()} == {"other"}


@pytest.mark.parametrize("option", OPTIONS)
def test_branches_whose_columns_differ_cannot_be_read_as_one(
    option: str, java: JavaPaimon, tmp_path: Path
) -> None:
    table = build(java, main="a", other="b")
    table.set_options({option: "other"})
    table.on("other").add_column("more", "INT")
    found = ours(tmp_path)
    assert found is not None
    assert found.problem is not None
    with pytest.raises(Exception, match="does not have the same row type"):
        table.load().newReadBuilder().newScan()
    table.add_column("extra", "INT")
    assert our_places(ours(tmp_path)) == java_places(table, option)


@pytest.mark.parametrize("option", OPTIONS)
def test_the_other_branch_reads_itself_alone(option: str, java: JavaPaimon, tmp_path: Path) -> None:
    table = build(java, main="a", other="b")
    table.on("other").set_options({option: "other"})
    assert ours(tmp_path, "other") is None
    assert ours(tmp_path) is None
    assert {row[2] for row in table.on("other").rows()} == {"other"}
    assert {row[2] for row in table.rows()} == {"main"}


def our_rows(path: Path, options: dict[str, str] | None = None, branch: str = "main") -> list[Any]:
    warehouse = Warehouse.open(str(path / "java"), read_only=True)
    assert isinstance(warehouse.file_io, FileIO)
    table = warehouse.table(Identifier(database="db", table="t").on_branch(branch))
    read = plan_table(warehouse.file_io, state_asked(table, ScanOptions.parse(options or {})))
    return sorted(tuple(row.values()) for row in rows_of(read).to_pylist())


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("keys", [False, True], ids=["append", "primary key"])
@pytest.mark.parametrize("partitioned", [True, False], ids=["partitions", "whole"])
@pytest.mark.parametrize(("main", "other"), [("ab", "bcd"), ("", "ab"), ("ab", "")])
def test_the_rows_of_both_branches_are_those_of_java(
    option: str, keys: bool, partitioned: bool, main: str, other: str, java: JavaPaimon,
    tmp_path: Path,
) -> None:  # fmt: skip
    table = build(java, main=main, other=other, keys=keys, partitioned=partitioned)
    alone = our_rows(tmp_path, {option: "other"})
    table.set_options({option: "other"})
    # The option of one read says the same as that of the table.
    assert alone == our_rows(tmp_path)
    expected = sorted(map(tuple, table.rows()))
    assert our_rows(tmp_path) == expected
    assert {row[1] for row in expected} == {*main, *other} or not partitioned
    # Each branch that is named alone still reads itself alone.
    assert {row[2] for row in our_rows(tmp_path, branch="other")} <= {"other"}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_earlier_state_takes_the_other_branch_as_it_was_then(
    option: str, java: JavaPaimon, tmp_path: Path
) -> None:
    table = build(java, main="a", other="b")
    table.on("main").write([(3, "c", "main")])
    table.on("other").write([(3, "b", "other"), (3, "d", "other")])
    table.set_options({option: "other"})
    main, other = table.snapshots(), table.on("other").snapshots()
    times = sorted(int(each["timeMillis"]) for each in (*main, *other))
    for millis in times[1:]:
        asked = {"scan.timestamp-millis": str(millis)}
        assert our_rows(tmp_path, asked) == sorted(map(tuple, table.rows(options=asked))), millis
    last = {"scan.snapshot-id": str(len(main))}
    assert our_rows(tmp_path, last) == sorted(map(tuple, table.rows(options=last)))
    # Paimon reads the first snapshot of the other branch where it had none yet.
    with pytest.raises(NotFound, match="no snapshot at or before"):
        our_rows(tmp_path, {"scan.snapshot-id": "1"})


@pytest.mark.parametrize("option", OPTIONS)
def test_the_system_table_of_partitions_counts_what_is_read(
    option: str, java: JavaPaimon, tmp_path: Path
) -> None:
    table = build(java, main="ab", other="bc")
    table.on("other").write([(3, "b", "other")])
    table.set_options({option: "other"})
    warehouse = Warehouse.open(str(tmp_path / "java"), read_only=True)
    handle = warehouse.table(Identifier(database="db", table="t"))
    ours = read_system_table(handle, "partitions").select(["partition", "record_count"])
    records = table.system_table("partitions").records()
    assert {row["partition"]: row["record_count"] for row in ours.to_pylist()} == {
        row["partition"]: row["record_count"] for row in records
    }
