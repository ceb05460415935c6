"""Taking an operation back: what comes again, what stands in the way."""

import streamlit as st

from app.models.actions import Action, Form
from app.models.location import Location
from app.widgets.dialogs import Dialogs
from app.widgets.preview import show_command
from core.format.identifier import Identifier


def undo_dialogs(identifier: Identifier, place: Location) -> Dialogs:
    """Title and drawing of the dialog; the operation comes with the address."""

    def draw(operation_id: str | None) -> None:
        if operation_id is None:
            st.info("This address names no operation. Open its receipt and choose Undo.")
            return
        form = Form(
            procedure="undo",
            arguments={"table": identifier.table_name, "operation": operation_id},
            label="Undo",
            icon=":material/undo:",
        )
        show_command(form, place)

    return {Action.UNDO: ("Undo an operation", draw)}
