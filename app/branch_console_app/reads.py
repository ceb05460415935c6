"""The reads of pages, kept for as long as they are valid.

Heads move, so a result that depends on them is read again after five seconds. A result that depends
only on a snapshot's identity never changes and is kept until the cache is full.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from threading import Thread
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

import pyarrow as pa
import streamlit as st

from branch_console.diff.expiry.dry_run import DueSnapshot
from branch_console.diff.expiry.storage_cost import TableStorage
from branch_console.diff.fast_forward import ForwardDecision
from branch_console.diff.lifecycle.report import PolicyReport
from branch_console.diff.rows.row_figure import RowCounts
from branch_console.diff.schema_diff import SchemaDiff
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.errors import NotFound, PaimonError
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind
from branch_console.format.followed_branch import DepartedBranch
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.jobs.kept_diffs import KeptDiff
from branch_console.jobs.progress import JobView, WorkerView
from branch_console.merge.catalog.merged_part import MergedPart
from branch_console.merge.known_rows import StagedFigures
from branch_console.merge.plan import FastForwardPlan, ThreeWayPlan, conflicts_of
from branch_console.merge.policy_draft import PolicyDraft
from branch_console.merge.reapply_policy import reapply_policy
from branch_console.procedures.browse.branch_files import BranchFolder
from branch_console.procedures.browse.catalog_values import CatalogOverview
from branch_console.procedures.browse.page_values import (
    BranchGraph,
    BranchItem,
    FallbackView,
    NamesInTable,
    SchemaItem,
    SnapshotDetail,
    SnapshotItem,
    TableEvents,
    TableItem,
    TableSummary,
    TagItem,
)
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.manifest_progress import with_manifest_progress
from branch_console.procedures.catalog_merge.catalog_resolution import CatalogResolution
from branch_console.procedures.catalog_merge.planning_progress import counting_tables
from branch_console.procedures.catalog_merge.publishing_progress import Publishing
from branch_console.procedures.compare.count_rows import CountWork
from branch_console.procedures.compare.failing_rows import FailingRows
from branch_console.procedures.maintenance.doctor import TableHealth
from branch_console.procedures.merge.conflicts import Resolution
from branch_console.procedures.undo.undo import UndoChance
from branch_console.quality.comparison import QualityComparison
from branch_console.quality.rules import RuleSet
from branch_console.sql.answer import Answer
from branch_console_app import state
from branch_console_app.judged_heads import (
    JudgementReads,
    KeptJudgement,
    read_catalog_check,
    read_catalog_checks,
    read_gate_run,
    read_head_checks,
    read_judgement,
)
from branch_console_app.models.branches.head_checks import HeadCheck, MergedTable
from branch_console_app.models.jobs.activity import Activity, activity_feed
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.jobs.receipt_text import undone_operation
from branch_console_app.models.maintenance.dry_runs import DryRun
from branch_console_app.models.merge import merge_facts
from branch_console_app.models.merge.fast_forward import commits_since
from branch_console_app.models.merge.gate_run import GateRun, SoughtMerge
from branch_console_app.models.merge.merge_facts import SettledByOptions
from branch_console_app.models.merge.merge_preview import (
    MergeDecision,
    SettleOption,
    candidates,
    left_by,
    options_set,
    proven,
)
from branch_console_app.services import Services, get_services

_HEADS_SECONDS: Final = 5
_JOBS_OF_FEED: Final = 500
_JOBS_LOOKED_AT: Final = 200
_SLOW_SECONDS: Final = 600
T = TypeVar("T")


def identity_of(compared: ComparedState) -> tuple[str, tuple[str, str] | None, str]:
    """Return what the result of a comparison depends on; the same state has several names."""
    snapshot = compared.snapshot
    lists = None if snapshot is None else snapshot.identity.manifest_lists
    # The whole schema: a branch that was dropped and made again counts its schemas as before.
    return (compared.branch, lists, compared.schema.to_json())


_HASH: Final[dict[str | type, Callable[[Any], Any]]] = {
    Identifier: attrgetter("full_name"),
    ComparedState: identity_of,
    StateDiff: lambda diff: (identity_of(diff.before), identity_of(diff.after)),
    Snapshot: lambda snapshot: (snapshot.id, snapshot.identity.manifest_lists),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A value and when it was read."""

    value: Any
    millis: int


