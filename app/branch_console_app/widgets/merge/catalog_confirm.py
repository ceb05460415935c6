"""The one confirmation of a merge of the catalog: what it counts, and the button that runs it."""

from collections.abc import Mapping
from typing import Final

import streamlit as st

from branch_console.operations.agreement import Agreement
from branch_console.procedures.catalog_merge.catalog_resolution import CatalogResolution
from branch_console_app import state
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.merge.catalog_checks import checks_of_catalog_merge
from branch_console_app.models.merge.catalog_merge import MergeCounts
from branch_console_app.models.merge.confirmation import Confirmation
from branch_console_app.models.merge.merge_state import (
    MergeState,
    NextStep,
)
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code
from branch_console_app.widgets.merge.confirm import STOP, TRY_AGAIN
from branch_console_app.widgets.merge.confirmation import (
    ask_for_approval,
    confirmed,
    label_of_merge,
    show_confirmation,
)
from branch_console_app.widgets.merge.verdict import draw_verdict
from branch_console_app.widgets.parts.confirm import (
    lacks_role,
    start_once,
)
from branch_console_app.widgets.parts.gates import (
    override_reason,
)
from branch_console_app.widgets.parts.problem import guarded

_RETRIES: Final[Mapping[str, bool]] = {STOP: False, TRY_AGAIN: True}


def show_catalog_confirm(
    resolution: CatalogResolution,
    verdict: MergeState,
    check: HeadCheck | None,
    settled: int,
    form: Form,
    place: Location,
) -> None:
    """Draw the dialog: what happens, the checks, what stays, how far undo reaches, the button.

    Args:
        resolution: The merge, and the preview of its command.
        verdict: The verdict of the page.
        check: The result of the quality rules for this merge; None if it is not known.
        settled: How many conflicts were decided on.
        form: The command, with the policy that settles conflicts.
        place: The location that the job page keeps.
    """
    if NextStep.MERGE not in verdict.steps and not verdict.takes_override:
        draw_verdict(verdict)
        return
    plan, preview = resolution.plan, resolution.preview
    counts = MergeCounts.of(plan, state.now_millis())
    checks = checks_of_catalog_merge(
        plan,
        preview,
        counts,
        settled=settled,
        check=check,
        lacks_role=lacks_role(preview.role),
    )
    show_confirmation(Confirmation.of_catalog(counts, preview, checks))
    chosen = st.selectbox(
        f"If a table of {code(plan.target)} gets new commits meanwhile", list(_RETRIES),
        key="merge-wait",
        help="It tries again only while the conflicts and the decisions on them stay the same.",
    )  # fmt: skip
    has_rules = any(each.rules_of is not None for each in preview.consequences)
    # The rules were not run yet: somebody may say now why the merge goes on if one fails.
    beforehand = override_reason() if has_rules and not verdict.takes_override else None
    approval = ask_for_approval(verdict, preview, None)
    agreed = Agreement(
        plan_id=preview.plan_id,
        override_gate=approval.override or beforehand,
        plan_again=_RETRIES[chosen],
    )
    label, key = label_of_merge(verdict, form.label), f"run-{form.procedure}"
    if confirmed(label, icon=form.icon, key=key, refused=approval.refused):
        with guarded("The job was not started; nothing changed."):
            given = {**form.arguments, "reason": approval.reason, **agreed.encode()}
            start_once(form.procedure, given, place, subject=preview.plan_id)
