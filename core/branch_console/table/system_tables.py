"""Paimon's system tables as Arrow, with its names, order and value formats, on every branch.

Source: the classes in Paimon's `table/system`. `branches` has columns of our own, behind Paimon's.
Times are wall clock in the zone of the reader, as Paimon shows them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Final

import pyarrow as pa

from branch_console.errors import ErrorKind, FormatError, InvalidInput
from branch_console.format.data_types import field_to_json
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.json_text import JsonObject, to_pretty_json
from branch_console.format.lineage_event import LineageEvent
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.file_tables import (
    read_buckets,
    read_file_key_ranges,
    read_files,
    read_first_files,
    read_manifests,
    read_partitions,
    read_table_indexes,
)
from branch_console.table.java_text import java_map_order
from branch_console.table.versioned_files import naming_file, values_of

Reader = Callable[[FileStoreTable, tzinfo], pa.Table]

_TIMESTAMP: Final = pa.timestamp("ms")
_NEED_ROWS: Final = frozenset({"audit_log", "binlog", "ro", "row_tracking"})
_SNAPSHOTS: Final = pa.schema(
    [
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("commit_user", pa.string(), nullable=False),
        pa.field("commit_identifier", pa.int64(), nullable=False),
        pa.field("commit_kind", pa.string(), nullable=False),
        pa.field("commit_time", _TIMESTAMP, nullable=False),
        pa.field("base_manifest_list", pa.string(), nullable=False),
        pa.field("delta_manifest_list", pa.string(), nullable=False),
        ("changelog_manifest_list", pa.string()),
        ("total_record_count", pa.int64()),
        ("delta_record_count", pa.int64()),
        ("changelog_record_count", pa.int64()),
        ("watermark", pa.int64()),
        ("next_row_id", pa.int64()),
        ("operation", pa.string()),
        ("writer_version", pa.string()),
    ]
)
_SCHEMAS: Final = pa.schema(
    [
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("fields", pa.string(), nullable=False),
        pa.field("partition_keys", pa.string(), nullable=False),
        pa.field("primary_keys", pa.string(), nullable=False),
        pa.field("options", pa.string(), nullable=False),
        ("comment", pa.string()),
        pa.field("update_time", _TIMESTAMP, nullable=False),
    ]
)
_OPTIONS: Final = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("value", pa.string(), nullable=False),
    ]
)
# From `head_snapshot_id` on the columns are ours.
_BRANCHES: Final = pa.schema(
    [
        pa.field("branch_name", pa.string(), nullable=False),
        pa.field("create_time", _TIMESTAMP, nullable=False),
        ("head_snapshot_id", pa.int64()),
        ("head_commit_time", _TIMESTAMP),
        ("schema_id", pa.int64()),
        ("base_tag", pa.string()),
        ("owner", pa.string()),
        ("reason", pa.string()),
        ("error", pa.string()),
    ]
)
_TAGS: Final = pa.schema(
    [
        pa.field("tag_name", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        pa.field("commit_time", _TIMESTAMP, nullable=False),
        ("record_count", pa.int64()),
        ("create_time", _TIMESTAMP),
        ("time_retained", pa.string()),
    ]
)
_CONSUMERS: Final = pa.schema(
    [
        pa.field("consumer_id", pa.string(), nullable=False),
        pa.field("next_snapshot_id", pa.int64(), nullable=False),
    ]
)
_STATISTICS: Final = pa.schema(
    [
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int64(), nullable=False),
        ("mergedRecordCount", pa.int64()),
        ("mergedRecordSize", pa.int64()),
        ("colstat", pa.string()),
    ]
)
_AGGREGATION_FIELDS: Final = pa.schema(
    [
        pa.field("field_name", pa.string(), nullable=False),
        pa.field("field_type", pa.string(), nullable=False),
        ("function", pa.string()),
        ("function_options", pa.string()),
        ("comment", pa.string()),
    ]
)


def read_system_table(table: FileStoreTable, name: str, *, zone: tzinfo | None = None) -> pa.Table:
    """Read a system table of the branch that the handle looks at.

    Args:
        table: The table on a branch.
        name: One of SYSTEM_TABLES, in any case.
        zone: Whose wall clock the times are; None takes that of this machine.

    Raises:
        InvalidInput: There is no such system table, or it needs the rows of the table.
        FormatError: A file that it shows is broken.
    """
    reader = _READERS.get(name.lower())
    if reader is not None:
        return reader(table, zone or _LocalZone())
    if name.lower() in _NEED_ROWS:
        raise InvalidInput(
            f"The system table {name!r} shows rows, not metadata. Query it with a statement.",
            kind=ErrorKind.UNSUPPORTED,
            system_table=name,
        )
    raise InvalidInput(
        f"There is no system table {name!r}. Choose one of {', '.join(SYSTEM_TABLES)}.",
        kind=ErrorKind.INVALID_NAME,
        system_table=name,
    )


def read_first_rows(
    table: FileStoreTable, name: str, most: int, *, zone: tzinfo | None = None
) -> tuple[pa.Table, int]:
    """Read the first rows of a system table, and how many rows it has.

    Args:
        table: The table on a branch.
        name: One of SYSTEM_TABLES, in any case.
        most: How many rows to return at most.
        zone: Whose wall clock the times are; None takes that of this machine.

    Raises:
        InvalidInput: There is no such system table, or it needs the rows of the table.
        FormatError: A file that it shows is broken.
    """
    if name.lower() == "files":
        # The text of keys and statistics takes most of the time: a million rows, ten seconds.
        return read_first_files(table, zone or _LocalZone(), most)
    found = read_system_table(table, name, zone=zone)
    return found.slice(0, most), found.num_rows


def _read_snapshots(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    rows = [
        {
            "snapshot_id": each.id,
            "schema_id": each.schema_id,
            "commit_user": each.commit_user,
            "commit_identifier": each.commit_identifier,
            "commit_kind": str(each.commit_kind),
            "commit_time": _wall_clock(each.time_millis, zone),
            "base_manifest_list": each.base_manifest_list,
            "delta_manifest_list": each.delta_manifest_list,
            "changelog_manifest_list": each.changelog_manifest_list,
            "total_record_count": each.total_record_count,
            "delta_record_count": each.delta_record_count,
            "changelog_record_count": each.changelog_record_count,
            "watermark": each.watermark,
            "next_row_id": each.next_row_id,
            "operation": each.operation,
            "writer_version": each.writer_version,
        }
        for each in table.snapshots.all()
    ]
    return pa.Table.from_pylist(rows, _SNAPSHOTS)


def _read_schemas(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    rows = [
        {
            "schema_id": each.id,
            "fields": _flat_json([field_to_json(field) for field in each.fields]),
            "partition_keys": _flat_json(each.partition_keys),
            "primary_keys": _flat_json(each.primary_keys),
            "options": _flat_json({key: each.options[key] for key in java_map_order(each.options)}),
            "comment": each.comment,
            "update_time": _wall_clock(each.time_millis, zone),
        }
        for each in table.schemas.all()
    ]
    return pa.Table.from_pylist(rows, _SCHEMAS)


def _read_options(table: FileStoreTable, _: tzinfo) -> pa.Table:
    rows = [{"key": key, "value": value} for key, value in table.schema().options.items()]
    return pa.Table.from_pylist(rows, _OPTIONS)


def _read_branches(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    latest = _latest_notes(table.ledger.events())
    rows = []
    for state in table.branches.states():
        if state.name == MAIN_BRANCH:
            continue  # Paimon does not list it
        head = state.ref.head if state.ref else None
        note = latest.get(state.name)
        rows.append(
            {
                "branch_name": state.name,
                "create_time": _wall_clock(state.created_millis, zone),
                "head_snapshot_id": head.id if head else None,
                "head_commit_time": _wall_clock(head.time_millis, zone) if head else None,
                "schema_id": state.ref.schema.id if state.ref else None,
                "base_tag": state.ref.base_tag if state.ref else None,
                "owner": note.owner if note else None,
                "reason": note.reason if note else None,
                "error": state.error.message if state.error else None,
            }
        )
    return pa.Table.from_pylist(rows, _BRANCHES)


def _latest_notes(events: Sequence[LineageEvent]) -> dict[str, LineageEvent]:
    """The newest event of each branch that names an owner or a reason."""
    return {event.branch: event for event in events if event.owner or event.reason}


def _read_tags(table: FileStoreTable, zone: tzinfo) -> pa.Table:
    rows = [
        {
            "tag_name": each.name,
            "snapshot_id": each.snapshot.id,
            "schema_id": each.snapshot.schema_id,
            "commit_time": _wall_clock(each.snapshot.time_millis, zone),
            "record_count": each.snapshot.total_record_count,
            "create_time": each.create_time,
            "time_retained": _duration_text(each.time_retained_seconds),
        }
        for each in table.tags.all()
    ]
    # Paimon keeps microseconds here though the column has milliseconds.
    times = pa.array([row.pop("create_time") for row in rows], pa.timestamp("us"))
    found = pa.Table.from_pylist(rows, _TAGS)
    position = _TAGS.get_field_index("create_time")
    return found.set_column(position, pa.field("create_time", pa.timestamp("us")), times)


def _read_consumers(table: FileStoreTable, _: tzinfo) -> pa.Table:
    rows = [
        {"consumer_id": each.id, "next_snapshot_id": each.next_snapshot_id}
        for each in values_of(table.consumers.states_with_fence())
    ]
    return pa.Table.from_pylist(rows, _CONSUMERS)


def _read_statistics(table: FileStoreTable, _: tzinfo) -> pa.Table:
    head = table.head()
    if head is None or head.statistics is None:
        return _STATISTICS.empty_table()
    path = table.paths.statistics(head.statistics)
    try:
        raw = JsonObject.parse(table.reader.read_immutable(path), "statistics file")
        row = {
            "snapshot_id": raw.get("snapshotId", int),
            "schema_id": raw.get("schemaId", int),
            "mergedRecordCount": raw.find("mergedRecordCount", int),
            "mergedRecordSize": raw.find("mergedRecordSize", int),
            "colstat": to_pretty_json(raw.find("colStats", dict) or {}),
        }
    except FormatError as error:
        raise naming_file(error, path) from error
    return pa.Table.from_pylist([row], _STATISTICS)


def _read_aggregation_fields(table: FileStoreTable, _: tzinfo) -> pa.Table:
    schema = table.schema()
    keys: dict[str, list[str]] = {}
    for key in schema.options:
        parts = key.split(".")
        if len(parts) > 2 and parts[0] == "fields":
            keys.setdefault(parts[1], []).append(key)
    rows = [
        {
            "field_name": field.name,
            "field_type": str(field.type),
            "function": _java_list(schema.options[key] for key in keys.get(field.name, ())),
            "function_options": _java_list(keys.get(field.name, ())),
            "comment": field.description,
        }
        for field in schema.fields
    ]
    return pa.Table.from_pylist(rows, _AGGREGATION_FIELDS)


def _flat_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _java_list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


def _duration_text(seconds: float | None) -> str | None:
    """Java's Duration.toString: `PT5H`, `PT1M30.5S`."""
    if seconds is None:
        return None
    whole, fraction = divmod(Decimal(str(seconds)), 1)
    hours, rest = divmod(int(whole), 3600)
    minutes, left = divmod(rest, 60)
    text = f"{hours}H" if hours else ""
    text += f"{minutes}M" if minutes else ""
    last = (Decimal(left) + fraction).normalize()
    text += f"{last:f}S" if last else ""
    return f"PT{text or '0S'}"


