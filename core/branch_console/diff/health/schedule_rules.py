"""F33: what a maintenance policy has run by itself does not run without a worker."""

from collections.abc import Sequence

from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.diff.history_move import count
from branch_console.format.identifier import MAIN_BRANCH


def schedule_findings(
    schedules: Sequence[str], *, is_worker_alive: bool
) -> tuple[HealthFinding, ...]:
    """Tell that schedules wait for a worker.

    Args:
        schedules: The names of schedules, such as `expire`, or `expire of air.flights`.
        is_worker_alive: Whether a worker runs that takes its jobs from the store of whoever asks.
    """
    if not schedules or is_worker_alive:
        return ()
    verb = "has" if len(schedules) == 1 else "have"
    return (
        HealthFinding(
            rule="F33",
            severity=HazardSeverity.WARNING,
            branch=MAIN_BRANCH,
            evidence=tuple(schedules),
            text=f"{count(len(schedules), 'schedule')} of maintenance policies {verb} no worker.",
            breaks="Until one runs, what is due by them is left out, and nothing makes up for it.",
            advice="Start a worker that stays: branch-console worker.",
        ),
    )