@dataclass(slots=True)
class DoneSoFar:
    """How much a reading under way has done, of how much that it has to do.

    Attributes:
        so_far: Both numbers. They change together, in the thread of the reading, and the second
            one may still grow.
    """

    so_far: tuple[int, int] = (0, 0)

    def note(self, done: int, wanted: int) -> None:
        """Replace both numbers."""
        self.so_far = (done, wanted)


class Begun(Generic[T]):
    """A reading under way in the background, which outlives the run of the page that began it.

    Args:
        future: The reading.
        of: Converts the result of the future to the value that the page asked for.
        done: Its progress; None if nobody counts it.
    """

    def __init__(
        self,
        future: "Future[Any]",
        of: Callable[[Any], T],
        done: DoneSoFar | None = None,
    ) -> None:
        self._future, self._of = future, of
        self._done = done or DoneSoFar()
        self.begun_millis: Final = state.now_millis()
        """When the page began it, or found it under way."""

    @property
    def so_far(self) -> tuple[int, int]:
        """How much is done by now, of how much that is known to be needed; zeros if not known."""
        return self._done.so_far

    def is_done(self, within_seconds: float = 0) -> bool:
        """Whether `result` answers at once, be it with an error; waits a while for that."""
        return bool(wait([self._future], within_seconds).done)

    def result(self) -> T:
        """Return what was read, and wait for it; raises what the reading raised."""
        return self._of(self._future.result())


def forget() -> None:
    """Read everything that may have moved again."""
    _read_heads.clear()
    _known_tables.clear()
    _begin_slowly.clear()


def databases() -> tuple[str, ...]:
    """Return the databases by name."""
    found: tuple[str, ...] = _heads("databases")
    return found


def tables() -> tuple[TableItem, ...]:
    """Return the tables of the warehouse, broken ones with their error."""
    found: tuple[TableItem, ...] = _heads("tables")
    return found


def table_names() -> tuple[Identifier, ...]:
    """Return the names of all tables; none of them is opened."""
    found: tuple[Identifier, ...] = _heads("table_names")
    return found


def table_items(*identifiers: Identifier) -> tuple[TableItem, ...]:
    """Return some tables as a list shows them, and remember them for lists to come."""
    found: tuple[TableItem, ...] = _heads("table_items", *identifiers)
    known = _known_tables(*_reader())
    for item in found:
        # Of ten thousand schemas nobody looks at more than the page that is open.
        known[item.identifier.on_branch(MAIN_BRANCH)] = replace(item, schema=None)
    return found


def names_within(*identifiers: Identifier) -> tuple[NamesInTable, ...]:
    """Return the branches and tags of some tables; one that cannot be listed is left out."""
    found: tuple[NamesInTable, ...] = _heads("names_within", *identifiers)
    return found


def known_tables() -> Mapping[Identifier, TableItem]:
    """Return the tables that were read so far, as they were then, without their schemas."""
    return _known_tables(*_reader())


def publishing() -> Publishing | None:
    """Return the merge of the catalog that is being published on main; None without one."""
    try:
        return get_services().publishing()
    except PaimonError:
        # What cannot be read is told by the page that is about it.
        return None


def branch_files(identifier: Identifier) -> BranchFolder:
    """Return the first files of a branch's own folder."""
    found: BranchFolder = _heads("branch_files", identifier)
    return found


def table_events(*identifiers: Identifier) -> tuple[TableEvents, ...]:
    """Return the ledgers of some tables; one that cannot be read is left out."""
    found: tuple[TableEvents, ...] = _heads("table_events", *identifiers)
    return found


def departed_branch(identifier: Identifier, name: str) -> DepartedBranch | None:
    """Return what became of a branch that a table does not have; None if its ledger does not tell.

    Raises:
        Refused: An event of the ledger cannot be decoded.
    """
    return get_services().departed_branch(identifier, name)


