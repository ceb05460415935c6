"""What stands between a person and a merge: one value that the verdict and the button follow."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.merge.plan import (
    FastForwardPlan,
    Plan,
    RefusedPlan,
    SchemaPlan,
    ThreeWayPlan,
    UpToDatePlan,
    conflicts_of,
    cost_of,
)
from branch_console_app.models.merge.resolver import WHOLE_ROW, groups_of
from branch_console_app.models.parts.wording import code, listed, plain, plural

_MOST_NAMED = 3


class MergeStanding(StrEnum):
    """Where a merge stands, of one table as of the catalog."""

    STALE = "stale"
    UP_TO_DATE = "up to date"
    REFUSED = "refused"
    COMPARING = "comparing"
    CONFLICTS = "conflicts"
    NEEDS_ROWS = "needs rows"
    SETTLED = "settled"
    FAST_FORWARD = "fast-forward"
    CLEAN = "clean"


class NextStep(StrEnum):
    """What the one button of a merge does."""

    UPDATE = "update preview"
    COMPARE = "compare rows"
    SETTLE = "settle conflicts"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeState:
    """The one sentence of a merge, and the step that comes next.

    Attributes:
        sentence: Markdown.
        detail: What else a person should know at once; Markdown.
        step: What comes next; None where nothing can be done, or the page itself asks for it.
        label: What its button says, where the step alone does not tell.
    """

    standing: MergeStanding
    sentence: str
    detail: str = ""
    step: NextStep | None = None
    label: str = ""

    @classmethod
    def of(
        cls,
        plan: Plan,
        rows: "RowsOfMerge | None" = None,
        *,
        stale: str | None = None,
        ahead: int | None = None,
    ) -> "MergeState":
        """Judge a merge of one table; the first that holds counts.

        Args:
            plan: What it would do, with all that was decided.
            rows: What is known of the rows that both sides changed; None where none is compared,
                or nobody asks.
            stale: What has moved since the plan was seen, in a sentence.
            ahead: Commits of the source that the target lacks, if that is known.
        """
        if stale is not None:
            return cls(
                standing=MergeStanding.STALE,
                sentence=stale,
                detail=f"Nothing was changed on {code(plan.target)} from here.",
                step=NextStep.UPDATE,
            )
        if isinstance(plan, ThreeWayPlan | SchemaPlan) and not plan.conflicts:
            return _by_rows(plan, rows or RowsOfMerge.of_plan(plan), ahead)
        return _by_files(plan, ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfMerge:
    """What is known of the rows that both sides changed.

    Attributes:
        is_needed: Whether rows have to be compared to know the conflicts.
        is_compared: Whether somebody has compared them since both branches stand as they do.
        is_at_work: Whether a job compares them now.
        number: The conflicts that were found.
        open_number: Those that nothing settles.
        columns: Columns of the open ones, those with most of them first.
        takes: What settles the others.
    """

    is_needed: bool
    is_compared: bool = False
    is_at_work: bool = False
    number: int = 0
    open_number: int = 0
    columns: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @classmethod
    def of_plan(cls, plan: Plan, *, is_at_work: bool = False) -> "RowsOfMerge":
        """Return what the plan says of rows, before they are compared."""
        needed = cost_of(plan).buckets_to_compare > 0
        return cls(is_needed=needed, is_at_work=needed and is_at_work)

    @classmethod
    def of_conflicts(cls, settled: pa.Table) -> "RowsOfMerge":
        """Return the conflicts that a comparison found, with the decisions of the draft.

        Args:
            settled: Columns of `row_conflict_schema`.
        """
        in_columns: Counter[str] = Counter()
        for group in groups_of(settled):
            in_columns[group.column or WHOLE_ROW] += group.open_number
        return cls(
            is_needed=True,
            is_compared=True,
            number=settled.num_rows,
            open_number=settled["take"].null_count,
            columns=tuple(name for name, number in in_columns.most_common() if number),
            takes=tuple(sorted(pc.unique(settled["take"].drop_null()).to_pylist())),
        )


def _by_files(plan: Plan, ahead: int | None) -> MergeState:
    """Judge a plan that needs no row: heads, histories and files decide."""
    source, target = code(plan.source), code(plan.target)
    match plan:
        case UpToDatePlan():
            return MergeState(
                standing=MergeStanding.UP_TO_DATE,
                sentence=f"{target} already has every change of {source}.",
                detail="Choose another source, or commit to it first.",
            )
        case RefusedPlan():
            reasons = " ".join(plain(block.text) for block in plan.blocks)
            return MergeState(
                standing=MergeStanding.REFUSED,
                sentence=f"{source} cannot be merged into {target}.",
                detail=f"{reasons} Nothing was changed.",
            )
        case FastForwardPlan():
            commits = "the commits" if ahead is None else f"the {plural(ahead, 'commit')}"
            return MergeState(
                standing=MergeStanding.FAST_FORWARD,
                sentence=f"{target} has no commits since {source} branched off.",
                detail=f"It takes over {commits} of {source} as they are.",
            )
        case ThreeWayPlan() | SchemaPlan():
            found = conflicts_of(plan)
            names = dict.fromkeys(str(each.subject) for each in found)
            return MergeState(
                standing=MergeStanding.CONFLICTS,
                sentence=f"{plural(len(found), 'conflict')} to settle{_in_columns(names)}.",
                detail=f"{target} is unchanged.",
            )
        case _:
            assert_never(plan)


def _by_rows(plan: ThreeWayPlan | SchemaPlan, rows: RowsOfMerge, ahead: int | None) -> MergeState:
    """Judge a plan that can run, if rows that both sides changed do not collide."""
    source, target = code(plan.source), code(plan.target)
    if rows.is_needed and not rows.is_compared:
        if rows.is_at_work:
            return MergeState(
                standing=MergeStanding.COMPARING,
                sentence="Comparing rows that both sides may have changed.",
                detail="Nothing is changed.",
            )
        return MergeState(
            standing=MergeStanding.NEEDS_ROWS,
            sentence="Both sides changed the same part of the table.",
            detail="Compare rows to see if they collide.",
            step=NextStep.COMPARE,
        )
    if rows.open_number:
        number = plural(rows.open_number, "conflict")
        return MergeState(
            standing=MergeStanding.CONFLICTS,
            sentence=f"{number} to settle{_in_columns(rows.columns)}.",
            detail=f"{target} is unchanged.",
            step=NextStep.SETTLE,
            label=f"Settle {number}",
        )
    if rows.number:
        return MergeState(
            standing=MergeStanding.SETTLED,
            sentence=f"{_all(rows.number)} settled{_all_take(rows.number, rows.takes)}.",
            step=NextStep.MERGE,
        )
    commits = "" if ahead is None else f" ({plural(ahead, 'commit')})"
    becomes = (
        f"{source} has no snapshot: its columns and options come, and no row."
        if isinstance(plan, SchemaPlan)
        else f"{source}{commits} becomes one new snapshot of {target}."
    )
    return MergeState(
        standing=MergeStanding.CLEAN,
        sentence=f"No conflicts. {becomes}",
        detail=_joined(plan),
        step=NextStep.MERGE,
    )


def _joined(plan: ThreeWayPlan | SchemaPlan) -> str:
    """Say what happens to files of which both sides touched rows; nothing where there are none."""
    files = cost_of(plan).files_joined
    if not files:
        return ""
    if isinstance(plan, ThreeWayPlan) and plan.is_undecided:
        return (
            f"Both sides changed rows of {plural(files, 'data file')}, which the merge reads. If "
            "it cannot match the rows of one side with those of the other, it stops and "
            f"{code(plan.target)} stays as it is."
        )
    return (
        f"{plural(files, 'file')} of which both sides touched rows will be written again; the "
        "others move."
    )


def _in_columns(names: Iterable[str]) -> str:
    """Name what conflicts are about, the most frequent first: ", all in `dep_delay`"."""
    words = ["whole rows" if name == WHOLE_ROW else code(name) for name in dict.fromkeys(names)]
    if not words:
        return ""
    return f", all in {words[0]}" if len(words) == 1 else f", in {listed(words, most=_MOST_NAMED)}"


def _all(number: int) -> str:
    return "The conflict is" if number == 1 else f"All {plural(number, 'conflict')} are"


def _all_take(number: int, takes: tuple[str, ...]) -> str:
    """Say it where one side settles all of them."""
    sides = {"ours": "the target", "theirs": "the source", "base": "the base"}
    if len(takes) != 1 or takes[0] not in sides:
        return ""
    return f"; {'it takes' if number == 1 else 'all take'} {sides[takes[0]]}"
