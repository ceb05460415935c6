"""How many records of commits delete rows, read from the manifests that the commits wrote.

A delete is a record as any other, so that a snapshot counts it among those that a commit added.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from branch_console.diff.rows.row_figure import RowFigure
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable

if TYPE_CHECKING:
    from branch_console.diff.fast_forward import ForwardDecision

_MOST_COMMITS: Final = 50
"""The most commits whose manifests are read while somebody waits; of more, deletes are unknown."""


def with_deletes(warehouse: Warehouse, decision: "ForwardDecision") -> "ForwardDecision":
    """Return a decision whose arriving commits say how many of their records delete rows."""
    arrives = decision.arrives
    if not arrives.snapshots or arrives.figure.rows is not None:
        return decision
    table = warehouse.table(Identifier.parse(decision.table).on_branch(decision.target))
    changes = figures_with_deletes(table, arrives.snapshots, arrives.changes)
    return replace(decision, arrives=replace(arrives, changes=changes))


def figures_with_deletes(
    table: FileStoreTable, snapshots: Sequence[Snapshot], figures: Sequence[RowFigure]
) -> tuple[RowFigure, ...]:
    """Return what commits changed, with the deletes among their records.

    Args:
        table: The table, on any of its branches.
        snapshots: The snapshots of the commits.
        figures: What each of them changed, as far as the snapshot tells.
    """
    # Only a primary key makes a record delete a row.
    if len(snapshots) > _MOST_COMMITS or not table.schema().primary_keys:
        return tuple(figures)
    found = table.reader.map_parallel(lambda each: _deletes_of(table, each), snapshots)
    return tuple(
        replace(figure, deletes=deletes) for figure, deletes in zip(figures, found, strict=True)
    )


def _deletes_of(table: FileStoreTable, snapshot: Snapshot) -> int | None:
    from branch_console.diff.file_figures import net_deletes  # noqa: PLC0415 - not without a key

    try:
        return net_deletes(table.delta_entries(snapshot))
    except PaimonError:
        # The preview shows what can be told; a run checks every file before it moves a head.
        return None