def catalog_events() -> tuple[CatalogVersion, ...]:
    """Return the newest versions of main and of each branch of the catalog."""
    found: tuple[CatalogVersion, ...] = _heads("catalog_events")
    return found


def catalog_branch_names() -> tuple[str, ...]:
    """Return the names of the branches of the catalog, sorted."""
    found: tuple[str, ...] = _heads("catalog_branch_names")
    return found


def catalog_overview() -> CatalogOverview:
    """Return the branches of the catalog against main, and each object as each has it."""
    found: CatalogOverview = _heads("catalog_overview")
    return found


def table(identifier: Identifier) -> TableSummary:
    """Return a table on one branch."""
    found: TableSummary = _heads("table", identifier)
    return found


def branches(identifier: Identifier, versus: str) -> tuple[BranchItem, ...]:
    """Return the branches of a table, each compared with `versus`."""
    found: tuple[BranchItem, ...] = _heads("branches", identifier.on_branch(MAIN_BRANCH), versus)
    return found


def graph(identifier: Identifier, versus: str) -> BranchGraph:
    """Return the lineage of a table's branches, each compared with `versus`."""
    found: BranchGraph = _heads("graph", identifier.on_branch(MAIN_BRANCH), versus)
    return found


def fallback(identifier: Identifier) -> FallbackView | None:
    """Return which partitions a batch read takes from which branch; None: all from this one."""
    found: FallbackView | None = _heads("fallback", identifier)
    return found


def snapshots(identifier: Identifier) -> tuple[SnapshotItem, ...]:
    """Return the snapshots of a branch, newest first."""
    found: tuple[SnapshotItem, ...] = _heads("snapshots", identifier)
    return found


def schemas(identifier: Identifier) -> tuple[SchemaItem, ...]:
    """Return the schemas of a branch, newest first."""
    found: tuple[SchemaItem, ...] = _heads("schemas", identifier)
    return found


def schema_diff(identifier: Identifier, left: str, right: str) -> SchemaDiff:
    """Compare two schemas, each named `branch@id`."""
    found: SchemaDiff = _heads("schema_diff", identifier.on_branch(MAIN_BRANCH), left, right)
    return found


def branch_listing(identifier: Identifier, snapshot: Snapshot, *branches: str) -> str | None:
    """Return the first of some branches that lists a snapshot; None if none of them does."""
    found: str | None = _heads("branch_listing", identifier, snapshot, *branches)
    return found


def begin_comparison(identifier: Identifier, before: str, after: str) -> Begun[StateDiff]:
    """Begin to compare two states; what neither a commit nor a schema has changed is kept."""
    left, right = _heads("find_states", identifier, before, after)
    return _slowly(
        "diff_states", identifier.on_branch(MAIN_BRANCH), left, right,
        of=lambda reading: replace(reading.value, before=left, after=right),
    )  # fmt: skip


def row_diff(identifier: Identifier, diff: StateDiff) -> KeptDiff | None:
    """Return the rows in which two states differ, None if no job has compared them yet."""
    return get_services().row_diff(identifier, diff)


def row_counts(identifier: Identifier, diff: StateDiff) -> RowCounts | None:
    """Return the rows of two states, None if nobody has counted them yet."""
    return get_services().row_counts(identifier, diff)


def count_work(identifier: Identifier, diff: StateDiff) -> CountWork:
    """Return how much counting the rows of two states would read at most."""
    return get_services().count_work(identifier, diff)


def quality(identifier: Identifier, diff: StateDiff) -> QualityComparison | None:
    """Return what the data of two states look like, None if no job has looked yet."""
    return get_services().quality(identifier, diff)


def rules(identifier: Identifier) -> RuleSet | None:
    """Return the rules that a table is held to, None if it has none."""
    found: RuleSet | None = _heads("rules", identifier)
    return found


def head_checks(
    identifier: Identifier, branches: Collection[BranchItem], versus: str
) -> Mapping[str, HeadCheck]:
    """Return what the rules found for the merge of each branch into one, as jobs have it."""
    return read_head_checks(_judgement_reads(), identifier, branches, versus)