def _wall_clock(time_millis: int, zone: tzinfo) -> datetime:
    moment = datetime.fromtimestamp(time_millis // 1000, zone).replace(tzinfo=None)
    return moment + timedelta(milliseconds=time_millis % 1000)


class _LocalZone(tzinfo):
    """The zone of this machine, with the summer time of each moment."""

    def fromutc(self, moment: datetime) -> datetime:
        return moment.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)

    def utcoffset(self, moment: datetime | None) -> timedelta:
        found = (moment or datetime.now()).replace(tzinfo=None).astimezone().utcoffset()
        return found or timedelta()

    def dst(self, moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, moment: datetime | None) -> str:
        return "local"


_READERS: Final[Mapping[str, Reader]] = {
    "snapshots": _read_snapshots,
    "schemas": _read_schemas,
    "options": _read_options,
    "branches": _read_branches,
    "tags": _read_tags,
    "manifests": read_manifests,
    "files": read_files,
    "partitions": read_partitions,
    "buckets": read_buckets,
    "consumers": _read_consumers,
    "statistics": _read_statistics,
    "table_indexes": read_table_indexes,
    "file_key_ranges": read_file_key_ranges,
    "aggregation_fields": _read_aggregation_fields,
}
SYSTEM_TABLES: Final = tuple(_READERS)
