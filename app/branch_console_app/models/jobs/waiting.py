"""The jobs of a person that ended without what was asked for, and that nobody has run since."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from branch_console.jobs.progress import JobState, JobView
from branch_console_app.models.jobs.activity import READING_JOBS
from branch_console_app.models.jobs.job_titles import full_title

_WAITS: Final = frozenset(
    {JobState.WAITING, JobState.REFUSED, JobState.FAILED, JobState.INTERRUPTED}
)
_PARTS_OF_MERGES: Final = {"dry_run_merge": "merge_branch", "compare_rows": "merge_branch"}
_REMEMBERED_MILLIS: Final = 14 * 24 * 3_600_000


def waiting_jobs(jobs: Iterable[JobView], actor: str, now_millis: int) -> tuple[JobView, ...]:
    """Return the jobs that wait for a person, the newest first.

    A merge that is done settles its dry runs, too. What failed two weeks ago waits no longer, and
    a query that failed waits for nobody.

    Args:
        jobs: The newest first.
        actor: The person.
        now_millis: The time.
    """
    settled: set[tuple[str, str | None, str]] = set()
    found = []
    for job in jobs:
        subject = _subject(job)
        is_recent = now_millis - job.created_millis < _REMEMBERED_MILLIS
        is_asked_for = job.name not in READING_JOBS or job.name in _PARTS_OF_MERGES
        is_own = job.actor == actor and is_recent and is_asked_for
        if is_own and job.state in _WAITS and subject not in settled:
            found.append(job)
        if job.state is not JobState.CANCELLED:
            settled.add(subject)
    return tuple(found)


def _subject(job: JobView) -> tuple[str, str | None, str]:
    name = _PARTS_OF_MERGES.get(job.name, job.name)
    return name, job.table, full_title(replace(job, name=name))
