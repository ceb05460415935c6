"""The findings of the rules of a table on record: for the merges of branches, and for one merge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from branch_console.errors import ErrorKind, NotFound, PaimonError
from branch_console.format.identifier import BRANCH_MARK, MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.quality.findings import GateReport, RuleFinding, findings_of
from branch_console.quality.rules import RuleSet
from branch_console_app.models.branches.head_checks import (
    CATALOG_MERGE,
    JUDGING_JOBS,
    HeadCheck,
    MergedTable,
    catalog_merge_of,
    check_of_tables,
    checks_of_heads,
    has_catalog_options,
    judges_source_only,
    target_of,
)
from branch_console_app.models.merge.gate_run import GateRun, SoughtMerge

if TYPE_CHECKING:
    from branch_console.operations.catalog_requests import MergeCatalogRequest
    from branch_console.procedures.browse.catalog_values import (
        CatalogBranchStanding,
        CatalogOverview,
    )
    from branch_console_app.services import Services

_CatalogMerge: TypeAlias = tuple[JobView, "MergeCatalogRequest"]

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


def read_judgement(
    services: Services, job_id: str, table_id: str | None = None
) -> KeptJudgement | None:
    """Return what a job that has ended found; None if it ran no rules, or that is forgotten.

    Args:
        services: The services.
        job_id: The job.
        table_id: The id of one table of a merge of the catalog.
    """
    try:
        answer = services.answer(job_id if table_id is None else f"{job_id}-{table_id}")
    except NotFound:
        return None
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
        of_tables: The same of each table of a merge of the catalog: takes the job, and returns
            what takes the id of a table.
        rules: The rules of a table.
    """

    jobs: Callable[[int], tuple[JobView, ...]]
    judgement: Callable[[str], KeptJudgement | None]
    of_tables: Callable[[str], Callable[[str], KeptJudgement | None]]
    rules: Callable[[Identifier], RuleSet | None]

    @classmethod
    def of(cls, services: Services) -> JudgementReads:
        """Return the reads of a warehouse, of which none is kept."""
        return cls(
            jobs=lambda limit: services.jobs(limit=limit) if services.has_answers else (),
            judgement=lambda job_id: read_judgement(services, job_id),
            of_tables=lambda job_id: partial(read_judgement, services, job_id),
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


def read_catalog_checks(
    reads: JudgementReads, names: Collection[str], overview: Callable[[], CatalogOverview]
) -> Mapping[str, HeadCheck]:
    """Return what the rules found for the merge of each catalog branch into main, by its name.

    Args:
        reads: The reads.
        names: The branches of the catalog.
        overview: Reads them with their objects; called only if a job may have judged one of them.
    """
    if not names:
        return {}
    try:
        jobs = _JudgingJobs.of(reads.jobs(_JOBS_LOOKED_AT))
        if not jobs.may_tell_of(names, MAIN_BRANCH):
            return {}
        found = overview()
        table_names = {each.id: each.main_name or each.name for each in found.objects}
        checks = {
            name: _check_of_tables(
                reads, jobs, _tables_of(branch, table_names), (name, MAIN_BRANCH), is_plain=True
            )
            for branch in found.branches
            for name in [branch.item.name]
        }
    except PaimonError:
        return {}
    return {name: check for name, check in checks.items() if check is not None}


def read_catalog_check(
    reads: JudgementReads,
    tables: Collection[MergedTable],
    sides: tuple[str, str],
    *,
    is_plain: bool,
) -> HeadCheck | None:
    """Return what the rules found for one merge of the catalog; None if that is not known.

    Args:
        reads: The reads.
        tables: The tables that it brings content of.
        sides: The source, and the target.
        is_plain: Whether it is asked for without options and decisions.
    """
    try:
        jobs = _JudgingJobs.of(reads.jobs(_JOBS_LOOKED_AT))
        return _check_of_tables(reads, jobs, tables, sides, is_plain=is_plain)
    except PaimonError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgingJobs:
    """The jobs that may have run rules to their end, newest first, grouped once for all tables.

    Attributes:
        of_catalog: The merges of the catalog, by source and target.
        of_tables: The jobs on one table, by its name and the branch that they compared with.
    """

    of_catalog: Mapping[tuple[str, str], list[_CatalogMerge]]
    of_tables: Mapping[tuple[str, str], list[JobView]]

    @classmethod
    def of(cls, jobs: Collection[JobView]) -> _JudgingJobs:
        of_catalog: dict[tuple[str, str], list[_CatalogMerge]] = defaultdict(list)
        of_tables: dict[tuple[str, str], list[JobView]] = defaultdict(list)
        for each in jobs:
            if not _has_judged(each):
                continue
            if each.name != CATALOG_MERGE:
                of_tables[_table_of(each), target_of(each.arguments)].append(each)
            elif (asked := catalog_merge_of(each)) is not None:
                of_catalog[asked.source, asked.target or MAIN_BRANCH].append((each, asked))
        return cls(of_catalog=of_catalog, of_tables=of_tables)

    def may_tell_of(self, sources: Collection[str], target: str) -> bool:
        """Whether any of them may have judged a merge of one of some catalog branches."""
        return any((each, target) in self.of_catalog for each in sources) or any(
            compared == target for _, compared in self.of_tables
        )


def _tables_of(branch: CatalogBranchStanding, names: Mapping[str, str]) -> list[MergedTable]:
    return [
        MergedTable(
            id=key,
            name=Identifier.parse(names[key]),
            heads=found.heads,
            is_forward=not found.is_behind,
        )
        for key, found in branch.objects.items()
        if found.heads
    ]


def _check_of_tables(
    reads: JudgementReads,
    jobs: _JudgingJobs,
    tables: Collection[MergedTable],
    sides: tuple[str, str],
    *,
    is_plain: bool,
) -> HeadCheck | None:
    """Return the check of a merge of the catalog, by the newest job that judged each table."""
    _, target = sides
    # Jobs of other branches do not count: they are many, and say nothing of this one.
    of_catalog = [
        (job, asked, reads.of_tables(job.id))
        for job, asked in jobs.of_catalog.get(sides, ())[:_CHECKS_LOOKED_AT]
    ]
    of_tables = {
        table.id: judging
        for table in tables
        if (judging := jobs.of_tables.get((table.name.table_name, target)))
    }
    if not of_catalog and not of_tables:
        # Most tables were never judged: their rules need not be read to know that.
        return None
    checks: dict[MergedTable, HeadCheck | None] = {}
    for table in tables:
        rules = reads.rules(table.name)
        if rules is None:
            continue
        found = (
            _check_in_catalog_merges(rules, table, of_catalog),
            *_checks(reads, table.name, of_tables.get(table.id, [])),
        )
        known = [each for each in found if each is not None and table.takes(each)]
        checks[table] = max(
            (each for each in known if is_plain or table.is_forward),
            key=lambda check: check.time_millis,
            default=None,
        )
    return check_of_tables(checks, target)


def _check_in_catalog_merges(
    rules: RuleSet,
    table: MergedTable,
    jobs: Collection[tuple[JobView, MergeCatalogRequest, Callable[[str], KeptJudgement | None]]],
) -> HeadCheck | None:
    """Return the newest check of one table, as it is now, by merges of the catalog."""
    if rules.depends_on_time:
        return None
    for job, asked, of_table in jobs:
        try:
            found = of_table(table.id)
        except PaimonError:
            continue
        if found is None:
            continue  # it brought nothing of this table, or that is forgotten
        report = GateReport(digest=rules.digest, findings=found.findings)
        check = HeadCheck(
            judged=found.judged,
            target=asked.target or MAIN_BRANCH,
            is_of_source=has_catalog_options(asked),
            report=report,
            job=job.id,
            time_millis=found.time_millis,
        )
        if found.is_by(rules.digest) and report.is_settled and table.takes(check):
            # Older ones need not be read.
            return check
    return None


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
        if not GateReport(digest="", findings=found.findings).is_settled:
            continue  # rules that could not be checked say nothing of the merge
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
            found = reads.judgement(job.id)
        except PaimonError:
            continue
        if found is not None:
            yield job, found


def _judged(job: JobView, table: Identifier) -> bool:
    return job.name in JUDGING_JOBS and _table_of(job) == table.table_name and _has_judged(job)


def _table_of(job: JobView) -> str:
    """Return the name of the table of a job, without its branch."""
    return (job.table or "").partition(BRANCH_MARK)[0]


def _has_judged(job: JobView) -> bool:
    """Whether a job may have run rules to their end."""
    if job.name not in JUDGING_JOBS and job.name != CATALOG_MERGE:
        return False
    return job.state is JobState.DONE or job.error is ErrorKind.GATE_FAILED


def _checks(reads: JudgementReads, table: Identifier, jobs: list[JobView]) -> Iterator[HeadCheck]:
    rules = reads.rules(table)
    if rules is None or rules.depends_on_time:
        return
    for job, found in _judgements(reads, jobs):
        report = GateReport(digest=rules.digest, findings=found.findings)
        if not (found.is_by(rules.digest) and report.is_settled):
            continue
        yield HeadCheck(
            judged=found.judged,
            target=target_of(job.arguments),
            is_of_source=judges_source_only(job),
            report=report,
            job=job.id,
            time_millis=found.time_millis,
        )
