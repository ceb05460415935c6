"""Lists of files that wait to go, as they are kept beside the table.

A list may outlive the place of its table: a warehouse is copied, or moved, within the days that
files wait. So paths below the table begin with `./`.
"""

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.errors import FormatError
from branch_console.format.journals.arrow_stream import ArrowStream
from branch_console.table.file_store_table import FileStoreTable

_BELOW = "./"


def encode_list(table: FileStoreTable, files: pa.Table) -> bytes:
    """Encode files with columns of RELEASED_FILES; `decode_list` gives them back."""
    above = f"{table.paths.table}/"
    paths = files["path"]
    is_below = pc.starts_with(paths, above)
    below = pc.binary_join_element_wise(_BELOW, pc.utf8_slice_codeunits(paths, len(above)), "")
    return ArrowStream.of(_placed(files, pc.if_else(is_below, below, paths))).data


def decode_list(table: FileStoreTable, path: str, data: bytes) -> pa.Table:
    """Return the files of a list, where the table lies now.

    Args:
        table: The table on any branch.
        path: Where the list lies.
        data: Its bytes.

    Raises:
        FormatError: The list is cut off, or no list.
    """
    try:
        files = ArrowStream(data=data).table
        paths = files["path"]
    except (ValueError, OSError, KeyError, pa.ArrowException) as error:
        message = f"{path} cannot be read: it is cut off, or no list of files."
        raise FormatError(message, path=path) from error
    is_below = pc.starts_with(paths, _BELOW)
    rest = pc.utf8_slice_codeunits(paths, len(_BELOW))
    placed = pc.binary_join_element_wise(f"{table.paths.table}/", rest, "")
    return _placed(files, pc.if_else(is_below, placed, paths))


def _placed(files: pa.Table, paths: pa.ChunkedArray) -> pa.Table:
    at = files.schema.get_field_index("path")
    return files.set_column(at, files.schema.field(at), paths)
