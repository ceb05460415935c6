"""Partitions on a plane: two partition columns as axes, and in each cell what only one side has."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console_app.models.compare.states import PartitionLine
from branch_console_app.models.parts.wording import count, plural

MOST_CELLS: Final = 2_000
"""More marks than this are not drawn: partitions are summed up by their first column."""


class CellKind(StrEnum):
    """The change of the rows in a cell, by the glyph that shows it."""

    MORE = "+"
    FEWER = "\N{MINUS SIGN}"
    BOTH = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCell:
    """One mark.

    Attributes:
        part: The partition, or the common start of several, as `dt=20240101/hh=8`.
        before: Rows that only the first side shows, before merging on read.
        after: Rows that only the second side shows.
        deletes_before, deletes_after: Those of them that are known to delete a row.
    """

    x: str
    y: str
    part: str
    before: int
    after: int
    partitions: int
    deletes_before: int = 0
    deletes_after: int = 0

    @property
    def net(self) -> int:
        """Rows more on the second side: a record that deletes a row counts as one fewer."""
        return (self.after - 2 * self.deletes_after) - (self.before - 2 * self.deletes_before)

    @property
    def kind(self) -> CellKind:
        """The change of its rows: more, fewer, or as many others."""
        if self.net > 0:
            return CellKind.MORE
        return CellKind.FEWER if self.net < 0 else CellKind.BOTH

    @property
    def words(self) -> str:
        """The figures of the cell."""
        several = f"{plural(self.partitions, 'partition')}, " if self.partitions > 1 else ""
        said = (
            f"{several}+{count(self.after)} and \N{MINUS SIGN}{count(self.before)} records in files"
        )
        sides = ((self.deletes_after, "+"), (self.deletes_before, "\N{MINUS SIGN}"))
        deletes = " and ".join(f"{sign}{count(number)}" for number, sign in sides if number)
        return f"{said}, {deletes} of them deletes" if deletes else said


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMap:
    """The cells, and what the axes stand for.

    Attributes:
        x_title: A partition column.
        y_title: Another one; blank if there is none.
        is_summed: Whether a cell stands for several partitions, to be opened by a click.
    """

    cells: tuple[MapCell, ...]
    xs: tuple[str, ...]
    ys: tuple[str, ...]
    x_title: str
    y_title: str
    is_summed: bool
    alt: str


def partition_map(
    lines: Sequence[PartitionLine], keys: Sequence[str], within: str | None = None
) -> PartitionMap | None:
    """Lay partitions out; None if one mark or none would be left.

    Args:
        lines: The partitions that differ.
        keys: The partition columns.
        within: Only partitions whose name begins so, as a cell that sums them up has it.
    """
    chosen = [line for line in lines if within is None or is_within(line.name, within)]
    if len(chosen) < 2 or not keys:
        return None
    is_summed = len(chosen) > MOST_CELLS and within is None
    depth = 1 if is_summed else min(2, len(keys))
    cells = _cells(chosen, depth)[:MOST_CELLS]
    xs, ys = _ordered(cell.x for cell in cells), _ordered(cell.y for cell in cells)
    return PartitionMap(
        cells=cells,
        xs=xs,
        ys=ys,
        x_title=keys[depth - 1],
        y_title=keys[0] if depth == 2 else "",
        is_summed=is_summed or depth < len(keys),
        alt=_alt(cells),
    )


def is_within(name: str, part: str) -> bool:
    """Whether a partition is `part` or lies below it."""
    return name == part or name.startswith(f"{part}/")


def _cells(lines: Iterable[PartitionLine], depth: int) -> tuple[MapCell, ...]:
    sums: dict[tuple[str, ...], list[int]] = {}
    parts: dict[tuple[str, ...], str] = {}
    for line in lines:
        values = line.values[:depth]
        parts.setdefault(values, "/".join(line.name.split("/")[:depth]))
        found = sums.setdefault(values, [0] * 5)
        numbers = (
            *(line.rows_before, line.rows_after, 1),
            *(line.deletes_before, line.deletes_after),
        )
        for at, number in enumerate(numbers):
            found[at] += number
    cells = (
        MapCell(
            x=values[-1],
            y=values[0] if depth == 2 else "",
            part=parts[values],
            before=before,
            after=after,
            partitions=number,
            deletes_before=deletes_before,
            deletes_after=deletes_after,
        )
        for values, (before, after, number, deletes_before, deletes_after) in sums.items()
    )
    return tuple(sorted(cells, key=lambda cell: (-abs(cell.net), cell.part)))


def _ordered(texts: Iterable[str]) -> tuple[str, ...]:
    """Distinct values in order: numbers as numbers, all else as text."""
    known = set(texts)
    if all(text.lstrip("-").isdecimal() for text in known):
        return tuple(sorted(known, key=int))
    return tuple(sorted(known))


def _alt(cells: Sequence[MapCell]) -> str:
    most = cells[0]
    return (
        f"{plural(len(cells), 'cell')} of partitions that differ; most records in {most.part}: "
        f"{most.words}."
    )
