"""Data files that are to be looked at, and what was found wrong with them, as columns."""

from typing import Final

import pyarrow as pa

FILES_TO_VERIFY: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("row_count", pa.int64(), nullable=False),
    ]
)
"""Data files and what the manifests say of them; `size` in bytes."""

FILE_PROBLEMS: Final = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("problem", pa.string(), nullable=False),
    ]
)
"""Files that are not what the manifests say, with a sentence each."""
