"""The findings of the rules of a table on record: for the merges of branches, and for one merge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import BRANCH_MARK, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.quality.findings import GateReport, RuleFinding, findings_of
from branch_console.quality.rules import RuleSet
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJudgement:
    """The findings of a job that has ended, by the rules of a table; they never change.

    Attributes:
        judged: The identities of the heads, as of an answer.
        notes: Sentences, of which one names the digest of the rules.
        time_millis: When it was done.
        plan_id: The plan that the job was bound to; None if it was bound to none.
    """

    judged: tuple[str, ...]
    notes: tuple[str, ...]
    findings: tuple[RuleFinding, ...]
    time_millis: int
    plan_id: str | None

    def is_by(self, digest: str) -> bool:
        """Whether it is by the rules of a digest, not by others or those of a file on trial."""
        return any(digest in note for note in self.notes)


def read_judgement(services: Services, job_id: str) -> KeptJudgement:
    """Return what a job that has ended found by the rules.

    Raises:
        NotFound: It ran no rules, or what it found is forgotten.
    """
    answer = services.answer(job_id)
    return KeptJudgement(
        judged=answer.judged,
        notes=answer.notes,
        findings=findings_of(answer.rows.to_pylist()),
        time_millis=answer.finished_millis,
        plan_id=services.call_of_job(job_id).agreement.plan_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgementReads:
    """The reads that a question takes about what rules found; a page keeps some of them.

    Attributes:
        jobs: The newest jobs, as many as are asked for.
        judgement: What a job found, as `read_judgement` returns it.
        rules: The rules of a table.
    """

    jobs: Callable[[int], tuple[JobView, ...]]
    judgement: Callable[[str], KeptJudgement]
    rules: Callable[[Identifier], RuleSet | None]

    @classmethod
    def of(cls, services: Services) -> JudgementReads:
        """Return the reads of a warehouse, of which none is kept."""
        return cls(
            jobs=lambda limit: services.jobs(limit=limit) if services.has_answers else (),
            judgement=lambda job_id: read_judgement(services, job_id),
            rules=services.rules,
        )


def read_head_checks(
    reads: JudgementReads, table: Identifier, branches: Collection[BranchItem], versus: str
) -> Mapping[str, HeadCheck]:
    """Return what the rules found for the merge of each branch; none if jobs do not answer.

    Args:
        reads: The reads.
        table: The table.
        branches: All its branches, each compared with `versus`.
        versus: The branch that they would be merged into.
    """
    try:
        jobs = reads.jobs(_JOBS_LOOKED_AT)
        # The number of checks that are read is limited: those against other branches do not count.
        judging = [
            each for each in jobs if _judged(each, table) and target_of(each.arguments) == versus
        ]
        # Most tables were never judged: their rules need not be read.
        found = list(_checks(reads, table, judging)) if judging else []
    except PaimonError:
        return {}
    return checks_of_heads(found, branches, versus)


def read_gate_run(reads: JudgementReads, table: Identifier, sought: SoughtMerge) -> GateRun | None:
    """Return the last run of the rules for a merge; None without one, or if jobs do not answer.

    Args:
        reads: The reads.
        table: The table.
        sought: The merge.
    """
    try:
        jobs = reads.jobs(_JOBS_LOOKED_AT)
    except PaimonError:
        return None
    judging = [each for each in jobs if _judged(each, table) and sought.is_about(each)]
    return sought.last_run(_runs(reads, judging, sought.digest))


def _runs(reads: JudgementReads, jobs: list[JobView], digest: str) -> Iterator[GateRun]:
    for job, found in _judgements(reads, jobs):
        yield GateRun(
            job=job,
            judged=found.judged,
            digest=digest if found.is_by(digest) else "",
            findings=found.findings,
            time_millis=found.time_millis,
            plan_id=found.plan_id,
        )


def _judgements(
    reads: JudgementReads, jobs: list[JobView]
) -> Iterator[tuple[JobView, KeptJudgement]]:
    for job in jobs[:_CHECKS_LOOKED_AT]:
        try:
            yield job, reads.judgement(job.id)
        except PaimonError:
            continue  # judged by no rules, or forgotten


def _judged(job: JobView, table: Identifier) -> bool:
    if job.name not in JUDGING_JOBS or (job.table or "").partition(BRANCH_MARK)[0] != (
        table.table_name
    ):
        return False
    return job.state is JobState.DONE or job.error is ErrorKind.GATE_FAILED


def _checks(reads: JudgementReads, table: Identifier, jobs: list[JobView]) -> Iterator[HeadCheck]:
    rules = reads.rules(table)
    if rules is None or rules.depends_on_time:
        return
    for job, found in _judgements(reads, jobs):
        if not found.is_by(rules.digest):
            continue
        yield HeadCheck(
            judged=found.judged,
            target=target_of(job.arguments),
            is_of_source=judges_source_only(job),
            report=GateReport(digest=rules.digest, findings=found.findings),
            job=job.id,
            time_millis=found.time_millis,
        )
