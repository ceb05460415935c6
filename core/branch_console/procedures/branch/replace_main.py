"""Replacing main by a branch, whose history it becomes; a rescue branch keeps what main was."""

from dataclasses import dataclass

import pyarrow as pa

from branch_console.diff.replacement import Replacement, plan_replacement
from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX, rescue_name
from branch_console.format.journals.history import REPLACE_JOURNAL, HistoryJournal
from branch_console.format.kept_elsewhere import Act
from branch_console.operations.branch_requests import ReplaceMainRequest
from branch_console.procedures.branch.drop_branch import existing_branch, open_operations
from branch_console.procedures.branch.fast_forward_preview import (
    arrival_of,
    removals_of,
    sharing_of_history,
)
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Preview, blocks, changes, keeps
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.verify_files import arriving_files
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.history.branch_histories import (
    before_replacing,
    copy_of_move,
    read_histories,
    schema_id_after,
)
from branch_console.procedures.history.file_sharing import journal_of_sharing
from branch_console.procedures.history.forward_sharing import forward_safety
from branch_console.procedures.history.history_transfer import finish_history_transfer
from branch_console.procedures.history.protection import owner_blocks
from branch_console.procedures.run.procedure import PlannedOperation, Procedure, table_of
from branch_console.procedures.run.receipts import rows_of_heads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedReplacement(PlannedOperation):
    """A replacement of main that was decided on."""

    replacement: Replacement


def plan_replace_main(warehouse: Warehouse, call: ProcedureCall) -> PlannedReplacement:
    """Decide what comes to main and what leaves it.

    Arguments of the call: `table`, `branch`, `reason`, `plan_id`.

    Raises:
        InvalidInput: The branch is main.
        NotFound: There is no such table or branch.
        FormatError: A snapshot, schema or tag of either cannot be decoded.
    """
    asked = call.request(ReplaceMainRequest)
    table = table_of(warehouse, call).on(MAIN_BRANCH)
    branch = existing_branch(table, asked.branch, "replaced by itself")
    theirs, ours = read_histories(branch, table)
    plan = plan_replacement(table.identifier.table_name, theirs, before_replacing(table, ours))
    copy = copy_of_move(plan, plan.removes, rescue_name(call.operation_id))
    sharing = forward_safety(branch, table, plan.arrives, plan.removes)
    consequences = [
        *owner_blocks(table.ledger.whole(), MAIN_BRANCH, call.actor),
        *open_operations(warehouse, table),
    ]
    if plan.source_head is None:
        text = f"Branch {plan.source!r} has no snapshot, so main would be left with none."
        consequences.append(blocks(text, ErrorKind.BRANCH_EMPTY))
    elif plan.is_empty:
        text = f"Main is the history of {plan.source!r} already."
        consequences.append(blocks(text, ErrorKind.NOTHING_TO_DO))
    else:
        consequences.append(arrival_of(plan.source, MAIN_BRANCH, plan.arrives))
        consequences += removals_of(MAIN_BRANCH, plan.removes)
        consequences += sharing_of_history(sharing, plan.source, MAIN_BRANCH)
        consequences.append(keeps(f"Branch {plan.source!r} stays as it is."))
        consequences += [changes(note) for note in plan.notes]
    preview = Preview(
        procedure=call.name,
        title=f"Replace main of {table.identifier.table_name} by {plan.source!r}",
        plan_id=plan.id,
        consequences=tuple(consequences),
        typed_name=MAIN_BRANCH,
        role=Role.OPERATOR,
        undo="You can undo this until the next commit on main; until then all of it is kept on "
        f"{RESCUE_PREFIX}….",
    )
    return PlannedReplacement(
        replacement=plan,
        preview=preview,
        act=Act.COMMIT,
        table=table,
        branch=MAIN_BRANCH,
        journal=HistoryJournal(
            copy=copy,
            sharing=journal_of_sharing(
                sharing, branch, call.operation_id, (plan.source, MAIN_BRANCH)
            ),
            plan_id=plan.id,
            reason=asked.reason,
            records=plan.arrives.figure.records,
            rows_counted=rows_of_heads(table, plan.target_head, plan.source_head),
            notes=tuple(plan.notes),
            schema_id_after=schema_id_after(table, copy),
        ),
    )


def files_for_main(planned: PlannedReplacement) -> pa.Table:
    """Data files of the branch that main does not hold, with the columns of FILES_TO_VERIFY."""
    replacement = planned.replacement
    branch = planned.table.on(replacement.source)
    return arriving_files(branch, replacement.source_head, replacement.target_head)


REPLACE_MAIN = Procedure(
    name="replace_main",
    what="replace main",
    doing="Keeping main on a rescue branch, then replacing it.",
    plan=plan_replace_main,
    codec=REPLACE_JOURNAL,
    finish=finish_history_transfer,
    files_to_verify=files_for_main,
)
