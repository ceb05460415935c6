"""The drift map as people read it: partitions by columns, the worst first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from branch_console.quality.drift import Rating
from branch_console.quality.drift_map import DriftCell, DriftMap, PartitionDrift
from branch_console_app.models.parts.wording import count, plural

MOST_COLUMNS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityCell:
    """A column in a partition; `severity` tells how many alarms it is worth."""

    partition: str
    column: str
    severity: float
    rating: Rating
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityMap:
    """The cells of the drift map.

    Attributes:
        partitions, columns: The names on the axes, the worst first.
        left_out: Sentences about cells that are not drawn.
    """

    partitions: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[QualityCell, ...]
    left_out: tuple[str, ...]
    alt: str

    def find(self, partition: str | None, column: str) -> QualityCell | None:
        """Return a cell, None if there is none."""
        return next(
            (each for each in self.cells if (each.partition, each.column) == (partition, column)),
            None,
        )


def quality_map(found: DriftMap | None) -> QualityMap | None:
    """Lay out partitions and columns; None if none can be rated."""
    rated = [each for each in found.partitions if each.cells] if found else []
    if found is None or not rated:
        return None
    worst = _worst_columns(rated)
    shown = worst[:MOST_COLUMNS]
    cells = tuple(
        QualityCell(
            partition=partition.partition,
            column=cell.column,
            severity=cell.severity,
            rating=cell.rating,
            words=_words(partition, cell),
        )
        for partition in rated
        for cell in partition.cells
        if cell.column in shown
    )
    few, more = len(found.partitions) - len(rated), len(worst) - len(shown)
    left_out = (
        *((f"{plural(few, 'partition')} with too few rows to rate",) if few else ()),
        *(
            (f"{plural(found.left_out, 'partition')} in which fewer rows differ",)
            if found.left_out
            else ()
        ),
        *((f"{plural(more, 'column')} that drifted less",) if more else ()),
    )
    most = max(cells, key=lambda each: each.severity)
    return QualityMap(
        partitions=tuple(each.partition for each in rated),
        columns=shown,
        cells=cells,
        left_out=left_out,
        alt=f"Drift of {plural(len(shown), 'column')} in {plural(len(rated), 'partition')}. "
        + (f"Most in {most.words}." if most.severity else "None beyond chance."),
    )


def _worst_columns(partitions: Sequence[PartitionDrift]) -> tuple[str, ...]:
    most: dict[str, float] = {}
    for partition in partitions:
        for cell in partition.cells:
            most[cell.column] = max(most.get(cell.column, 0.0), cell.severity)
    return tuple(sorted(most, key=lambda name: -most[name]))


def _words(partition: PartitionDrift, cell: DriftCell) -> str:
    before, after = (count(each) for each in partition.rows)
    return (
        f"{partition.partition}, {cell.column}: {cell.rating}, {cell.measure} {cell.value:.3f}; "
        f"{after} rows that only B has against {before}: {partition.base}"
    )
