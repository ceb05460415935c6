"""Manifest entries for tests, with everything that a test does not care about filled in."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from branch_console.format.manifest_entry import MANIFEST_ENTRY, FileKind, file_identity
from branch_console.format.values.binary_row import EMPTY_ROW

NO_STATS = {"min_values": EMPTY_ROW, "max_values": EMPTY_ROW, "null_counts": []}
_DEFAULTS: dict[str, Any] = {
    "kind": int(FileKind.ADD),
    "partition": EMPTY_ROW,
    "bucket": 0,
    "total_buckets": 1,
    "file_name": "data-0.parquet",
    "file_size": 1024,
    "row_count": 10,
    "min_key": EMPTY_ROW,
    "max_key": EMPTY_ROW,
    "key_stats": NO_STATS,
    "value_stats": NO_STATS,
    "min_sequence_number": 0,
    "max_sequence_number": 9,
    "schema_id": 0,
    "level": 0,
    "extra_files": [],
    "creation_time": dt.datetime(2026, 11, 21, 1, 0, 10, 136000),
    "identity": "",
    "manifest": "manifest-a",
}


def entries(*rows: Mapping[str, Any]) -> pa.Table:
    """A table of MANIFEST_ENTRY with one entry for each of `rows`, their identities computed."""
    full = [{**_DEFAULTS, "position": i, **row} for i, row in enumerate(rows)]
    table = pa.Table.from_pylist(full, schema=MANIFEST_ENTRY)
    at = MANIFEST_ENTRY.get_field_index("identity")
    return table.set_column(at, MANIFEST_ENTRY.field(at), file_identity(table))
