"""The drift of columns by partition: partitions that differ, each compared by itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from branch_console.quality.drift import Measure, Rating

MOST_PARTITIONS: Final = 60
"""The most partitions that are compared: those in which most rows differ."""


class Base(StrEnum):
    """The rows of A that the own rows of B in a partition are compared with."""

    OWN = "the rows that only A has there"
    PARTITION = "all rows that A has there"
    WHOLE = "all rows of A, which has too few there"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftCell:
    """How far a column lies apart in a partition; see `Drift`."""

    column: str
    rating: Rating
    severity: float
    measure: Measure
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDrift:
    """A partition.

    Attributes:
        partition: As its folder is called.
        rows: The numbers of rows of `base`, and of rows that only B has.
        cells: The cells of rated columns, the worst first; none if rows are too few.
    """

    partition: str
    rows: tuple[int, int]
    base: Base
    cells: tuple[DriftCell, ...]

    @property
    def severity(self) -> float:
        """The severity of its worst column."""
        return max((each.severity for each in self.cells), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftMap:
    """Partitions, the worst first.

    Attributes:
        left_out: How many more partitions differ.
    """

    partitions: tuple[PartitionDrift, ...]
    left_out: int

    @classmethod
    def from_object(cls, raw: Mapping[str, Any]) -> "DriftMap":
        """Decode JSON values; raises KeyError, TypeError or ValueError."""
        return cls(partitions=tuple(map(_partition, raw["partitions"])), left_out=raw["left_out"])


def _partition(raw: Mapping[str, Any]) -> PartitionDrift:
    return PartitionDrift(
        partition=raw["partition"],
        rows=(raw["rows"][0], raw["rows"][1]),
        base=Base(raw["base"]),
        cells=tuple(
            DriftCell(
                **{**each, "rating": Rating(each["rating"]), "measure": Measure(each["measure"])}
            )
            for each in raw["cells"]
        ),
    )
