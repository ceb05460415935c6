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
    MergeStanding,
    MergeState,
    NextStep,
)
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code
from branch_console_app.widgets.merge.confirm import STOP, TRY_AGAIN
from branch_console_app.widgets.merge.confirmation import confirmed, show_confirmation
from branch_console_app.widgets.merge.verdict import draw_verdict
from branch_console_app.widgets.parts.confirm import (
    IN_THE_WAY,
    lacks_role,
    reason_field,
    start_once,
)
from branch_console_app.widgets.parts.gates import (
    NO_REASON,
    OVERRIDE,
    ask_for_override,
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
    is_blocked = verdict.standing is MergeStanding.GATE_RED
    if NextStep.MERGE not in verdict.steps and not is_blocked:
        draw_verdict(verdict)
        return
    plan, preview = resolution.plan, resolution.preview
    role = lacks_role(preview.role)
    counts = MergeCounts.of(plan, state.now_millis())
    checks = checks_of_catalog_merge(
        plan, preview, counts, settled=settled, check=check, lacks_role=role
    )
    show_confirmation(Confirmation.of_catalog(counts, preview, checks))
    chosen = st.selectbox(
        f"If a table of {code(plan.target)} gets new commits meanwhile", list(_RETRIES),
        key="merge-wait",
        help="It tries again only while the conflicts and the decisions on them stay the same.",
    )  # fmt: skip
    has_rules = any(each.rules_of is not None for each in preview.consequences)
    override = ask_for_override() if is_blocked else override_reason() if has_rules else None
    agreed = Agreement(plan_id=preview.plan_id, override_gate=override, plan_again=_RETRIES[chosen])
    reason = override if is_blocked else reason_field()
    refused = role or (None if preview.can_run else IN_THE_WAY)
    if is_blocked:
        refused = refused or (None if override else NO_REASON)
    label = OVERRIDE if is_blocked else form.label
    if confirmed(label, icon=form.icon, key=f"run-{form.procedure}", refused=refused):
        with guarded("The job was not started; nothing changed."):
            given = {**form.arguments, "reason": reason, **agreed.encode()}
            start_once(form.procedure, given, place, subject=preview.plan_id)
