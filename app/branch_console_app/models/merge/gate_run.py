"""The last time that the quality rules were run for a merge, as the jobs on record have it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.jobs.progress import JobView
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.operations.merge_requests import DryRunRequest, MergeRequest
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.quality.findings import GateReport, RuleFinding
from branch_console_app.models.branches.head_checks import (
    HeadCheck,
    asked_merge,
    merge_options,
    merged_sides,
    result_words,
    target_of,
)
from branch_console_app.models.parts.wording import code, listed

OTHER_COMMITS: Final = "on other commits"
UNKNOWN_COMMITS: Final = "perhaps on other commits"
OTHER_RULES: Final = "with other rules"
OTHER_OPTIONS: Final = "with other options or decisions"
BY_TIME: Final = "and a rule depends on the time"
"""Why the result of a run says nothing of a merge as it is now, in words that follow it."""

_WORDS: Final = {
    CheckRulesRequest.procedure: "check",
    DryRunRequest.procedure: "dry run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """A job that ran the quality rules on the result of a merge, or on the head of its source.

    Attributes:
        job: The job.
        judged: The identities of the heads: that of the target if there was one, then that of the
            source; none of a job of an earlier release.
        digest: The digest of the rules.
        plan_id: The plan that the job was bound to; None if it was bound to none.
        time_millis: When it was done.
        outdated: Why it says nothing of the merge as it is now; empty if it does.
    """

    job: JobView
    judged: tuple[str, ...]
    digest: str
    findings: tuple[RuleFinding, ...]
    time_millis: int
    plan_id: str | None = None
    outdated: str = ""

    @property
    def blocking(self) -> tuple[RuleFinding, ...]:
        """The rules that let nothing be merged."""
        return GateReport(digest="", findings=self.findings).blocking

    @property
    def is_of_another_merge(self) -> bool:
        """Whether it judged other commits, or by other rules or options: not just long ago."""
        return self.outdated not in ("", BY_TIME)

    @property
    def what(self) -> str:
        """The kind of job: `dry run`, `check` or `merge`."""
        return _WORDS.get(self.job.name, "merge")

    @property
    def is_dry_run(self) -> bool:
        """Whether it tried the merge, and changed nothing."""
        return self.job.name == DryRunRequest.procedure

    def check_of(self, target: str) -> HeadCheck:
        """Return what it found as the check of a merge into a target, as lists of branches say it.

        Args:
            target: The target of the merge that it was sought for.
        """
        return HeadCheck(
            judged=self.judged,
            target=target,
            is_of_source=self.job.name == CheckRulesRequest.procedure,
            report=GateReport(digest=self.digest, findings=self.findings),
            job=self.job.id,
            time_millis=self.time_millis,
        )

    def sentence(self, when: str) -> str:
        """Say how it ended, as a Markdown sentence without its end.

        Args:
            when: The time of it, such as `today 14:05`.
        """
        if self.blocking:
            return f"A {self.what} was {stopped_words(self.blocking)}, {when}"
        return f"{passed_words(self.findings)} in a {self.what}, {when}"


def stopped_words(blocking: Sequence[RuleFinding]) -> str:
    """Say what stopped a job, as Markdown: "stopped by rule `tail` and 1 more"."""
    if not blocking:
        return "stopped by the quality rules"
    return f"stopped by rule {listed([code(each.rule) for each in blocking], most=1)}"


def passed_words(findings: Sequence[RuleFinding]) -> str:
    """Say how many rules passed, and name as Markdown those that only warn."""
    return result_words(findings, mark=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtMerge:
    """A merge of which the last run of the rules is sought.

    Attributes:
        request: The merge with its options, and the policy that settles conflicts.
        plan_ids: The ids of its plan, which is of one head of each branch.
        is_forward: Whether its result is the head of the source, so that a check of that head with
            the target as the state before judges the merge.
        digest: The digest of the rules that the table has.
        depends_on_time: Whether these rules may judge the same rows in another way later.
        since_millis: When the younger of both branches was created: an earlier run on other
            commits was about a branch that had the same name.
    """

    request: MergeRequest
    ours: Snapshot | None
    theirs: Snapshot | None
    plan_ids: tuple[str, ...]
    is_forward: bool
    digest: str
    depends_on_time: bool = False
    since_millis: int = 0

    def last_run(self, runs: Iterable[GateRun]) -> GateRun | None:
        """Return the newest run for the merge as it is, else the newest for another state of it.

        Args:
            runs: The runs on the table, newest first.
        """
        found = None
        for run in runs:
            outdated = self._outdated(run)
            if outdated is None:
                continue
            if not outdated:
                return run
            found = found or replace(run, outdated=outdated)
        # A merge that went through has its receipt; the next one has nothing to do with it.
        is_merged = found is not None and found.what == "merge" and not found.blocking
        return None if is_merged else found

    def is_about(self, job: JobView) -> bool:
        """Whether a job may have judged a merge of these branches."""
        if job.name == CheckRulesRequest.procedure:
            return self.is_forward and target_of(job.arguments) == self._target
        return merged_sides(job) == (self.request.source, self._target)

    @property
    def _target(self) -> str:
        return self.request.target or MAIN_BRANCH

    def _outdated(self, run: GateRun) -> str | None:
        """Return why a run says nothing of the merge as it is; None if it is about another one."""
        heads = tuple(each.identity.text for each in (self.ours, self.theirs) if each is not None)
        if run.job.name == CheckRulesRequest.procedure:
            # Of another head it may have checked another branch.
            if run.judged != heads:
                return None
        elif run.plan_id not in self.plan_ids:
            if run.judged != heads:
                if run.time_millis < self.since_millis:
                    return None
                # An earlier release kept no heads; its plans have other ids.
                return OTHER_COMMITS if run.judged else UNKNOWN_COMMITS
            if not (self.is_forward or self._has_same_options(run.job)):
                return OTHER_OPTIONS
        if run.digest != self.digest:
            return OTHER_RULES
        return BY_TIME if self.depends_on_time else ""

    def _has_same_options(self, job: JobView) -> bool:
        asked = asked_merge(job)
        return isinstance(asked, MergeRequest) and merge_options(asked) == merge_options(
            self.request
        )


def latest_creation(*sides: BranchItem) -> int:
    """Return when the younger of two branches was created, in milliseconds; 0 if nobody knows.

    Main is as old as its table. Nobody drops it, and the time of its folder is that of the newest
    partition.
    """
    made = (each.created_millis or 0 for each in sides if each.name != MAIN_BRANCH)
    return max(made, default=0)
