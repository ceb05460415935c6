"""New manifests of a commit: entries become files, and each file a line of a manifest list."""

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import ErrorKind, NotAllowed
from branch_console.format import options as table_options
from branch_console.format.avro_encoding import CODECS
from branch_console.format.data_types import RowType
from branch_console.format.index_manifest import encode_index_manifest
from branch_console.format.manifest_entry import MANIFEST_ENTRY, STATS, FileKind, encode_manifest
from branch_console.format.manifest_list import MANIFEST_FILE_META, encode_manifest_list
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import EMPTY_ROW
from branch_console.format.values.simple_stats import collect_partition_stats

# What Paimon takes: its own `zstd`, else the names of the Avro library, and of these what we write.
_CODECS: Final = {
    "zstd": "zstandard",
    **{name: name for name in CODECS},
}
_SAMPLE_ROWS: Final = 2_000
_TEXTS: Final = MANIFEST_ENTRY.field("value_stats_cols").type
_NO_STATS: Final = {"min_values": EMPTY_ROW, "max_values": EMPTY_ROW, "null_counts": []}


def manifest_codec(schema: TableSchema) -> str:
    """The Avro codec of a table's manifests.

    Raises:
        NotAllowed: The table asks for a codec, or a format, that is not written here.
    """
    wanted = schema.options.read(table_options.MANIFEST_FORMAT).lower()
    if wanted != "avro":
        raise _unsupported(table_options.MANIFEST_FORMAT.key, wanted, ["avro"])
    name = schema.options.read(table_options.MANIFEST_COMPRESSION).lower()
    if name not in _CODECS:
        raise _unsupported(table_options.MANIFEST_COMPRESSION.key, name, sorted(_CODECS))
    return _CODECS[name]


class NewFiles:
    """New metadata files of a commit.

    Attributes:
        contents: Names and bytes, in the order in which they are to be published.
        lists: The contents of the manifest lists among them, by name, as MANIFEST_FILE_META.
    """

    def __init__(self, new_uuid: Callable[[], str], schema: TableSchema) -> None:
        self._uuid = new_uuid()
        self._schema = schema
        self._codec = manifest_codec(schema)
        self._counts: dict[str, int] = {}
        self.contents: list[tuple[str, bytes]] = []
        self.lists: dict[str, pa.Table] = {}

    def add_manifests(self, entries: pa.Table) -> pa.Table:
        """Add manifests with these entries; returns their lines, as MANIFEST_FILE_META."""
        files, metas = encode_manifests(entries, self._schema, lambda: self.new_name("manifest"))
        self.contents.extend(files)
        return metas

    def add_finished(self, data: bytes) -> str:
        """Add a manifest that is encoded already; returns its name."""
        name = self.new_name("manifest")
        self.contents.append((name, data))
        return name

    def add_list(self, metas: pa.Table) -> tuple[str, int]:
        """Add a manifest list with these lines; returns its name and size in bytes."""
        return self.add_finished_list(encode_manifest_list(metas, self._codec), metas)

    def add_finished_list(self, data: bytes, metas: pa.Table) -> tuple[str, int]:
        """Add a manifest list that is encoded already and holds these lines; as `add_list`."""
        name = self.new_name("manifest-list")
        self.contents.append((name, data))
        self.lists[name] = metas
        return name, len(data)

    def add_index(self, entries: pa.Table) -> str:
        """Add an index manifest with these entries; returns its name."""
        name = self.new_name("index-manifest")
        self.contents.append((name, encode_index_manifest(entries, self._codec)))
        return name

    def new_name(self, kind: str) -> str:
        """The next name of a kind of file."""
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{kind}-{self._uuid}-{number}"


