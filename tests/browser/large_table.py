"""A table with a long history and many branches: metadata files only, as Paimon lays them out."""

from __future__ import annotations

import uuid
from pathlib import Path

from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema

_START = 1_700_000_000_000
_MINUTE = 60_000


def write_large_table(
    warehouse: Path, name: str = "history", *, snapshots: int = 10_000, branches: int = 500
) -> Path:
    """Write `big.<name>`: each branch forks off main and has a few commits of its own."""
    table = warehouse / "big.db" / name
    schema = TableSchema(
        id=0,
        fields=(
            DataField(id=0, name="id", type=parse_data_type("BIGINT NOT NULL")),
            DataField(id=1, name="text", type=parse_data_type("STRING")),
        ),
        highest_field_id=1,
        partition_keys=(),
        primary_keys=(),
        options=Options({"bucket": "-1"}),
        time_millis=_START,
    )
    main = [_snapshot("main", number, number) for number in range(1, snapshots + 1)]
    _write_branch(table, schema, main)
    (table / "manifest").mkdir()
    _write_manifest_lists(table, main)
    for number in range(branches):
        fork = main[(number * 19) % (snapshots - 1)]
        own = [
            _snapshot(f"b{number}", fork.id + step, snapshots + number + step)
            for step in range(1, 2 + number % 7)
        ]
        folder = table / "branch" / f"branch-work-{number:03}"
        _write_branch(folder, schema, [fork, *own])
        _write_manifest_lists(table, own)
    return table


def _write_manifest_lists(table: Path, snapshots: list[Snapshot]) -> None:
    empty = encode_manifest_list(MANIFEST_FILE_META.empty_table())
    for snapshot in snapshots:
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            (table / "manifest" / name).write_bytes(empty)


def _snapshot(branch: str, number: int, minute: int) -> Snapshot:
    identity = uuid.uuid5(uuid.NAMESPACE_OID, f"{branch} {number}")
    return Snapshot(
        uuid=str(identity),
        id=number,
        schema_id=0,
        base_manifest_list=f"manifest-list-{identity}-0",
        delta_manifest_list=f"manifest-list-{identity}-1",
        commit_user="etl",
        commit_identifier=number,
        commit_kind=CommitKind.COMPACT if number % 10 == 0 else CommitKind.APPEND,
        time_millis=_START + minute * _MINUTE,
        total_record_count=number * 1_000,
        delta_record_count=0 if number % 10 == 0 else 1_000 + number % 300,
    )


def _write_branch(folder: Path, schema: TableSchema, snapshots: list[Snapshot]) -> None:
    (folder / "schema").mkdir(parents=True)
    (folder / "snapshot").mkdir()
    (folder / "schema" / "schema-0").write_text(schema.to_json())
    for snapshot in snapshots:
        (folder / "snapshot" / f"snapshot-{snapshot.id}").write_text(snapshot.to_json())
    (folder / "snapshot" / "LATEST").write_text(str(snapshots[-1].id))
    (folder / "snapshot" / "EARLIEST").write_text(str(snapshots[0].id))
