"""A change that leaves out what Paimon does for others: why, and who may go on all the same."""

from collections.abc import Mapping

import streamlit as st

from branch_console.operations.agreement import WITHOUT_CALLBACKS, Agreement
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Consequence, Preview, Weight
from branch_console.procedures.call.permissions import Role
from branch_console_app import state
from branch_console_app.models.parts.wording import prose
from branch_console_app.widgets.parts.confirm import lacks_role

_KEY = "without-callbacks"


def with_reason(arguments: Mapping[str, Argument], subject: str) -> dict[str, Argument]:
    """Return the arguments of a command with the reason that stands in the field, if one does.

    Args:
        arguments: The arguments of the command.
        subject: The subject of the command, such as its branches: each has a field of its own.
    """
    given = state.value_of(f"{_KEY}-{subject}")
    reason = given.strip() if isinstance(given, str) else ""
    # One that was given before, and has been taken out of the field since, does not stay.
    others = {name: value for name, value in arguments.items() if name != WITHOUT_CALLBACKS}
    return {**others, **Agreement(without_callbacks=reason or None).encode()}


def left_out(preview: Preview) -> tuple[Consequence, ...]:
    """Return the consequences that a reason excuses."""
    return tuple(each for each in preview.consequences if each.excused_by == WITHOUT_CALLBACKS)


def ask_for_reason(preview: Preview, subject: str) -> None:
    """Draw the field in which an operator says why; nothing if nothing is left out.

    Args:
        preview: The preview of the command, with the reason in the field.
        subject: As for `with_reason`.
    """
    found = left_out(preview)
    if not found:
        return
    refused = lacks_role(Role.OPERATOR)
    with st.container(border=True, key="card-callbacks"):
        st.markdown("**Go on without what Paimon does for others**")
        st.caption(
            "Branch Console changes the table and does nothing else. What others read beside it "
            "stays as it is until Paimon brings it up to date. The reason is kept with your name, "
            "in the ledger and on the receipt."
        )
        st.text_input(
            "Why it goes on all the same", key=f"{_KEY}-{subject}", disabled=refused is not None,
            help=refused, live=True,
        )  # fmt: skip
        if refused:
            st.caption(refused)


def show_left_out(preview: Preview) -> None:
    """Draw what is left out, on a page that tells the other consequences in its own words."""
    for each in left_out(preview):
        if each.weight is Weight.BLOCKS:
            st.warning(f"{prose(each.text)} `{each.kind}`", icon=":material/block:")
        else:
            st.info(prose(each.text), icon=":material/sync_problem:")