def catalog_checks(overview: CatalogOverview) -> Mapping[str, HeadCheck]:
    """Return what the rules found for the merge of each catalog branch into main."""
    names = [each.item.name for each in overview.branches]
    return read_catalog_checks(_judgement_reads(), names, lambda: overview)


def catalog_check(
    tables: Collection[MergedTable], sides: tuple[str, str], *, is_plain: bool
) -> HeadCheck | None:
    """Return what the rules found for one merge of the catalog; None if that is not known.

    Args:
        tables: The tables that it brings content of.
        sides: The source, and the target.
        is_plain: Whether it is asked for without options and decisions.
    """
    return read_catalog_check(_judgement_reads(), tables, sides, is_plain=is_plain)


def gate_run(identifier: Identifier, sought: SoughtMerge) -> GateRun | None:
    """Return the last run of the rules for a merge, whoever started it; None without one."""
    found = read_gate_run(_judgement_reads(), identifier, sought)
    # A list of jobs is without their steps.
    return None if found is None else replace(found, job=job(found.job.id))


def _judgement_reads() -> JudgementReads:
    reader = _reader()
    return JudgementReads(
        jobs=lambda limit: jobs(limit=limit),
        judgement=lambda job_id: _read_judgement(*reader, job_id),
        of_tables=lambda job_id: _table_judgements(*reader, job_id),
        rules=rules,
    )


def tags(identifier: Identifier) -> tuple[TagItem, ...]:
    """Return the tags of a branch by name."""
    found: tuple[TagItem, ...] = _heads("tags", identifier)
    return found


def health(identifier: Identifier) -> TableHealth:
    """Return what the rules of health find on a table, all branches looked at."""
    (found,) = _heads("examine", identifier.on_branch(MAIN_BRANCH))
    return cast(TableHealth, found)


def policy_report(identifier: Identifier) -> PolicyReport:
    """Return what the maintenance policy of a table comes to; raises NotFound without one."""
    found: PolicyReport = _heads("policy_report", identifier.on_branch(MAIN_BRANCH))
    return found


def begin_storage(identifier: Identifier) -> Begun[TableStorage]:
    """Begin to read what the files of a table cost: all manifests, so it is kept for minutes."""
    return _slowly("storage", identifier.on_branch(MAIN_BRANCH))


def begin_dry_run(procedure: str, arguments: Mapping[str, Argument]) -> Begun[DryRun]:
    """Begin to decide what a command that removes something would do.

    It stands for minutes, while a count is typed: a run whose plan is another one by then is
    refused.
    """
    return _slowly("dry_run", procedure, tuple(sorted(arguments.items(), key=str)))


def due_snapshots(arguments: Mapping[str, Argument]) -> tuple[DueSnapshot, ...]:
    """Return what is due to expire on the branches that can be read."""
    begun: Begun[tuple[DueSnapshot, ...]] = _slowly(
        "due_snapshots", tuple(sorted(arguments.items(), key=str))
    )
    return begun.result()


def first_rows(identifier: Identifier, name: str, most: int) -> tuple[pa.Table, int]:
    """Return the first rows of a system table of a branch, and how many rows it has."""
    found: tuple[pa.Table, int] = _heads("first_rows", identifier, name, most)
    return found


def begin_snapshot(identifier: Identifier, snapshot: Snapshot) -> Begun[SnapshotDetail]:
    """Begin to sum up the files of a snapshot; its identity fixes the answer."""
    asked = (*_reader(), identifier, str(snapshot.id), snapshot.identity.manifest_lists)
    return Begun(_begun(_begin_snapshot, asked), lambda detail: detail)


def fast_forward(identifier: Identifier, source: str, target: str) -> ForwardDecision:
    """Decide what a fast-forward would do, on the heads as they are now."""
    return get_services().preview_fast_forward(identifier, source, target)


