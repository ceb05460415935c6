"""The one confirmation of a merge of the catalog: what it counts, and the button that runs it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import streamlit as st

from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.operations.agreement import Agreement
from branch_console.procedures.call.consequence import Preview, Weight
from branch_console_app import reads, state
from branch_console_app.models.merge.catalog_merge import MergeCounts
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, listed, plain, plural, prose
from branch_console_app.widgets.merge.confirm import STOP, TRY_AGAIN
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.gates import override_reason
from branch_console_app.widgets.parts.preview import show_button

_RETRIES: Final[Mapping[str, bool]] = {STOP: False, TRY_AGAIN: True}
_MOST_BLOCKS = 3
_MOST_RULES = 5


def show_catalog_confirm(
    plan: CatalogMergePlan, preview: Preview, form: Form, place: Location
) -> None:
    """Draw the dialog: what happens, what stays, how far undo reaches, and the button.

    Args:
        plan: The merge.
        preview: The preview of its command.
        form: The command, with the policy that settles conflicts.
        place: The location that the job page keeps.
    """
    target = code(plan.target)
    counts = MergeCounts.of(plan, state.now_millis())
    st.markdown(f"**What happens on {target}**")
    st.markdown("\n".join(f"- {plain(part)}" for part in counts.parts()))
    st.markdown(
        f"All of it arrives, or none of it. {code(plan.source)} and every earlier snapshot stay."
    )
    if counts.busy:
        st.warning(
            f"{listed([code(each) for each in counts.busy])} got a commit in the last ten minutes. "
            "If another one arrives while this merge publishes, it is planned again or taken back.",
            icon=":material/schedule:",
        )
    lead = "" if preview.undo.startswith("Undo") else "Undo: "
    st.caption(f":material/undo: {lead}{prose(preview.undo)}")
    blocks = [each for each in preview.consequences if each.weight is Weight.BLOCKS]
    for each in blocks[:_MOST_BLOCKS]:
        suffix = f" {code(each.kind)}" if each.kind else ""
        st.warning(f"{prose(each.text)}{suffix}", icon=":material/block:")
    judged = reads.rules_of_catalog_merge(plan)
    for each in judged[:_MOST_RULES]:
        st.caption(f":material/rule: {prose(each.text)}")
    if len(judged) > _MOST_RULES:
        st.caption(f"And by rules of {plural(len(judged) - _MOST_RULES, 'other table')}.")
    override = override_reason() if judged else None
    reason = reason_field()
    chosen = st.selectbox(
        f"If a table of {target} gets new commits meanwhile", list(_RETRIES), key="merge-wait",
        help="It tries again only while the conflicts and the decisions on them stay the same.",
    )  # fmt: skip
    given = Agreement(override_gate=override, plan_again=_RETRIES[chosen])
    said = {"reason": reason, **given.encode()}
    show_button(preview, replace(form, arguments={**form.arguments, **said}), place)
