"""Entries of manifests that say what a test is about, and are plain in all else."""

import pyarrow as pa

from branch_console.format.manifest_entry import MANIFEST_ENTRY, file_identity
from tests.support.table_files import EMPTY_ROW, NO_STATS

ADD, DELETE = 0, 1


def entries(
    *files: tuple[int, str],
    level: int = 0,
    bucket: int = 0,
    partition: bytes = EMPTY_ROW,
    keys: tuple[bytes, bytes] = (EMPTY_ROW, EMPTY_ROW),
) -> pa.Table:
    """Entries of (kind, file name)."""
    rows = [
        {
            "kind": kind,
            "partition": partition,
            "bucket": bucket,
            "total_buckets": 1,
            "file_name": name,
            "file_size": 1000,
            "row_count": 10,
            "min_key": keys[0],
            "max_key": keys[1],
            "key_stats": NO_STATS,
            "value_stats": NO_STATS,
            "min_sequence_number": 0,
            "max_sequence_number": 9,
            "schema_id": 0,
            "level": level,
            "extra_files": [],
            "creation_time": position,
            "identity": "",
            "manifest": "manifest-given",
            "position": position,
        }
        for position, (kind, name) in enumerate(files)
    ]
    made = pa.Table.from_pylist(rows, MANIFEST_ENTRY)
    index = MANIFEST_ENTRY.get_field_index("identity")
    return made.set_column(index, MANIFEST_ENTRY.field(index), file_identity(made))


def added(*names: str, **where: object) -> pa.Table:
    return entries(*((ADD, name) for name in names), **where)  # type: ignore[arg-type]
