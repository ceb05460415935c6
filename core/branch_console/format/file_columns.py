"""Manifest entries as numbers: what has to be known of millions of files to tell who needs them."""

from typing import Final

import pyarrow as pa

from branch_console.format.avro_encoding import required

# `identity` and `name` are numbers that stand for texts, together 16 bytes that tell entries of one
# file from those of others; `manifest` is a number within one look, `position` one within a
# manifest. All entries of a file name count as one file: names hold random UUIDs, and where they
# repeat nevertheless, a file stays as long as either needs its name.
FILE_COLUMNS: Final = pa.schema(
    [
        required("identity", pa.uint64()),
        required("name", pa.uint64()),
        required("file_size", pa.int64()),
        required("kind", pa.int8()),
        required("is_compacted", pa.bool_()),
        required("manifest", pa.int32()),
        required("position", pa.int32()),
    ]
)
