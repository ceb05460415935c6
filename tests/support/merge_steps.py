"""The steps of a merge of the catalog into main on disk, one by one, without its commit point."""

from dataclasses import dataclass

from branch_console.format.journals.catalog_merge import (
    CATALOG_MERGE_JOURNAL,
    CatalogMergeJournal,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.states import state_of_main
from branch_console.procedures.catalog_merge.actions import action_of
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from branch_console.procedures.catalog_merge.step_actions import MergeOperation, MergeStep
from tests.support.catalog_bench import CatalogBench


@dataclass
class MergeSteps:
    """A merge of `dev` that has begun on a bench; each call opens the warehouse anew."""

    bench: CatalogBench
    id: str = "op-9"

    def begin(self) -> None:
        """Plan the merge and write its intent."""
        warehouse = self.bench.warehouse()
        plan = preview_catalog_merge(warehouse, CatalogMergeSpec(source="dev", target="main"))
        assert plan.can_run, plan.to_object()
        state = state_of_main(warehouse)
        names = {key: each.name for key, each in state.databases.items()}
        made = {each.id: each.after.name for each in plan.steps if each.after} | names
        steps = [
            MergeStep(
                name=f"t{number}",
                step=step,
                folder=state.tables[step.id].folder if step.id in state.tables else None,
                birth=state.tables[step.id].birth if step.id in state.tables else None,
            )
            for number, step in enumerate(plan.steps, start=1)
        ]
        journal = CatalogMergeJournal(
            subject="the catalog",
            source="dev",
            target="main",
            source_content="dev",
            target_content="main",
            steps=tuple(each.journalled for each in steps),
            database_names=made,
            catalog_version={},
        )
        call = ProcedureCall(name="merge_catalog", actor="ann", operation_id=self.id)
        CatalogOperation.begin(
            warehouse, call, branch="main", codec=CATALOG_MERGE_JOURNAL, journal=journal
        )

    @property
    def merge(self) -> MergeOperation:
        """The merge as a process finds it that just began."""
        return self.merge_in(self.bench.warehouse())

    def merge_in(self, warehouse: Warehouse) -> MergeOperation:
        """The merge as a warehouse has it."""
        operation = CatalogOperation.find(warehouse, self.id)
        assert operation is not None
        return MergeOperation.of(operation)

    def prepare(self) -> None:
        """Prepare all steps."""
        merge = self.merge
        for step in merge.steps:
            action_of(step.kind).prepare(merge, step)

    def carry_out(self) -> None:
        """Carry out what is not done yet, in order."""
        merge = self.merge
        for step in merge.steps:
            action = action_of(step.kind)
            if not action.is_done(merge, step):
                action.carry_out(merge, step)
                assert action.is_done(merge, step), step

    def take_back(self) -> None:
        """Take all steps back, the last one first."""
        merge = self.merge
        for step in reversed(merge.steps):
            action = action_of(step.kind)
            action.take_back(merge, step)
            assert not action.is_done(merge, step), step

    def told(self) -> list[str]:
        """What a receipt tells of the steps."""
        merge = self.merge
        notes = (action_of(each.kind).complete(merge, each) for each in merge.steps)
        return [note for note in notes if note is not None]
