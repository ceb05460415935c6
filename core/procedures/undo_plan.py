"""What the plan of every undo has."""

from collections.abc import Mapping

from core.errors import ErrorKind
from core.format.json_text import without_nulls
from core.format.lineage_event import LineageEvent
from core.procedures.call import ProcedureCall
from core.procedures.consequence import Consequence, Preview, blocks, plan_digest
from core.procedures.permissions import Role
from core.procedures.verb import Planned
from core.table.file_store_table import FileStoreTable


def planned_undo(
    call: ProcedureCall,
    table: FileStoreTable,
    event: LineageEvent,
    told: list[Consequence],
    *,
    branch: str,
    journal: Mapping[str, object],
    role: Role = Role.EDITOR,
) -> Planned:
    """Return the plan of an undo.

    Args:
        call: The call of `undo`.
        table: The table.
        event: What is taken back.
        told: The consequences.
        branch: The branch that changes.
        journal: All that is needed to finish; its `way` says how.
        role: The least role that may.
    """
    # The rescue branch is named after the operation, which a preview has none of.
    decided = {key: each for key, each in journal.items() if key not in ("rescueBranch", "makes")}
    preview = Preview(
        procedure=call.name,
        title=f"Undo operation {event.operation_id} of {table.identifier.table_name}",
        plan_id=plan_digest(call, decided, [each.text for each in told]),
        consequences=tuple(told),
        typed_name=None,
        role=role,
        undo="Run the operation again.",
    )
    return Planned(
        preview=preview,
        table=table,
        branch=branch,
        journal=without_nulls({**journal, "planId": preview.plan_id, "undoes": event.operation_id}),
    )


def gone(branch: str) -> Consequence:
    """Return that a branch which the undo needs is not there."""
    return blocks(
        f"Undo is not possible: branch {branch!r} is gone. Where it was dropped or renamed, undo "
        "that first.",
        ErrorKind.UNDO_BLOCKED,
    )
