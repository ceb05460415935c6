"""The way from a filled-in form to a job: one dry run, the count typed, the button that runs it."""

from dataclasses import replace

import streamlit as st

from branch_console.operations.request import Request
from branch_console_app import reads, state
from branch_console_app.models.maintenance.dry_runs import DryRun, choice_digest
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import plain
from branch_console_app.widgets.parts.patience import (
    forget_readings,
    is_reading,
    read_patiently,
)
from branch_console_app.widgets.parts.preview import (
    show_button,
    show_preview,
    show_same_command,
)

FAILED = "The dry run failed. Nothing was changed."
_SLOT = "dry-run"
_ASKED = "mt_run"
"""The parameter of the address that says which form a dry run was asked for."""


def ask_for_dry_run(request: Request) -> DryRun | None:
    """Draw the button that asks, and return what it answered; None before that.

    A changed form needs another dry run. An answer stays until the next dry run of this
    session: the count is typed for what was shown, and a run of a plan that has changed since is
    refused.
    """
    if not is_dry_run_asked(request):
        return None
    arguments = request.encode()
    return read_patiently(
        _SLOT,
        choice_digest(request.procedure, arguments),
        lambda: reads.begin_dry_run(request.procedure, arguments),
        "The dry run reads what every branch refers to. A large table takes a moment.",
        keeps=True,
    )


def is_dry_run_asked(request: Request) -> bool:
    """Draw the button that asks, and say whether it was pressed for this very form."""
    arguments = request.encode()
    choice = choice_digest(request.procedure, arguments)
    is_asked = state.parameter(_ASKED) == choice
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="line-ask"):
        st.button(
            "Dry run again" if is_asked else "Dry run", icon=":material/science:",
            key=f"dry-run-{request.procedure}", on_click=_ask, args=(choice,),
            type="secondary" if is_asked else "primary",
        )  # fmt: skip
        st.caption(
            "Finds what every branch and tag still needs. Nothing is changed.", width="content"
        )
    return is_asked


def show_barred_dry_run(request: Request, reason: str) -> None:
    """Draw the button of a dry run that cannot be asked for, with the reason."""
    st.button(
        "Dry run", icon=":material/science:", key=f"dry-run-{request.procedure}", disabled=True,
        help=reason,
    )  # fmt: skip


def show_headline(dry_run: DryRun) -> None:
    """Draw what would go, and what stays."""
    words = dry_run.words
    draw = st.warning if words.typed else st.success
    icon = ":material/science:" if words.typed else ":material/check:"
    draw("  \n".join((words.headline, *map(plain, words.more))), icon=icon)


def show_run(dry_run: DryRun, request: Request, icon: str, place: Location) -> None:
    """Draw what stands in the way, the field for the count, and the button that runs this plan.

    Args:
        dry_run: The dry run that was shown.
        request: The request.
        icon: The icon of the button.
        place: The location that the job page keeps.
    """
    words = dry_run.words
    form = Form.of(request, words.label, icon)
    if words.typed is not None:
        # The list above tells what goes and what stays, line by line.
        preview = dry_run.preview
        show_preview(replace(preview, consequences=preview.blocks))
        show_button(replace(dry_run.preview, typed_name=words.typed), form, place)
    show_same_command(form)


def _ask(choice: str) -> None:
    # Who clicks again while it is being read gets that reading, and no second one beside it.
    if not is_reading(_SLOT, choice):
        reads.forget()
        forget_readings()
    state.set_parameter(_ASKED, choice)
