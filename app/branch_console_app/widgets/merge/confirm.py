"""The last step before a merge: tried by a dry run first, then published."""

from dataclasses import replace
from enum import StrEnum
from functools import partial

import streamlit as st

from branch_console.errors import ErrorKind
from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState, JobView
from branch_console.merge.plan import Plan, cost_of
from branch_console.operations.agreement import Agreement
from branch_console.operations.merge_requests import DryRunRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Preview, Weight, blocks
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.procedures.run.runner import MOST_PLANS
from branch_console_app import reads
from branch_console_app.models.merge.merge_preview import MergePreview
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.wording import code, plain, plural
from branch_console_app.widgets.parts.callbacks import ask_for_reason
from branch_console_app.widgets.parts.confirm import IN_THE_WAY, lacks_role, reason_field
from branch_console_app.widgets.parts.gates import override_field, show_judgement
from branch_console_app.widgets.parts.job_here import follow_here, job_here, start_here
from branch_console_app.widgets.parts.preview import show_button, show_preview
from branch_console_app.widgets.parts.rows import block
from branch_console_app.widgets.parts.table_picker import here

_DRY = "dry"
_WAITS = {"60s": "for a minute", "5min": "for five minutes"}
_AS_STAGED = (
    "While no commit touches what is merged, this publishes the very files that the dry run has "
    "staged; nothing is compared, written or judged again."
)


class Mode(StrEnum):
    """What is done with a plan: tried, or carried out."""

    DRY_RUN = "Dry run"
    PUBLISH = "Publish"


def show_confirm(preview: MergePreview, form: Form, open_number: int) -> None:
    """Draw what a merge would do, and the buttons that try it and that carry it out.

    Args:
        preview: The merge.
        form: The command, with the policy that settles conflicts.
        open_number: How many conflicts of rows nothing settles.
    """
    block(5 if cost_of(preview.plan).buckets_to_compare else 4, "Confirm")
    plan, told = preview.plan, preview.command
    # What else stands in the way is told above, with its remedy.
    shown = tuple(each for each in told.consequences if each.weight is not Weight.BLOCKS)
    if open_number:
        text = f"{plural(open_number, 'conflict')} of rows must be settled first."
        first = blocks(text, ErrorKind.CONFLICTS_OPEN)
        told = replace(told, consequences=(first, *told.consequences))
        shown = (first, *shown)
    show_preview(replace(told, consequences=shown))
    ask_for_reason(told, f"{plan.source}-{plan.target}")
    dry = job_here(_DRY, plan.id)
    is_dry = dry is not None and dry.state is JobState.DONE
    mode = st.segmented_control(
        "What to do", list(Mode), default=Mode.PUBLISH if is_dry else Mode.DRY_RUN,
        key=f"merge-mode-{plan.id}-{is_dry}", required=True, format_func=str,
        label_visibility="collapsed",
    )  # fmt: skip
    if dry is not None:
        _show_dry_run(dry, plan)
    if mode == Mode.PUBLISH:
        override = override_field(Identifier.parse(plan.table))
        again = st.checkbox(
            f"If a commit to {code(plan.target)} touches what is merged, plan again while what "
            f"collides and what is overruled stays the same ({MOST_PLANS} times at most, or as "
            "long as it may keep trying)",
            key="merge-plan-again-if",
        )
        wait = st.selectbox(
            "Keep trying", [None, *_WAITS], key="merge-wait",
            format_func=lambda each: _WAITS.get(each, "a few times"),
        )  # fmt: skip
        said = {
            "reason": reason_field(),
            **Agreement(override_gate=override, plan_again=again, wait=wait).encode(),
        }
        full = replace(form, arguments={**form.arguments, **said})
        if is_dry:
            st.caption(_AS_STAGED)
            full = replace(full, label="Publish this result", icon=":material/publish:")
        seen = partial(_seen, form, plan, again)
        show_button(told, full, here().at_branch(plan.target), seen)
    elif dry is None or dry.state.is_over:
        _show_dry_button(told, form, plan)


def _seen(form: Form, plan: Plan, again: bool) -> dict[str, Argument]:
    """What a run is told of the preview: where it was planned, and what was decided on."""
    heads = PlannedHeads.of_plan(plan)
    return Agreement(
        heads=None if heads is None else heads.to_text(),
        decisions=reads.decisions(form.arguments) if again else None,
    ).encode()


def _show_dry_button(told: Preview, form: Form, plan: Plan) -> None:
    st.caption(
        "Stages the result and runs the rules on it. No branch is changed. The result is kept for "
        "24 hours."
    )
    refused = lacks_role(told.role)
    reason = refused or (None if told.can_run else IN_THE_WAY)
    st.button(
        "Dry run", type="primary", icon=":material/science:", key="run-dry", help=reason,
        disabled=reason is not None, on_click=start_here,
        args=(
            _DRY, told.plan_id, DryRunRequest.procedure,
            {
                **form.arguments,
                **_seen(form, plan, again=False),
                **Agreement(plan_id=told.plan_id).encode(),
            },
        ),
    )  # fmt: skip
    if refused:
        st.caption(refused)


def _show_dry_run(dry: JobView, plan: Plan) -> None:
    if not dry.state.is_over:
        follow_here(dry, "The merge is tried.")
        return
    ours = plan.heads.ours
    head = "" if ours is None else f" at snapshot {ours.id}"
    unchanged = f"{code(plan.target)} is unchanged{head}"
    if dry.state is JobState.DONE:
        st.success(f"**Dry run finished; {unchanged}.** {plain(dry.message)}")
    else:
        st.warning(
            f"**Dry run {dry.state}; {unchanged}.** {plain(dry.message)} {code(dry.error or '')}"
        )
    show_judgement(dry)
