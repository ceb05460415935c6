"""Procedures on tables whose metadata others keep too: refused, or an operator leaves those out.

`without_callbacks` of a call holds the operator's reason; the ledger keeps it.
"""

from collections.abc import Sequence
from dataclasses import replace

from branch_console.errors import ErrorKind
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import RenameBranchJournal
from branch_console.format.journals.history import HistoryJournal
from branch_console.format.journals.merge import MergeJournal
from branch_console.format.journals.terms import CallbacksLeftOut, OperationJournal
from branch_console.format.journals.undo import RestoreBranchJournal
from branch_console.format.kept_elsewhere import Act, KeptElsewhere, kept_elsewhere, kept_in_catalog
from branch_console.operations.agreement import WITHOUT_CALLBACKS
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import Consequence, Preview, blocks, changes
from branch_console.procedures.call.other_catalog import catalog_of_table
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.file_store_table import FileStoreTable


def left_out_of(
    warehouse: Warehouse, target: FileStoreTable, act: Act, *, changes_schema: bool
) -> tuple[KeptElsewhere, ...]:
    """Return what Paimon would do for others, and is not done here.

    Args:
        warehouse: The warehouse, whose catalog may keep the schema of main.
        target: The table on the branch that changes.
        act: The act of the operation.
        changes_schema: Whether schemas come to the branch or leave it.
    """
    found = kept_elsewhere(target.schema().options, target.branch, act)
    # Other catalogs keep the schema of main only; they do not know branches.
    if not changes_schema or target.branch != MAIN_BRANCH:
        return found
    return (*found, *left_out_by_catalog(warehouse, target))


def left_out_by_catalog(warehouse: Warehouse, main: FileStoreTable) -> tuple[KeptElsewhere, ...]:
    """Return what Paimon would tell another catalog of a new schema of main."""
    other = catalog_of_table(warehouse, main)
    return () if other is None else (kept_in_catalog(other.kind),)


def changes_schema(journal: OperationJournal) -> bool:
    """Whether schemas come to the target of an operation or leave it."""
    match journal:
        case MergeJournal():
            return bool(journal.schemas)
        case HistoryJournal():
            return bool(journal.copy.schema_ids or journal.copy.remove_schema_ids)
        case _:
            return False


def turns_options_of_main(journal: OperationJournal) -> bool:
    """Whether an operation renames a branch that options of main name, which get the new name."""
    match journal:
        case RenameBranchJournal() | RestoreBranchJournal():
            return any(use.branch == MAIN_BRANCH for use in journal.options)
        case _:
            return False


def weigh_callbacks(
    preview: Preview, call: ProcedureCall, left_out: tuple[KeptElsewhere, ...]
) -> Preview:
    """Return a preview that also tells what Paimon would do for others.

    Args:
        preview: The preview of the call.
        call: Its argument `without_callbacks` is why an operator goes on.
        left_out: The callbacks that are left out.
    """
    if not left_out:
        return preview
    reason = call.agreement.without_callbacks
    consequences = tuple(
        replace(_blocks(each) if reason is None else _leaves(each), excused_by=WITHOUT_CALLBACKS)
        for each in left_out
    )
    role = preview.role if reason is None else Role.OPERATOR
    return replace(preview, consequences=(*consequences, *preview.consequences), role=role)


def journal_of_callbacks(
    call: ProcedureCall, left_out: tuple[KeptElsewhere, ...]
) -> CallbacksLeftOut | None:
    """Return what an operation notes of them; None if there is nothing to leave out."""
    reason = call.agreement.without_callbacks
    if not left_out or reason is None:
        return None
    return CallbacksLeftOut(reason=reason, options=tuple(each.option for each in left_out))


def notes_of_callbacks(journal: OperationJournal) -> tuple[str, ...]:
    """Return what a receipt tells of an operation that left them out."""
    noted = journal.without_callbacks
    return () if noted is None else (_note(noted.options, noted.reason),)


def reason_for_rows(call: ProcedureCall, table: FileStoreTable) -> str | None:
    """Return why a call writes rows without what Paimon does for others; None if it need not.

    Raises:
        NotAllowed: The role of the caller does not reach.
    """
    reason = call.agreement.without_callbacks
    if reason is None or not _left_out_by_rows(table):
        return None
    check_role(call.role, Role.OPERATOR, "leave out what Paimon does for others")
    return reason


def notes_of_rows(call: ProcedureCall, table: FileStoreTable) -> tuple[str, ...]:
    """Return what a receipt tells of rows that were written without them."""
    reason = call.agreement.without_callbacks
    left_out = () if reason is None else _left_out_by_rows(table)
    return (_note([each.option for each in left_out], reason),) if left_out else ()


def _left_out_by_rows(table: FileStoreTable) -> tuple[KeptElsewhere, ...]:
    return kept_elsewhere(table.schema().options, table.branch, Act.COMMIT)


def _note(options: Sequence[str], reason: object) -> str:
    return f"Without what {' and '.join(map(repr, options))} asks for: {reason}"


def _blocks(each: KeptElsewhere) -> Consequence:
    return blocks(
        f"Paimon {each.what} (option {each.option!r}). Branch Console does not. {each.stale} would "
        "be out of date. Make this change with Paimon, or go on as an operator with a reason "
        "(--without-callbacks).",
        ErrorKind.UNSUPPORTED,
    )


def _leaves(each: KeptElsewhere) -> Consequence:
    return changes(
        f"{each.stale} is out of date until {each.until}: Paimon {each.what} (option "
        f"{each.option!r}), Branch Console does not."
    )
