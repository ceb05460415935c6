"""What real Paimon wrote decodes to what it says, and encodes again to the same values."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from branch_console.format.data_types import AtomicType, RowType, TypeRoot
from branch_console.format.index_manifest import decode_index_manifest, encode_index_manifest
from branch_console.format.manifest_entry import FileKind, decode_manifest, encode_manifest
from branch_console.format.manifest_list import decode_manifest_list, encode_manifest_list
from branch_console.format.options import (
    DATA_FILE_PATH_DIRECTORY,
    DELETION_VECTORS_BITMAP64,
    INDEX_FILE_IN_DATA_FILE_DIR,
    METADATA_STATS_DENSE_STORE,
)
from branch_console.format.partition_path import partition_path
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.format.tag import Tag
from branch_console.format.values.arrow_types import arrow_schema, to_arrow
from branch_console.format.values.binary_row import decode_row, encode_row
from branch_console.format.values.binary_rows import decode_rows, encode_rows
from branch_console.format.values.bucket import assign_buckets
from branch_console.format.values.deletion_vector import (
    DeletionVectorRange,
    read_deletion_vectors,
    write_deletion_vectors,
)
from branch_console.format.values.simple_stats import (
    collect_key_stats,
    collect_partition_stats,
    collect_stats,
    stats_modes,
    value_stats,
)
from tests.support.warehouses import FixtureWarehouse

_BUCKET_FOLDERS = {-2: "bucket-postpone"}
# 1.4.2 has no bounds of bytes; 2.0.0 has, in an order that is not that of 1.4.2. Decision 0029.
_GAPS = {TypeRoot.BINARY, TypeRoot.VARBINARY}


@dataclass(frozen=True, kw_only=True, eq=False)
class Head:
    """A branch of a fixture table: its folder, schemas, newest snapshot and what Paimon says."""

    version: str
    table: str
    root: Path
    schemas: dict[int, TableSchema]
    snapshot: Snapshot
    expected: dict[str, Any]

    @property
    def schema(self) -> TableSchema:
        return self.schemas[max(self.schemas)]

    def manifests(self, names: list[str]) -> Iterator[tuple[dict[str, Any], pa.Table]]:
        for name in names:
            listed = decode_manifest_list((self.root / "manifest" / name).read_bytes(), name)
            for meta in listed.to_pylist():
                file = self.root / "manifest" / meta["file_name"]
                yield meta, decode_manifest(file.read_bytes(), file.name)

    @functools.cached_property
    def live_files(self) -> pa.Table:
        lists = [self.snapshot.base_manifest_list, self.snapshot.delta_manifest_list]
        parts = [entries for _, entries in self.manifests(lists)]
        entries = pa.concat_tables(parts) if parts else None
        if entries is None:
            return pa.table({})
        gone = entries.filter(pc.equal(entries["kind"], FileKind.DELETE))["identity"]
        return entries.filter(pc.invert(pc.is_in(entries["identity"], value_set=gone)))

    def folder(self, entry: dict[str, Any]) -> Path:
        values = decode_row(entry["partition"], self.schema.partition_type.types)
        top = self.schema.options.read(DATA_FILE_PATH_DIRECTORY) or ""
        bucket = _BUCKET_FOLDERS.get(entry["bucket"], f"bucket-{entry['bucket']}")
        return self.root / top / partition_path(values, self.schema) / bucket


def _heads(warehouse: FixtureWarehouse) -> Iterator[Head]:
    for name, table in warehouse.expected.items():
        root = warehouse.table_path(name)
        for branch, expected in table["on"].items():
            folder = root if branch == "main" else root / "branch" / f"branch-{branch}"
            ids = [int(path.name[9:]) for path in (folder / "snapshot").glob("snapshot-*")]
            schemas = [TableSchema.from_json(p.read_bytes()) for p in (folder / "schema").iterdir()]
            if not ids or not isinstance(expected["live_files"], list):
                continue
            yield Head(
                version=warehouse.version,
                table=f"{name} on {branch}",
                root=root,
                schemas={schema.id: schema for schema in schemas},
                snapshot=Snapshot.from_json(
                    (folder / f"snapshot/snapshot-{max(ids)}").read_bytes()
                ),
                expected=expected,
            )


@pytest.fixture(scope="session")
def heads(fixture_warehouse: FixtureWarehouse) -> list[Head]:
    return list(_heads(fixture_warehouse))


def _files(warehouse: FixtureWarehouse, pattern: str) -> list[Path]:
    found = [p for p in warehouse.path.rglob(pattern) if p.is_file() and p.suffix != ".crc"]
    assert found
    return found


def test_schema_files_are_read_and_written_as_paimon_writes_them(
    fixture_warehouse: FixtureWarehouse,
) -> None:
    for path in _files(fixture_warehouse, "schema/schema-*"):
        schema = TableSchema.from_json(path.read_bytes())
        assert TableSchema.from_json(schema.to_json()) == schema
        # The order of options is that of a hash map; all else is fixed.
        ours, theirs = schema.to_json().splitlines(), path.read_text().splitlines()
        assert Counter(s.rstrip(",") for s in ours) == Counter(s.rstrip(",") for s in theirs)


def test_snapshot_files_are_read_and_written_as_paimon_writes_them(
    fixture_warehouse: FixtureWarehouse,
) -> None:
    for path in _files(fixture_warehouse, "snapshot/snapshot-*"):
        assert Snapshot.from_json(path.read_bytes()).to_json() == path.read_text(), path


def test_tag_files_are_read_and_written_again(fixture_warehouse: FixtureWarehouse) -> None:
    for path in _files(fixture_warehouse, "tag/tag-*"):
        tag = Tag.from_json(path.name.removeprefix("tag-"), path.read_bytes())
        assert Tag.from_json(tag.name, tag.to_json()) == tag
        ours, theirs = json.loads(tag.to_json()), json.loads(path.read_text())
        if len(theirs.get("tagCreateTime", ())) == 7:
            # A moment of Python ends at microseconds.
            theirs["tagCreateTime"][6] = theirs["tagCreateTime"][6] // 1000 * 1000
        assert ours == theirs, path


@pytest.mark.parametrize(
    ("pattern", "decode", "encode"),
    [
        ("manifest/manifest-[!l]*", decode_manifest, encode_manifest),
        ("manifest/manifest-list-*", decode_manifest_list, encode_manifest_list),
        ("manifest/index-manifest-*", decode_index_manifest, encode_index_manifest),
    ],
    ids=["manifests", "manifest lists", "index manifests"],
)
def test_metadata_files_are_read_and_written_again(
    fixture_warehouse: FixtureWarehouse,
    pattern: str,
    decode: Callable[[bytes, str], pa.Table],
    encode: Callable[[pa.Table], bytes],
) -> None:
    for path in _files(fixture_warehouse, pattern):
        data = path.read_bytes()
        table = decode(data, path.name)
        written = encode(table)
        assert decode(written, path.name).equals(table), path
        theirs, ours = _avro_schema(data), _avro_schema(written)
        assert _without_newest_fields(ours) == _without_newest_fields(theirs), path


def test_live_files_are_those_that_paimon_lists(heads: list[Head]) -> None:
    for head in heads:
        found = {row["file_name"]: row for row in head.live_files.to_pylist()}
        assert set(found) == {f["file_name"] for f in head.expected["live_files"]}, head.table
        for theirs in head.expected["live_files"]:
            assert _shown(found[theirs["file_name"]]) == {
                key: value for key, value in theirs.items() if key != "partition"
            }, head.table


def test_files_lie_where_the_partition_path_says(heads: list[Head]) -> None:
    for head in heads:
        for entry in head.live_files.to_pylist():
            if entry["external_path"] is None:
                assert (head.folder(entry) / entry["file_name"]).is_file(), head.table


def test_rows_lie_in_the_bucket_that_their_key_gives(heads: list[Head]) -> None:
    checked = 0
    for head in heads:
        if head.schema.bucket_mode is not BucketMode.HASH_FIXED:
            continue
        for entry in head.live_files.to_pylist():
            rows = _rows(head, entry)
            if rows is not None and entry["total_buckets"] == head.schema.num_buckets:
                assert set(assign_buckets(rows, head.schema).to_pylist()) <= {entry["bucket"]}
                checked += rows.num_rows
    assert checked > 20


def test_statistics_are_those_that_paimon_collects(heads: list[Head]) -> None:
    checked = 0
    for head in heads:
        for entry in head.live_files.to_pylist():
            rows = _rows(head, entry)
            schema = head.schemas.get(entry["schema_id"])
            if rows is None or schema is None or entry["write_cols"] is not None:
                continue
            modes = stats_modes(schema.row_type.names, schema.options, level=entry["level"])
            dense = schema.options.read(METADATA_STATS_DENSE_STORE)
            stats = collect_stats(rows, schema.row_type, modes, dense=dense)
            columns = entry["value_stats_cols"]
            assert stats.columns == (None if columns is None else tuple(columns)), head.table
            theirs = entry["value_stats"]
            assert stats.null_counts == tuple(theirs["null_counts"]), head.table
            row_type = schema.row_type if columns is None else schema.project(tuple(columns))
            for name in ("min_values", "max_values"):
                ours = _with_gaps(getattr(stats, name), row_type)
                assert ours == _with_gaps(theirs[name], row_type), head.table
            keys = collect_key_stats(rows, schema.key_type)
            assert keys.min_values == entry["key_stats"]["min_values"], head.table
            assert keys.max_values == entry["key_stats"]["max_values"], head.table
            checked += 1
    assert checked > 50


def test_statistics_of_older_schemas_are_shown_in_the_newest_as_paimon_does(
    heads: list[Head],
) -> None:
    for head in heads:
        files = head.expected["system"]["files"]
        live = head.live_files
        if "rows" not in files or not live.num_rows:
            continue
        if head.version == "1.4.2" and "data_evolution" in head.table:
            continue  # It leaves out columns that a file lacks; 2.0.0 counts their nulls.
        shown = value_stats(live, head.schemas, head.schema).to_pylist()
        ours = dict(zip(live["file_name"].to_pylist(), shown, strict=True))
        for values in files["rows"]:
            row = dict(zip(files["columns"], values, strict=True))
            stats = ours[row["file_path"].rsplit("/", 1)[1]]
            assert _map_text(stats["null_count"]) == row["null_value_counts"], head.table
            # Java's text of other types is not Python's.
            if head.table.startswith("fixtures.evolution"):
                assert _map_text(stats["min"]) == row["min_value_stats"]
                assert _map_text(stats["max"]) == row["max_value_stats"]


def test_partition_statistics_of_manifests_are_those_that_paimon_collects(
    heads: list[Head],
) -> None:
    for head in heads:
        lists = [head.snapshot.base_manifest_list, head.snapshot.delta_manifest_list]
        for meta, entries in head.manifests(lists):
            row_type = head.schema.partition_type
            stats = collect_partition_stats(entries["partition"], row_type)
            theirs = meta["partition_stats"]
            assert list(stats.null_counts) == theirs["null_counts"], head.table
            for name in ("min_values", "max_values"):
                ours = _with_gaps(getattr(stats, name), row_type)
                assert ours == _with_gaps(theirs[name], row_type), head.table


def test_keys_and_partitions_are_the_same_rows_by_columns_and_one_by_one(
    heads: list[Head],
) -> None:
    for head in heads:
        entries = head.live_files
        for name, row_type in (
            ("partition", head.schema.partition_type),
            ("min_key", head.schema.key_type),
        ):
            if not entries.num_rows or not row_type.fields:
                continue
            column = entries[name].combine_chunks()
            structs = decode_rows(column, row_type)
            table = pa.Table.from_arrays(structs.flatten(), names=list(row_type.names))
            assert encode_rows(table, row_type.types).equals(column), head.table
            for raw, row in zip(column.to_pylist(), structs.to_pylist(), strict=True):
                values = decode_row(raw, row_type.types)
                assert dict(zip(row_type.names, values, strict=True)) == row
                assert encode_row(values, row_type.types) == raw


def test_deletion_vectors_are_read_and_written_to_the_byte(heads: list[Head]) -> None:
    checked = 0
    for head in heads:
        if head.snapshot.index_manifest is None:
            continue
        path = head.root / "manifest" / head.snapshot.index_manifest
        for entry in decode_index_manifest(path.read_bytes(), path.name).to_pylist():
            if entry["index_type"] != "DELETION_VECTORS":
                continue
            in_bucket = head.schema.options.read(INDEX_FILE_IN_DATA_FILE_DIR)
            folder = head.folder(entry) if in_bucket else head.root / "index"
            data = (folder / entry["file_name"]).read_bytes()
            ranges = tuple(DeletionVectorRange(**part) for part in entry["dv_ranges"])
            vectors = read_deletion_vectors(data, ranges, entry["file_name"])
            bitmap64 = head.schema.options.read(DELETION_VECTORS_BITMAP64)
            assert write_deletion_vectors(vectors, bitmap64=bitmap64) == (data, ranges), head.table
            checked += len(vectors)
    assert checked > 3


def _rows(head: Head, entry: dict[str, Any]) -> pa.Table | None:
    """The rows of a Parquet file as its schema has them; None for other formats."""
    schema = head.schemas.get(entry["schema_id"])
    if not entry["file_name"].endswith(".parquet") or schema is None:
        return None
    table = pq.ParquetFile(head.folder(entry) / entry["file_name"]).read()
    if not set(schema.row_type.names) <= set(table.column_names):
        return None
    fields = [(field, table[field.name]) for field in schema.fields]
    arrays = [
        column.cast(to_arrow(field.type)) if pa.types.is_primitive(column.type) else column
        for field, column in fields
    ]
    return pa.table(arrays, names=list(arrow_schema(schema.fields).names))


def _with_gaps(row: bytes, row_type: RowType) -> bytes:
    types = row_type.types
    values = [
        None if isinstance(data_type, AtomicType) and data_type.root in _GAPS else value
        for value, data_type in zip(decode_row(row, types), types, strict=True)
    ]
    return encode_row(values, types)


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry in the form of the expected files."""
    ours = {"kind", "identity", "manifest", "position", "embedded_file_index"}
    shown = {
        key: _hex(value)
        for key, value in entry.items()
        if key not in {*ours, "partition", "write_cols_sequences"}
    }
    millis = pa.scalar(entry["creation_time"], pa.timestamp("ms")).value
    return {**shown, "partition_bytes": entry["partition"].hex(), "creation_time": millis}


def _hex(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hex(part) for key, part in value.items()}
    return value.hex() if isinstance(value, bytes) else value


def _map_text(values: dict[str, Any]) -> str:
    texts = (f"{k}={'null' if v is None else v}" for k, v in sorted(values.items()))
    return "{" + ", ".join(texts) + "}"


def _header(data: bytes) -> dict[str, bytes]:
    reader = fastavro.schemaless_reader(BytesIO(data[4:]), {"type": "map", "values": "bytes"}, None)
    assert isinstance(reader, dict)
    return reader


def _avro_schema(data: bytes) -> Any:
    return json.loads(_header(data)["avro.schema"])


def _without_newest_fields(schema: Any) -> Any:
    """Without the fields that not every one of the versions at hand writes."""
    if isinstance(schema, list):
        newest = {"_SOURCE_META", "_WRITE_COLS_SEQUENCES"}
        return [
            _without_newest_fields(part)
            for part in schema
            if not (isinstance(part, dict) and part.get("name") in newest)
        ]
    if isinstance(schema, dict):
        return {key: _without_newest_fields(part) for key, part in schema.items()}
    return schema
