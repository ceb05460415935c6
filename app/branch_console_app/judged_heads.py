"""The findings of the rules of a table on record: for the merges of branches, and for one merge."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import BRANCH_MARK, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.quality.findings import GateReport, findings_of
from branch_console_app.models.branches.head_checks import (
    JUDGING_JOBS,
    HeadCheck,
    checks_of_heads,
    judges_source_only,
    target_of,
)
from branch_console_app.models.merge.gate_run import GateRun, SoughtMerge

if TYPE_CHECKING:
    from branch_console_app.services import Services

_JOBS_LOOKED_AT: Final = 200
_CHECKS_LOOKED_AT: Final = 20


def read_head_checks(
    services: Services, table: Identifier, branches: Collection[BranchItem], versus: str
) -> Mapping[str, HeadCheck]:
    """Return what the rules found for the merge of each branch; none if jobs do not answer.

    Args:
        services: The warehouse and its jobs.
        table: The table.
        branches: All its branches, each compared with `versus`.
        versus: The branch that they would be merged into.
    """
    try:
        jobs = services.jobs(limit=_JOBS_LOOKED_AT)
        # A check against another branch would stand in the way of those against this one.
        judging = [
            each for each in jobs if _judged(each, table) and target_of(each.arguments) == versus
        ]
        # Most tables were never judged: their rules need not be read.
        found = list(_checks(services, table, judging)) if judging else []
    except PaimonError:
        return {}
    return checks_of_heads(found, branches, versus)


def read_gate_run(services: Services, table: Identifier, sought: SoughtMerge) -> GateRun | None:
    """Return the last run of the rules for a merge; None without one, or if jobs do not answer.

    Args:
        services: The warehouse and its jobs.
        table: The table.
        sought: The merge.
    """
    try:
        jobs = services.jobs(limit=_JOBS_LOOKED_AT)
    except PaimonError:
        return None
    judging = [each for each in jobs if _judged(each, table) and sought.is_about(each)]
    return sought.last_run(_runs(services, judging[:_CHECKS_LOOKED_AT], sought.digest))


def _runs(services: Services, jobs: list[JobView], digest: str) -> Iterator[GateRun]:
    for job in jobs:
        try:
            answer = services.answer(job.id)
            plan_id = services.call_of_job(job.id).agreement.plan_id
        except PaimonError:
            continue  # judged by no rules, or forgotten
        yield GateRun(
            job=job,
            judged=answer.judged,
            digest=digest if any(digest in note for note in answer.notes) else "",
            findings=findings_of(answer.rows.to_pylist()),
            time_millis=answer.finished_millis,
            plan_id=plan_id,
        )


def _judged(job: JobView, table: Identifier) -> bool:
    if job.name not in JUDGING_JOBS or (job.table or "").partition(BRANCH_MARK)[0] != (
        table.table_name
    ):
        return False
    return job.state is JobState.DONE or job.error is ErrorKind.GATE_FAILED


def _checks(services: Services, table: Identifier, jobs: list[JobView]) -> Iterator[HeadCheck]:
    rules = services.rules(table)
    if rules is None or rules.depends_on_time:
        return
    for job in jobs[:_CHECKS_LOOKED_AT]:
        try:
            answer = services.answer(job.id)
        except PaimonError:
            continue  # judged by no rules, or forgotten
        # Other rules, or rules of a file that somebody tries, say nothing of those of the table.
        if not any(rules.digest in note for note in answer.notes):
            continue
        yield HeadCheck(
            judged=answer.judged,
            target=target_of(job.arguments),
            is_of_source=judges_source_only(job),
            report=GateReport(digest=rules.digest, findings=findings_of(answer.rows.to_pylist())),
            job=job.id,
            time_millis=answer.finished_millis,
        )
