"""The forms that take back, or bring elsewhere, what one snapshot or operation did."""

from collections.abc import Sequence

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.operations.merge_requests import CherryPickRequest, RevertRequest
from branch_console_app.models.parts.actions import Action, Form, snapshot_id
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import plain
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.dialogs import Dialogs
from branch_console_app.widgets.parts.preview import show_command, show_unfilled
from branch_console_app.widgets.parts.problem import show_no_snapshot


def snapshot_dialogs(identifier: Identifier, others: Sequence[str], place: Location) -> Dialogs:
    """Title and drawing of the dialogs about a snapshot of a branch; its id is in the address.

    Args:
        identifier: The table and the branch.
        others: The other branches of the table.
        place: The location that the job page keeps.
    """

    def revert(snapshot: str | None) -> None:
        request = RevertRequest(
            table=identifier.full_name, snapshot=snapshot_id(snapshot), reason=reason_field()
        )
        _show_revert(request, f"Revert snapshot {snapshot}", place)

    def pick(snapshot: str | None) -> None:
        number = snapshot_id(snapshot)
        if number is None:
            show_no_snapshot(snapshot or "")
            return
        target = st.selectbox(
            "Onto branch", others, index=None, key="do-target", placeholder="Choose a branch",
            filter_mode="contains",
        )  # fmt: skip
        reason = reason_field()
        label = f"Pick snapshot {snapshot}"
        if target is None:
            show_unfilled(
                CherryPickRequest.procedure, label, ":material/move_down:", "Choose a branch first."
            )
            return
        request = CherryPickRequest(
            table=identifier.table_name,
            source=identifier.branch,
            snapshot=number,
            target=target,
            reason=reason,
        )
        form = Form.of(request, f"{label} onto {plain(target)}", ":material/move_down:")
        show_command(form, place.at_branch(target))

    name = plain(identifier.branch)
    return {
        Action.REVERT: (f"Revert a snapshot of {name}", revert),
        Action.PICK: (f"Pick a snapshot of {name}", pick),
    }


def operation_dialogs(identifier: Identifier, place: Location) -> Dialogs:
    """The dialog that takes back what an operation added to a branch; its id is in the address."""

    def revert(operation: str | None) -> None:
        if operation is None:
            st.info("This address names no operation. Open its receipt and choose Revert.")
            return
        request = RevertRequest(
            table=identifier.full_name, operation=operation, reason=reason_field()
        )
        _show_revert(request, "Revert", place)

    return {Action.REVERT: ("Revert an operation", revert)}


def _show_revert(request: RevertRequest, label: str, place: Location) -> None:
    st.caption("A new snapshot takes back what this one did. What came later stays.")
    show_command(Form.of(request, label, ":material/undo:"), place)
