"""Counts of rows that differ, group by group: filtered pages are found without reading rows."""

from collections.abc import Mapping
from dataclasses import dataclass

from branch_console.diff.rows.row_bounds import CountBounds, RowDifference
from branch_console.diff.rows.row_kind import RowKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """The rows that a page of differences shows; None takes all.

    Attributes:
        column: Only changed rows whose cell in this column differs.
        where: A condition (see `expr.predicate`) over columns by name. A row is shown if the
            condition holds for its values on either side. The counts of groups do not respect it.
    """

    kind: RowKind | None = None
    column: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Counts of some rows that stand together: by kind, and changed cells by column.

    Attributes:
        copies: By kind, how often more the rows stand on their side, copies of one row counted.
    """

    rows: int
    kinds: Mapping[str, int]
    copies: Mapping[str, int]
    columns: Mapping[str, int]

    def count(self, wanted: RowFilter) -> int:
        """How many of them are wanted, whatever `wanted.where` says."""
        if wanted.column is not None:
            is_other = wanted.kind not in (None, RowKind.CHANGED)
            return 0 if is_other else self.columns.get(wanted.column, 0)
        return self.rows if wanted.kind is None else self.kinds.get(wanted.kind, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDiffIndex:
    """Known counts of rows that differ.

    Attributes:
        columns: The names of the compared columns.
        keys: The columns that match rows; empty for a multiset.
        groups: In the order of the rows.
        facts: Other known facts, as JSON values.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    groups: tuple[RowGroup, ...]
    facts: Mapping[str, object]

    def count(self, wanted: RowFilter) -> int:
        """How many rows are wanted, whatever `wanted.where` says."""
        return sum(group.count(wanted) for group in self.groups)

    def changed_cells(self) -> dict[str, int]:
        """Changed rows by column, the column with most of them first."""
        sums = {name: self.count(RowFilter(column=name)) for name in self.columns}
        return dict(sorted(sums.items(), key=lambda each: -each[1]))

    @property
    def difference(self) -> RowDifference:
        """How many rows came, went and changed: exactly, as all of them were read."""
        added, removed, changed = (
            sum(group.copies.get(kind, 0) for group in self.groups) for kind in RowKind
        )
        return RowDifference(
            added=CountBounds(low=added, high=added),
            removed=CountBounds(low=removed, high=removed),
            changed=CountBounds(low=changed, high=changed),
            net=added - removed,
        )
