"""Rows that are equal in some columns, told without Arrow's query engine.

The engine takes 15 ms to load, as long as all else that two branches with few files of their own
need to be compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from branch_console.format.avro_encoding import whole

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowGroups:
    """The groups of equal rows.

    Attributes:
        first: The first row of each group.
        group: The group of each row.
    """

    first: Ints
    group: Ints

    def sums(self, values: npt.ArrayLike) -> Ints:
        """The sum of one whole number a row, by group."""
        sums = np.zeros(len(self.first), np.int64)
        np.add.at(sums, self.group, np.asarray(values, np.int64))
        return sums


def group_rows(columns: Iterable[pa.Array | pa.ChunkedArray]) -> RowGroups:
    """Group rows that are equal in all of some columns, of which none holds a null."""
    first, group = np.zeros(0, np.int64), np.zeros(1, np.int64)
    for column in columns:
        codes = np.asarray(whole(column).dictionary_encode().indices.to_numpy(), np.int64)
        encoded = group * (codes.max(initial=0) + 1) + codes
        # Counted anew after each column, the codes never outgrow their type.
        _, first, group = np.unique(encoded, return_index=True, return_inverse=True)
    return RowGroups(first=first, group=group)