def begin_fast_forward(identifier: Identifier, source: str, target: str) -> Begun[Reading]:
    """Begin to decide what a fast-forward would do: the value is a `ForwardDecision`."""
    services = get_services()
    return _begin_reading(lambda: services.preview_fast_forward(identifier, source, target))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedMerge:
    """The effect of a merge, and what its options change about its conflicts of files.

    Attributes:
        resolution: The conflicts, and the draft with the decisions so far.
        arguments: All that the merge was decided with.
        decision: What it would do.
        settlings: The options with which it would have fewer conflicts, the best first.
        settled: The conflicts that options which are set have settled; None if there are none.
        rows_added: How many rows the target added since the merge base, where one of these options
            is about them; None if that is not known.
    """

    resolution: Resolution
    arguments: dict[str, Argument]
    decision: MergeDecision
    settlings: tuple[SettleOption, ...]
    settled: SettledByOptions | None
    rows_added: int | None


def begin_merge(
    identifier: Identifier,
    asked: Mapping[str, Argument],
    given: Mapping[str, Argument],
    before: CheckedMerge | None,
) -> Begun[Reading]:
    """Begin to decide what a merge would do: the value is a `CheckedMerge`.

    Args:
        identifier: The table.
        asked: The arguments of the merge, without a policy.
        given: The same with all that it is run with but the decisions of the draft.
        before: What was decided on the same merge before; None if nothing was.
    """
    services = get_services()
    return _begin_reading(lambda: _check_merge(services, identifier, asked, given, before))


def _check_merge(
    services: Services,
    identifier: Identifier,
    asked: Mapping[str, Argument],
    given: Mapping[str, Argument],
    before: CheckedMerge | None,
) -> CheckedMerge:
    resolution = services.resolution(asked)
    arguments = {**given, "policy": policy_of(resolution)}
    decision = services.preview_merge(arguments)
    if before is not None and before.decision.plan.id == decision.plan.id:
        # The options were tried on these heads: on a store far away each try takes its time.
        return replace(before, resolution=resolution, arguments=arguments, decision=decision)
    plan, conflicts = decision.plan, conflicts_of(decision.plan)

    def left_with(options: Mapping[str, Argument]) -> int | None:
        return left_by(services.preview_merge({**arguments, **options}).plan)

    settlings = proven(
        candidates(conflicts, plan.rules), len(conflicts), lambda option: left_with(option.view)
    )
    has_set = not conflicts and not isinstance(plan, FastForwardPlan)
    chosen = options_set(arguments) if has_set else ()
    view = tuple(name for option in chosen for name in option.view)
    number = left_with(dict.fromkeys(view)) if view else None
    base, added = plan.heads.base, None
    if base is not None and (settlings or number):
        forward = services.preview_fast_forward(identifier, plan.target, plan.source)
        added = commits_since(forward, base).rows_added
    said = " ".join(option.cost_on(plan, added) for option in chosen)
    return CheckedMerge(
        resolution=resolution,
        arguments=arguments,
        decision=decision,
        settlings=settlings,
        settled=SettledByOptions(number=number, view=view, said=said) if number else None,
        rows_added=added,
    )


def policy_of(resolution: Resolution) -> str | None:
    """Return the decisions of a draft as a merge takes them; None without any."""
    draft = resolution.draft
    return draft.policy.to_yaml() if draft.decisions else None


def _begin_reading(
    read: Callable[[], T],
    counting: Callable[[Callable[[], T], Callable[[int, int], None]], T] = with_manifest_progress,
) -> Begun[Reading]:
    """Begin what depends on the heads as they are now, so that it is not kept.

    Args:
        read: Reads it.
        counting: Has it read, and reports how much is done.
    """
    done = DoneSoFar()

    def read_now() -> Reading:
        return Reading(value=counting(read, done.note), millis=state.now_millis())

    return Begun(_read_aside(read_now), lambda reading: reading, done)


def merge(arguments: Mapping[str, Argument]) -> MergeDecision:
    """Decide what a merge would do, on the heads as they are now."""
    return get_services().preview_merge(arguments)


def can_try_merge(identifier: Identifier, diff: StateDiff) -> bool:
    """Whether the result of merging the second of two states into the first can be profiled."""
    # It plans the merge, and a page asks at each of its runs.
    found: bool = _heads("can_try_merge", identifier, diff)
    return found


