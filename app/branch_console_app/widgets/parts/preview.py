"""A command before it is sent: its consequences, the last check, and the button."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import streamlit as st

from branch_console.errors import ErrorKind
from branch_console.operations.agreement import Agreement
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Preview, Weight
from branch_console_app import reads, state
from branch_console_app.models.parts.actions import Action, Form
from branch_console_app.models.parts.command_line import PREVIEWED, command_words
from branch_console_app.models.parts.consequence_text import consequence_texts, undo_text
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, prose
from branch_console_app.services import get_services
from branch_console_app.widgets.parts.callbacks import ask_for_reason, with_reason
from branch_console_app.widgets.parts.confirm import (
    IN_THE_WAY,
    NOTHING_TO_DO,
    idempotency_key,
    lacks_role,
    start_once,
    typed_name,
)
from branch_console_app.widgets.parts.dialogs import open_dialog
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.same_as import show_same_as

_MARKS = {
    Weight.BLOCKS: ":red[✕] **Blocked by**",
    Weight.LOSES: ":orange[\N{MINUS SIGN}] **Removed**",
    Weight.CHANGES: ":blue[→] **What happens**",
    Weight.KEEPS: ":green[✓] **What stays**",
}
_WOULD = {**_MARKS, Weight.CHANGES: ":blue[→] **What would happen**"}

Start: TypeAlias = Callable[[str, Mapping[str, Argument], str], None]
"""Starts a procedure with its arguments; the last is the id of the preview that was seen."""


def show_command(
    form: Form,
    place: Location,
    start: Start | None = None,
    ways_out: Mapping[ErrorKind, tuple[Action, str]] | None = None,
) -> None:
    """Draw what a filled-in form would do, and the button that does it.

    Args:
        form: The command.
        place: The location that the job page keeps.
        start: Starts the command; None starts it and moves on to its job.
        ways_out: The dialogs of the page that remove what is in the way, with their labels.
    """
    with guarded("The preview failed. Nothing was changed."):
        # One dialog is open at a time: another one begins with an empty field.
        form = replace(form, arguments=with_reason(form.arguments, form.procedure))
        with st.skeleton(height=120):
            preview = reads.preview(form.procedure, form.arguments)
        # A click draws the page again first: what it sends must be what was looked at.
        choice = repr((form.procedure, sorted(form.arguments.items(), key=str)))
        if state.seen_preview(choice, preview.plan_id) != preview.plan_id:
            _show_stale()
            return
        show_preview(preview)
        _offer_ways_out(preview, ways_out or {})
        if preview.can_run:
            # The button starts a job of this id, which is the id of the operation.
            _show_rescue(preview, idempotency_key(form.procedure, preview.plan_id))
        ask_for_reason(preview, form.procedure)
        show_button(preview, form, place, start=start)
        show_same_command(form, preview.typed_name)


def show_unfilled(procedure: str, label: str, icon: str, reason: str) -> None:
    """Draw the button of a form that is not filled in yet, disabled with the reason."""
    st.button(
        label, type="primary", icon=icon, disabled=True, help=reason, key=f"unfilled-{procedure}"
    )
    st.caption(reason)


def _offer_ways_out(preview: Preview, ways_out: Mapping[ErrorKind, tuple[Action, str]]) -> None:
    kinds = {each.kind for each in preview.consequences if each.weight is Weight.BLOCKS}
    for kind, (action, label) in ways_out.items():
        # A dialog draws itself alone: another one needs the whole page.
        if kind in kinds and st.button(label, key=f"way-out-{action}", icon=":material/healing:"):
            open_dialog(action)
            st.rerun()


def _show_rescue(preview: Preview, operation_id: str) -> None:
    name = preview.rescue_branch(operation_id)
    if name is not None:
        st.caption(f":material/bookmark: The rescue branch will be {code(name)}.")


def _show_stale() -> None:
    st.warning(
        "**This preview is out of date:** something moved since it was shown. This page has "
        "changed nothing. `HEAD_MOVED`",
        icon=":material/update:",
    )
    st.button(
        "Update preview", icon=":material/refresh:", key="look-again", on_click=state.forget_preview
    )


def show_preview(preview: Preview, key: str = "preview", *, is_stopped: bool = False) -> None:
    """Draw the consequences, the gravest first, each kind under its own glyph and word.

    Args:
        preview: The preview of a command.
        key: Another one where a page shows the same twice.
        is_stopped: Whether something besides the preview stops the command.
    """
    marks = _WOULD if is_stopped or not preview.can_run else _MARKS
    with st.container(border=True, key=f"card-{key}"):
        st.markdown(f"**{prose(preview.title)}**")
        for weight in Weight:
            found = [each for each in preview.consequences if each.weight is weight]
            if found:
                with st.container(key=f"sentences-{key}-{weight}"):
                    st.markdown(marks[weight])
                    for consequence in found:
                        for text in consequence_texts(consequence):
                            st.markdown(text)
        st.caption(undo_text(preview.undo))


def show_same_command(form: Form, confirm: str | None = None) -> None:
    """Draw a filled-in form as command line and SQL.

    Args:
        form: The command.
        confirm: The name that a person types first.
    """
    statement = get_services().call(form.procedure, form.arguments, "same-as").statement
    words = command_words(form.procedure, form.arguments, confirm)
    show_same_as(*words, sql=f"{statement};")


def show_button(
    preview: Preview,
    form: Form,
    place: Location,
    start: Start | None = None,
) -> None:
    """Draw the button that sends what was previewed; disabled with the reason where it cannot.

    Args:
        preview: The preview of the command.
        form: The command.
        place: The location that the job page keeps.
        start: Starts the command; None starts it and moves on to its job.
    """
    refused = lacks_role(preview.role)
    reason = refused
    if not preview.can_run:
        reason = refused or IN_THE_WAY
    elif preview.is_idle:
        reason = refused or NOTHING_TO_DO
    elif preview.typed_name is not None and not typed_name(form.procedure, preview.typed_name):
        reason = refused or f"Type {preview.typed_name} first."
    if st.button(
        form.label, type="primary", icon=form.icon, disabled=reason is not None, help=reason,
        key=f"run-{form.procedure}",
    ):  # fmt: skip
        with guarded("The job was not started; nothing changed."):
            seen = Agreement(plan_id=preview.plan_id).encode()
            # What decides again by itself takes no plan.
            agreed = seen if form.procedure in PREVIEWED else {}
            arguments = {**form.arguments, **agreed}
            if start is not None:
                start(form.procedure, arguments, preview.plan_id)
            else:
                start_once(form.procedure, arguments, place, subject=preview.plan_id)
    if refused or (preview.is_idle and preview.can_run):
        st.caption(refused or NOTHING_TO_DO)
