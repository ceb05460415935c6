"""System tables: names, columns of our own, and what no fixture has; equality is a golden test."""

import datetime as dt
import json
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.tag import Tag
from branch_console.storage.file_io import FileIO
from branch_console.table.java_text import java_map_order
from branch_console.table.system_tables import SYSTEM_TABLES, read_first_rows, read_system_table
from tests.support.contested_table import ContestedTable
from tests.support.table_files import TableFiles, a_schema, a_snapshot

ZURICH = ZoneInfo("Europe/Zurich")


@pytest.fixture
def files(tmp_path: Path) -> TableFiles:
    made = TableFiles(FileIO.for_url(str(tmp_path)))
    made.schema(a_schema(options={"write-only": "true"}))
    return made


@pytest.mark.parametrize("name", SYSTEM_TABLES)
def test_every_system_table_of_an_empty_table_has_its_columns(files: TableFiles, name: str) -> None:
    found = read_system_table(files.table(), name.upper())
    found.validate(full=True)
    assert found.num_columns >= 2
    has_rows = name in {"schemas", "options", "aggregation_fields"}
    assert (found.num_rows > 0) == has_rows


@pytest.mark.parametrize("name", ["files", "buckets"])
def test_the_first_rows_are_those_of_the_whole_table(tmp_path: Path, name: str) -> None:
    made = ContestedTable(tmp_path, flights=2)
    table = made.warehouse.table(made.name)
    whole = read_system_table(table, name)
    assert read_first_rows(table, name, 1) == (whole.slice(0, 1), whole.num_rows)
    assert whole.num_rows > 1
    assert read_first_rows(table, name, 100) == (whole, whole.num_rows)


def test_tables_of_rows_are_refused_by_name(files: TableFiles) -> None:
    with pytest.raises(InvalidInput, match="shows rows") as caught:
        read_system_table(files.table(), "audit_log")
    assert caught.value.kind is ErrorKind.UNSUPPORTED


def test_an_unknown_name_lists_the_known_ones(files: TableFiles) -> None:
    with pytest.raises(InvalidInput, match="snapshots, schemas"):
        read_system_table(files.table(), "snapshot")


def test_times_are_wall_clock_in_the_zone_asked_for(files: TableFiles) -> None:
    # The night on which summer time ended in Zurich: 01:30 UTC is 02:30 there.
    ended = int(dt.datetime(2024, 10, 27, 1, 30, tzinfo=dt.UTC).timestamp() * 1000) + 123
    files.snapshots(a_snapshot(1, time_millis=ended), a_snapshot(2, time_millis=ended - 10**7))
    times = read_system_table(files.table(), "snapshots", zone=ZURICH)["commit_time"].to_pylist()
    assert times == [
        dt.datetime(2024, 10, 27, 2, 30, 0, 123000),
        dt.datetime(2024, 10, 27, 0, 43, 20, 123000),
    ]


def test_branches_have_columns_of_our_own_last(files: TableFiles) -> None:
    files.schema(a_schema(2), branch="dev")
    files.snapshots(a_snapshot(7), branch="dev")
    files.snapshots(a_snapshot(1), branch="half")
    event = LineageEvent(
        id="e",
        branch="dev",
        operation_id="op",
        actor="ann",
        kind=LineageKind.CREATED,
        time_millis=1,
        owner="ann",
        reason="try it",
        base_tag="base",
    )
    files.write(files.paths.event(1, "e"), event.to_json())
    found = read_system_table(files.table(), "branches", zone=dt.UTC)
    assert found.column_names[:2] == ["branch_name", "create_time"]
    dev, half = found.drop_columns(["create_time"]).to_pylist()
    assert dev == {
        "branch_name": "dev",
        "head_snapshot_id": 7,
        "head_commit_time": dt.datetime(1970, 1, 1, 0, 7),
        "schema_id": 2,
        "base_tag": "base",
        "owner": "ann",
        "reason": "try it",
        "error": None,
    }
    assert "branch-half/schema" in half["error"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "PT0S"), (59, "PT59S"), (90.5, "PT1M30.5S"), (18000, "PT5H"), (90061, "PT25H1M1S")],
)
def test_retentions_are_written_as_java_writes_durations(
    files: TableFiles, seconds: float, text: str
) -> None:
    made = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
    files.tag(
        Tag(name="v", snapshot=a_snapshot(1), create_time=made, time_retained_seconds=seconds)
    )
    (row,) = read_system_table(files.table(), "tags").to_pylist()
    assert (row["time_retained"], row["create_time"]) == (text, made)


def test_statistics_are_those_the_head_names(files: TableFiles) -> None:
    columns = {"id": {"colId": 0, "distinctCount": 3, "min": "1", "nullCount": 0}}
    content = {
        "snapshotId": 1,
        "schemaId": 0,
        "mergedRecordCount": 3,
        "mergedRecordSize": 30,
        "colStats": columns,
    }
    path = files.write(files.paths.statistics("stat-1"), json.dumps(content))
    files.snapshots(a_snapshot(2, statistics="stat-1"))
    (row,) = read_system_table(files.table(), "statistics").to_pylist()
    assert (row["snapshot_id"], row["mergedRecordCount"], row["mergedRecordSize"]) == (1, 3, 30)
    assert json.loads(row["colstat"]) == columns
    files.write(path, "{")
    with pytest.raises(FormatError, match="stat-1 is broken"):
        read_system_table(files.table("main"), "statistics")


def test_a_broken_snapshot_is_named_and_the_other_tables_stay_usable(files: TableFiles) -> None:
    files.snapshots(a_snapshot(1))
    files.write(files.paths.snapshot(2), "{")
    with pytest.raises(FormatError, match="snapshot-2"):
        read_system_table(files.table(), "snapshots")
    assert read_system_table(files.table(), "schemas").num_rows == 1


def test_aggregation_fields_name_the_options_of_each_column(files: TableFiles) -> None:
    options = {
        "fields.name.aggregate-function": "listagg",
        "fields.name.distinct": "true",
        "fields.default-aggregate-function": "sum",
    }
    files.schema(a_schema(1, options=options))
    found = read_system_table(files.table(), "aggregation_fields").to_pylist()
    assert [(row["field_name"], row["function"]) for row in found] == [
        ("id", "[]"),
        ("name", "[listagg, true]"),
    ]
    assert found[1]["function_options"] == "[fields.name.aggregate-function, fields.name.distinct]"


def test_keys_come_in_the_order_of_a_java_map() -> None:
    # What java.util.HashMap answers for these keys.
    assert java_map_order(["write-only", "bucket", "bucket-key"]) == [
        "bucket",
        "write-only",
        "bucket-key",
    ]