def begin_catalog_merge(arguments: Mapping[str, Argument]) -> Begun[Reading]:
    """Begin to decide what a merge of the catalog would do: the value is a `CatalogResolution`.

    Its progress counts tables.
    """
    services = get_services()

    def read_counted(
        read: Callable[[], CatalogResolution], report: Callable[[int, int], None]
    ) -> CatalogResolution:
        with counting_tables(report):
            return read()

    return _begin_reading(lambda: services.catalog_resolution(arguments), read_counted)


def decisions(arguments: Mapping[str, Argument]) -> str:
    """Return what somebody decides on who starts this merge now."""
    return get_services().decisions(arguments)


def row_conflicts(identifier: Identifier, plan_id: str) -> pa.Table | None:
    """Return the conflicts of rows that a run has found for a plan, None before any run."""
    try:
        return _read_conflicts(*_reader(), identifier, plan_id)
    except NotFound:
        return None


def staged_figures(identifier: Identifier, plan_id: str) -> StagedFigures | None:
    """Return the counts of the result that a dry run of a plan left; None if none is kept."""
    return get_services().staged_figures(identifier, plan_id)


def begin_merged_plan(identifier: Identifier, operation_id: str) -> Begun[ThreeWayPlan | None]:
    """Begin to plan a three-way merge that is done once more; None if it cannot be planned."""
    asked = (*_reader(), identifier, operation_id)
    return Begun(_begun(_begin_merged_plan, asked), lambda plan: plan)


def resolution(arguments: Mapping[str, Argument]) -> Resolution:
    """Return what there is to decide on for a merge, as others have left it by now."""
    return get_services().resolution(arguments)


def settled_conflicts(identifier: Identifier, plan_id: str, draft: PolicyDraft) -> pa.Table | None:
    """Return the conflicts of a plan as a draft settles them, None before any comparison.

    Args:
        identifier: The table.
        plan_id: The id of the plan that rows were compared for.
        draft: As it stands; a version of it never changes.
    """
    if row_conflicts(identifier, plan_id) is None:
        return None
    return _settle(*_reader(), identifier, plan_id, (draft.id, draft.version), draft)


def preview(name: str, arguments: Mapping[str, Argument]) -> Preview:
    """Tell what a command would do, on the heads as they are now."""
    return get_services().preview(name, arguments)


def jobs(*, limit: int, offset: int = 0) -> tuple[JobView, ...]:
    """Return jobs, newest first."""
    return get_services().jobs(limit=limit, offset=offset)


def job(job_id: str) -> JobView:
    """Return one job."""
    return get_services().job(job_id)


def failing_rows(job_id: str) -> FailingRows:
    """Return the queries that list what fails the rules of a job."""
    return get_services().failing_rows(job_id)


def call_of_job(job_id: str) -> ProcedureCall:
    """Return the command that a job runs."""
    return get_services().call_of_job(job_id)


def worker() -> WorkerView | None:
    """Return the worker that reported last."""
    return get_services().worker()


def worker_log() -> str:
    """Return the end of the worker's log."""
    return get_services().worker_log()


def receipt(operation_id: str) -> Receipt:
    """Return the receipt of a finished operation; it never changes."""
    return get_services().receipt(operation_id)


def parts_of_job(job_id: str) -> tuple[MergedPart, ...]:
    """Return the parts of the merge of the catalog that a job carries out; none of another."""
    return get_services().parts_of_job(job_id)


def parts_of_merge(operation_id: str) -> tuple[MergedPart, ...]:
    """Return the parts of a merge of the catalog, which are undone alone; none of another."""
    return get_services().parts_of_merge(operation_id)


def table_of_operation(operation_id: str) -> Identifier | None:
    """Return the table that an operation changed, None for one of the catalog or of nothing."""
    try:
        return get_services().find_table_of_operation(operation_id)
    except NotFound:
        return None


def undo_chance(identifier: Identifier | None, operation_id: str) -> UndoChance:
    """Tell whether an operation can be undone, on the heads as they are now.

    Args:
        identifier: The table that it changed; None for an operation of the catalog.
        operation_id: The operation.
    """
    return get_services().undo_chance(operation_id, identifier)


