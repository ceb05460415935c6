"""Findings of quality rules on merges at the present heads of branches, from jobs on record."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.progress import JobView
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import Argument
from branch_console.quality.findings import GateReport, GateVerdict, RuleFinding
from branch_console_app.models.parts.wording import listed, plural

JUDGING_JOBS: Final = frozenset({"check_rules", "dry_run_merge", "merge_branch", "fast_forward"})
"""Jobs that judge the head of a branch, or what its merge would leave, by the rules of a table."""


CATALOG_MERGE: Final = MergeCatalogRequest.procedure
"""The job that judges all tables of a merge of the catalog, each by its own rules."""


def quoted(name: str) -> str:
    """Write a name in quotes, as texts without marks have it."""
    return f"'{name}'"


def rule_words(finding: RuleFinding, mark: Callable[[str], str] = quoted) -> str:
    """Name the rule of a finding: `'tail'`, or `'tail' of 'air.flights'`.

    Args:
        finding: The finding.
        mark: Writes a name: in quotes, or as Markdown.
    """
    of_table = "" if finding.table is None else f" of {mark(finding.table)}"
    return f"{mark(finding.rule)}{of_table}"


def result_words(
    findings: Sequence[RuleFinding], noun: str = "rule", mark: Callable[[str], str] = quoted
) -> str:
    """Say how many rules passed, and which warn: `1 of 2 rules passed, 'tail' warns`.

    Args:
        findings: What was found of each rule.
        noun: The word for a rule.
        mark: Writes a name: in quotes, or as Markdown.
    """
    passed = sum(each.verdict == GateVerdict.PASS for each in findings)
    said = f"{passed} of {plural(len(findings), noun)} passed"
    for verdict, one, many in (
        (GateVerdict.WARN, "warns", "warn"),
        (GateVerdict.INFO, "fails for information only", "fail for information only"),
    ):
        named = [rule_words(each, mark) for each in findings if each.verdict == verdict]
        if named:
            said += f", {listed(named)} {one if len(named) == 1 else many}"
    return said


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
        blocking_tables: The ids of the tables whose rules stop a merge of the catalog; none of a
            merge of one table.
    """

    judged: tuple[str, ...]
    target: str
    is_of_source: bool
    report: GateReport
    job: str
    time_millis: int
    blocking_tables: frozenset[str] = frozenset()

    def words(self, mark: Callable[[str], str] = quoted) -> str:
        """Say what was found: `blocked by 'tail'`, `2 of 2 rules passed`.

        Args:
            mark: Writes a name: in quotes, or as Markdown.
        """
        blocking = [rule_words(each, mark) for each in self.report.blocking]
        if blocking:
            return f"blocked by {listed(blocking, most=1)}"
        return result_words(self.report.findings, "quality rule", mark)

    def sentence(self, mark: Callable[[str], str] = quoted) -> str:
        """Say the same with the target: `merge into 'main' is blocked by 'tail'`."""
        return f"merge into {mark(self.target)}{' is' if self.blocks else ':'} {self.words(mark)}"

    @property
    def warns(self) -> bool:
        """Whether no rule stops the merge, and one warns."""
        return self.report.verdict is GateVerdict.WARN

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
            "blocking": [each.name for each in self.report.blocking],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedTable:
    """A table that a merge of the catalog brings content of.

    Attributes:
        id: Its id in the catalog.
        name: Its name, of which its rules are.
        heads: The identities of both heads, as `HeadCheck.judged` has them.
        is_forward: Whether the target changed nothing of it since the merge base.
    """

    id: str
    name: Identifier
    heads: tuple[str, ...]
    is_forward: bool

    def takes(self, check: HeadCheck) -> bool:
        """Whether a check judged what the merge leaves of this table now."""
        return check.judged == self.heads and (self.is_forward or not check.is_of_source)


def catalog_merge_of(job: JobView) -> MergeCatalogRequest | None:
    """Return the merge of the catalog that a job was asked for; None of another release."""
    try:
        return MergeCatalogRequest.decode(job.name, job.arguments)
    except InvalidInput:
        return None


def has_catalog_options(asked: MergeCatalogRequest) -> bool:
    """Whether a merge of the catalog may leave other rows than one without options."""
    plain = MergeCatalogRequest(source=asked.source)
    options = (asked.strict, asked.scope, asked.isolation, asked.policy)
    return options != (plain.strict, plain.scope, plain.isolation, plain.policy)


def check_of_tables(found: Mapping[MergedTable, HeadCheck | None], target: str) -> HeadCheck | None:
    """Return the result for a merge of the catalog, of which one table that is blocked blocks all.

    It passes only if each table was judged; None if nothing is known.

    Args:
        found: The check of each table that has rules; None of one without a check.
        target: The branch that they would be merged into.
    """
    known = {table: check for table, check in found.items() if check is not None}
    blocking = {table: check for table, check in known.items() if check.blocks}
    if not blocking and (not known or len(known) < len(found)):
        return None
    shown = blocking or known
    # The one that was made first says how long all of it is known.
    oldest = min(shown.values(), key=lambda check: check.time_millis)
    findings = (
        replace(finding, table=table.name.full_name)
        for table, check in shown.items()
        for finding in check.report.findings
    )
    return HeadCheck(
        judged=tuple(head for check in shown.values() for head in check.judged),
        target=target,
        is_of_source=any(check.is_of_source for check in shown.values()),
        report=GateReport(digest="", findings=tuple(findings)),
        job=oldest.job,
        time_millis=oldest.time_millis,
        blocking_tables=frozenset(each.id for each in blocking),
    )


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
