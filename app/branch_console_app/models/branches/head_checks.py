"""Checks by the quality rules of the heads that branches have now, from jobs on record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import GateReport, GateVerdict

JUDGING_JOBS: Final = frozenset({"check_rules", "dry_run_merge", "merge_branch", "fast_forward"})
"""Jobs that judge the head of a branch, or what its merge would leave, by the rules of a table."""


def target_of(arguments: Mapping[str, Argument]) -> str:
    """Return the branch that the call of a judging job compares with, or changes."""
    # A page pins a state by its snapshot: `main@12:5f0b8d49`.
    before = str(arguments.get("a") or "").partition("@")[0]
    return before or str(arguments.get("target") or MAIN_BRANCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadCheck:
    """A check by the rules of the head of one branch.

    Attributes:
        judged: The identities of the heads: that of the target if there was one, then that of the
            branch.
        target: The branch that it was compared with.
        job: The job that judged.
        time_millis: When it was done.
    """

    judged: tuple[str, ...]
    target: str
    report: GateReport
    job: str
    time_millis: int

    @property
    def words(self) -> str:
        """Say what was found, names in quotes: `blocked by 'tail'`."""
        blocking = [f"'{each.rule}'" for each in self.report.blocking]
        if blocking:
            more = f" and {len(blocking) - 1} more" if len(blocking) > 1 else ""
            return f"blocked by {blocking[0]}{more}"
        warns = self.report.verdict is GateVerdict.WARN
        return f"passes the quality rules{', with a warning' if warns else ''}"

    @property
    def blocks(self) -> bool:
        """Whether a rule stops the merge of the branch."""
        return self.report.verdict.blocks

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "job": self.job,
            "time_millis": self.time_millis,
            "verdict": str(self.report.verdict),
            "blocking": [each.rule for each in self.report.blocking],
        }


def checks_of_heads(
    found: Iterable[HeadCheck], heads: Mapping[str, Snapshot | None]
) -> Mapping[str, HeadCheck]:
    """Return the newest check of each branch whose head, and that of its target, is the same.

    A check of heads that have moved since says nothing of the present ones.

    Args:
        found: The checks, the newest first.
        heads: The heads of all branches.
    """
    lists = {name: head.identity.text for name, head in heads.items() if head is not None}
    newest: dict[str, HeadCheck] = {}
    for each in found:
        is_present = all(at == lists.get(each.target) for at in each.judged[:-1])
        if each.judged and is_present:
            newest.setdefault(each.judged[-1], each)
    return {name: newest[at] for name, at in lists.items() if at in newest}