def answer(job_id: str) -> Answer:
    """Return the answer of a query; it never changes."""
    return get_services().answer(job_id)


def feed(tables: Sequence[Identifier]) -> tuple[Activity, ...]:
    """Return the feed of some tables, of the catalog and of all jobs.

    The job store or the catalog may not answer: that spoils no ledger.
    """
    catalog: tuple[CatalogVersion, ...] = ()
    with suppress(PaimonError):
        catalog = catalog_events()
    receipts = _receipts_of_catalog(catalog)
    # A statement is parsed to know what it undid: of thousands of merges none undid anything.
    undoes = {
        each.operation: done
        for each in catalog
        if each.kind is VersionKind.UNDONE
        and each.operation
        and (undo := receipts.get(each.operation)) is not None
        and (done := undone_operation(undo)) is not None
    }
    overrides = {
        name: found
        for name, merge in receipts.items()
        if (found := OverriddenRules.find_in(merge.gate)) is not None
    }
    return activity_feed(table_events(*tables), catalog, jobs_if_answered(), undoes, overrides)


def _receipts_of_catalog(versions: Sequence[CatalogVersion]) -> Mapping[str, Receipt]:
    """Return the receipts of merges and undos of the catalog; they never change, so are kept."""
    kept = _known_receipts(*_reader())
    kinds = (VersionKind.MERGED, VersionKind.UNDONE)
    names = [each.operation for each in versions if each.kind in kinds and each.operation]
    unknown = [name for name in names if name not in kept]
    if unknown:
        kept.update(get_services().catalog_receipts(unknown))
        # Nobody asks for the receipt of a version that is no longer among the newest.
        for name in kept.keys() - set(names):
            kept.pop(name, None)
    return {name: receipt for name in names if (receipt := kept.get(name)) is not None}


def jobs_if_answered() -> tuple[JobView, ...]:
    """Return the newest jobs; none if the job store does not answer."""
    try:
        return jobs(limit=_JOBS_OF_FEED)
    except PaimonError:
        return ()


def merge_at_work(identifier: Identifier, source: str, target: str) -> JobView | None:
    """Return the job by which somebody merges a source into a target now; None if there is none.

    A job store that does not answer spoils no page of a merge: whoever merges hears of it.
    """
    try:
        found = jobs(limit=_JOBS_LOOKED_AT)
    except PaimonError:
        return None
    return merge_facts.merge_at_work(found, identifier, source, target)


def last_dry_run(identifier: Identifier, source: str, target: str) -> JobView | None:
    """Return the newest dry run of a merge that has ended well; None if none is on record."""
    try:
        found = jobs(limit=_JOBS_LOOKED_AT)
    except PaimonError:
        return None
    last = merge_facts.last_dry_run(found, identifier, source, target)
    return None if last is None else job(last.id)


def active_jobs() -> int | None:
    """Return how many of the newest jobs still run; None if the job store does not answer."""
    try:
        return sum(not each.state.is_over for each in jobs(limit=50))
    except PaimonError:
        return None


def _reader() -> tuple[str, str]:
    """Return whose view of which warehouse a cached value is."""
    settings = get_services().settings
    return settings.get_warehouse(), settings.actor


_Slow: TypeAlias = Identifier | str | ComparedState | tuple[tuple[str, Argument], ...]


# Of a job that has ended: it found what it found, also if that is nothing.
@st.cache_resource(max_entries=512, show_spinner=False)
def _read_judgement(warehouse: str, actor: str, job_id: str) -> KeptJudgement | None:
    return read_judgement(get_services(), job_id)


# One entry a job: an entry a table would be pushed out by a merge of many before the next run.
@st.cache_resource(max_entries=64, show_spinner=False)
def _table_judgements(
    warehouse: str, actor: str, job_id: str
) -> Callable[[str], KeptJudgement | None]:
    return cache(lambda table_id: read_judgement(get_services(), job_id, table_id))


