"""A warehouse that exists only in memory: what pages read, and the commands that they sent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from branch_console.diff.branch_counts import BranchCounts
from branch_console.diff.expiry.dry_run import DueSnapshot
from branch_console.diff.expiry.storage_cost import TableStorage
from branch_console.diff.fast_forward import BranchHistory, ForwardDecision, plan_forward_move
from branch_console.diff.health.finding import PIN, HazardSeverity, HealthFinding, Remedy
from branch_console.diff.lifecycle.report import PolicyReport
from branch_console.diff.rows.row_figure import NOTHING_COUNTED, RowFigure, add_up
from branch_console.errors import ErrorKind, FormatError, NotFound, PaimonError, Refused
from branch_console.format.catalog.catalog_version import CatalogVersion
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.followed_branch import DepartedBranch, find_departed
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX, Identifier
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.options import Options
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.format.snapshot import CommitKind, Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.jobs.progress import JobState, JobStep, JobView, TargetMove, WorkerView
from branch_console.merge.catalog.merged_part import MergedPart
from branch_console.merge.file_moves import BucketMove, FileMoves, MergeRules, Strategy
from branch_console.merge.known_rows import StagedFigures
from branch_console.merge.plan import Heads, MergeVerdict, Plan, PlanCost, ThreeWayPlan
from branch_console.merge.policy_draft import PolicyDraft
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.browse.branch_files import BranchFile, BranchFolder
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.browse.page_values import (
    BranchDistance,
    BranchGraph,
    BranchItem,
    DroppedBranch,
    FallbackView,
    ForkView,
    GraphLane,
    GraphNode,
    Health,
    NamesInTable,
    SchemaItem,
    SnapshotDetail,
    SnapshotItem,
    TableEvents,
    TableItem,
    TableKind,
    TableSummary,
    TagItem,
)
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.consequence import Consequence, Preview, changes, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.compare.failing_rows import NO_QUERIES, FailingRows
from branch_console.procedures.maintenance.doctor import TableHealth
from branch_console.procedures.merge.conflicts import Resolution
from branch_console.procedures.merge.inputs import rules_of
from branch_console.procedures.undo.undo import UndoChance
from branch_console.quality.rules import RuleSet
from branch_console.sql.answer import Answer
from branch_console_app.models.maintenance.dry_runs import DryRun
from branch_console_app.models.merge.merge_preview import MergeDecision
from branch_console_app.settings import Settings
from tests.support.commit_tables import UNPARTITIONED, data_files
from tests.support.made_plans import made_plan

HOUR = 3_600_000
DAY = 24 * HOUR
NOW = 1_763_640_000_000


def snapshot(
    name: str,
    number: int,
    *,
    rows: int = 100,
    total: int | None = None,
    kind: CommitKind = CommitKind.APPEND,
    millis: int | None = None,
    schema_id: int = 0,
    user: str = "etl",
) -> Snapshot:
    """A snapshot whose identity follows from its name."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return Snapshot(
        uuid=f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-9{digest[17:20]}-{digest[20:32]}",
        id=number,
        schema_id=schema_id,
        base_manifest_list=f"manifest-list-{digest[:12]}-0",
        delta_manifest_list=f"manifest-list-{digest[:12]}-1",
        commit_user=user,
        commit_identifier=number,
        commit_kind=kind,
        time_millis=NOW - (40 - number) * 6 * HOUR if millis is None else millis,
        total_record_count=number * 100 if total is None else total,
        delta_record_count=rows,
    )


def schema(
    number: int = 0,
    *,
    columns: Mapping[str, str] | None = None,
    keys: tuple[str, ...] = (),
    partitions: tuple[str, ...] = (),
    options: Mapping[str, str] | None = None,
) -> TableSchema:
    """A schema with the columns given as name and type."""
    columns = columns or {"flight": "BIGINT NOT NULL", "carrier": "STRING", "dep_delay": "INT"}
    fields = tuple(
        DataField(id=position, name=name, type=parse_data_type(text))
        for position, (name, text) in enumerate(columns.items())
    )
    return TableSchema(
        id=number,
        fields=fields,
        highest_field_id=len(fields) - 1,
        partition_keys=partitions,
        primary_keys=keys,
        options=Options(options or {}),
        time_millis=NOW - (10 - number) * DAY,
    )


