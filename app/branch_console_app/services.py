"""The composition root, and the only door from the views and commands to the core.

Reading happens here and now, through `branch_console.procedures`. Whatever changes a table becomes
a `ProcedureCall` that a worker runs in another process. What a question needs is imported where it
is asked: a list of branches should not wait for what merges and judges.
"""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from branch_console.errors import NotFound, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.jobs.settings import JobSettings
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.permissions import Role
from branch_console_app.settings import Settings
from branch_console_app.table_lists import TableLists

if TYPE_CHECKING:
    import pyarrow as pa

    from branch_console.diff.expiry.dry_run import DueSnapshot
    from branch_console.diff.expiry.retention import TableHold
    from branch_console.diff.expiry.storage_cost import TableStorage
    from branch_console.diff.fast_forward import ForwardDecision
    from branch_console.diff.health.finding import HealthFinding
    from branch_console.diff.lifecycle.policy import MaintenancePolicy
    from branch_console.diff.lifecycle.report import PolicyReport
    from branch_console.diff.rows.row_figure import RowCounts, RowFigure
    from branch_console.diff.schema_diff import SchemaDiff
    from branch_console.diff.state_diff import ComparedState, StateDiff
    from branch_console.format.catalog.catalog_tag import CatalogTag
    from branch_console.format.catalog.catalog_version import CatalogVersion
    from branch_console.format.followed_branch import DepartedBranch
    from branch_console.format.receipt import Receipt
    from branch_console.format.snapshot import Snapshot
    from branch_console.jobs.client import JobClient
    from branch_console.jobs.kept_diffs import KeptDiff, KeptDiffs
    from branch_console.jobs.progress import JobView, WorkerView
    from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
    from branch_console.merge.catalog.merged_part import MergedPart
    from branch_console.merge.known_rows import StagedFigures
    from branch_console.merge.plan import ThreeWayPlan
    from branch_console.merge.policy import Policy
    from branch_console.merge.policy_draft import PolicyDraft
    from branch_console.procedures.browse.branch_files import BranchFolder
    from branch_console.procedures.browse.branches import BranchReader
    from branch_console.procedures.browse.catalog_values import CatalogBranchItem, CatalogOverview
    from branch_console.procedures.browse.health import LostCommitList
    from branch_console.procedures.browse.page_values import (
        BranchGraph,
        BranchItem,
        FallbackView,
        SchemaItem,
        SnapshotDetail,
        SnapshotItem,
        TableEvents,
        TableSummary,
        TagItem,
    )
    from branch_console.procedures.call.consequence import Consequence, Preview
    from branch_console.procedures.call.warehouse import Warehouse
    from branch_console.procedures.catalog.browse_catalog import (
        CatalogBranchDetail,
    )
    from branch_console.procedures.catalog_merge.catalog_resolution import CatalogResolution
    from branch_console.procedures.catalog_merge.publishing_progress import Publishing
    from branch_console.procedures.compare.catalog_health import CatalogHealth
    from branch_console.procedures.compare.catalogs import ComparedCatalogs
    from branch_console.procedures.compare.count_rows import CountWork
    from branch_console.procedures.compare.failing_rows import FailingRows
    from branch_console.procedures.maintenance.doctor import TableHealth
    from branch_console.procedures.merge.conflicts import Resolution
    from branch_console.procedures.run.kept_policies import KeptPolicy
    from branch_console.procedures.undo.undo import UndoChance
    from branch_console.quality.comparison import QualityComparison
    from branch_console.quality.rules import RuleSet
    from branch_console.sql.answer import Answer
    from branch_console_app.models.maintenance.dry_runs import DryRun
    from branch_console_app.models.merge.merge_preview import MergeDecision

_LOG_BYTES: Final = 256 * 1024
_MOST_VERSIONS: Final = 500
_MOST_FILES: Final = 200


