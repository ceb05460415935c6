"""The known facts about the rows of a merge: none, a comparison, or a staged result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.rows.row_figure import RowFigure
from branch_console.format.journals.written import StagedResult
from branch_console.merge.plan import ThreeWayPlan

STAGED_KEPT_HOURS: Final = 24
"""How long a staged result is kept that nobody merges: as long as other engines leave its files."""
STAGED_KEPT_MILLIS: Final = STAGED_KEPT_HOURS * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFigures:
    """The counts of a staged result.

    Attributes:
        files_written: Data files with rows that the merge settled or rewrote.
        files_replaced: Data files of the target that these take the place of.
        records_written, records_replaced: The records of either.
        hides_rows: Whether deletion vectors were written: then records are no rows.
        rows_counted: All rows of the target before and after; None if nobody counted them.
    """

    files_written: int = 0
    files_replaced: int = 0
    records_written: int = 0
    records_replaced: int = 0
    hides_rows: bool = False
    rows_counted: tuple[int, int] | None = None

    @classmethod
    def of(cls, staged: StagedResult) -> "StagedFigures":
        """Count what a dry run left."""
        buckets = staged.written.row_messages or ()
        written = [each.files.table for each in buckets]
        replaced = [each.deleted_files.table for each in buckets]
        hidden = [each.new_index_files for each in buckets if each.new_index_files is not None]
        return cls(
            files_written=sum(each.num_rows for each in written),
            files_replaced=sum(each.num_rows for each in replaced),
            records_written=_records(written),
            records_replaced=_records(replaced),
            hides_rows=any(each.table.num_rows for each in hidden),
            rows_counted=None if staged.judged is None else staged.judged.rows_counted,
        )

    def to_object(self) -> dict[str, object]:
        """Return the counts as JSON values."""
        before, after = self.rows_counted or (None, None)
        return {
            "files_written": self.files_written,
            "files_replaced": self.files_replaced,
            "records_written": self.records_written,
            "records_replaced": self.records_replaced,
            "rows_before": before,
            "rows_after": after,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRows:
    """The results of jobs about the rows of a plan.

    Attributes:
        conflicts: The conflicts of rows that were found; None before any comparison.
        open_conflicts: The number of open conflicts.
        staged: The result that a dry run staged; None without one.
        is_stopped: Whether quality rules stopped a run of the plan, so that a dry run counts
            nothing.
    """

    conflicts: int | None = None
    open_conflicts: int = 0
    staged: StagedFigures | None = None
    is_stopped: bool = False

    @property
    def is_compared(self) -> bool:
        """Whether a job has compared the rows."""
        return self.conflicts is not None or self.staged is not None

    def to_object(self) -> dict[str, object]:
        """Return the findings as JSON values."""
        return {
            "compared": self.is_compared,
            "conflicts": self.conflicts,
            "open": self.open_conflicts if self.is_compared else None,
            "staged": None if self.staged is None else self.staged.to_object(),
        }


NOTHING_KNOWN: Final = KnownRows()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFigures:
    """The counts of a merge's changes on its target.

    Attributes:
        records_in, records_out: Records of the files that are added, and of those that are removed.
        figure: Rows added less rows removed, or the same of records in files.
        rows_counted: All rows of the target before and after; None if nobody counted them.
    """

    files_added: int
    files_removed: int
    records_in: int
    records_out: int
    figure: RowFigure
    rows_counted: tuple[int, int] | None = None

    @property
    def is_of_rows(self) -> bool:
        """Whether the records are the rows by which the target differs.

        Where files are both added and removed, rows of a removed file can stay: an update writes
        the whole file again.
        """
        return self.figure.rows is not None and not (self.records_in and self.records_out)


def count_result(plan: ThreeWayPlan, known: KnownRows) -> ResultFigures | None:
    """Return what a merge changes; None while conflicts are open."""
    cost, staged = plan.cost, known.staged
    if plan.conflicts:
        return None
    removed = _records([plan.moves.remove])
    if staged is None:
        if cost.buckets_to_compare:
            return None
        return ResultFigures(
            files_added=cost.files_added,
            files_removed=cost.files_removed,
            records_in=cost.records_added + removed,
            records_out=removed,
            figure=cost.figure,
        )
    # The plan estimates the rows of joined files; the files that were written hold them.
    estimated = sum(each.rows_left for each in plan.moves.joins)
    records_in = cost.records_added + removed - estimated + staged.records_written
    records_out = removed + staged.records_replaced
    rows = None
    if staged.rows_counted is not None:
        rows = staged.rows_counted[1] - staged.rows_counted[0]
    elif cost.is_of_rows and not staged.hides_rows:
        rows = records_in - records_out
    return ResultFigures(
        files_added=cost.files_added + staged.files_written,
        files_removed=cost.files_removed + staged.files_replaced,
        records_in=records_in,
        records_out=records_out,
        figure=RowFigure(rows=rows, records=records_in - records_out),
        rows_counted=staged.rows_counted,
    )


def _records(files: Sequence[pa.Table]) -> int:
    return sum(int(pc.sum(each["row_count"]).as_py() or 0) for each in files)
