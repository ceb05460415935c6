"""Tables of any number of files, made of metadata alone: nobody reads their data files."""

import itertools
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import datafusion  # noqa: F401 - the clocks start after the imports, and ours would be late
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.data_types import BIGINT, INT, STRING, DataField, DataType
from branch_console.format.identifier import Identifier
from branch_console.format.manifest_entry import MANIFEST_ENTRY, encode_manifest
from branch_console.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from branch_console.format.options import Options
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.format.values.binary_rows import encode_rows
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable

TABLE = "db.t"
BRANCH = "dev"
PARTITIONS = 100
ROWS_PER_FILE = 1_000
# One entry in a hundred deletes a file that an earlier one added.
_ENTRIES_PER_DELETE = 100
_START_MILLIS = 1_700_000_000_000
_COLUMNS: tuple[tuple[str, DataType], ...] = (
    ("pt", INT),
    ("id", BIGINT),
    ("name", STRING),
    ("amount", BIGINT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticTable:
    """A warehouse with one partitioned append table, and what is live on its branch."""

    warehouse: Path
    entries: int
    manifests: int
    live_files: int
    live_rows: int
    live_bytes: int


def make_table(
    folder: Path, entries: int, manifests: int, options: Mapping[str, str] | None = None
) -> SyntheticTable:
    """Write a table whose branch has that many entries, spread over that many manifests.

    Args:
        folder: The warehouse.
        entries: How many entries all manifests hold.
        manifests: How many manifests.
        options: Of the table.
    """
    shutil.rmtree(folder, ignore_errors=True)
    table = folder / "db.db" / "t"
    (table / "manifest").mkdir(parents=True)
    made = _entries(entries)
    metas = []
    for number, (start, end) in enumerate(itertools.pairwise(_cuts(entries, manifests))):
        name = f"manifest-{uuid.UUID(int=entries)}-{number}"
        metas.append(_write_manifest(table, name, made.slice(start, end - start)))
    names = [f"manifest-list-{uuid.UUID(int=entries)}-{number}" for number in range(2)]
    for name, part in zip(names, (metas[:-1], metas[-1:]), strict=True):
        rows = pa.Table.from_pylist(part, MANIFEST_FILE_META)
        (table / "manifest" / name).write_bytes(encode_manifest_list(rows))
    sign = 1 - 2 * made["kind"].to_numpy()
    found = SyntheticTable(
        warehouse=folder,
        entries=entries,
        manifests=manifests,
        live_files=int(sign.sum()),
        live_rows=int((sign * made["row_count"].to_numpy()).sum()),
        live_bytes=int((sign * made["file_size"].to_numpy()).sum()),
    )
    for root in (table, table / "branch" / f"branch-{BRANCH}"):
        _write_state(root, names, found.live_rows, options or {})
    return found


FULL_MANIFESTS: Final = {"manifest.target-file-size": "1 kb"}
"""Options under which the manifests of a table are as large as wanted, so that no commit merges
them: only so do branches of a large table share any."""


def open_table(folder: Path) -> FileStoreTable:
    """The table of a warehouse that `make_table` wrote, on main."""
    files = FileIO.for_url(str(folder))
    return FileStoreTable.open(files, f"{files.root}/db.db/t", Identifier.parse(TABLE))


def add_files(
    folder: Path, table: FileStoreTable, names: Sequence[str], gone: Sequence[str] = ()
) -> None:
    """Commit files of one row to a branch, spread over ten partitions, in place of others."""
    files, doomed = _files_of(names), _files_of(gone)
    messages = [
        CommitMessage(
            partition=partition,
            bucket=0,
            total_buckets=-1,
            new_files=files.filter(pc.equal(files["partition"], partition)),
            deleted_files=doomed.filter(pc.equal(doomed["partition"], partition)),
        )
        for partition in dict.fromkeys(files["partition"].to_pylist())
    ]
    store = CommitStore.of(FileIO.for_url(str(folder)))
    FileStoreCommit(table, store).commit(messages, user="benchmark", identifier=len(names))


def place_of(name: str, number: int) -> str:
    """Where the file lies that `add_files` names as the one of that number."""
    return f"pt={number % 10}/bucket-0/data-{name}.parquet"


def _files_of(names: Sequence[str]) -> pa.Table:
    made = [
        new_file(f"data-{name}.parquet", partition=number % 10) for number, name in enumerate(names)
    ]
    return pa.concat_tables(made or [new_file("none", partition=0).slice(0, 0)])


def new_file(name: str, *, partition: int) -> pa.Table:
    """An entry of one more file of one row, as a writer hands it over."""
    made = _entries(1).set_column(0, "kind", pa.array([0], pa.int32()))
    values = {
        "partition": encode_rows(pa.table({"pt": pa.array([partition], pa.int32())}), [INT]),
        "file_name": pa.array([name]),
        "row_count": pa.array([1], pa.int64()),
    }
    for column, array in values.items():
        at = made.schema.get_field_index(column)
        made = made.set_column(at, made.schema.field(at), array.cast(made.schema.field(at).type))
    return made


def _cuts(entries: int, manifests: int) -> list[int]:
    return [entries * number // manifests for number in range(manifests + 1)]


def _entries(count: int) -> pa.Table:
    deletes = count // _ENTRIES_PER_DELETE
    adds = count - deletes
    # The deletes stand at the end, and delete the files added first.
    numbers = np.r_[np.arange(adds), np.arange(deletes)]
    kinds = np.r_[np.zeros(adds, np.int32), np.ones(deletes, np.int32)]
    partitions = pa.array(numbers % PARTITIONS, pa.int32())
    partition_bytes = encode_rows(pa.table({"pt": partitions}), [INT])
    empty = _same(EMPTY_ROW, pa.binary(), count)
    no_counts = pa.ListArray.from_arrays(np.zeros(count + 1, np.int32), pa.array([], pa.int64()))
    columns: dict[str, pa.Array] = {
        "kind": pa.array(kinds),
        "partition": partition_bytes,
        "bucket": _same(0, pa.int32(), count),
        "total_buckets": _same(-1, pa.int32(), count),
        "file_name": _file_names(numbers),
        "file_size": pa.array(50_000 + numbers % 977, pa.int64()),
        "row_count": _same(ROWS_PER_FILE, pa.int64(), count),
        "min_key": empty,
        "max_key": empty,
        "key_stats": _stats(empty, empty, no_counts),
        "value_stats": _value_stats(numbers, partitions),
        "min_sequence_number": pa.array(numbers * ROWS_PER_FILE, pa.int64()),
        "max_sequence_number": pa.array(numbers * ROWS_PER_FILE + ROWS_PER_FILE - 1, pa.int64()),
        "schema_id": _same(0, pa.int64(), count),
        "level": _same(0, pa.int32(), count),
        "extra_files": pa.array([[]] * count, MANIFEST_ENTRY.field("extra_files").type),
        "creation_time": pa.array(_START_MILLIS + numbers, pa.timestamp("ms")),
        "delete_row_count": _same(0, pa.int64(), count),
        "file_source": _same(0, pa.int32(), count),
    }
    arrays = [
        columns[field.name].cast(field.type)
        if field.name in columns
        else pa.nulls(count, field.type)
        for field in list(MANIFEST_ENTRY)[:-3]
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(list(MANIFEST_ENTRY)[:-3]))


def _same(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def _file_names(numbers: np.ndarray) -> pa.Array:
    # A writer makes a dozen files under one uuid.
    names = [f"data-{uuid.UUID(int=number // 12)}-{number % 12}.parquet" for number in numbers]
    return pa.array(names, pa.string())


def _stats(low: pa.Array, high: pa.Array, counts: pa.Array) -> pa.Array:
    kind = MANIFEST_ENTRY.field("value_stats").type
    typed = counts.cast(kind.field("null_counts").type)
    return pa.StructArray.from_arrays([low, high, typed], fields=list(kind))


def _value_stats(numbers: np.ndarray, partitions: pa.Array) -> pa.Array:
    def rows(offset: int) -> pa.Array:
        ids = numbers * ROWS_PER_FILE + offset
        names = pa.array([f"customer {number:07d}" for number in ids % 10_000_000], pa.string())
        content = {
            "pt": partitions,
            "id": pa.array(ids),
            "name": names,
            "amount": pa.array(ids % 997),
        }
        return encode_rows(pa.table(content), [kind for _, kind in _COLUMNS])

    width = len(_COLUMNS)
    offsets = np.arange(0, width * len(numbers) + 1, width, dtype=np.int32)
    counts = pa.ListArray.from_arrays(offsets, _same(0, pa.int64(), width * len(numbers)))
    return _stats(rows(0), rows(ROWS_PER_FILE - 1), counts)


def _write_manifest(table: Path, name: str, entries: pa.Table) -> dict[str, object]:
    data = encode_manifest(entries)
    (table / "manifest" / name).write_bytes(data)
    deleted = int(entries["kind"].to_numpy().sum())
    bounds = encode_rows(pa.table({"pt": pa.array([0, PARTITIONS - 1], pa.int32())}), [INT])
    return {
        "file_name": name,
        "file_size": len(data),
        "num_added_files": entries.num_rows - deleted,
        "num_deleted_files": deleted,
        "partition_stats": {
            "min_values": bounds[0].as_py(),
            "max_values": bounds[1].as_py(),
            "null_counts": [0],
        },
        "schema_id": 0,
        "min_bucket": 0,
        "max_bucket": 0,
        "min_level": 0,
        "max_level": 0,
    }


def _write_state(root: Path, lists: list[str], rows: int, options: Mapping[str, str]) -> None:
    fields = tuple(
        DataField(id=number, name=name, type=kind) for number, (name, kind) in enumerate(_COLUMNS)
    )
    schema = TableSchema(
        id=0,
        fields=fields,
        highest_field_id=len(fields) - 1,
        partition_keys=("pt",),
        primary_keys=(),
        options=Options({"write-only": "true", **options}),
        time_millis=_START_MILLIS,
    )
    snapshot = Snapshot(
        id=1,
        schema_id=0,
        base_manifest_list=lists[0],
        delta_manifest_list=lists[1],
        commit_user="benchmark",
        commit_identifier=1,
        commit_kind=CommitKind.APPEND,
        time_millis=_START_MILLIS,
        total_record_count=rows,
        delta_record_count=rows,
    )
    for path, text in (
        (root / "schema" / "schema-0", schema.to_json()),
        (root / "snapshot" / "snapshot-1", snapshot.to_json()),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