# What is read is frozen, so that all runs may share it: `cache_data` would copy it for each.
@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=_HASH)
def _read_conflicts(warehouse: str, actor: str, identifier: Identifier, plan_id: str) -> pa.Table:
    found = get_services().row_conflicts(identifier, plan_id)
    if found is None:
        # What is not there yet may be there the next time: only answers are kept.
        raise NotFound(f"The rows of plan {plan_id} were not compared yet.")
    return found


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=_HASH)
def _settle(
    warehouse: str,
    actor: str,
    identifier: Identifier,
    plan_id: str,
    version: tuple[str, int],
    _draft: PolicyDraft,
) -> pa.Table:
    found = _read_conflicts(warehouse, actor, identifier, plan_id)
    return reapply_policy(found, _draft.policy, identifier.on_branch(MAIN_BRANCH).table_name)


def _heads(method: str, *arguments: Identifier | StateDiff | Snapshot | str | int) -> Any:
    reading = _read_heads(*_reader(), method, arguments)
    state.note_reading(reading.millis)
    return reading.value


def _noted(reading: Reading) -> Any:
    """Return a value that may have moved since; the page says when it was read."""
    state.note_reading(reading.millis)
    return reading.value


def _slowly(method: str, *arguments: _Slow, of: Callable[[Reading], Any] = _noted) -> Begun[Any]:
    return Begun(_begun(_begin_slowly, (*_reader(), method, arguments)), of)


def _begun(begin: Any, asked: tuple[Any, ...]) -> "Future[Any]":
    """Return a kept reading; what failed may be mended by now, so that it is begun again."""
    future: Future[Any] = begin(*asked)
    if future.done() and future.exception() is not None:
        begin.clear(*asked)
        future = begin(*asked)
    return future


@st.cache_resource(ttl=_SLOW_SECONDS, max_entries=16, show_spinner=False, hash_funcs=_HASH)
def _begin_slowly(
    warehouse: str, actor: str, method: str, arguments: tuple[_Slow, ...]
) -> "Future[Reading]":
    services = get_services()
    given = tuple(dict(each) if isinstance(each, tuple) else each for each in arguments)

    def read() -> Reading:
        value = getattr(services, method)(*given)
        return Reading(value=value, millis=state.now_millis())

    return _read_aside(read)


def _read_aside(read: Callable[[], T]) -> "Future[T]":
    """Read in a thread of its own.

    No pool: a page that is read quickly must not wait for the long readings of others, or for a
    store that does not answer, and neither must the end of the console.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(read())
        except Exception as error:
            future.set_exception(error)  # raised to each page that asks for the result

    Thread(target=run, name="reads", daemon=True).start()
    return future


@st.cache_resource(max_entries=16, show_spinner=False)
def _known_tables(warehouse: str, actor: str) -> dict[Identifier, TableItem]:
    return {}


@st.cache_resource(max_entries=16, show_spinner=False)
def _known_receipts(warehouse: str, actor: str) -> dict[str, Receipt]:
    return {}


@st.cache_resource(ttl=_HEADS_SECONDS, max_entries=256, show_spinner=False, hash_funcs=_HASH)
def _read_heads(
    warehouse: str,
    actor: str,
    method: str,
    arguments: tuple[Identifier | StateDiff | Snapshot | str | int, ...],
) -> Reading:
    value = getattr(get_services(), method)(*arguments)
    return Reading(value=value, millis=state.now_millis())


@st.cache_resource(max_entries=512, show_spinner=False, hash_funcs=_HASH)
def _begin_snapshot(
    warehouse: str, actor: str, identifier: Identifier, version: str, identity: tuple[str, str]
) -> Future[SnapshotDetail]:
    services = get_services()
    return _read_aside(lambda: services.snapshot(identifier, version))


# What was merged does not change, but that nothing was found may: a store may not have answered.
@st.cache_resource(ttl=_SLOW_SECONDS, max_entries=16, show_spinner=False, hash_funcs=_HASH)
def _begin_merged_plan(
    warehouse: str, actor: str, identifier: Identifier, operation_id: str
) -> Future[ThreeWayPlan | None]:
    services = get_services()
    return _read_aside(lambda: services.merged_plan(identifier, operation_id))