def unpinned(text: str) -> HealthFinding:
    """A finding that a pin remedies."""
    remedy = Remedy(procedure=PIN, arguments={"table": "air.flights", "branch": "archive-2012"})
    return HealthFinding(
        rule="F03",
        severity=HazardSeverity.WARNING,
        branch="archive-2012",
        evidence=("tag base",),
        text=text,
        breaks="",
        advice="",
        remedies=(remedy,),
    )


@dataclass
class PretendBranch:
    """A branch with all that it holds, shared snapshots too."""

    name: str
    snapshots: tuple[Snapshot, ...] = ()
    schemas: tuple[TableSchema, ...] = (schema(),)
    tags: tuple[Tag, ...] = ()
    parent: str | None = None
    error: PaimonError | None = None
    quiet_since_millis: int | None = None
    owner: str | None = None
    reason: str | None = None
    consumers: tuple[tuple[str, int], ...] = ()
    findings: tuple[HealthFinding, ...] = ()
    protection: LineageEvent | None = None
    used_by: tuple[str, ...] = ()

    @property
    def head(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots and self.error is None else None


@dataclass
class PretendTable:
    """A table with its branches, main first."""

    identifier: Identifier
    branches: dict[str, PretendBranch]
    kind: TableKind = TableKind.APPEND
    events: tuple[LineageEvent, ...] = ()
    broken_events: tuple[PaimonError, ...] = ()
    error: PaimonError | None = None
    comment: str | None = None
    blocked_until: int | None = None

    def branch(self, name: str) -> PretendBranch:
        if name not in self.branches:
            raise NotFound(
                f"Table {self.identifier.table_name} has no branch {name!r}.",
                kind=ErrorKind.BRANCH_NOT_FOUND,
            )
        found = self.branches[name]
        if found.error is not None:
            raise found.error
        return found


@dataclass
class PretendServices:
    """Answers like the real services, and keeps the calls that it was sent."""

    settings: Settings
    listed: list[PretendTable] = field(default_factory=list)
    sent: list[ProcedureCall] = field(default_factory=list)
    known_jobs: dict[str, JobView] = field(default_factory=dict)
    receipts: dict[str, Receipt] = field(default_factory=dict)
    merged_plans: dict[str, ThreeWayPlan] = field(default_factory=dict)
    seen_worker: WorkerView | None = None
    refuses: PaimonError | None = None
    unreachable: PaimonError | None = None
    fallbacks: dict[Identifier, FallbackView] = field(default_factory=dict)
    previews: dict[str, Preview | PaimonError] = field(default_factory=dict)
    merges: dict[str, Plan] = field(default_factory=dict)
    merges_with: dict[str, Plan] = field(default_factory=dict)
    conflicts: pa.Table | None = None
    conflicts_of_plans: dict[str, pa.Table] = field(default_factory=dict)
    staged: StagedFigures | None = None
    discarded: list[str] = field(default_factory=list)
    draft: PolicyDraft = field(default_factory=lambda: PolicyDraft(id="d"))
    asked: list[ProcedureCall] = field(default_factory=list)
    dropped: tuple[DroppedBranch, ...] = ()
    opened: list[Identifier] = field(default_factory=list)
    log: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    undo_chances: dict[str, UndoChance] = field(default_factory=dict)
    kept_rules: RuleSet | None = None
    failing: FailingRows = NO_QUERIES
    parts_of_jobs: dict[str, tuple[MergedPart, ...]] = field(default_factory=dict)
    asked_of_jobs: dict[str, Mapping[str, Argument]] = field(default_factory=dict)
    dry_runs: dict[str, DryRun | PaimonError] = field(default_factory=dict)
    stored: TableStorage | PaimonError | None = None
    unchecked: tuple[Unchecked, ...] = ()
    report: PolicyReport | None = None
    due: tuple[DueSnapshot, ...] = ()

    def databases(self) -> tuple[str, ...]:
        return tuple(sorted({table.identifier.database for table in self.listed}))

    def tables(self, database: str | None = None) -> tuple[TableItem, ...]:
        if self.unreachable is not None:
            raise self.unreachable
        return tuple(_item(table) for table in self.listed)

    def table_names(self) -> tuple[Identifier, ...]:
        return tuple(item.identifier for item in self.tables())

    def table_items(self, *tables: Identifier) -> tuple[TableItem, ...]:
        self.opened += tables
        return tuple(item for item in self.tables() if item.identifier in tables)

    def table_events(self, *tables: Identifier) -> tuple[TableEvents, ...]:
        return tuple(
            TableEvents(table=each.identifier, events=each.events)
            for each in self.listed
            if each.identifier in tables and each.error is None
        )

    def departed_branch(self, table: Identifier, name: str) -> DepartedBranch | None:
        events = (each.events for each in self.listed if each.identifier == table)
        return find_departed([*next(events, ())], name)

    def branch_files(self, table: Identifier) -> BranchFolder:
        return BranchFolder(
            path=f"/warehouse/air.db/flights/branch/branch-{table.branch}",
            files=(BranchFile(path="snapshot/LATEST", size=1, modified_millis=NOW),),
            has_more=False,
        )

    def catalog_events(self) -> tuple[CatalogVersion, ...]:
        return ()

    def catalog_receipts(self, operation_ids: Sequence[str]) -> Mapping[str, Receipt]:
        return {}

    def catalog_branch_names(self) -> tuple[str, ...]:
        return ()

    def names_within(self, *tables: Identifier) -> tuple[NamesInTable, ...]:
        return tuple(
            NamesInTable(
                table=each.identifier,
                branches=tuple(name for name in each.branches if name != MAIN_BRANCH),
                tags=tuple(tag.name for tag in each.branches[MAIN_BRANCH].tags),
            )
            for each in self.listed
            if each.identifier in tables and each.error is None and MAIN_BRANCH in each.branches
        )

    def table(self, table: Identifier) -> TableSummary:
        found = self._find(table)
        branch = found.branch(table.branch)
        return TableSummary(
            identifier=table,
            path=f"/warehouse/{table.database}.db/{table.table}",
            kind=found.kind,
            schema=branch.schemas[-1],
            head=branch.head,
            figure=total_of(found, branch.head),
            change=change_of(found, branch.head),
            first_snapshot_id=branch.snapshots[0].id if branch.snapshots else None,
            snapshot_count=len(branch.snapshots),
            branches=tuple(name for name in found.branches if name != MAIN_BRANCH),
            tags=tuple(tag.name for tag in branch.tags),
            consumers=branch.consumers,
            branch_options=_branch_options(branch),
            events=found.events,
            broken_events=found.broken_events,
        )

    def branches(self, table: Identifier, versus: str = MAIN_BRANCH) -> tuple[BranchItem, ...]:
        found = self._find(table)
        return tuple(_branch_item(found, branch, versus) for branch in found.branches.values())

    def graph(self, table: Identifier, versus: str = MAIN_BRANCH) -> BranchGraph:
        found = self._find(table)
        seen: list[SnapshotIdentity] = []
        nodes, lanes = [], []
        for branch in found.branches.values():
            item = _branch_item(found, branch, versus)
            shared: SnapshotIdentity | None = None
            for each in () if branch.error else branch.snapshots:
                if any(each.identity.same_as(known) for known in seen):
                    shared = each.identity
                    continue
                seen.append(each.identity)
                nodes.append(_node(found, branch, each))
            lanes.append(
                GraphLane(
                    branch=branch.name,
                    parent=branch.parent,
                    leaves=() if shared is None else (shared,),
                    head=branch.head.identity if branch.head else None,
                    item=item,
                )
            )
        return BranchGraph(
            identifier=table,
            lanes=tuple(lanes),
            nodes=tuple(nodes),
            edges=(),
            events=found.events,
            dropped=self.dropped,
        )

    def fallback(self, table: Identifier) -> FallbackView | None:
        return self.fallbacks.get(table)

    def snapshots(self, table: Identifier) -> tuple[SnapshotItem, ...]:
        branch = self._find(table).branch(table.branch)
        items = []
        before: int | None = None
        for each in branch.snapshots:
            items.append(
                SnapshotItem(
                    id=each.id,
                    snapshot=each,
                    figure=total_of(self._find(table), each),
                    change=change_of(self._find(table), each),
                    tags=tuple(t.name for t in branch.tags if t.snapshot.id == each.id),
                    schema_changed=before is not None and each.schema_id != before,
                )
            )
            before = each.schema_id
        return tuple(reversed(items))

    def snapshot(self, table: Identifier, version: str) -> SnapshotDetail:
        branch = self._find(table).branch(table.branch)
        each = next(s for s in branch.snapshots if str(s.id) == version)
        partitions = pa.table(
            {
                "partition": ["year=2013/month=1", "year=2013/month=2"],
                "file_count": [6, 4],
                "record_count": [700, 400],
                "byte_count": [70_000, 40_000],
                "bucket_count": [1, 1],
            }
        )
        return SnapshotDetail(
            identifier=table,
            snapshot=each,
            tags=(),
            schema=branch.schemas[-1],
            file_count=10,
            byte_count=110_000,
            figure=RowFigure(rows=each.total_record_count, records=each.total_record_count),
            change=change_of(self._find(table), each),
            delete_file_count=0,
            added_file_count=2,
            partitions=partitions,
        )

    def rules(self, table: Identifier) -> RuleSet | None:
        return self.kept_rules

    def tags(self, table: Identifier) -> tuple[TagItem, ...]:
        found = self._find(table).branch(table.branch)
        return tuple(TagItem(name=tag.name, tag=tag) for tag in found.tags)

    def schemas(self, table: Identifier) -> tuple[SchemaItem, ...]:
        branch = self._find(table).branch(table.branch)
        return tuple(
            SchemaItem(
                id=each.id,
                schema=each,
                changes=("Column `dep_delay` was widened.",) if each.id else (),
                snapshot_count=3,
            )
            for each in reversed(branch.schemas)
        )

    def schema_diff(self, table: Identifier, left: str, right: str) -> object:
        from branch_console.diff.schema_diff import diff_schemas  # noqa: PLC0415

        return diff_schemas(self._schema(table, left), self._schema(table, right))

    def _schema(self, table: Identifier, name: str) -> TableSchema:
        branch, _, number = name.partition("@")
        found = self._find(table).branch(branch).schemas
        return next(each for each in found if str(each.id) == number) if number else found[-1]

    def first_rows(self, table: Identifier, name: str, most: int) -> tuple[pa.Table, int]:
        self._find(table).branch(table.branch)
        only = {"partition": ["{2013, 1}"], "bucket": [0], "file_path": [f"{name}.parquet"]}
        return pa.table(only), 1

    def preview(self, name: str, arguments: Mapping[str, Argument]) -> Preview:
        self.asked.append(self.call(name, arguments))
        found = self.previews.get(name, preview(name))
        if isinstance(found, PaimonError):
            raise found
        return found

    def dry_run(self, name: str, arguments: Mapping[str, Argument]) -> DryRun:
        self.asked.append(self.call(name, arguments))
        found = self.dry_runs[name]
        if isinstance(found, PaimonError):
            raise found
        return found

    def due_snapshots(self, arguments: Mapping[str, Argument]) -> tuple[DueSnapshot, ...]:
        return self.due

    def policy_report(self, table: Identifier) -> PolicyReport:
        if self.report is None:
            raise NotFound(f"There is no maintenance policy for {table.table_name}.")
        return self.report

    def storage(self, table: Identifier) -> TableStorage:
        if isinstance(self.stored, PaimonError):
            raise self.stored
        assert self.stored is not None
        return self.stored

    def examine(self, table: Identifier) -> tuple[TableHealth, ...]:
        found = [each for branch in self._find(table).branches.values() for each in branch.findings]
        return (TableHealth(table=table, findings=tuple(found), unchecked=self.unchecked),)

    def find_states(self, table: Identifier, before: str, after: str) -> object:
        raise NotFound("No states of this warehouse can be compared.")

    def branch_listing(self, table: Identifier, snapshot: Snapshot, *branches: str) -> str | None:
        found = self._find(table)
        return next((each for each in branches if snapshot in found.branch(each).snapshots), None)

    def preview_fast_forward(self, table: Identifier, source: str, target: str) -> ForwardDecision:
        found = self._find(table)
        return _forward(found, found.branch(source), found.branch(target))

    def preview_merge(self, arguments: Mapping[str, Argument]) -> MergeDecision:
        call = self.call("merge_branch", arguments)
        self.asked.append(call)
        found = self._find(Identifier.parse(call.table))
        asked = call.request(MergeRequest)
        source, target = found.branch(asked.source), found.branch(asked.target or MAIN_BRANCH)
        given = [name for name in self.merges_with if call.arguments.get(name)]
        plan = self.merges.get(source.name) or merge_plan(found, source, target, rules_of(call))
        plan = self.merges_with[given[0]] if given else plan
        told = self.previews.get("merge_branch", preview("merge_branch"))
        assert isinstance(told, Preview)
        return MergeDecision(plan=plan, preview=replace(told, plan_id=plan.id))

    def decisions(self, arguments: Mapping[str, Argument]) -> str:
        return self.preview_merge(arguments).plan.id

    def failing_rows(self, job_id: str) -> FailingRows:
        return self.failing

    def call_of_job(self, job_id: str) -> ProcedureCall:
        for each in self.sent:
            if each.operation_id == job_id:
                return each
        found = self.job(job_id)
        return replace(
            self.call(found.name, {"table": found.table, **self.asked_of_jobs.get(job_id, {})}),
            operation_id=job_id,
        )

    def row_conflicts(self, table: Identifier, plan_id: str) -> pa.Table | None:
        return self.conflicts_of_plans.get(plan_id, self.conflicts)

    def staged_figures(self, table: Identifier, plan_id: str) -> StagedFigures | None:
        return self.staged

    def merged_plan(self, table: Identifier, operation_id: str) -> ThreeWayPlan | None:
        return self.merged_plans.get(operation_id)

    def discard_result(self, arguments: Mapping[str, Argument], plan_id: str) -> None:
        self.discarded.append(plan_id)

    def resolution(self, arguments: Mapping[str, Argument]) -> Resolution:
        plan = self.preview_merge({**arguments, "policy": None}).plan
        return Resolution(plan=plan, policy=None, draft=self.draft)

    def receipt(self, operation_id: str) -> Receipt:
        if operation_id not in self.receipts:
            raise NotFound(
                f"There is no receipt of operation {operation_id!r}.",
                kind=ErrorKind.OPERATION_NOT_FOUND,
            )
        return self.receipts[operation_id]

    def publishing(self) -> None:
        return None

    def parts_of_merge(self, operation_id: str) -> tuple[()]:
        return ()

    def parts_of_job(self, job_id: str) -> tuple[MergedPart, ...]:
        return self.parts_of_jobs.get(job_id, ())

    def find_table_of_operation(self, operation_id: str) -> Identifier | None:
        return None

    def undo_chance(self, operation_id: str, table: Identifier | None = None) -> UndoChance:
        return self.undo_chances.get(operation_id, UndoChance(obstacle=None))

    def call(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> ProcedureCall:
        return ProcedureCall(
            name=name,
            arguments={key: value for key, value in arguments.items() if value is not None},
            actor=self.settings.actor,
            role=self.settings.role,
            operation_id=operation_id or "0" * 32,
        )

    def start(
        self, name: str, arguments: Mapping[str, Argument], operation_id: str | None = None
    ) -> str:
        if self.refuses is not None:
            raise self.refuses
        call = self.call(name, arguments, operation_id)
        self.sent.append(call)
        table = arguments.get("table")
        begun = job(call.operation_id, statement=call.statement, table=str(table), name=name)
        self.known_jobs.setdefault(call.operation_id, replace(begun, arguments=dict(arguments)))
        return call.operation_id

    def jobs(
        self, *, limit: int = 50, offset: int = 0, table: str | None = None
    ) -> tuple[JobView, ...]:
        return tuple(self.known_jobs.values())[offset : offset + limit]

    def job(self, job_id: str) -> JobView:
        if job_id not in self.known_jobs:
            raise NotFound(
                f"There is no job {job_id!r}. List the jobs to find it.",
                kind=ErrorKind.JOB_NOT_FOUND,
            )
        return self.known_jobs[job_id]

    def answer(self, job_id: str, *, most: int | None = None) -> Answer:
        if job_id not in self.answers:
            raise NotFound(
                "The rows of this query are not kept any more. Run it again.",
                kind=ErrorKind.FILE_NOT_FOUND,
            )
        return self.answers[job_id]

    def cancel_job(self, job_id: str) -> JobView:
        found = self.job(job_id)
        if not found.state.can_cancel:
            raise Refused(f"Job {job_id} is {found.state}.", kind=ErrorKind.INVALID_ARGUMENT)
        self.known_jobs[job_id] = replace(found, state=JobState.CANCELLED, finished_millis=NOW)
        return self.known_jobs[job_id]

    def resume_job(self, job_id: str) -> JobView:
        self.known_jobs[job_id] = replace(self.job(job_id), state=JobState.QUEUED)
        return self.known_jobs[job_id]

    def run_again(self, job_id: str, operation_id: str) -> str:
        return self.start(self.job(job_id).name, {"table": "air.flights"}, operation_id)

    def worker_log(self) -> str:
        return self.log

    def worker(self) -> WorkerView | None:
        return self.seen_worker

    def _find(self, table: Identifier) -> PretendTable:
        for found in self.listed:
            if found.identifier.table_name == table.table_name:
                if found.error is not None:
                    raise found.error
                return found
        raise NotFound(f"There is no table {table.table_name}.", kind=ErrorKind.TABLE_NOT_FOUND)


def total_of(table: PretendTable, snapshot: Snapshot | None) -> RowFigure:
    """All rows of a snapshot; its records where the table has a key."""
    return _figure(table, 0 if snapshot is None else snapshot.total_record_count)


def change_of(table: PretendTable, snapshot: Snapshot | None) -> RowFigure:
    """What the commit of a snapshot changed."""
    return _figure(table, None if snapshot is None else snapshot.delta_record_count)


def _figure(table: PretendTable, number: int | None) -> RowFigure:
    is_keyed = table.kind is TableKind.PRIMARY_KEY
    return RowFigure(rows=None if is_keyed else number, records=number)


def _item(table: PretendTable) -> TableItem:
    main = table.branches.get(MAIN_BRANCH)
    unreadable = [name for name, branch in table.branches.items() if branch.error]
    broken = tuple(name for name in unreadable if not name.startswith(RESCUE_PREFIX))
    health = Health.HEALTHY
    if broken:
        health = Health.AT_RISK
    if table.error is not None:
        health = Health.BROKEN
    readable = main is not None and table.error is None
    return TableItem(
        identifier=table.identifier,
        path=f"/warehouse/{table.identifier.database}.db/{table.identifier.table}",
        table_type="table",
        health=health,
        kind=table.kind if readable else None,
        comment=table.comment,
        schema=main.schemas[-1] if main and readable else None,
        head=main.head if main and readable else None,
        figure=total_of(table, main.head) if main and readable else NOTHING_COUNTED,
        branches=BranchCounts.of(table.branches) if readable else None,
        broken_branches=broken,
        broken_rescues=tuple(name for name in unreadable if name.startswith(RESCUE_PREFIX)),
        blocked_until=table.blocked_until,
        last_event=table.events[-1] if table.events else None,
        error=table.error,
    )


def _own(table: PretendTable, branch: PretendBranch, other: PretendBranch) -> list[Snapshot]:
    return [
        each
        for each in branch.snapshots
        if not any(each.identity.same_as(theirs.identity) for theirs in other.snapshots)
    ]


def _branch_item(table: PretendTable, branch: PretendBranch, versus: str) -> BranchItem:
    if branch.error is not None:
        return BranchItem(
            name=branch.name,
            health=Health.BROKEN,
            findings=(),
            created_millis=NOW - 3 * DAY,
            error=branch.error,
        )
    other = table.branch(versus)
    ahead, behind = _own(table, branch, other), _own(table, other, branch)
    shared = [each for each in branch.snapshots if each not in ahead]
    fork = None
    if branch.parent is not None and shared:
        fork = ForkView(
            parent=branch.parent,
            snapshot_id=shared[-1].id,
            identity=shared[-1].identity,
            evidence=(f"Snapshot {shared[-1].id} stands on both branches.",),
            confidence="high",
        )
    return BranchItem(
        name=branch.name,
        health=Health.AT_RISK if branch.findings else Health.HEALTHY,
        findings=branch.findings,
        head=branch.head,
        figure=total_of(table, branch.head),
        schema=branch.schemas[-1],
        created_millis=branch.snapshots[0].time_millis if branch.snapshots else NOW,
        is_recorded=branch.owner is not None,
        owner=branch.owner,
        reason=branch.reason,
        fork=fork,
        versus=BranchDistance(
            ahead=len(ahead),
            behind=len(behind),
            figure_ahead=add_up(change_of(table, each) for each in ahead),
            figure_behind=add_up(change_of(table, each) for each in behind),
        )
        if branch.snapshots
        else None,
        quiet_since_millis=branch.quiet_since_millis,
        branch_options=_branch_options(branch),
        protection=branch.protection,
        used_by=branch.used_by,
    )


def _branch_options(branch: PretendBranch) -> tuple[tuple[str, str], ...]:
    options = branch.schemas[-1].options
    return tuple((key, value) for key, value in options.items() if key == "scan.fallback-branch")


def _node(table: PretendTable, branch: PretendBranch, each: Snapshot) -> GraphNode:
    return GraphNode(
        branch=branch.name,
        snapshot=each,
        figure=total_of(table, each),
        change=change_of(table, each),
        tags=tuple(
            dict.fromkeys(
                tag.name
                for other in table.branches.values()
                for tag in other.tags
                if tag.snapshot.identity.same_as(each.identity)
            )
        ),
        schema_changed=False,
        is_head_of=(),
        merged_from=None,
    )


def merge_plan(
    table: PretendTable,
    source: PretendBranch,
    target: PretendBranch,
    rules: MergeRules | None = None,
    *,
    verdict: MergeVerdict | None = None,
    **parts: Any,
) -> Plan:
    """The plan of a merge: by the heads, or with another verdict and what belongs to it."""
    theirs, ours = _own(table, source, target), _own(table, target, source)
    if verdict is None:
        verdict = MergeVerdict.CLEAN if ours else MergeVerdict.FAST_FORWARD
        verdict = verdict if theirs else MergeVerdict.UP_TO_DATE
    if verdict is MergeVerdict.CLEAN:
        parts = {
            "moves": NEW_FILES,
            "cost": PlanCost(files_added=2, records_added=20, is_of_rows=True),
            **parts,
        }
    shared = [each for each in source.snapshots if each not in theirs]
    at = [each and each.identity.short for each in (target.head, source.head)]
    return made_plan(
        verdict,
        id=hashlib.sha256(repr((at, rules, verdict)).encode()).hexdigest()[:16],
        heads=Heads(
            table=table.identifier.table_name,
            source=source.name,
            target=target.name,
            base=shared[-1] if shared else None,
            ours=target.head,
            theirs=source.head,
        ),
        rules=rules or MergeRules(),
        decision=lambda: _forward(table, source, target),
        **parts,
    )


def _forward(table: PretendTable, source: PretendBranch, target: PretendBranch) -> ForwardDecision:
    histories = [
        BranchHistory(
            branch=side.name,
            snapshots=side.snapshots,
            schemas=side.schemas,
            tags=side.tags,
            consumers=side.consumers,
        )
        for side in (source, target)
    ]
    return plan_forward_move(table.identifier.table_name, *histories)


NEW_FILES = FileMoves(
    add=data_files(["one", "two"]),
    restore=data_files([]),
    remove=data_files([]),
    buckets=(BucketMove(place=(UNPARTITIONED, 0), strategy=Strategy.REPLAY),),
)


def preview(
    name: str,
    *consequences: Consequence,
    typed_name: str | None = None,
    role: Role = Role.EDITOR,
) -> Preview:
    """What a verb says it would do."""
    return Preview(
        procedure=name,
        title=f"{name} of air.flights",
        plan_id="5f0c7a",
        consequences=consequences or (changes("Something changes."), keeps("The rest stays.")),
        typed_name=typed_name,
        role=role,
        undo="Undo brings it back.",
    )


def job(
    job_id: str,
    *,
    state: JobState = JobState.QUEUED,
    statement: str = "CALL sys.fast_forward(branch => 'backfill', table => 'air.flights')",
    table: str = "air.flights",
    name: str = "fast_forward",
    message: str = "",
    error: ErrorKind | None = None,
    error_class: str | None = None,
) -> JobView:
    """A job in some state, with the steps that it has behind it."""
    done = state is JobState.DONE
    steps = (
        JobStep(name="check heads", started_millis=NOW, finished_millis=NOW + 40, error=None),
        JobStep(
            name="verify files", started_millis=NOW + 40, finished_millis=NOW + 4_200, error=None
        ),
    )
    return JobView(
        id=job_id,
        statement=statement,
        step="publish" if done else "verify files",
        message=message or "Checking that the data files which arrive are there and whole.",
        state=state,
        done=12 if state is JobState.RUNNING else 0,
        total=40 if state is JobState.RUNNING else None,
        error=error,
        error_class=error_class,
        target_is=TargetMove.MOVED if done else TargetMove.UNCHANGED,
        started_millis=NOW,
        finished_millis=NOW + 5_000 if state.is_over else None,
        receipt_id=job_id if done else None,
        name=name,
        actor="ada",
        table=table,
        created_millis=NOW - 1_000,
        steps=() if state is JobState.QUEUED else steps,
    )


def receipt(operation_id: str, before: Snapshot, after: Snapshot) -> Receipt:
    """The receipt of a fast-forward of main."""
    return Receipt(
        operation_id=operation_id,
        statement="CALL sys.fast_forward(branch => 'backfill', table => 'air.flights')",
        actor="ada",
        plan_id="5f0c7a",
        moves=(
            HeadMove(
                branch=MAIN_BRANCH,
                before=before.identity,
                before_id=before.id,
                after=after.identity,
                after_id=after.id,
            ),
        ),
        counts=Counts(snapshots_added=2, files_verified=14, records_added=41_208),
        notes=("Afterwards 'backfill' and 'main' share 2 more snapshots.",),
        started_millis=NOW,
        finished_millis=NOW + 4_200,
    )


def air_warehouse(settings: Settings) -> PretendServices:
    """Flights with branches in each state, carriers with a key, and a table that is broken."""
    wide = schema(
        1, columns={"flight": "BIGINT NOT NULL", "carrier": "STRING", "dep_delay": "BIGINT"}
    )
    main = tuple(
        snapshot(
            f"m{number}",
            number,
            rows=[9_000, 8_400, -300, 0, 7_800][number % 5],
            total=28_000 + number * 5_000,
            kind=[CommitKind.APPEND, CommitKind.APPEND, CommitKind.OVERWRITE, CommitKind.COMPACT][
                number % 4
            ],
            schema_id=0 if number < 8 else 1,
        )
        for number in range(1, 13)
    )
    flights = {
        branch.name: branch
        for branch in (
            PretendBranch(
                "main",
                main,
                schemas=(schema(), wide),
                tags=(Tag(name="2013-q1", snapshot=main[3]), Tag(name="release", snapshot=main[8])),
            ),
            PretendBranch(
                "fix-delays",
                (*main[:9], *_own_commits("fix", 10, 3)),
                schemas=(schema(), wide),
                tags=(Tag(name="2013-q1", snapshot=main[3]),),
                parent="main",
                owner="ada",
                reason="Delays of UA are off by an hour",
            ),
            PretendBranch(
                "backfill",
                (*main, *_own_commits("back", 13, 2)),
                schemas=(schema(), wide),
                parent="main",
                owner="grace",
            ),
            PretendBranch("audit", main, schemas=(schema(), wide), parent="main"),
            PretendBranch(
                "archive-2012",
                main[:4],
                parent="main",
                quiet_since_millis=NOW - 240 * DAY,
                findings=(unpinned("The tag that keeps its base ends in 2 days."),),
            ),
            PretendBranch(
                "half-made",
                error=FormatError(
                    "The branch has no schema file.",
                    path="/warehouse/air.db/flights/branch/branch-half-made/schema",
                ),
            ),
        )
    }
    events = (
        LineageEvent(
            id="e1", branch="fix-delays", operation_id="a" * 32, actor="ada",
            kind=LineageKind.CREATED, source_branch="main", time_millis=NOW - 9 * DAY,
            after=main[8].identity,
        ),
    )  # fmt: skip
    carriers = {
        "main": PretendBranch(
            "main",
            tuple(snapshot(f"c{number}", number, rows=16, total=16) for number in range(1, 3)),
            schemas=(
                schema(
                    columns={"carrier": "STRING NOT NULL", "name": "STRING"},
                    keys=("carrier",),
                    options={"bucket": "2"},
                ),
            ),
        )
    }
    odd = {
        "main": PretendBranch("main", main[:2]),
        "x_*y*": PretendBranch("x_*y*", main[:2], parent="main"),
    }
    broken = FormatError(
        "The schema file is not JSON.", path="/warehouse/air.db/weather/schema/schema-0"
    )
    return PretendServices(
        settings=settings,
        listed=[
            PretendTable(_named("air.carriers"), carriers, TableKind.PRIMARY_KEY),
            PretendTable(
                _named("air.flights"), flights, events=events, comment="Flights out of New York"
            ),
            PretendTable(_named("air.<b>bold</b>"), odd),
            PretendTable(_named("air.weather"), {"main": PretendBranch("main")}, error=broken),
            PretendTable(_named("sea.empty"), {"main": PretendBranch("main")}),
        ],
    )


def _named(name: str) -> Identifier:
    database, _, table = name.partition(".")
    return Identifier(database=database, table=table)


def _own_commits(name: str, first: int, number: int) -> tuple[Snapshot, ...]:
    return tuple(
        snapshot(
            f"{name}{each}", each, rows=20_604, total=60_000 + each * 1_000, schema_id=1, user="ada"
        )
        for each in range(first, first + number)
    )
