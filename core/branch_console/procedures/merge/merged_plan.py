"""The plan that a merge carried out, decided once more at the heads that it had then."""

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.journals.merge import MERGE_JOURNAL, MergeJournal
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.merge.plan import ThreeWayPlan, merging
from branch_console.merge.plan_merge import plan_merge
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec, sides_of
from branch_console.procedures.merge.publish import rules_of_journal
from branch_console.procedures.run.open_operation import Operation
from branch_console.table.file_store_table import FileStoreTable


def find_merged_plan(
    warehouse: Warehouse, table: Identifier, operation_id: str
) -> ThreeWayPlan | None:
    """Return the plan of a three-way merge that is done; None if it can no longer be planned.

    It is under the schemas of now, without decisions on rows. None of a fast-forward, and where
    one of its snapshots has expired.

    Args:
        warehouse: The warehouse.
        table: The table.
        operation_id: The operation that merged.
    """
    try:
        found = warehouse.table(table)
        operation = Operation.find(warehouse, found, operation_id)
        if operation is None or operation.intent.procedure != MergeKind.MERGE:
            return None
        journal = operation.read(MERGE_JOURNAL)
        if not isinstance(journal, MergeJournal):
            return None
        target, source = found.on(journal.target), found.on(journal.source)
        ours = _find(target, journal.ours_id, journal.ours)
        theirs = _find(source, journal.theirs_id, journal.theirs)
        if ours is None or theirs is None:
            return None
        spec = MergeSpec.from_journal(operation.intent.procedure, journal)
        return merging(plan_merge(sides_of(target, spec, ours, theirs), rules_of_journal(journal)))
    except PaimonError:
        # What stands in the way of planning it again is no failure of a merge that is done.
        return None


def _find(
    table: FileStoreTable, snapshot_id: int, wanted: SnapshotIdentity | None
) -> Snapshot | None:
    found = table.snapshots.find(snapshot_id)
    is_it = found is not None and wanted is not None and found.identity.same_as(wanted)
    return found if is_it else None