def encode_manifests(
    entries: pa.Table, schema: TableSchema, new_name: Callable[[], str]
) -> tuple[list[tuple[str, bytes]], pa.Table]:
    """Encode entries as manifests of about the size that the table's options ask for.

    Args:
        entries: Columns of MANIFEST_ENTRY, in their order.
        schema: The newest schema of the branch.
        new_name: Names the next manifest.

    Returns:
        File names with bytes, and a line for each with the columns of MANIFEST_FILE_META.
    """
    codec = manifest_codec(schema)
    if schema.options.read(table_options.MANIFEST_DELETE_FILE_DROP_STATS):
        entries = _without_stats_of_deleted(entries)
    files, metas = [], []
    for part in _parts(
        entries, codec, schema.options.read(table_options.MANIFEST_TARGET_FILE_SIZE)
    ):
        name, data = new_name(), encode_manifest(part, codec)
        files.append((name, data))
        metas.append(manifest_line(part, name, len(data), schema))
    return files, pa.Table.from_pylist(metas, schema=MANIFEST_FILE_META)


def _without_stats_of_deleted(entries: pa.Table) -> pa.Table:
    """Leave the column statistics of deleted files out: nobody looks a deleted file up by them."""
    is_deleted = pc.equal(entries["kind"], int(FileKind.DELETE)).combine_chunks()
    empty = {"value_stats": pa.scalar(_NO_STATS, STATS), "value_stats_cols": pa.scalar([], _TEXTS)}
    for name, value in empty.items():
        at = entries.schema.get_field_index(name)
        column = pc.if_else(is_deleted, value, entries[name].combine_chunks())
        entries = entries.set_column(at, entries.schema.field(at), column)
    return entries


def _unsupported(option: str, value: str, known: list[str]) -> NotAllowed:
    return NotAllowed(
        f"Option {option!r} is {value!r}, which is not written here; it can be one of "
        f"{', '.join(known)}. Nothing was committed; change the option, or write with Paimon.",
        kind=ErrorKind.UNSUPPORTED,
        option=option,
    )


def _parts(entries: pa.Table, codec: str, target_bytes: int) -> list[pa.Table]:
    if entries.num_rows <= _SAMPLE_ROWS:
        return [entries] if entries.num_rows else []
    sample = len(encode_manifest(entries.slice(0, _SAMPLE_ROWS), codec))
    rows = max(_SAMPLE_ROWS, target_bytes * _SAMPLE_ROWS // sample)
    return [entries.slice(start, rows) for start in range(0, entries.num_rows, rows)]


def manifest_line(entries: pa.Table, name: str, size: int, schema: TableSchema) -> dict[str, Any]:
    """The line of a manifest list for a manifest with these entries, by MANIFEST_FILE_META."""
    added = pc.sum(pc.equal(entries["kind"], int(FileKind.ADD))).as_py()
    row_ids = entries["first_row_id"]
    last_row_ids = pc.subtract(pc.add(row_ids, entries["row_count"]), 1)
    # A file without row ids may hold any: then nothing may be skipped by them.
    knows_row_ids = row_ids.null_count == 0
    return {
        "file_name": name,
        "file_size": size,
        "num_added_files": added,
        "num_deleted_files": entries.num_rows - added,
        "partition_stats": partition_stats(entries["partition"], schema.partition_type),
        "schema_id": schema.id,
        "min_bucket": pc.min(entries["bucket"]).as_py(),
        "max_bucket": pc.max(entries["bucket"]).as_py(),
        "min_level": pc.min(entries["level"]).as_py(),
        "max_level": pc.max(entries["level"]).as_py(),
        "min_row_id": pc.min(row_ids).as_py() if knows_row_ids else None,
        "max_row_id": pc.max(last_row_ids).as_py() if knows_row_ids else None,
    }


def partition_stats(partitions: pa.ChunkedArray, partition_type: RowType) -> dict[str, Any]:
    """Smallest and largest value and the number of nulls of each partition column.

    Args:
        partitions: Encoded BinaryRows, one an entry.
        partition_type: The partition columns.

    Returns:
        A value of STATS.
    """
    stats = collect_partition_stats(partitions, partition_type)
    return {
        "min_values": stats.min_values,
        "max_values": stats.max_values,
        "null_counts": list(stats.null_counts),
    }
