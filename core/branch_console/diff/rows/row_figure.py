"""How many rows a state has, and how many records its files hold: the one way to say a count.

Rows are what `SELECT count(*)` returns. A record of a data file is a row of a table without a
primary key; with one it is a word on the row of its key, and several may speak of one row.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from branch_console.format import options as table_options
from branch_console.format.read_branches import rows_elsewhere
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema

AT_MOST: Final = "\N{LESS-THAN OR EQUAL TO}"
RECORDS_IN_FILES: Final = "records in files"

_NOT_READ: Final = "\N{EN DASH}"

Write: TypeAlias = Callable[[int], str]
"""Writes a number without its noun."""


def in_full(number: int) -> str:
    """Write a number with all its digits."""
    return f"{number:,}"


def with_sign(number: int) -> str:
    """Format a change with all its digits and its sign."""
    return f"{number:+,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFigure:
    """A count of a state, or of what a commit changed.

    Attributes:
        rows: What `SELECT count(*)` returns, or by how much that changes; None if only reading
            the files tells.
        records: Records of the data files; None if no commit says it.
        most_rows: The most rows there can be, where only that is known.
        deletes: How many of the records delete the row of their key; None if no file says it, or
            nobody read the files.
    """

    rows: int | None
    records: int | None
    most_rows: int | None = None
    deletes: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return any(each is not None for each in (self.rows, self.records, self.most_rows))

    @property
    def is_of_rows(self) -> bool:
        """Whether the number counts rows, if only at most."""
        return self.rows is not None or self.most_rows is not None

    @property
    def size(self) -> int:
        """Something to sort and draw by: rows if they are known, else records; 0 without both."""
        return self.rows if self.rows is not None else self.records or 0

    @property
    def noun(self) -> str:
        """The unit of `number`."""
        if not self.is_of_rows:
            return RECORDS_IN_FILES
        return "row" if self.rows in (1, -1) else "rows"

    @property
    def label(self) -> str:
        """The unit of `number`, as a label before it: `rows`, or `records in files`."""
        return "rows" if self.is_of_rows or not self.is_known else RECORDS_IN_FILES

    def number(self, write: Write = in_full) -> str:
        """The number that `noun` counts."""
        if self.rows is not None:
            return write(self.rows)
        if self.most_rows is not None:
            return f"{AT_MOST} {write(self.most_rows)}"
        return _NOT_READ if self.records is None else write(self.records)

    @property
    def delete_records(self) -> int:
        """How many records are known to delete rows; 0 where rows are known, which need none."""
        is_part = not self.is_of_rows and self.records is not None
        return self.deletes if is_part and self.deletes and self.deletes > 0 else 0

    def words(self, write: Write = in_full) -> str:
        """The number with what it counts: `12 rows`, or `12 records in files`.

        Deletes are records too: where some are known, the words say how many.
        """
        if not self.is_known:
            return _NOT_READ
        said = f"{self.number(write)} {self.noun}"
        deletes = self.delete_records
        if not deletes:
            return said
        if deletes == self.records:
            return f"{said}, all of them deletes"
        # Compactions in between may have taken away more records than came.
        is_part = deletes < (self.records or 0)
        return f"{said}, {deletes:,} {'of them deletes' if is_part else 'more deletes'}"

    def cell(self, write: Write = in_full) -> str:
        """The number for a column that names its unit, with the deletes among it."""
        number, deletes = self.number(write), self.delete_records
        if not deletes:
            return number
        return f"{number}, {'all' if deletes == self.records else f'{deletes:,}'} deletes"

    def to_object(self) -> dict[str, int | None]:
        """Return the keys that every JSON document names a count by.

        `deletes` is there where files were read that say it.
        """
        counts = {"rows": self.rows, "records": self.records}
        return counts if self.deletes is None else {**counts, "deletes": self.deletes}


NOTHING_COUNTED: Final = RowFigure(rows=None, records=None)
NO_ROWS: Final = RowFigure(rows=0, records=0)
NET_ROWS: Final = "Net rows"
"""The rows that a commit adds less those it removes: 0 where it rewrites all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows of two states, counted by reading them.

    Attributes:
        before, after: All rows of each state.
        added, removed: Rows whose key only the second, or only the first state has.
        changed: Rows of one key that differ.
    """

    before: int
    after: int
    added: int
    removed: int
    changed: int

    @property
    def words(self) -> str:
        """The difference, as a part of a sentence: `1,025 rows removed, 717 changed`."""
        return changed_words(self.added, self.removed, self.changed)


def changed_words(added: int, removed: int, changed: int) -> str:
    """Write counts of rows as a part of a sentence: `1,025 rows removed, 717 changed`."""
    counts = ((added, "added"), (removed, "removed"), (changed, "changed"))
    parts = [(number, verb) for number, verb in counts if number]
    if not parts:
        return "no row differs"
    (first, verb), *others = parts
    noun = "row" if first == 1 else "rows"
    return ", ".join(
        [f"{first:,} {noun} {verb}", *(f"{number:,} {verb}" for number, verb in others)]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureColumn:
    """Figures under one heading, which says what they count.

    Attributes:
        title: `Rows`, `Net rows`, or `Records in files`.
        cells: The figures in their order; each with what it counts where they count both.
    """

    title: str
    cells: tuple[str, ...]

    @classmethod
    def of(
        cls, figures: Sequence[RowFigure], write: Write = in_full, *, of_rows: str = "Rows"
    ) -> "FigureColumn":
        """Write figures; what is not known counts nothing."""
        titles = {
            of_rows if each.is_of_rows else "Records in files" for each in figures if each.is_known
        }
        if len(titles) <= 1:
            return cls(
                title=next(iter(titles), of_rows),
                cells=tuple(each.cell(write) for each in figures),
            )
        cells = tuple(
            each.number(write) if each.is_of_rows else each.words(write) for each in figures
        )
        return cls(title=of_rows, cells=cells)

    @classmethod
    def of_changes(cls, figures: Sequence[RowFigure], write: Write) -> "FigureColumn":
        """Write what commits changed: of rows, those added less those removed."""
        return cls.of(figures, write, of_rows=NET_ROWS)


def is_row_per_record(schema: TableSchema, branch: str) -> bool:
    """Whether each record that no deletion vector hides is a row of the branch."""
    has_parts = schema.options.read(table_options.DATA_EVOLUTION_ENABLED)
    return not schema.primary_keys and not has_parts and rows_elsewhere(schema, branch) is None


def snapshot_figure(
    snapshot: Snapshot | None, schema: TableSchema | None, branch: str
) -> RowFigure:
    """Tell from a snapshot alone how many rows it has; with deletion vectors at most how many.

    Args:
        snapshot: None before the first commit.
        schema: The newest of the branch; None if that cannot be read.
        branch: The branch that is read.
    """
    if snapshot is None:
        is_alone = schema is not None and rows_elsewhere(schema, branch) is None
        return NO_ROWS if is_alone else NOTHING_COUNTED
    records = snapshot.total_record_count
    if records is None or schema is None or not is_row_per_record(schema, branch):
        return RowFigure(rows=None, records=records)
    if snapshot.index_manifest is not None:
        return RowFigure(rows=None, records=records, most_rows=records)
    return RowFigure(rows=records, records=records)


def commit_figure(
    snapshot: Snapshot, before: Snapshot | None, schema: TableSchema, branch: str
) -> RowFigure:
    """Tell from a snapshot how many rows its commit added, less those that it removed.

    Args:
        snapshot: The snapshot of the commit.
        before: The snapshot that it was made on; None if there was none, or it is not known.
        schema: The schema of the branch.
        branch: The branch that is read.
    """
    records = snapshot.delta_record_count
    if records is None or not is_row_per_record(schema, branch):
        return RowFigure(rows=None, records=records)
    # A delete by deletion vectors adds no record and none leaves: only equal vectors hide equally.
    if before is None:
        hides_alike = snapshot.index_manifest is None and (
            snapshot.id == 1 or not schema.options.read(table_options.DELETION_VECTORS_ENABLED)
        )
    else:
        hides_alike = snapshot.index_manifest == before.index_manifest
    return RowFigure(rows=records if hides_alike else None, records=records)


def commit_figures(
    snapshots: Sequence[Snapshot], before: Snapshot | None, schema: TableSchema | None, branch: str
) -> tuple[RowFigure, ...]:
    """Tell of each of some snapshots, oldest first, what its commit changed.

    Args:
        snapshots: Of one history.
        before: The snapshot before the first, if it is known.
        schema: The schema of the branch; None if it has none.
        branch: The branch that is read.
    """
    found = []
    for snapshot in snapshots:
        is_next = before is not None and before.id == snapshot.id - 1
        if schema is None:
            found.append(RowFigure(rows=None, records=snapshot.delta_record_count))
        else:
            found.append(commit_figure(snapshot, before if is_next else None, schema, branch))
        before = snapshot
    return tuple(found)


def add_up(figures: Iterable[RowFigure]) -> RowFigure:
    """Add up figures; rows only if they are known of all, and never rows with records."""
    given = tuple(figures)
    return RowFigure(
        rows=_sum_of_known([each.rows for each in given]),
        records=_sum_of_known([each.records for each in given]),
        # Of nothing nobody asks how much of it deletes.
        deletes=_sum_of_known([each.deletes for each in given]) if given else None,
    )


def _sum_of_known(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def difference(before: RowFigure, after: RowFigure) -> RowFigure:
    """By how much the second of two states has more; rows and records each by themselves."""
    return RowFigure(
        rows=None if before.rows is None or after.rows is None else after.rows - before.rows,
        records=None
        if before.records is None or after.records is None
        else after.records - before.records,
    )
