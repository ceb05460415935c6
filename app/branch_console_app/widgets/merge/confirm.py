"""The dialog that merges: what happens, a dry run first or at once, a reason, and the button."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import streamlit as st

from branch_console.merge.known_rows import STAGED_KEPT_HOURS
from branch_console.merge.plan import Plan
from branch_console.operations.agreement import Agreement
from branch_console.operations.merge_requests import DryRunRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.run.planned_heads import PlannedHeads
from branch_console.procedures.run.runner import MOST_PLANS
from branch_console_app import reads
from branch_console_app.models.merge.confirmation import Confirmation
from branch_console_app.models.merge.eligibility import Check
from branch_console_app.models.merge.merge_preview import MergePreview
from branch_console_app.models.merge.merge_state import MergeStanding, NextStep
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.widgets.merge.confirmation import (
    ask_for_approval,
    confirmed,
    label_of_merge,
    show_confirmation,
)
from branch_console_app.widgets.merge.draft_jobs import begin_dry_run, begin_merge
from branch_console_app.widgets.merge.verdict import draw_verdict, update_button
from branch_console_app.widgets.parts.callbacks import ask_for_reason
from branch_console_app.widgets.parts.confirm import (
    IN_THE_WAY,
    lacks_role,
)
from branch_console_app.widgets.parts.problem import guarded

STOP: Final = "Stop, and show the new preview"
TRY_AGAIN: Final = f"Try again, up to {MOST_PLANS} times"
_RETRIES: Final[Mapping[str, tuple[bool, str | None]]] = {
    STOP: (False, None),
    TRY_AGAIN: (True, None),
    "Try again for a minute": (True, "60s"),
    "Try again for five minutes": (True, "5min"),
}
_OFFERS = (NextStep.MERGE, NextStep.PUBLISH, NextStep.OVERRIDE)


class Mode(StrEnum):
    """How a merge begins."""

    DRY_RUN = "Dry run first"
    MERGE = "Merge now"


def show_merge_dialog(
    preview: MergePreview, checks: Sequence[Check], form: Form, *, is_protected: bool
) -> None:
    """Draw what a merge would do, and the button that tries it or carries it out.

    Args:
        preview: The merge.
        checks: The checks of the merge.
        form: The command, with the policy that settles conflicts.
        is_protected: Whether the name of the target has to be typed.
    """
    plan, answer, verdict = preview.plan, preview.command, preview.state
    actions = (verdict.primary, verdict.secondary)
    is_offered = any(each is not None and each.step in _OFFERS for each in actions)
    if not (is_offered or verdict.takes_override):
        draw_verdict(verdict)
        if verdict.standing is MergeStanding.STALE:
            update_button("dialog-plan-again")
        return
    show_confirmation(Confirmation.of_merge(answer, checks))
    is_staged = verdict.standing is MergeStanding.STAGED
    mode = Mode.MERGE if is_staged or verdict.takes_override else _mode()
    if mode is Mode.DRY_RUN:
        _show_dry_run_button(answer, form, plan)
        return
    if is_staged:
        st.caption(f"Puts the result of the dry run on {code(plan.target)} as it is.")
    chosen = st.selectbox(
        f"If {code(plan.target)} gets new commits meanwhile", list(_RETRIES), key="merge-wait",
        help="It tries again only while the conflicts and the decisions on them stay the same.",
    )  # fmt: skip
    again, wait = _RETRIES[chosen]
    ask_for_reason(answer, f"{plan.source}-{plan.target}")
    approval = ask_for_approval(verdict, answer, plan.target if is_protected else None)
    agreed = Agreement(override_gate=approval.override, plan_again=again, wait=wait)
    said = {"reason": approval.reason, **agreed.encode()}
    usual = "Merge this result" if is_staged else f"Merge into {plain(plan.target)}"
    label = label_of_merge(verdict, usual)
    if confirmed(label, icon=form.icon, key="run-merge_branch", refused=approval.refused):
        with guarded("The merge was not started. Nothing was changed."):
            given = {
                **form.arguments,
                **said,
                **_seen(form, plan, again=again),
                **Agreement(plan_id=answer.plan_id).encode(),
            }
            if begin_merge(form.procedure, given, answer.plan_id, plan.source, plan.target):
                st.rerun()


def _mode() -> Mode:
    chosen = st.segmented_control(
        "How to begin", list(Mode), default=Mode.DRY_RUN, key="merge-mode", required=True,
        format_func=str, label_visibility="collapsed",
    )  # fmt: skip
    return Mode(chosen or Mode.DRY_RUN)


def _seen(form: Form, plan: Plan, *, again: bool) -> dict[str, Argument]:
    """Return the agreement for a run: the heads of the preview, and the decisions."""
    heads = PlannedHeads.of_plan(plan)
    return Agreement(
        heads=None if heads is None else heads.to_text(),
        decisions=reads.decisions(form.arguments) if again else None,
    ).encode()


def _show_dry_run_button(preview: Preview, form: Form, plan: Plan) -> None:
    st.caption(
        f"Builds the merged result and checks it; {code(plan.target)} is not changed. You can "
        f"merge that result within {STAGED_KEPT_HOURS} hours."
    )
    ask_for_reason(preview, f"{plan.source}-{plan.target}")
    refused = lacks_role(preview.role) or (None if preview.can_run else IN_THE_WAY)
    if confirmed("Start dry run", icon=":material/science:", key="run-dry", refused=refused):
        with guarded("The dry run was not started. Nothing was changed."):
            given = {
                **form.arguments,
                **_seen(form, plan, again=False),
                **Agreement(plan_id=preview.plan_id).encode(),
            }
            if begin_dry_run(DryRunRequest.procedure, given, preview.plan_id):
                st.rerun()
