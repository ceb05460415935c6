"""The next step for a branch without commits, and its date: a pure function of the policy.

The ladder is warn, archive, drop. No step is left out, and two steps are at least three days apart,
so that the owner of the branch can object.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.diff.history_move import count
from branch_console.diff.lifecycle.policy import (
    LADDER,
    LifecycleStep,
    MaintenancePolicy,
    StaleRule,
)
from branch_console.format.identifier import RESERVED_PREFIXES
from branch_console.format.snapshot import CommitKind, Snapshot

BETWEEN_STEPS_MILLIS: Final = 3 * 86_400_000
"""How long a branch stands on a step of the ladder at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchLife:
    """The known facts about the use of a branch; times in milliseconds since the epoch.

    Attributes:
        created_millis: When the branch was made; None if that is not known.
        committed_millis: When its last commit that is no compaction was made; None without one.
        renewed_millis: When it was last used in another way than by a commit: a consumer advanced,
            or the branch was restored or unarchived.
        holds: Reasons that keep the branch now, each as a sentence.
        ahead: Its commits that neither main nor its parent has; None if that is not known.
        is_protected: Whether a rule protects it.
        warned_millis: When it was last warned about; None if never.
        archived_millis: Since when it is archived; None if it is not.
    """

    branch: str
    created_millis: int | None = None
    committed_millis: int | None = None
    renewed_millis: int | None = None
    holds: tuple[str, ...] = ()
    ahead: int | None = 0
    is_protected: bool = False
    owner: str | None = None
    warned_millis: int | None = None
    archived_millis: int | None = None

    @property
    def last_used_millis(self) -> int | None:
        """From when on its age counts; None if no time is known."""
        known = (self.created_millis, self.committed_millis, self.renewed_millis)
        return max((each for each in known if each is not None), default=None)

    @property
    def is_kept(self) -> bool:
        """Whether it keeps what an operation replaced or staged: it is released, or stays."""
        return self.branch.startswith(RESERVED_PREFIXES)

    @property
    def is_merged(self) -> bool:
        """Whether main or its parent has all of its commits."""
        return self.ahead == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlan:
    """The next step of a branch on the ladder, with its date and its reason.

    Attributes:
        rule: The rule that decides on it.
        age_millis: Time since its last use; None if that is not known.
        ahead: Its commits that were merged nowhere; None if that is not known.
        step: The next step; None without one.
        due_millis: When the step is due; None without a step.
        reason: Why there is this step, or none, as a sentence.
    """

    branch: str
    rule: StaleRule
    age_millis: int | None
    ahead: int | None
    step: LifecycleStep | None
    due_millis: int | None
    reason: str

    def is_due(self, now_millis: int) -> bool:
        """Whether the next step may be taken now."""
        return self.due_millis is not None and now_millis >= self.due_millis


def plan_branch(policy: MaintenancePolicy, life: BranchLife, now_millis: int) -> BranchPlan:
    """Decide on the next step of a branch."""
    rule, used = policy.rule_for(life.branch), life.last_used_millis
    age = None if used is None else max(0, now_millis - used)
    step, due, reason = None, None, "No time of it is known, so that it does not grow old."
    if life.holds:
        age, reason = 0, " ".join(life.holds)
    elif used is not None:
        step, reason = _next_step(rule, life, used)
        if step is not None:
            due = max(used + rule.ages[step], _free_from(life, step))
    return BranchPlan(
        branch=life.branch,
        rule=rule,
        age_millis=age,
        ahead=life.ahead,
        step=step,
        due_millis=due,
        reason=reason,
    )


def _next_step(rule: StaleRule, life: BranchLife, used: int) -> tuple[LifecycleStep | None, str]:
    if life.is_kept:
        if LifecycleStep.RELEASE in rule.ages:
            return LifecycleStep.RELEASE, "Its files are released with it."
        return None, "It keeps what an operation replaced; no rule releases it."
    done = [
        step
        for step, since in (
            (LifecycleStep.WARN, life.warned_millis),
            (LifecycleStep.ARCHIVE, life.archived_millis),
        )
        if since is not None and (since >= used or step is LifecycleStep.ARCHIVE)
    ]
    step = LADDER[LADDER.index(done[-1]) + 1] if done else LADDER[0]
    if step in rule.never:
        return None, f"Its rule never takes the step {step}."
    if step is not LifecycleStep.WARN and life.is_protected:
        return None, "It is protected: it is only warned about."
    if _is_beyond(step, rule.unmerged) and not life.is_merged:
        what = "What it is ahead is not known" if life.ahead is None else (
            f"{count(life.ahead, 'commit')} of it {'is' if life.ahead == 1 else 'are'} merged "
            "nowhere"
        )  # fmt: skip
        return None, f"{what}: its rule goes no further than {rule.unmerged}."
    if step not in rule.ages:
        return None, f"Its rule says no age for the step {step}."
    match step:
        case LifecycleStep.WARN:
            reason = "Nobody has committed to it."
        case LifecycleStep.ARCHIVE:
            reason = "It was warned about, and nobody has used it since."
        case _:
            reason = "It is archived, and nobody has used it since."
    return step, reason


def _is_beyond(step: LifecycleStep, last: LifecycleStep) -> bool:
    return LADDER.index(step) > LADDER.index(last)


def _free_from(life: BranchLife, step: LifecycleStep) -> int:
    """From when on the step before leaves a branch free for this one."""
    before = {
        LifecycleStep.ARCHIVE: life.warned_millis,
        LifecycleStep.DROP: life.archived_millis,
    }.get(step)
    return 0 if before is None else before + BETWEEN_STEPS_MILLIS


def last_commit_millis(history: Iterable[Snapshot]) -> int | None:
    """Return when a branch got its last commit that is no compaction; None without one."""
    times = (each.time_millis for each in history if each.commit_kind is not CommitKind.COMPACT)
    return max(times, default=None)
