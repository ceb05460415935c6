"""A state of a table, to be read."""

from dataclasses import dataclass

from core.format.snapshot import Snapshot
from core.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableState:
    """What a reader reads.

    Attributes:
        table: The table, on the branch whose schemas the state is read with.
        snapshot: The snapshot; None for the head.
        columns: The wanted columns in their order.
    """

    table: FileStoreTable
    snapshot: Snapshot | None
    columns: tuple[str, ...]
