"""The facts about a merge besides its plan: compared rows, jobs of the draft, a role."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Final

import pyarrow as pa

from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind, undone_by
from branch_console.format.receipt import Receipt
from branch_console.jobs.progress import JobState, JobView
from branch_console.merge.known_rows import STAGED_KEPT_MILLIS, KnownRows, StagedFigures
from branch_console.merge.plan import Plan, ThreeWayPlan, waits_for_rows
from branch_console.merge.resolution import settlement_words
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.operations.merge_requests import DryRunRequest, MergeRequest
from branch_console.procedures.call.consequence import Consequence
from branch_console.procedures.call.permissions import Role
from branch_console.quality.findings import GATE_ERRORS, GateReport, GateVerdict, RuleFinding
from branch_console_app.models.branches.head_checks import merged_sides
from branch_console_app.models.merge.gate_run import GateRun
from branch_console_app.models.merge.resolver import WHOLE_ROW, groups_of

_MERGES: Final = frozenset({MergeRequest.procedure, FastForwardRequest.procedure})


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfMerge:
    """The facts about the rows that both sides changed.

    Attributes:
        is_needed: Whether rows have to be compared to know the conflicts.
        is_compared: Whether the rows were compared at the current heads.
        number: The number of conflicts found.
        open_number: The number of open conflicts.
        columns: The columns of open conflicts, those with most conflicts first.
        settlement: How the others are settled, in words; blank if none is.
        staged: The counts of the result that a dry run staged; None without one.
        is_stopped: Whether quality rules stopped a run of the plan.
    """

    is_needed: bool
    is_compared: bool = False
    number: int = 0
    open_number: int = 0
    columns: tuple[str, ...] = ()
    settlement: str = ""
    staged: StagedFigures | None = None
    is_stopped: bool = False

    @classmethod
    def of_plan(cls, plan: Plan, staged: StagedFigures | None = None) -> "RowsOfMerge":
        """Return what the plan says of rows while no conflicts of them are known.

        Args:
            plan: The merge.
            staged: What a dry run of it left: it has compared the rows.
        """
        needed = waits_for_rows(plan)
        return cls(is_needed=needed, is_compared=needed and staged is not None, staged=staged)

    @classmethod
    def of_conflicts(cls, settled: pa.Table, staged: StagedFigures | None = None) -> "RowsOfMerge":
        """Return the conflicts that a comparison found, with the decisions of the draft.

        Args:
            settled: Columns of `row_conflict_schema`.
            staged: What a dry run with these decisions left.
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
            settlement=settlement_words(settled),
            staged=staged,
        )

    @property
    def known(self) -> KnownRows:
        """The same as a preview takes it."""
        return KnownRows(
            conflicts=self.number if self.is_compared else None,
            open_conflicts=self.open_number,
            staged=self.staged,
            is_stopped=self.is_stopped,
        )

    def stopped(self) -> "RowsOfMerge":
        """Return the same after quality rules have stopped a run, which had compared the rows."""
        return replace(self, is_compared=self.is_compared or self.is_needed, is_stopped=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneMerge:
    """The undo of a merge.

    Attributes:
        snapshot_id: The snapshot that the target went back to.
        rescue_branch: The branch that keeps what the undo removed; None if nothing was.
        again_millis: When the source was last merged into the target since; None if it was not,
            or if every such merge was undone too.
    """

    actor: str
    millis: int
    snapshot_id: int | None
    rescue_branch: str | None = None
    again_millis: int | None = None


def merged_since(
    events: Sequence[LineageEvent], source: str, target: str, since_millis: int
) -> int | None:
    """Return when a source was last merged into a target; None without a merge that was kept.

    Args:
        events: The ledger of the table, under the names of today.
        source: The branch that was merged from.
        target: The branch that was merged into.
        since_millis: Earlier merges do not count.
    """
    undone = undone_by(events)
    return next(
        (
            event.time_millis
            for event in reversed(events)
            if event.kind in (LineageKind.MERGED, LineageKind.FAST_FORWARDED)
            and (event.source_branch, event.branch) == (source, target)
            and event.time_millis > since_millis
            and event.operation_id not in undone
        ),
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAttempt:
    """A job of this draft: the merge itself, or its dry run.

    Attributes:
        plan_id: The plan that it carries out; on other heads there is another one.
        snapshot_id: The head of the target that it made; None before, or if none is known.
        can_undo: Whether an undo would run now.
        undone: Its undo; None if it was not undone.
        findings: The findings of the rules in its result.
        receipt: Its receipt; None before it is done, or if it cannot be read.
        merged: The plan of a three-way merge that is done; None if it cannot be planned again, or
            was not yet.
        conflicts: How many conflicts of rows it settled; None if there is no record of them.
        tried_millis: When the dry run of its plan passed; None without one on record.
    """

    job: JobView
    plan_id: str
    snapshot_id: int | None = None
    can_undo: bool = False
    undone: UndoneMerge | None = None
    findings: tuple[RuleFinding, ...] = ()
    receipt: Receipt | None = None
    merged: ThreeWayPlan | None = None
    conflicts: int | None = None
    tried_millis: int | None = None

    @property
    def is_at_work(self) -> bool:
        """Whether it has not ended."""
        return not self.job.state.is_over

    @property
    def is_done(self) -> bool:
        """Whether it has ended well."""
        return self.job.state is JobState.DONE

    @property
    def blocking(self) -> tuple[RuleFinding, ...]:
        """The rules that let nothing be published."""
        return GateReport(digest="", findings=self.findings).blocking

    @property
    def is_unchecked(self) -> bool:
        """Whether no rule fails, and one that would block could not be checked."""
        if self.job.error is ErrorKind.RULES_NOT_CHECKED:
            return True
        # An earlier release ended such a job with the error of a rule that fails.
        verdict = GateReport(digest="", findings=self.findings).verdict
        return verdict is GateVerdict.NOT_EVALUATED

    @property
    def kept_until(self) -> int | None:
        """When its staged result is discarded, in milliseconds; None before it has ended."""
        finished = self.job.finished_millis
        return None if finished is None else finished + STAGED_KEPT_MILLIS


def merge_at_work(
    jobs: Iterable[JobView], table: Identifier, source: str, target: str
) -> JobView | None:
    """Return the newest job that merges a source into a target and has not ended; None if none is.

    Args:
        jobs: Jobs, newest first.
        table: The table.
        source: The branch that is merged.
        target: The branch that it is merged into.
    """
    for job in jobs:
        if job.state.is_over or job.name not in _MERGES or job.table is None:
            continue
        if merged_sides(job) == (source, target) and _is_of(job.table, table):
            return job
    return None


def _is_of(name: str, table: Identifier) -> bool:
    try:
        return Identifier.parse(name).on_branch(MAIN_BRANCH) == table.on_branch(MAIN_BRANCH)
    except PaimonError:
        return False  # a job of another release may name its table in other ways


def last_dry_run(
    jobs: Iterable[JobView], table: Identifier, source: str, target: str
) -> JobView | None:
    """Return the newest dry run of a merge that has ended well; None if there is none.

    Args:
        jobs: Jobs, newest first.
        table: The table.
        source: The branch that would be merged.
        target: The branch that it would be merged into.
    """
    for job in jobs:
        if job.name != DryRunRequest.procedure or job.state is not JobState.DONE:
            continue
        if merged_sides(job) == (source, target) and _is_of(job.table or "", table):
            return job
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGap:
    """A missing permission: the role of the person, and the role that is needed."""

    own: Role
    needed: Role

    @classmethod
    def between(cls, own: Role, needed: Role) -> "RoleGap | None":
        """Return what is missing; None if the role is enough."""
        return None if own.covers(needed) else cls(own=own, needed=needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledByOptions:
    """Conflicts of files that options of the merge settled.

    Attributes:
        number: The conflicts without them.
        view: The parameters of an address that set them.
        said: Their effect on rows, as Markdown sentences.
    """

    number: int
    view: tuple[str, ...]
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeFacts:
    """The facts besides the plan that a verdict depends on.

    Attributes:
        rows: The facts about rows that both sides changed; None if they do not matter.
        merge: The job that merges, or merged; None if this draft has none.
        undo: The job that takes the merge back, or has; None if this draft has none.
        dry_run: The job that tries it; None if this draft has none.
        comparison: The job that compares rows; None if this draft has none.
        gate: The last run of the quality rules for this merge, whoever started it; None without.
        stale: The changes since the plan was seen, as a Markdown sentence.
        seen_by: What the plan was seen by: a page, or a command.
        decisions: The number of decisions in the draft.
        ahead: Commits of the source that the target lacks, if that is known.
        blocks: Other obstacles of the command, without conflicts.
        gap: The missing permission to merge; None if the person may merge.
        parts: The partitions whose rows have to be compared, as `month=2013-12`.
        settled: The conflicts of files that options of the merge settled; None if there are none.
        may_settle: Whether the person may settle conflicts.
        actor: The name of the person; None if nobody is looking.
        now_millis: The time.
        zone: The time zone of the person.
    """

    rows: RowsOfMerge | None = None
    merge: MergeAttempt | None = None
    undo: JobView | None = None
    dry_run: MergeAttempt | None = None
    comparison: MergeAttempt | None = None
    gate: GateRun | None = None
    stale: str | None = None
    seen_by: str = "page"
    decisions: int = 0
    ahead: int | None = None
    blocks: Sequence[Consequence] = ()
    gap: RoleGap | None = None
    parts: tuple[str, ...] = ()
    settled: SettledByOptions | None = None
    may_settle: bool = True
    actor: str | None = None
    now_millis: int = 0
    zone: tzinfo | None = None

    def with_job(self, job: JobView) -> "MergeFacts":
        """Return the same with a newer look at one of the jobs."""
        merge, dry_run, comparison = (
            replace(each, job=job) if each is not None and each.job.id == job.id else each
            for each in (self.merge, self.dry_run, self.comparison)
        )
        undo = job if self.undo is not None and self.undo.id == job.id else self.undo
        return replace(self, merge=merge, dry_run=dry_run, comparison=comparison, undo=undo)

    def rules_ran(self, plan_id: str) -> bool:
        """Whether a job has run the rules on the result of a plan, and so compared its rows."""
        if self.gate is not None and not self.gate.outdated:
            return True
        return any(
            each is not None and each.plan_id == plan_id and each.job.error in GATE_ERRORS
            for each in (self.merge, self.dry_run)
        )

    def hour(self, millis: int) -> str:
        """Write a time of day: `14:05`."""
        return f"{self._at(millis):%H:%M}"

    def day_and_hour(self, millis: int) -> str:
        """Write a time that is near: `today 14:05`, `tomorrow 14:05`, `2026-11-28 14:05`."""
        days = (self._at(millis).date() - self._at(self.now_millis).date()).days
        day = {0: "today", 1: "tomorrow"}.get(days, f"{self._at(millis):%Y-%m-%d}")
        return f"{day} {self.hour(millis)}"

    def _at(self, millis: int) -> datetime:
        return datetime.fromtimestamp(millis / 1000, tz=self.zone or UTC)


def judged_job(facts: MergeFacts) -> JobView | None:
    """Return the job whose findings hold for a merge as it is now; None without one."""
    for attempt in (facts.merge, facts.dry_run):
        if attempt is not None and attempt.findings:
            return attempt.job
    return None if facts.gate is None or facts.gate.outdated else facts.gate.job
