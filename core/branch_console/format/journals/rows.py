"""The journals of rows that are written: to be published at once, or to wait for an operation."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import inlined, needed, perhaps


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterProcess:
    """Who writes: by it recovery knows a writer that is still at work."""

    host: str | None = None
    process: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJournal:
    """A write of rows.

    Attributes:
        write_id: What the name of every file of the write holds.
    """

    write_id: str
    writer: WriterProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRowsJournal:
    """Rows that wait for an operation to publish them.

    Attributes:
        operation_id: The operation.
    """

    operation_id: str
    writer: WriterProcess


_WRITER: Final = inlined(
    "writer", Layout(WriterProcess, perhaps("host", str), perhaps("process", int))
)

WRITER: Final = Codec(
    what="journal of a write",
    reads={1: Layout(WriterProcess, perhaps("host", str), perhaps("process", int))},
)
"""Reads of rows that are written, in whichever way, who writes them."""
WRITE_JOURNAL: Final = Codec(
    what="journal of a write",
    reads={1: Layout(WriteJournal, needed("writeId", str), _WRITER)},
)
STAGED_ROWS_JOURNAL: Final = Codec(
    what="journal of rows that are staged",
    reads={1: Layout(StagedRowsJournal, needed("for", str, attribute="operation_id"), _WRITER)},
)
