"""Findings of quality rules on merges at the present heads of branches, from jobs on record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.jobs.progress import JobView
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import GateReport, GateVerdict
from branch_console_app.models.parts.wording import listed

JUDGING_JOBS: Final = frozenset({"check_rules", "dry_run_merge", "merge_branch", "fast_forward"})
"""Jobs that judge the head of a branch, or what its merge would leave, by the rules of a table."""


def target_of(arguments: Mapping[str, Argument]) -> str:
    """Return the branch that the call of a judging job compares with, or changes."""
    # A page pins a state by its snapshot: `main@12:5f0b8d49`.
    before = str(arguments.get("a") or "").partition("@")[0]
    return before or str(arguments.get("target") or MAIN_BRANCH)


def asked_merge(job: JobView) -> MergeRequest | FastForwardRequest | None:
    """Return the merge that a job was asked for; None of a job of another release."""
    of = FastForwardRequest if job.name == FastForwardRequest.procedure else MergeRequest
    try:
        return of.decode(job.name, job.arguments)
    except InvalidInput:
        return None  # it may have other arguments


def merged_sides(job: JobView) -> tuple[str, str] | None:
    """Return the source and the target of the merge that a job was asked for, None as above."""
    asked = asked_merge(job)
    return None if asked is None else (asked.source, asked.target or MAIN_BRANCH)


def merge_options(request: MergeRequest) -> tuple[object, ...]:
    """Return what the result of a merge depends on besides its heads."""
    return (request.strict, request.scope, request.isolation, request.policy)


def judges_source_only(job: JobView) -> bool:
    """Whether what a job judged is the result only of a merge that takes over the source's head.

    So it is for a check, which judges that head, and for a merge with options or decisions, which
    leaves something else than a merge without them, unless there is nothing to settle.
    """
    if job.name == CheckRulesRequest.procedure:
        return True
    asked = asked_merge(job)
    if not isinstance(asked, MergeRequest):
        return True
    plain = MergeRequest(table=asked.table, source=asked.source)
    return merge_options(asked) != merge_options(plain)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadCheck:
    """The result of the quality rules for the merge of one branch.

    Attributes:
        judged: The identities of the heads: that of the target if there was one, then that of the
            branch.
        target: The branch that it was compared with, or would be merged into.
        is_of_source: Whether it says nothing of a merge that finds changes on both sides.
        job: The job that judged.
        time_millis: When it was done.
    """

    judged: tuple[str, ...]
    target: str
    is_of_source: bool
    report: GateReport
    job: str
    time_millis: int

    @property
    def words(self) -> str:
        """Say what was found, names in quotes: `blocked by 'tail'`."""
        blocking = [f"'{each.rule}'" for each in self.report.blocking]
        if blocking:
            return f"blocked by {listed(blocking, most=1)}"
        warns = self.report.verdict is GateVerdict.WARN
        return f"passes the quality rules{', with a warning' if warns else ''}"

    @property
    def sentence(self) -> str:
        """Say the same with the target: `merge into 'main' is blocked by 'tail'`."""
        return f"merge into '{self.target}' {'is ' if self.blocks else ''}{self.words}"

    @property
    def blocks(self) -> bool:
        """Whether a rule stops the merge of the branch."""
        return self.report.verdict.blocks

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "job": self.job,
            "time_millis": self.time_millis,
            "target": self.target,
            "verdict": str(self.report.verdict),
            "blocking": [each.rule for each in self.report.blocking],
        }


def checks_of_heads(
    found: Iterable[HeadCheck], branches: Iterable[BranchItem], versus: str
) -> Mapping[str, HeadCheck]:
    """Return the newest check of the merge of each branch, at the heads that there are now.

    Main is merged nowhere, and a state that was judged without a state before says nothing of a
    merge: a rule that fails on the target too stops none.

    Args:
        found: The checks, the newest first.
        branches: All branches, each compared with `versus`.
        versus: The branch that they would be merged into.
    """
    items = {each.name: each for each in branches}
    if versus not in items or items[versus].error is not None:
        return {}
    target = items[versus].head
    before = () if target is None else (target.identity.text,)
    checks = tuple(each for each in found if each.target == versus)
    newest: dict[str, HeadCheck] = {}
    for name, item in items.items():
        if name in (MAIN_BRANCH, versus) or item.head is None:
            continue
        distance = item.versus
        is_forward = target is None or (distance is not None and distance.behind == 0)
        heads = (*before, item.head.identity.text)
        for each in checks:
            if each.judged == heads and (is_forward or not each.is_of_source):
                newest[name] = each
                break
    return newest
