"""From the decision on a merge of the catalog to what its operation notes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from branch_console.diff.history_move import count
from branch_console.format.catalog.catalog_version import ExpectedHead, TableChange, TableHead
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.catalog_merge import CatalogMergeJournal
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.catalog_steps import CatalogStep, StepKind
from branch_console.merge.catalog.merged_version import MergeAuthor, merged_version
from branch_console.merge.plan import SchemaPlan
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogPlan
from branch_console.procedures.catalog.states import MainNow
from branch_console.procedures.catalog_merge.step_actions import MergeStep
from branch_console.procedures.merge.inputs import DecidedMerge


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCatalogMerge(CatalogPlan):
    """A merge of the catalog that was decided on.

    Attributes:
        plan: The decision.
        decided: The merges of tables that both sides have, by their ids.
        main: The state of main at the decision; None if main is no side.
    """

    plan: CatalogMergePlan
    decided: Mapping[str, DecidedMerge]
    main: MainNow | None

    @property
    def steps(self) -> tuple[MergeStep, ...]:
        """The steps of the merge, numbered."""
        return steps_of_plan(self.plan, self.decided)


def steps_of_plan(
    plan: CatalogMergePlan, decided: Mapping[str, DecidedMerge]
) -> tuple[MergeStep, ...]:
    """Return what a merge does, numbered; `decided` has the merges of tables by their ids."""
    return tuple(
        _merge_step(plan, number, step, decided.get(step.id))
        for number, step in enumerate(plan.steps, start=1)
    )


def _merge_step(
    plan: CatalogMergePlan, number: int, step: CatalogStep, decided: DecidedMerge | None
) -> MergeStep:
    states = plan.states
    table = states.ours.tables.get(step.id)
    if table is None:
        table = states.theirs.tables.get(step.id)
    schemas: tuple[str, ...] = ()
    if step.kind is StepKind.MERGE_CONTENT and decided is not None:
        found = decided.plan
        if isinstance(found, SchemaPlan):
            schemas = tuple(each.to_json() for each in found.schema.schemas)
    return MergeStep(
        name=f"t{number}",
        step=step,
        folder=None if table is None else table.folder,
        birth=None if table is None else table.birth,
        schemas=schemas,
    )


def journal_of_catalog_merge(
    warehouse: Warehouse,
    planned: PlannedCatalogMerge,
    call: ProcedureCall,
    *,
    forks: Mapping[str, TableChange],
    notes: tuple[str, ...],
    files_verified: int,
) -> CatalogMergeJournal:
    """Return what an operation notes of a merge: all that its end needs."""
    plan, steps = planned.plan, planned.steps
    version = merged_version(
        plan,
        MergeAuthor(
            operation=call.operation_id,
            actor=call.actor,
            time_millis=warehouse.clock(),
            statement=call.statement,
            reason=call.reason,
        ),
        expects={
            each.object_id: ExpectedHead(
                step=f"{call.operation_id}-{each.name}",
                before=_head_before(warehouse, planned, each),
            )
            for each in steps
            if each.kind is StepKind.MERGE_CONTENT
        },
        forks=forks,
    )
    return CatalogMergeJournal(
        subject=subject_of(plan),
        plan_id=plan.id,
        reason=call.reason,
        source=plan.source,
        target=plan.target,
        source_content=content_of(warehouse, plan.source),
        target_content=content_of(warehouse, plan.target),
        steps=tuple(each.journalled for each in steps),
        database_names=database_names_of(plan),
        catalog_version=version.to_object(),
        notes=notes,
        files_verified=files_verified,
    )


def database_names_of(plan: CatalogMergePlan) -> dict[str, str]:
    """Return what databases are called while the steps go on, by their ids."""
    created = {
        each.id: each.after.name
        for each in plan.steps
        if each.kind is StepKind.CREATE_DATABASE and each.after is not None
    }
    return {**{key: each.name for key, each in plan.states.ours.databases.items()}, **created}


def subject_of(plan: CatalogMergePlan) -> str:
    """Say what a merge is about."""
    if plan.covers is None:
        return "the catalog"
    return f"{count(len(plan.covers), 'object')} of the catalog"


def content_of(warehouse: Warehouse, branch: str) -> str:
    """Return the name of the table branches of a catalog branch."""
    return branch if branch == MAIN_BRANCH else warehouse.on(branch).content


def forks_of(warehouse: Warehouse, planned: PlannedCatalogMerge) -> dict[str, TableChange]:
    """Return where tables begin that are new to a target that is a branch, by id.

    Raises:
        NotFound: The source is gone.
        Refused: A table of it is lost.
    """
    plan = planned.plan
    if plan.target == MAIN_BRANCH:
        return {}
    found = {}
    for step in plan.steps:
        if step.kind is StepKind.CREATE_TABLE:
            table = plan.result.tables[step.id]
            found[step.id] = replace(
                _content_at(warehouse, plan.source, step.id),
                database=table.database,
                name=table.name,
                birth=table.birth,
            )
    return found


def _content_at(warehouse: Warehouse, source: str, table_id: str) -> TableChange:
    """Return the head and schema of a source's table, for a branch that begins there."""
    if source == MAIN_BRANCH:
        noted = warehouse.ledger.recorded(MAIN_BRANCH).tables[table_id]
        return TableChange(folder=noted.folder, schema=noted.schema, head=noted.head)
    seen = warehouse.on(source)
    member = seen.member(table_id)
    if not member.is_made:
        known = member.table
        return TableChange(
            folder=member.folder, schema=known.schema, head=known.head, source=known.source
        )
    head, schema = seen.open_member(member).head_and_schema()
    return TableChange(
        folder=member.folder,
        schema=schema.id,
        head=None if head is None else TableHead(id=head.id, identity=head.identity),
        source=seen.content,
    )


def _head_before(
    warehouse: Warehouse, planned: PlannedCatalogMerge, step: MergeStep
) -> TableHead | None:
    decided = planned.decided.get(step.object_id)
    if decided is None and planned.plan.target != MAIN_BRANCH:
        # Its branch is made where it begins.
        return warehouse.on(planned.plan.target).recorded.tables[step.object_id].head
    head = None if decided is None else decided.plan.heads.ours
    return None if head is None else TableHead(id=head.id, identity=head.identity)