class Services(TableLists):
    """The requests that the console and the command line can make of one warehouse.

    A table is named with its branch. Nothing is opened before it is needed.
    """

    @functools.cached_property
    def writable_warehouse(self) -> Warehouse:
        """The warehouse with the verdict of a probe, which makes a file and removes it again."""
        return self.open_as(read_only=self.settings.role == Role.VIEWER)

    @property
    def can_write(self) -> bool:
        """Whether commits are safe in this warehouse."""
        return self.writable_warehouse.verdict.can_write

    @functools.cached_property
    def jobs_of_warehouse(self) -> JobClient:
        """The jobs of the warehouse."""
        from branch_console.jobs.client import JobClient

        return JobClient(self.job_settings)

    @functools.cached_property
    def _kept_diffs(self) -> KeptDiffs:
        from branch_console.jobs.kept_diffs import KeptDiffs

        return KeptDiffs(folder=self.job_settings.diffs_path)

    @property
    def job_settings(self) -> JobSettings:
        """The settings that start the worker of this warehouse."""
        settings = self.settings
        return JobSettings(
            warehouse=settings.get_warehouse(),
            state_dir=str(settings.warehouse_state_dir),
            store_options=dict(settings.store_options),
            catalog=settings.catalog,
            database_url=settings.job_store,
            spark_master=settings.spark_master,
            spark_remote=settings.spark_remote,
            spark_memory=settings.spark_memory,
            spark_conf=dict(settings.spark_conf),
            query_seconds=settings.query_seconds or None,
            query_rows=settings.query_rows,
            query_memory=settings.query_memory,
        )

    def table(self, table: Identifier) -> TableSummary:
        """Return a table on one branch."""
        from branch_console.procedures.browse.tables import read_table

        return read_table(self.warehouse, table)

    def branch_reader(self, table: Identifier) -> BranchReader:
        """Return what tells of the branches of a table, read once."""
        from branch_console.procedures.browse.branches import read_branches

        return read_branches(self.warehouse, table)

    def branches(self, table: Identifier, versus: str = MAIN_BRANCH) -> tuple[BranchItem, ...]:
        """Return the branches of a table, each compared with the branch `versus`."""
        from branch_console.procedures.browse.branches import list_branches

        return list_branches(self.warehouse, table, versus)

    def graph(self, table: Identifier, versus: str | None = None) -> BranchGraph:
        """Return the lineage of a table's branches, each compared with the branch `versus`."""
        from branch_console.procedures.browse.graph import read_graph

        return read_graph(self.warehouse, table, versus)

    def fallback(self, table: Identifier) -> FallbackView | None:
        """Return which partitions a batch read takes from which branch; None: all from this."""
        from branch_console.procedures.browse.fallback import fallback_of

        return fallback_of(self.warehouse, table)

    def snapshots(self, table: Identifier) -> tuple[SnapshotItem, ...]:
        """Return the snapshots of a branch, newest first."""
        from branch_console.procedures.browse.history import list_snapshots

        return list_snapshots(self.warehouse, table)

    def snapshot(self, table: Identifier, version: str) -> SnapshotDetail:
        """Return one snapshot with its files summed up; `version` is an id or a tag."""
        from branch_console.procedures.browse.history import read_snapshot

        return read_snapshot(self.warehouse, table, version)

    def schemas(self, table: Identifier) -> tuple[SchemaItem, ...]:
        """Return the schemas of a branch, newest first."""
        from branch_console.procedures.browse.history import list_schemas

        return list_schemas(self.warehouse, table)

    def schema_diff(self, table: Identifier, left: str, right: str) -> SchemaDiff:
        """Compare two schemas, each named by a branch or as `branch@schema-id`."""
        from branch_console.procedures.browse.history import compare_schemas

        return compare_schemas(self.warehouse, table, left, right)

    def compare_states(self, table: Identifier, before: str, after: str) -> StateDiff:
        """Compare two states of a table, each named by branch, snapshot, tag or time."""
        from branch_console.procedures.compare.states import compare_states

        return compare_states(self.warehouse, table, before, after)

    def find_states(
        self, table: Identifier, before: str, after: str
    ) -> tuple[ComparedState, ComparedState]:
        """Find two states of a table, each named by branch, snapshot, tag or time."""
        from branch_console.procedures.compare.states import find_state

        found = self.warehouse.table(table)
        return find_state(found, before), find_state(found, after)

    def branch_listing(self, table: Identifier, snapshot: Snapshot, *branches: str) -> str | None:
        """Return the first of some branches that lists a snapshot; None if none of them does."""
        from branch_console.procedures.compare.states import branch_listing

        return branch_listing(self.warehouse.table(table), snapshot, branches)

    def diff_states(
        self, table: Identifier, before: ComparedState, after: ComparedState
    ) -> StateDiff:
        """Compare two states of a table that were found."""
        from branch_console.procedures.compare.states import diff_states

        return diff_states(self.warehouse.table(table), before, after)

    def row_diff(self, table: Identifier, diff: StateDiff) -> KeptDiff | None:
        """Return the rows in which two states differ, None if no job has compared them yet."""
        from branch_console.procedures.compare.rows import row_diff_name

        return self._kept_diffs.find(row_diff_name(table, diff))

    def row_counts(self, table: Identifier, diff: StateDiff) -> RowCounts | None:
        """Return the rows of two states, None if nobody has counted them yet."""
        from branch_console.jobs.kept_counts import KeptCounts
        from branch_console.procedures.compare.count_rows import count_name

        kept = KeptCounts(folder=self.job_settings.counts_path)
        return kept.find(count_name(table, diff))

    def count_work(self, table: Identifier, diff: StateDiff) -> CountWork:
        """Return how much counting the rows of two states would read at most."""
        from branch_console.procedures.compare.count_rows import weigh_count

        return weigh_count(self.warehouse, table, diff)

    def state_figure(self, table: Identifier, state: ComparedState) -> RowFigure:
        """Return how many rows a state has, as far as its files tell."""
        from branch_console.procedures.compare.count_rows import figure_of_state

        return figure_of_state(self.warehouse, table, state)

    def quality(
        self,
        table: Identifier,
        diff: StateDiff,
        *,
        reads_all: bool = False,
        merges: bool = False,
    ) -> QualityComparison | None:
        """Return what the data of two states look like, None if no job has looked yet.

        One that looked at more is as good as one that looked at what was asked for.
        """
        from branch_console.jobs.kept_profiles import KeptQuality
        from branch_console.procedures.compare.quality import quality_name

        kept = KeptQuality(folder=self.job_settings.quality_path)
        names = (
            quality_name(table, diff, reads_all=whole, merges=merged)
            for merged in ((True,) if merges else (True, False))
            for whole in ((True,) if reads_all else (True, False))
        )
        return next(filter(None, map(kept.find, names)), None)

    def rules(self, table: Identifier, text: str | None = None) -> RuleSet | None:
        """Return the rules of a table, or those of a text; None if the table has none."""
        from branch_console.procedures.run.rule_evaluation import find_rules, read_rules

        return find_rules(self.warehouse, table) if text is None else read_rules(text, table)

    def failing_rows(self, job_id: str) -> FailingRows:
        """Return the queries that list what fails the rules by which a job judged something.

        There is none if the job, its branch or its rules are gone.
        """
        from branch_console.procedures.compare.failing_rows import NO_QUERIES, find_failing_rows

        try:
            return find_failing_rows(self.warehouse, self.call_of_job(job_id))
        except PaimonError:
            return NO_QUERIES

    def policy(self, table: Identifier | None) -> KeptPolicy | None:
        """Return the maintenance policy of a table, or of the warehouse; None if there is none."""
        from branch_console.procedures.run.kept_policies import find_policy

        return find_policy(self.warehouse, table)

    def read_policy(self, text: str) -> MaintenancePolicy:
        """Read a maintenance policy; raises InvalidInput, which names line and key."""
        from branch_console.diff.lifecycle.policy import MaintenancePolicy

        return MaintenancePolicy.from_yaml(text)

    def policy_report(self, table: Identifier) -> PolicyReport:
        """Return what the maintenance policy of a table comes to now."""
        from branch_console.procedures.maintenance.policy_report import read_policy_report

        return read_policy_report(self.warehouse, table)

    def tags(self, table: Identifier) -> tuple[TagItem, ...]:
        """Return the tags of a branch by name."""
        from branch_console.procedures.browse.history import list_tags

        return list_tags(self.warehouse, table)

    def lost_commits(self, table: Identifier) -> LostCommitList:
        """Return the commits to a branch that other writers replaced or built past."""
        from branch_console.procedures.browse.health import list_lost_commits

        return list_lost_commits(self.warehouse, table)

    def examine(
        self, table: Identifier | None, *, is_deep: bool = False
    ) -> tuple[TableHealth, ...]:
        """Run the rules of health on a table or a branch of it, or on all tables.

        Args:
            table: The table; None for all.
            is_deep: Whether to look at every file, too.
        """
        from branch_console.procedures.maintenance.doctor import examine, examine_all

        if table is None:
            return tuple(examine_all(self.warehouse, is_deep=is_deep))
        return (examine(self.warehouse, table, is_deep=is_deep),)

    def examine_catalog(self) -> CatalogHealth:
        """Look at the branches of the catalog, its open operations, and what runs by itself."""
        from branch_console.procedures.browse.health_facts import Unchecked
        from branch_console.procedures.compare.catalog_health import examine_catalog

        found = examine_catalog(self.warehouse)
        try:
            return replace(found, findings=(*found.findings, *self._schedule_findings()))
        except PaimonError as error:
            return replace(found, unchecked=(*found.unchecked, Unchecked(branch=None, error=error)))

    def _schedule_findings(self) -> tuple[HealthFinding, ...]:
        from branch_console.diff.health.schedule_rules import schedule_findings
        from branch_console.procedures.run.kept_policies import all_policies
        from branch_console.procedures.run.scheduled_calls import schedules_of

        schedules = [each.name for each in schedules_of(all_policies(self.warehouse))]
        if not schedules:
            return ()
        worker = self.worker()
        is_alive = worker is not None and worker.is_alive and not worker.serves_other_store
        return schedule_findings(schedules, is_worker_alive=is_alive)

    def holds(self, table: Identifier) -> tuple[TableHold, ...]:
        """Return what keeps something of a table, whoever set it."""
        from branch_console.procedures.maintenance.table_holds import list_holds

        return list_holds(self.warehouse, table)

    def storage(self, table: Identifier) -> TableStorage:
        """Return which branches need the files of a table, and how large these are."""
        from branch_console.procedures.maintenance.storage import read_storage

        return read_storage(self.warehouse, table)

    def system_table(self, table: Identifier, name: str) -> pa.Table:
        """Return a system table of a branch, with Paimon's columns."""
        from branch_console.procedures.browse.system_tables import read_system_table

        return read_system_table(self.warehouse, table, name)

    def first_rows(self, table: Identifier, name: str, most: int) -> tuple[pa.Table, int]:
        """Return the first rows of a system table of a branch, and how many rows it has."""
        from branch_console.procedures.browse.system_tables import read_first_rows

        return read_first_rows(self.warehouse, table, name, most)

    def preview(self, name: str, arguments: Mapping[str, Argument]) -> Preview:
        """Tell what a command would do, and change nothing."""
        from branch_console.procedures.preview import preview_call

        return preview_call(self.warehouse, self.call(name, arguments, "preview"))

    def dry_run(self, name: str, arguments: Mapping[str, Argument]) -> DryRun:
        """Tell line by line what an expiry or a cleaning would do, and change nothing."""
        from branch_console.procedures.maintenance.expire_snapshots import EXPIRE_SNAPSHOTS
        from branch_console.procedures.maintenance.remove_orphan_files import REMOVE_ORPHAN_FILES
        from branch_console.procedures.run.procedure import decide
        from branch_console_app.models.maintenance.dry_runs import DryRun

        procedures = {each.name: each for each in (EXPIRE_SNAPSHOTS, REMOVE_ORPHAN_FILES)}
        planned = decide(procedures[name], self.warehouse, self.call(name, arguments, "preview"))
        assert planned.dry_run is not None, name
        return DryRun(preview=planned.preview, lines=planned.dry_run)

    def due_snapshots(self, arguments: Mapping[str, Argument]) -> tuple[DueSnapshot, ...]:
        """Return what is due to expire on the branches that can be read."""
        from branch_console.procedures.maintenance.expire_snapshots import (
            EXPIRE_SNAPSHOTS,
            list_due,
        )

        return list_due(self.warehouse, self.call(EXPIRE_SNAPSHOTS.name, arguments, "preview"))

    def preview_fast_forward(self, table: Identifier, source: str, target: str) -> ForwardDecision:
        """Decide what a fast-forward would do, and change nothing."""
        from branch_console.procedures.branch.fast_forward import preview_fast_forward

        return preview_fast_forward(self.warehouse, table, source, target)

    def preview_merge(self, arguments: Mapping[str, Argument]) -> MergeDecision:
        """Decide what a merge would do, and change nothing.

        Args:
            arguments: The arguments of the procedure `merge_branch`.
        """
        from branch_console.procedures.merge.inputs import plan_with_deletes
        from branch_console.procedures.merge.merge_branch import MERGE_BRANCH
        from branch_console.procedures.run.procedure import decide
        from branch_console_app.models.merge.merge_preview import MergeDecision

        call = self.call("merge_branch", arguments, "preview")
        planned = decide(MERGE_BRANCH, self.warehouse, call)
        plan = plan_with_deletes(self.warehouse, planned.merge.plan)
        return MergeDecision(plan=plan, preview=planned.preview)

    def can_try_merge(self, identifier: Identifier, diff: StateDiff) -> bool:
        """Whether the result of merging the second of two states into the first can be profiled."""
        from branch_console.procedures.merge.trial_merge import can_try_merge

        states = {"a": str(diff.before.pinned), "b": str(diff.after.pinned)}
        asked = self.call("compare_quality", {"table": identifier.full_name, **states}, "preview")
        # Nothing is probed for a viewer: a worker finds out whether the store takes writes.
        can_stage = self.settings.role == Role.VIEWER or self.can_write
        return can_try_merge(self.warehouse, asked, diff, can_stage=can_stage)

    def preview_catalog_merge(self, arguments: Mapping[str, Argument]) -> CatalogMergePlan:
        """Decide what a merge of a branch of the catalog would do, and change nothing.

        Args:
            arguments: The arguments of the procedure `merge_catalog_branch`.
        """
        from branch_console.procedures.catalog_merge.merge_catalog import catalog_merge_of

        return catalog_merge_of(
            self.warehouse, self.call("merge_catalog_branch", arguments, "preview")
        )

    def catalog_resolution(self, arguments: Mapping[str, Argument]) -> CatalogResolution:
        """Return what a merge of the catalog would do, and the draft that settles its conflicts.

        Args:
            arguments: The arguments of the procedure `merge_catalog_branch`; a policy in them does
                not count.
        """
        from branch_console.procedures.catalog_merge.catalog_resolution import (
            find_catalog_resolution,
        )

        call = self.call("merge_catalog_branch", arguments, "resolve")
        return find_catalog_resolution(self.warehouse, call)

    def save_catalog_draft(
        self, arguments: Mapping[str, Argument], seen: PolicyDraft, wanted: Policy
    ) -> PolicyDraft:
        """Keep what this person decided on a draft that was seen; return the draft as it is now."""
        from branch_console.procedures.catalog_merge.catalog_resolution import save_catalog_draft

        call = self.call("merge_catalog_branch", arguments, "resolve")
        return save_catalog_draft(self.writable_warehouse, call, seen, wanted)

    def decisions(self, arguments: Mapping[str, Argument]) -> str:
        """Return what somebody decides on who starts this merge now, for a run to plan again by."""
        from branch_console.procedures.merge.merge_choices import decisions_on_merge

        call = self.call("merge_branch", arguments, "decisions")
        return decisions_on_merge(self.warehouse, call).to_text()

    def row_conflicts(self, table: Identifier, plan_id: str) -> pa.Table | None:
        """Return the conflicts of rows of a plan, None if no run has compared its rows yet."""
        from branch_console.procedures.browse.conflicts import read_row_conflicts

        return read_row_conflicts(self.warehouse, table, plan_id)

    def merged_plan(self, table: Identifier, operation_id: str) -> ThreeWayPlan | None:
        """Return the plan of a three-way merge that is done; None if it cannot be planned again."""
        from branch_console.procedures.merge.merged_plan import find_merged_plan

        return find_merged_plan(self.warehouse, table, operation_id)

    def staged_figures(self, table: Identifier, plan_id: str) -> StagedFigures | None:
        """Return the counts of the result that is kept for a plan; None if a merge can use none."""
        from branch_console.procedures.run.dry_run_results import find_staged_figures

        return find_staged_figures(self.warehouse, table, plan_id)

    def discard_result(self, arguments: Mapping[str, Argument], plan_id: str) -> None:
        """Discard what a dry run of a merge staged; the target is not touched.

        Args:
            arguments: Of the procedure `merge_branch`.
            plan_id: Of the plan that was tried.
        """
        from branch_console.procedures.run.dry_run_results import discard_result

        call = self.call("merge_branch", arguments, "discard")
        discard_result(self.writable_warehouse, call, plan_id)

    def resolution(self, arguments: Mapping[str, Argument]) -> Resolution:
        """Return what there is to decide on for a merge, and the draft of what was decided.

        Args:
            arguments: The arguments of the procedure `merge_branch`; a policy in them does not
                count.
        """
        from branch_console.procedures.merge.conflicts import find_resolution

        return find_resolution(self.warehouse, self.call("merge_branch", arguments, "resolve"))

    def save_draft(
        self, arguments: Mapping[str, Argument], seen: PolicyDraft, wanted: Policy
    ) -> PolicyDraft:
        """Keep what this person decided on a draft that was seen; return the draft as it is now."""
        from branch_console.procedures.merge.conflicts import save_draft

        call = self.call("merge_branch", arguments, "resolve")
        return save_draft(self.writable_warehouse, call, seen, wanted)

    def rules_of_catalog_merge(self, plan: CatalogMergePlan) -> tuple[Consequence, ...]:
        """Tell by which rules a merge of the catalog will be judged, table by table."""
        from branch_console.procedures.catalog_merge.tables_gate import rule_consequences_of

        return tuple(rule_consequences_of(self.warehouse, plan))

    def catalog_branches(self) -> tuple[CatalogBranchItem, ...]:
        """Return the branches of the catalog by name, broken ones with their error."""
        from branch_console.procedures.catalog.browse_catalog import catalog_branches

        return catalog_branches(self.warehouse)

    def parts_of_merge(self, operation_id: str) -> tuple[MergedPart, ...]:
        """Return the parts of a merge of the catalog, which are undone alone; none of another."""
        from branch_console.procedures.catalog_merge.merged_parts import parts_of_merge

        return parts_of_merge(self.warehouse, operation_id)

    def parts_of_job(self, job_id: str) -> tuple[MergedPart, ...]:
        """Return the parts of the merge of the catalog that a job carries out; none of another."""
        from branch_console.procedures.catalog_merge.merged_parts import parts_of_job

        return parts_of_job(self.warehouse, job_id)

    def publishing(self) -> Publishing | None:
        """Return the merge of the catalog that is being published on main, if one is."""
        from branch_console.procedures.catalog_merge.publishing_progress import find_publishing

        return find_publishing(self.warehouse)

    def catalog_branch_names(self) -> tuple[str, ...]:
        """Return the names of the branches of the catalog, sorted."""
        return self.warehouse.ledger.branches()

    def catalog_overview(self) -> CatalogOverview:
        """Return the branches of the catalog against main, and each object as each has it."""
        from branch_console.procedures.compare.catalog_overview import read_catalog_overview

        return read_catalog_overview(self.warehouse)

    def catalog_branch(self, name: str) -> CatalogBranchDetail:
        """Return a branch of the catalog with its tables."""
        from branch_console.procedures.catalog.browse_catalog import read_catalog_branch

        return read_catalog_branch(self.warehouse, name)

    def compare_catalogs(self, before: str, after: str) -> ComparedCatalogs:
        """Return in what databases and tables differ between two branches of the catalog."""
        from branch_console.procedures.compare.catalogs import compare_catalogs

        return compare_catalogs(self.warehouse, before, after)

    def catalog_tags(self) -> tuple[CatalogTag, ...]:
        """Return the tags of the catalog by name."""
        found = self.warehouse.catalog_tags
        return tuple(found.get(name) for name in found.names())

    def catalog_log(self, name: str) -> tuple[CatalogVersion, ...]:
        """Return the versions of a branch of the catalog, or of main, newest first."""
        from branch_console.procedures.catalog.browse_catalog import catalog_log

        return catalog_log(self.warehouse, name)

    def receipt(self, operation_id: str) -> Receipt:
        """Return the receipt of a finished operation."""
        from branch_console.procedures.kept_receipts import read_receipt

        return read_receipt(self.warehouse, operation_id)

    def undo_chance(self, operation_id: str, table: Identifier | None = None) -> UndoChance:
        """Tell whether an operation can be undone as things stand, and what stands in the way.

        Args:
            operation_id: The operation.
            table: Whose; looked for if left out.
        """
        from branch_console.procedures.undo.undo import UndoChance, find_undo_chance

        try:
            found = table or self.find_table_of_operation(operation_id)
        except NotFound as error:
            return UndoChance(obstacle=error.message)
        return find_undo_chance(self.warehouse, found, operation_id)

    def find_table_of_operation(self, operation_id: str) -> Identifier | None:
        """Return the table that an operation changed, None for one of the catalog.

        Raises:
            NotFound: No journal knows the operation.
        """
        from branch_console.procedures.catalog.catalog_operation import CatalogOperation
        from branch_console.procedures.run.open_operation import table_of_operation
        from branch_console.procedures.undo.undo_catalog_merge import find_part

        if CatalogOperation.find(self.warehouse, operation_id) is not None:
            return None
        # Of a merge of the catalog a step is undone there, too.
        if find_part(self.warehouse, operation_id) is not None:
            return None
        return table_of_operation(self.warehouse, operation_id)

    def branch_files(self, table: Identifier) -> BranchFolder:
        """Return the first files of a branch's own folder."""
        from branch_console.procedures.browse.branch_files import list_branch_files

        return list_branch_files(self.warehouse, table, most=_MOST_FILES)

    def table_events(self, *tables: Identifier) -> tuple[TableEvents, ...]:
        """Return the ledgers of some tables; one that cannot be read is left out."""
        from branch_console.procedures.browse.activity import read_table_events

        return read_table_events(self.warehouse, tables)

    def departed_branch(self, table: Identifier, name: str) -> DepartedBranch | None:
        """Return what became of a branch that a table does not have; None if that is not known."""
        from branch_console.format.followed_branch import find_departed

        events = self.warehouse.table(table.on_branch(MAIN_BRANCH)).ledger.whole_as_written()
        return find_departed(events, name)

    def catalog_events(self) -> tuple[CatalogVersion, ...]:
        """Return the newest versions of main and of each branch of the catalog."""
        from branch_console.procedures.browse.activity import read_catalog_events

        return read_catalog_events(self.warehouse, most=_MOST_VERSIONS)

    def catalog_receipts(self, operation_ids: Sequence[str]) -> Mapping[str, Receipt]:
        """Return the receipts of operations of the catalog; one that cannot be read is left out."""
        from branch_console.procedures.kept_receipts import read_catalog_receipts

        return read_catalog_receipts(self.warehouse, operation_ids)

    def call(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> ProcedureCall:
        """Make a command of the person these settings speak of.

        Args:
            name: The procedure.
            arguments: Its arguments; those that are None were left out.
            operation_id: The idempotency key; a new one where left out.
        """
        return ProcedureCall(
            name=name,
            arguments={key: value for key, value in arguments.items() if value is not None},
            actor=self.settings.actor,
            role=self.settings.role,
            operation_id=operation_id or new_operation_id(),
        )

    def start(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> str:
        """Enqueue a command, and start a worker if none runs; return the job's id."""
        job_id = self.jobs_of_warehouse.start(self.call(name, arguments, operation_id))
        self.jobs_of_warehouse.start_worker()
        return job_id

    def jobs(
        self, *, limit: int = 50, offset: int = 0, table: str | None = None
    ) -> tuple[JobView, ...]:
        """Return jobs, newest first."""
        return self.jobs_of_warehouse.list(limit=limit, offset=offset, table=table)

    def job(self, job_id: str) -> JobView:
        """Return one job with its steps."""
        return self.jobs_of_warehouse.get(job_id)

    def answer(self, job_id: str, *, most: int | None = None) -> Answer:
        """Return the answer of a query that ran as a job, or its first rows."""
        from branch_console.jobs.results import KeptAnswers

        try:
            return KeptAnswers(folder=self.job_settings.answers_path).read(job_id, most=most)
        except NotFound as error:
            raise self._why_no_answer(job_id) or error from error

    @property
    def has_answers(self) -> bool:
        """Whether any answer of a job is kept; to ask the jobs themselves takes half a second."""
        return any(self.job_settings.answers_path.glob("*.parquet"))

    def cancel_job(self, job_id: str) -> JobView:
        """Cancel a job that has not begun to publish."""
        settings = self.settings
        return self.jobs_of_warehouse.cancel(job_id, actor=settings.actor, role=settings.role)

    def resume_job(self, job_id: str) -> JobView:
        """Let a job go on from its last finished step."""
        return self.jobs_of_warehouse.resume(job_id, role=self.settings.role)

    def call_of_job(self, job_id: str) -> ProcedureCall:
        """Return the command that a job runs."""
        return self.jobs_of_warehouse.call_of(job_id)

    def run_again(self, job_id: str, operation_id: str) -> str:
        """Start the command of a job anew, as the person of these settings; return the new job."""
        call = self.call_of_job(job_id)
        return self.start(call.name, call.arguments, operation_id)

    def worker_log(self) -> str:
        """Return the end of the worker's log; blank if no worker has written one here."""
        try:
            with self.job_settings.log_path.open("rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - _LOG_BYTES))
                return log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def worker(self) -> WorkerView | None:
        """Return the worker that reported last; None if there never was one."""
        return self.jobs_of_warehouse.worker()

    @property
    def has_free_worker(self) -> bool:
        """Whether a worker lives that takes these jobs, and runs none now."""
        worker = self.worker()
        if worker is None or not worker.is_alive or worker.serves_other_store:
            return False
        # A heartbeat tells for half a second of a job that is over, such as the statement before.
        return worker.job is None or self.job(worker.job).state.is_over

    def start_worker(self) -> bool:
        """Start a worker in the background; False if one runs already."""
        return self.jobs_of_warehouse.start_worker()

    def _why_no_answer(self, job_id: str) -> NotFound | None:
        from branch_console.jobs.results import no_answer

        try:
            return no_answer(self.job(job_id))
        except NotFound as unknown:
            return unknown
        except PaimonError:
            return None  # the jobs cannot be read either, which is not what was asked for


@functools.lru_cache(maxsize=16)
def services_for(settings: Settings) -> Services:
    """Return the services of these settings, the same ones for the same settings."""
    return Services(settings)


def get_services() -> Services:
    """Return the services of this process's environment."""
    return services_for(Settings.from_environment())


def new_operation_id() -> str:
    """Return a new idempotency key."""
    return uuid.uuid4().hex
