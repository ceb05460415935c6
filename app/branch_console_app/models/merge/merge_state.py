"""The state of a merge for a person: one value that banner, buttons and commands read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from branch_console.diff.fast_forward import ForwardDecision, Verdict
from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX
from branch_console.jobs.progress import JobState, JobView, TargetMove
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
from branch_console.quality.findings import GATE_ERRORS, GateVerdict, RuleFinding
from branch_console.quality.rules import share_text
from branch_console_app.models.branches.head_checks import rule_words
from branch_console_app.models.jobs.cut_off import cut_off_words
from branch_console_app.models.jobs.step_words import step_words, while_words
from branch_console_app.models.jobs.target_words import message_and_target, target_words
from branch_console_app.models.merge.merge_facts import MergeAttempt, MergeFacts, RowsOfMerge
from branch_console_app.models.merge.remedies import CheckRemedy, remedy_of, remedy_of_forward
from branch_console_app.models.merge.resolver import WHOLE_ROW
from branch_console_app.models.parts.wording import (
    bare,
    code,
    count,
    full_count,
    listed,
    plain,
    plural,
    prose,
)

_MOST_NAMED = 3


class MergeStanding(StrEnum):
    """The state of a merge, of one table or of the catalog."""

    CHOOSE = "choose"
    LOADING = "loading"
    UNCHECKED = "not checked"
    RUNNING = "running"
    COMPARING = "comparing"
    DONE = "done"
    UNDONE = "undone"
    FAILED = "failed"
    STALE = "stale"
    UP_TO_DATE = "up to date"
    REFUSED = "refused"
    CONFLICTS = "conflicts"
    NEEDS_ROWS = "needs rows"
    RULES_UNCHECKED = "rules not checked"
    GATE_RED = "gate red"
    NO_RIGHT = "no right"
    STAGED = "staged"
    SETTLED = "settled"
    FAST_FORWARD = "fast-forward"
    CLEAN = "clean"


class VerdictRole(StrEnum):
    """The kind of reaction that a verdict needs from its reader."""

    NEUTRAL = "neutral"
    WORK = "work"
    READY = "ready"
    ACT = "act"
    STOP = "stop"
    DONE = "done"


ROLES: Final[Mapping[MergeStanding, VerdictRole]] = {
    MergeStanding.CHOOSE: VerdictRole.NEUTRAL,
    MergeStanding.LOADING: VerdictRole.WORK,
    MergeStanding.UNCHECKED: VerdictRole.NEUTRAL,
    MergeStanding.RUNNING: VerdictRole.WORK,
    MergeStanding.COMPARING: VerdictRole.WORK,
    MergeStanding.DONE: VerdictRole.DONE,
    MergeStanding.UNDONE: VerdictRole.NEUTRAL,
    MergeStanding.FAILED: VerdictRole.STOP,
    MergeStanding.STALE: VerdictRole.ACT,
    MergeStanding.UP_TO_DATE: VerdictRole.NEUTRAL,
    MergeStanding.REFUSED: VerdictRole.STOP,
    MergeStanding.CONFLICTS: VerdictRole.ACT,
    MergeStanding.NEEDS_ROWS: VerdictRole.ACT,
    MergeStanding.RULES_UNCHECKED: VerdictRole.ACT,
    MergeStanding.GATE_RED: VerdictRole.STOP,
    MergeStanding.NO_RIGHT: VerdictRole.ACT,
    MergeStanding.STAGED: VerdictRole.READY,
    MergeStanding.SETTLED: VerdictRole.READY,
    MergeStanding.FAST_FORWARD: VerdictRole.READY,
    MergeStanding.CLEAN: VerdictRole.READY,
}


class NextStep(StrEnum):
    """The action of a button of a merge."""

    CHECK = "check again"
    VIEW_JOB = "view job"
    CANCEL = "cancel"
    VIEW_RECEIPT = "view receipt"
    UNDO = "undo"
    REVIEW = "review again"
    RESUME = "resume"
    UPDATE = "update preview"
    SHOW_COMMITS = "show commits"
    CHOOSE_SOURCE = "choose another source"
    DROP_SOURCE = "drop source"
    RELEASE_SOURCE = "release source"
    REMEDY = "clear the way"
    COMPARE_SIDES = "compare both branches"
    SETTLE = "settle conflicts"
    VIEW_CONFLICTS = "view conflicts"
    CHANGE_DECISIONS = "change decisions"
    CHANGE_OPTIONS = "change options"
    COMPARE = "compare rows"
    SHOW_ROWS = "show rows"
    OVERRIDE = "override"
    COPY_LINK = "copy link"
    PUBLISH = "publish"
    DISCARD = "discard"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeAction:
    """A button: what it does, and what it says, as Markdown."""

    step: NextStep
    label: str


_COPY_LINK: Final = MergeAction(step=NextStep.COPY_LINK, label="Copy link")
_VIEW_CONFLICTS: Final = MergeAction(step=NextStep.VIEW_CONFLICTS, label="View conflicts")
_VIEW_JOB: Final = MergeAction(step=NextStep.VIEW_JOB, label="View job")
_CANCEL: Final = MergeAction(step=NextStep.CANCEL, label="Cancel")
_REVIEW: Final = MergeAction(step=NextStep.REVIEW, label="Review again")
_RESUME: Final = MergeAction(step=NextStep.RESUME, label="Resume")
_COMPARE_SIDES: Final = MergeAction(step=NextStep.COMPARE_SIDES, label="Compare")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeState:
    """The one sentence of a merge, and the steps that it leads to.

    Attributes:
        sentence: Markdown.
        detail: Another fact that a person should know at once; Markdown.
        primary: The next action, or the way past the first block; None without one.
        secondary: The other possible actions.
        kind: The error code that stops the merge.
        job_id: The job that the buttons are about; of a merge that is done, its operation.
        is_followed: Whether that job has not ended, so that its state can change at any time.
    """

    standing: MergeStanding
    sentence: str
    detail: str = ""
    primary: MergeAction | None = None
    secondary: MergeAction | None = None
    kind: ErrorKind | None = None
    job_id: str | None = None
    is_followed: bool = False

    @property
    def steps(self) -> tuple[NextStep | None, NextStep | None]:
        """The actions of its two buttons."""
        first, second = self.primary, self.secondary
        return (None if first is None else first.step, None if second is None else second.step)

    @property
    def role(self) -> VerdictRole:
        """The kind of reaction that it needs from its reader."""
        return ROLES[self.standing]

    @property
    def text(self) -> str:
        """Sentence and detail without Markdown, as terminals and documents have them."""
        return bare(f"{self.sentence} {self.detail}".strip())

    @property
    def stops(self) -> bool:
        """Whether nothing is merged before somebody decides or changes something."""
        return self.standing in (
            MergeStanding.REFUSED,
            MergeStanding.CONFLICTS,
            MergeStanding.RULES_UNCHECKED,
            MergeStanding.GATE_RED,
            MergeStanding.FAILED,
        )

    @property
    def takes_override(self) -> bool:
        """Whether an operator can merge although the quality rules do not let it pass."""
        return self.standing in (MergeStanding.RULES_UNCHECKED, MergeStanding.GATE_RED)

    def to_object(self) -> dict[str, object]:
        """Return the state as JSON values."""
        return {
            "standing": str(self.standing),
            "role": str(self.role),
            "text": self.text,
            "next": None if self.primary is None else str(self.primary.step),
        }

    @classmethod
    def choose(cls) -> "MergeState":
        """Return the state before a source is chosen."""
        return cls(
            standing=MergeStanding.CHOOSE,
            sentence="Choose one of the branches below to merge.",
        )

    @classmethod
    def loading(cls, source: str, target: str, progress: str = "") -> "MergeState":
        """Return the state while the plan is made.

        Args:
            source: The source.
            target: The target.
            progress: How much of it is done, in a sentence; empty if that is not known.
        """
        return cls(
            standing=MergeStanding.LOADING,
            sentence=f"Checking what {code(source)} would change in {code(target)}.",
            detail=progress,
            secondary=_CANCEL,
        )

    @classmethod
    def unchecked(cls, source: str, target: str) -> "MergeState":
        """Return the state after the person has cancelled the check."""
        return cls(
            standing=MergeStanding.UNCHECKED,
            sentence=f"The check of what {code(source)} would change in {code(target)} was "
            "cancelled.",
            detail="Nothing was changed.",
            primary=MergeAction(step=NextStep.CHECK, label="Check again"),
        )

    @classmethod
    def of(cls, plan: Plan, facts: MergeFacts | None = None) -> "MergeState":
        """Judge a merge of one table; the first state that holds counts.

        Args:
            plan: The plan with all decisions.
            facts: The other known facts.
        """
        facts = facts or MergeFacts()
        rows = facts.rows or RowsOfMerge.of_plan(plan)
        found = (
            _of_jobs(plan, rows, facts)
            or _stale(plan.source, plan.target, facts)
            or _decided_by_heads(plan)
            or _blocked(plan.source, plan.target, facts)
            or _of_conflicts(plan, rows, facts)
        )
        return found or _of_ready(plan, rows, facts)

    @classmethod
    def after_run(cls, plan: Plan, facts: MergeFacts) -> "MergeState":
        """Judge a merge by what a run has made of this plan.

        Args:
            plan: The plan that was run.
            facts: The known facts, with the job.
        """
        if facts.merge is not None and facts.merge.is_done:
            return _done(facts.merge, plan.source, plan.target, facts)
        return cls.of(plan, facts)

    @classmethod
    def of_forward(cls, decision: ForwardDecision, facts: MergeFacts | None = None) -> "MergeState":
        """Judge a merge that has to be a fast-forward.

        Args:
            decision: The decided merge.
            facts: The other known facts.
        """
        facts = facts or MergeFacts()
        source, target = decision.source, decision.target
        found = _of_attempt(decision, facts) or _stale(source, target, facts)
        if found is not None:
            return found
        match decision.verdict:
            case Verdict.UP_TO_DATE:
                return _up_to_date(source, target, is_empty=decision.source_head is None)
            case Verdict.REFUSED:
                return _refused_forward(decision)
            case Verdict.FAST_FORWARD:
                return (
                    _blocked(source, target, facts)
                    or _gate_red(decision.id, target, facts)
                    or _no_right(target, facts)
                    or _fast_forward(source, target, len(decision.arrives.snapshots))
                )
            case _:
                assert_never(decision.verdict)


def _of_jobs(plan: Plan, rows: RowsOfMerge, facts: MergeFacts) -> MergeState | None:
    """Judge by the jobs of this draft; None if they say nothing of the plan as it is now."""
    if facts.undo is not None and (undoing := _undoing(facts.undo, plan.target, facts)) is not None:
        return undoing
    for attempt, doing in ((facts.merge, "Merging"), (facts.dry_run, "Dry run")):
        if attempt is not None and attempt.is_at_work:
            return _running(attempt.job, doing, plan.target, facts)
    comparison = None if rows.is_compared else facts.comparison
    if comparison is not None and comparison.is_at_work:
        return _comparing(comparison.job, plan.target, facts)
    if facts.merge is not None and facts.merge.is_done:
        # Later commits of the source make it another merge.
        is_over = facts.merge.undone is not None or isinstance(plan, UpToDatePlan)
        return _done(facts.merge, plan.source, plan.target, facts) if is_over else None
    is_settled_elsewhere = rows.open_number or conflicts_of(plan)
    for attempt, what in (
        (facts.merge, "merge"),
        (facts.dry_run, "dry run"),
        (comparison, "row comparison"),
    ):
        if (
            attempt is None
            or attempt.is_done
            or not _is_about(attempt, plan.id, is_up_to_date=isinstance(plan, UpToDatePlan))
        ):
            continue
        if attempt.job.error is ErrorKind.CONFLICTS_OPEN and is_settled_elsewhere:
            continue
        if attempt.job.error not in GATE_ERRORS:
            return _failed(attempt.job, what, plan.target)
    return None


def _is_about(attempt: MergeAttempt, plan_id: str, *, is_up_to_date: bool) -> bool:
    """Whether a job that ended says something of this plan, or has made it needless."""
    has_moved = attempt.job.target_is is TargetMove.MOVED and is_up_to_date
    return has_moved or attempt.plan_id == plan_id


def _comparing(job: JobView, target: str, facts: MergeFacts) -> MergeState:
    if job.state is JobState.INTERRUPTED:
        return _cut_off(job, "Comparing", target, facts)
    parts = f": {count(job.done)} of {plural(job.total, 'part')}" if job.total else ""
    return MergeState(
        standing=MergeStanding.COMPARING,
        sentence=f"Comparing rows{_by_another(job, facts)}{parts}.",
        detail="Nothing is changed.",
        primary=_VIEW_JOB,
        secondary=_CANCEL if job.state.can_cancel else None,
        job_id=job.id,
        is_followed=True,
    )


def _undoing(job: JobView, target: str, facts: MergeFacts) -> MergeState | None:
    """Judge by the job that takes the merge back; what it has done the merge itself tells."""
    is_settled = facts.merge is None or facts.merge.undone is not None
    if is_settled or job.state is JobState.DONE:
        return None
    if job.state.is_over:
        return _failed(job, "undo", target)
    return _running(job, "Taking the merge back", target, facts)


def _of_attempt(decision: ForwardDecision, facts: MergeFacts) -> MergeState | None:
    """Judge by the jobs of a fast-forward."""
    source, target = decision.source, decision.target
    if facts.undo is not None and (undoing := _undoing(facts.undo, target, facts)) is not None:
        return undoing
    attempt = facts.merge
    if attempt is None:
        return None
    if attempt.is_at_work:
        return _running(attempt.job, "Merging", target, facts)
    if attempt.is_done:
        return _done(attempt, source, target, facts)
    is_up_to_date = decision.verdict is Verdict.UP_TO_DATE
    is_about = _is_about(attempt, decision.id, is_up_to_date=is_up_to_date)
    if is_about and attempt.job.error not in GATE_ERRORS:
        return _failed(attempt.job, "merge", target)
    return None


_NOUNS: Final[Mapping[str, str]] = {
    "Dry run": "dry run",
    "Merging": "merge",
    "Comparing": "row comparison",
}


def _running(job: JobView, doing: str, target: str, facts: MergeFacts) -> MergeState:
    if job.state is JobState.INTERRUPTED:
        return _cut_off(job, doing, target, facts)
    step = step_words(job.step) if job.step else "waiting for a worker"
    of = f", {count(job.done)} of {count(job.total)}" if job.total else ""
    if doing == "Dry run":
        detail = f"{code(target)} is not changed."
    elif job.target_is is TargetMove.UNCHANGED:
        detail = f"{code(target)} is unchanged until the last step."
    else:
        detail = f"This step changes {code(target)}."
    return MergeState(
        standing=MergeStanding.RUNNING,
        sentence=f"{doing}{_by_another(job, facts)}: {step}{of}.",
        detail=detail,
        primary=_VIEW_JOB,
        secondary=_CANCEL if job.state.can_cancel else None,
        job_id=job.id,
        is_followed=True,
    )


def _by_another(job: JobView, facts: MergeFacts) -> str:
    """Return who started a job, in brackets; "" if the person did who looks at it."""
    if facts.actor is None or job.actor == facts.actor:
        return ""
    return f" (started by {plain(job.actor)})"


def _cut_off(job: JobView, doing: str, target: str, facts: MergeFacts) -> MergeState:
    """Return the state of a job whose worker stopped: it has not ended, and can be resumed."""
    what = _NOUNS.get(doing, "undo")
    return MergeState(
        standing=MergeStanding.FAILED,
        sentence=cut_off_words(job, what, facts.now_millis),
        detail=target_words(job, code(target)),
        primary=_RESUME,
        secondary=_VIEW_JOB,
        kind=job.error,
        job_id=job.id,
        is_followed=True,
    )


def _done(attempt: MergeAttempt, source: str, target: str, facts: MergeFacts) -> MergeState:
    job, undone = attempt.job, attempt.undone
    as_snapshot = "" if attempt.snapshot_id is None else f" as snapshot {attempt.snapshot_id}"
    receipt = MergeAction(step=NextStep.VIEW_RECEIPT, label="View receipt")
    if undone is not None:
        back = "where it was" if undone.snapshot_id is None else f"to snapshot {undone.snapshot_id}"
        # An old link is opened long after the undo: each sentence says what happened, not what is.
        again = (
            ""
            if undone.again_millis is None
            else f" {code(source)} was merged again {facts.day_and_hour(undone.again_millis)}."
        )
        return MergeState(
            standing=MergeStanding.UNDONE,
            sentence=f"Merged into {code(target)}{as_snapshot}, undone by "
            f"{plain(undone.actor)} {facts.day_and_hour(undone.millis)}.",
            detail=f"{code(target)} went back {back}.{_kept(undone.rescue_branch)}{again}",
            primary=_REVIEW,
            secondary=receipt,
            job_id=job.receipt_id,
        )
    at = "" if job.finished_millis is None else f", {facts.hour(job.finished_millis)}"
    return MergeState(
        standing=MergeStanding.DONE,
        sentence=f"Merged into {code(target)}{as_snapshot} by {plain(job.actor)}{at}.",
        detail=f"Undo works until the next commit on {code(target)}." if attempt.can_undo else "",
        primary=receipt,
        secondary=MergeAction(step=NextStep.UNDO, label="Undo") if attempt.can_undo else None,
        job_id=job.receipt_id,
    )


def _kept(rescue_branch: str | None) -> str:
    if rescue_branch is None:
        return ""
    return f" What the undo removed went to rescue branch {code(rescue_branch)}."


def _failed(job: JobView, what: str, target: str) -> MergeState:
    """Return the state of a job that did not merge, and whether the target has changed."""
    ended = {
        JobState.CANCELLED: f"The {what} was cancelled.",
        JobState.REFUSED: f"The {what} was refused.",
    }.get(job.state, f"The {what} stopped{while_words(job.step)}.")
    # That it was cancelled is all that the message of a cancelled job says.
    message = "" if job.state is JobState.CANCELLED else prose(job.message)
    return MergeState(
        standing=MergeStanding.FAILED,
        sentence=ended,
        detail=message_and_target(job, message, code(target)),
        primary=_RESUME if job.state.can_resume else _REVIEW,
        secondary=_VIEW_JOB,
        kind=job.error,
        job_id=job.id,
    )


def _stale(source: str, target: str, facts: MergeFacts) -> MergeState | None:
    if facts.stale is None:
        return None
    kept = f" Your {plural(facts.decisions, 'decision')} {_are(facts.decisions)} kept."
    return MergeState(
        standing=MergeStanding.STALE,
        sentence=facts.stale,
        detail=f"This {facts.seen_by} has changed nothing on {code(target)}."
        f"{kept if facts.decisions else ''}",
        primary=MergeAction(step=NextStep.UPDATE, label="Update preview"),
        secondary=MergeAction(step=NextStep.SHOW_COMMITS, label="Show commits"),
        kind=ErrorKind.HEAD_MOVED,
    )


def _decided_by_heads(plan: Plan) -> MergeState | None:
    match plan:
        case UpToDatePlan():
            return _up_to_date(plan.source, plan.target, is_empty=plan.heads.theirs is None)
        case RefusedPlan():
            reasons = " ".join(prose(block.text) for block in plan.blocks)
            kind = plan.blocks[0].kind
            return _refused(plan.source, plan.target, reasons, kind, remedy_of(kind))
        case FastForwardPlan() | ThreeWayPlan() | SchemaPlan():
            return None
        case _:
            assert_never(plan)


def _up_to_date(source: str, target: str, *, is_empty: bool) -> MergeState:
    sentence = f"{code(target)} already has every change of {code(source)}."
    if is_empty:
        sentence = f"{code(source)} has no commit yet: there is nothing to merge."
    # To drop a rescue branch makes another one; to release it is what frees its files.
    drop = (
        MergeAction(step=NextStep.RELEASE_SOURCE, label=f"Release {plain(source)}…")
        if source.startswith(RESCUE_PREFIX)
        else MergeAction(step=NextStep.DROP_SOURCE, label=f"Drop {plain(source)}…")
    )
    return MergeState(
        standing=MergeStanding.UP_TO_DATE,
        sentence=sentence,
        primary=MergeAction(step=NextStep.CHOOSE_SOURCE, label="Choose another source"),
        secondary=None if source == MAIN_BRANCH else drop,
    )


def _refused(
    source: str, target: str, reasons: str, kind: ErrorKind | None, remedy: CheckRemedy
) -> MergeState:
    return MergeState(
        standing=MergeStanding.REFUSED,
        sentence=f"{code(source)} cannot be merged into {code(target)}.",
        detail=f"{reasons} Nothing was changed.",
        primary=MergeAction(step=NextStep.REMEDY, label=remedy),
        # Two buttons that open one page would have their reader look for a difference.
        secondary=None if remedy is CheckRemedy.BOTH_SIDES else _COMPARE_SIDES,
        kind=kind,
    )


def _refused_forward(decision: ForwardDecision) -> MergeState:
    source, target = code(decision.source), code(decision.target)
    kind = decision.reasons[0].kind if decision.reasons else None
    lost = len(decision.would_remove.snapshots)
    # A merge needs a common snapshot, too: to offer it would lead to the next refusal.
    if not lost or kind is ErrorKind.NO_COMMON_HISTORY:
        reasons = " ".join(prose(each.text) for each in decision.reasons)
        remedy = remedy_of_forward(kind)
        return _refused(decision.source, decision.target, reasons, kind, remedy)
    return MergeState(
        standing=MergeStanding.REFUSED,
        sentence=f"{target} cannot be fast-forwarded to {source}.",
        detail=f"It would remove {plural(lost, 'commit')} of {target}. Merge instead.",
        primary=MergeAction(step=NextStep.REMEDY, label=remedy_of(ErrorKind.TARGET_MOVED)),
        secondary=_COMPARE_SIDES,
        kind=kind,
    )


def _blocked(source: str, target: str, facts: MergeFacts) -> MergeState | None:
    """Judge by what the command itself is refused for; a reason that excuses it is asked later."""
    found = [each for each in facts.blocks if each.excused_by is None]
    if not found:
        return None
    reasons, kind = " ".join(prose(each.text) for each in found), found[0].kind
    return _refused(source, target, reasons, kind, remedy_of(kind))


def _of_conflicts(plan: Plan, rows: RowsOfMerge, facts: MergeFacts) -> MergeState | None:
    if isinstance(plan, FastForwardPlan):
        return None
    found = conflicts_of(plan)
    if found:
        names = dict.fromkeys(each.subject.name for each in found if each.subject.name)
        return _conflicts(len(found), names, plan.target, facts)
    if rows.open_number:
        return _conflicts(rows.open_number, rows.columns, plan.target, facts)
    has_compared = _is_staged(plan.id, facts) or facts.rules_ran(plan.id)
    if rows.is_needed and not rows.is_compared and not has_compared:
        return MergeState(
            standing=MergeStanding.NEEDS_ROWS,
            sentence=f"Both sides changed the same {_parts(facts.parts)}.",
            detail="Compare rows to see if they collide.",
            primary=MergeAction(step=NextStep.COMPARE, label="Compare rows"),
        )
    return None


def _conflicts(number: int, names: Iterable[str], target: str, facts: MergeFacts) -> MergeState:
    text = plural(number, "conflict")
    settle = MergeAction(step=NextStep.SETTLE, label=f"Settle {text}")
    return MergeState(
        standing=MergeStanding.CONFLICTS,
        sentence=f"{text} to settle{_in_columns(names)}.",
        detail=f"{code(target)} is unchanged.",
        primary=settle if facts.may_settle else _VIEW_CONFLICTS,
        secondary=None if facts.may_settle else _COPY_LINK,
        kind=ErrorKind.CONFLICTS_OPEN,
    )


def _of_ready(plan: Plan, rows: RowsOfMerge, facts: MergeFacts) -> MergeState:
    """Judge a merge that nothing in the branches stands against."""
    red = _gate_red(plan.id, plan.target, facts)
    if red is not None:
        return red
    missing = _no_right(plan.target, facts)
    if missing is not None:
        return missing
    if _is_staged(plan.id, facts):
        return _staged(plan.target, facts)
    if isinstance(plan, FastForwardPlan):
        return _fast_forward(plan.source, plan.target, facts.ahead)
    merge = _merge(plan.target)
    if rows.number:
        return MergeState(
            standing=MergeStanding.SETTLED,
            sentence=f"{_all(rows.number)} settled; {plain(rows.settlement)}.",
            primary=merge,
            secondary=MergeAction(step=NextStep.CHANGE_DECISIONS, label="Change decisions"),
        )
    if facts.settled is not None:
        return MergeState(
            standing=MergeStanding.SETTLED,
            sentence=f"{_all(facts.settled.number)} settled.",
            detail=facts.settled.said,
            primary=merge,
            secondary=MergeAction(step=NextStep.CHANGE_OPTIONS, label="Change"),
        )
    return MergeState(
        standing=MergeStanding.CLEAN,
        sentence=f"No conflicts. {_becomes(plan, facts.ahead)}",
        detail=_joined(plan),
        primary=merge,
    )


def _gate_red(plan_id: str, target: str, facts: MergeFacts) -> MergeState | None:
    found = [each for each in (facts.merge, facts.dry_run) if each is not None]
    of_plan = [each for each in found if each.plan_id == plan_id]
    # A dry run after a merge that the rules stopped is the newer word, and the other way round.
    newest = max(of_plan, key=lambda each: each.job.created_millis, default=None)
    stopped = newest if newest is not None and newest.job.error in GATE_ERRORS else None
    if stopped is not None and not stopped.is_unchecked:
        return _red(stopped.job, stopped.blocking, target, facts)
    gate = facts.gate
    if gate is not None and gate.blocking and not gate.outdated:
        # A rule that fails on this result is graver than a later run that could not check it.
        return _red(gate.job, gate.blocking, target, facts)
    return None if stopped is None else _rules_unchecked(stopped, target)


def _red(
    job: JobView, blocking: tuple[RuleFinding, ...], target: str, facts: MergeFacts
) -> MergeState:
    override = MergeAction(step=NextStep.OVERRIDE, label="Override…")
    return MergeState(
        standing=MergeStanding.GATE_RED,
        sentence=blocked_by(blocking, target)
        if blocking
        else "Blocked by the quality rules of the table.",
        detail=f"{code(target)} is unchanged.",
        primary=MergeAction(step=NextStep.SHOW_ROWS, label="Show rows"),
        secondary=override if facts.gap is None else None,
        kind=ErrorKind.GATE_FAILED,
        job_id=job.id,
    )


def _rules_unchecked(attempt: MergeAttempt, target: str) -> MergeState:
    """Return the state of a merge of which nobody knows if its rules pass."""
    job, blocking = attempt.job, attempt.blocking
    others = len(blocking) - 1
    more = f" {plural(others, 'more rule')} could not be checked either." if others > 0 else ""
    said = f"{prose(blocking[0].said)}{more} " if blocking else ""
    step = NextStep.RESUME if job.state.can_resume else NextStep.REVIEW
    return MergeState(
        standing=MergeStanding.RULES_UNCHECKED,
        sentence="The quality rules could not be checked.",
        detail=f"{said}{code(target)} is unchanged.",
        primary=MergeAction(step=step, label="Check again"),
        secondary=_VIEW_JOB,
        kind=ErrorKind.RULES_NOT_CHECKED,
        job_id=job.id,
    )


def blocked_by(blocking: tuple[RuleFinding, ...], target: str) -> str:
    """Say which rule blocks a merge into a target, and by how many rows, in Markdown."""
    first, others = blocking[0], len(blocking) - 1
    more = f" {plural(others, 'more rule blocks', 'more rules block')} it, too." if others else ""
    rule = rule_words(first, code)
    if first.failures is None:
        return f"Blocked by rule {rule}: {plain(first.said)}{more}"
    of = "" if first.rows is None else f" of {full_count(first.rows)}"
    before = first.failures_before
    is_one = first.failures == 1
    rows = "row" if is_one and first.rows is None else "rows"
    share = then = ""
    if first.allowed is not None and first.rows:
        now = share_text(first.failures, first.rows).strip(" ()")
        share = f" ({now}; {first.allowed} is allowed)"
        then = share_text(before or 0, first.rows_before or 0)
    today = "" if before is None else f"; {full_count(before)}{then} on {code(target)} today"
    return (
        f"Blocked by rule {rule}: {full_count(first.failures)}{of} {rows} of the result "
        f"{'fails' if is_one else 'fail'} it{share}{today}.{_where(first, target)}{more}"
    )


def _where(finding: RuleFinding, target: str) -> str:
    """Name the partition in which the most rows newly fail; empty if that is not known."""
    if not finding.partitions:
        return ""
    first = finding.partitions[0]
    number, before = first.failures, first.failures_before
    return (
        f" {full_count(number)} {'is' if number == 1 else 'are'} in {code(first.partition)}, where "
        f"{full_count(before)} {'fails' if before == 1 else 'fail'} on {code(target)}."
    )


def _no_right(target: str, facts: MergeFacts) -> MergeState | None:
    gap = facts.gap
    if gap is None:
        return None
    return MergeState(
        standing=MergeStanding.NO_RIGHT,
        sentence="Ready.",
        detail=f"You are {_a(gap.own)}; merging into {code(target)} takes {_a(gap.needed)}.",
        primary=_COPY_LINK,
        kind=ErrorKind.ROLE_REQUIRED,
    )


def _is_staged(plan_id: str, facts: MergeFacts) -> bool:
    """Whether a dry run of this very plan keeps a result that can be published."""
    dry = facts.dry_run
    if dry is None or not dry.is_done or dry.plan_id != plan_id:
        return False
    return dry.kept_until is None or facts.now_millis < dry.kept_until


def _staged(target: str, facts: MergeFacts) -> MergeState:
    dry = facts.dry_run
    assert dry is not None
    passed = sum(each.verdict == GateVerdict.PASS for each in dry.findings)
    rules = f", {passed} of {plural(len(dry.findings), 'rule')}" if dry.findings else ""
    until = dry.kept_until
    kept = "" if until is None else f"; the result is kept until {facts.day_and_hour(until)}"
    return MergeState(
        standing=MergeStanding.STAGED,
        sentence=f"Dry run passed{rules}.",
        detail=f"{code(target)} is unchanged{kept}.",
        primary=MergeAction(
            step=NextStep.PUBLISH, label=f"Merge this result into {plain(target)}…"
        ),
        secondary=MergeAction(step=NextStep.DISCARD, label="Discard"),
    )


def _fast_forward(source: str, target: str, ahead: int | None) -> MergeState:
    number = "" if ahead in (None, 1) else f"{count(ahead)} "
    commits = f"the {number}{'commit' if ahead == 1 else 'commits'}"
    return MergeState(
        standing=MergeStanding.FAST_FORWARD,
        sentence=f"{code(target)} has no commits since {code(source)} branched off: a fast-forward "
        f"adds {commits} of {code(source)} unchanged.",
        primary=_merge(target),
    )


def _merge(target: str) -> MergeAction:
    return MergeAction(step=NextStep.MERGE, label=f"Merge into {plain(target)}…")


def _becomes(plan: Plan, ahead: int | None) -> str:
    source, target = code(plan.source), code(plan.target)
    if isinstance(plan, SchemaPlan):
        return f"{source} has no snapshot: {target} gets its columns and options, and no row."
    commits = "" if ahead is None else f" ({plural(ahead, 'commit')})"
    return f"{source}{commits} becomes one new snapshot of {target}."


def _joined(plan: Plan) -> str:
    """Say what happens to files of which both sides touched rows; nothing if there are none."""
    files = cost_of(plan).files_joined
    if not files:
        return ""
    if isinstance(plan, ThreeWayPlan) and plan.is_undecided:
        return (
            f"Both sides changed rows of {plural(files, 'data file')}, which the merge reads. If "
            "it cannot match the rows of one side with those of the other, it stops and "
            f"{code(plan.target)} stays as it is."
        )
    return f"{plural(files, 'data file')} of which both sides changed rows will be rewritten."


def _in_columns(names: Iterable[str]) -> str:
    """Name what conflicts are about, the most frequent first: ", all in `dep_delay`"."""
    words = ["whole rows" if name == WHOLE_ROW else code(name) for name in dict.fromkeys(names)]
    if not words:
        return ""
    return f", all in {words[0]}" if len(words) == 1 else f", in {listed(words, most=_MOST_NAMED)}"


def _parts(partitions: tuple[str, ...]) -> str:
    """Name the partitions that both sides changed; of a table without any it is a part of it."""
    if not partitions:
        return "part of the table"
    noun = "partition" if len(partitions) == 1 else "partitions"
    return f"{noun} {listed([code(each) for each in partitions], most=_MOST_NAMED)}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _all(number: int) -> str:
    return "The conflict is" if number == 1 else f"All {plural(number, 'conflict')} are"
