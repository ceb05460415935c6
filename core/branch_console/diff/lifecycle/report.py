"""The effects of a maintenance policy, as rows for a page, a command or a receipt."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.diff.history_move import count
from branch_console.diff.lifecycle.ladder import BranchPlan
from branch_console.diff.lifecycle.policy import LifecycleStep, MaintenancePolicy, ScheduledTask
from branch_console.format.scan_options import moment_text

_DAY_MILLIS: Final = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleRow:
    """A branch, and what becomes of it.

    Attributes:
        rule: The pattern of the rule that decides, with its line; or `defaults`.
        age_days: How many whole days nobody has used it; None if that is not known.
        ahead: Its commits that were merged nowhere; None if that is not known.
        step: The next step; None without one.
        due_millis: When.
        is_due: Whether that may happen now.
        reason: Why, as a sentence.
        exclusive_bytes: What no other branch needs of it, so that it is free in the end if the
            branch goes; None if nothing happens to it, or that is not known.
    """

    branch: str
    rule: str
    age_days: int | None
    ahead: int | None
    step: LifecycleStep | None
    due_millis: int | None
    is_due: bool
    reason: str
    exclusive_bytes: int | None = None

    @property
    def sentence(self) -> str:
        """The row for people."""
        name = f"Branch {self.branch!r} (rule {self.rule})"
        age = "of unknown age" if self.age_days is None else f"{count(self.age_days, 'day')} old"
        if self.step is None or self.due_millis is None:
            return f"{name}, {age}, stays. {self.reason}"
        when = "now" if self.is_due else f"from {moment_text(self.due_millis)} on"
        text = f"{name}, {age}: {self.step} {when}. {self.reason}"
        if self.exclusive_bytes is None:
            return text
        return f"{text} {self.exclusive_bytes:,} bytes are needed by it alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRow:
    """A task that runs by itself.

    Attributes:
        cron: When, as the policy says it.
        zone: The time zone of that.
        next_millis: The next time.
        how: What is to be known of it, in a few words; empty if nothing is.
    """

    task: ScheduledTask
    cron: str
    zone: str
    next_millis: int
    how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """The effects of the maintenance policy on a table.

    Attributes:
        policy_of: The table that the policy was set for; None for that of the warehouse.
        version: How often it was set.
        is_dry_run: Whether schedules only report stale branches.
        branches: By name, main left out.
        schedules: The schedules.
    """

    table: str
    policy_of: str | None
    version: int
    is_dry_run: bool
    branches: tuple[LifecycleRow, ...]
    schedules: tuple[ScheduleRow, ...]


def lifecycle_rows(
    plans: Iterable[BranchPlan], now_millis: int, exclusive: Mapping[str, int]
) -> tuple[LifecycleRow, ...]:
    """Return plans as rows.

    Args:
        plans: The plan of each branch.
        now_millis: The time.
        exclusive: The bytes that a branch needs alone, where they are known.
    """
    return tuple(
        LifecycleRow(
            branch=plan.branch,
            rule=plan.rule.name,
            age_days=None if plan.age_millis is None else plan.age_millis // _DAY_MILLIS,
            ahead=plan.ahead,
            step=plan.step,
            due_millis=plan.due_millis,
            is_due=plan.is_due(now_millis),
            reason=plan.reason,
            exclusive_bytes=None if plan.step is None else exclusive.get(plan.branch),
        )
        for plan in plans
    )


def schedule_rows(
    policy: MaintenancePolicy, now_millis: int, *, served: Collection[ScheduledTask]
) -> tuple[ScheduleRow, ...]:
    """Return the schedules of a policy, each with the next time.

    Args:
        policy: The policy.
        now_millis: The time.
        served: The tasks that this release can run.
    """
    return tuple(
        ScheduleRow(
            task=task,
            cron=cron.text,
            zone=cron.zone,
            next_millis=cron.next_after(now_millis),
            how=_how(policy, task, is_served=task in served),
        )
        for task, cron in policy.schedules.items()
    )


def _how(policy: MaintenancePolicy, task: ScheduledTask, *, is_served: bool) -> str:
    if not is_served:
        return "not served by this release"
    if task is ScheduledTask.LIFECYCLE and policy.is_dry_run:
        return "dry run"
    return ""
