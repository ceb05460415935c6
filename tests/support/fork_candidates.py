"""All forks that a branch may have had, of which the product takes the likeliest."""

from collections.abc import Sequence

from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.fork_inference import ForkCandidate, _ids_by_branch, _infer
from branch_console.format.lineage_event import LineageEvent


def infer_forks(
    branch: BranchTrace, traces: Sequence[BranchTrace], events: Sequence[LineageEvent] = ()
) -> tuple[ForkCandidate, ...]:
    """Where a branch may have come from, the most likely first; nothing for main."""
    if branch.is_main:
        return ()
    return _infer(branch, traces, events, _ids_by_branch((*traces, branch)))
