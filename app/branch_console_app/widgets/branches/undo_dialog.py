"""Taking an operation back: what comes again, what stands in the way."""

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.operations.undo_request import UndoRequest
from branch_console_app import reads, state
from branch_console_app.models.jobs.receipt_text import receipt_title
from branch_console_app.models.parts.actions import Action, Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import moment, plain
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.dialogs import Dialogs
from branch_console_app.widgets.parts.preview import Start, show_command


def undo_dialogs(
    identifier: Identifier | None,
    place: Location,
    what: str = "this operation",
    start: Start | None = None,
) -> Dialogs:
    """Title and drawing of the dialog; the operation comes with the address.

    Args:
        identifier: The table that it changed; None for an operation of the catalog.
        place: The location that the job page keeps.
        what: The operation in words, where the page knows it.
        start: Starts the undo; None starts it and moves on to its job.
    """

    def draw(operation_id: str | None) -> None:
        if operation_id is None:
            st.info("This address names no operation. Open its receipt and choose Undo.")
            return
        table = None if identifier is None else identifier.table_name
        _show_what(operation_id)
        request = UndoRequest(table=table, operation=operation_id, reason=reason_field())
        show_command(Form.of(request, "Undo", ":material/undo:"), place, start)

    return {Action.UNDO: (f"Undo {what}", draw)}


def _show_what(operation_id: str) -> None:
    """Show who ran the operation, and when; nothing without a receipt."""
    try:
        receipt = reads.receipt(operation_id)
    except PaimonError:
        return
    done = moment(receipt.finished_millis, state.zone())
    st.caption(f"{receipt_title(receipt)}: done by {plain(receipt.actor)}, {done}.")
