"""The resolver: the conflicts of one merge, the draft of what settles them, and the way back."""

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.merge.plan import blocks_of, waits_for_rows
from branch_console.procedures.merge.conflicts import Resolution
from branch_console_app import reads, state
from branch_console_app.models.merge.resolver import partition_texts
from branch_console_app.models.parts.command_line import POLICY_FILE
from branch_console_app.models.parts.wording import code, plural, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.plan import merge_arguments
from branch_console_app.widgets.merge.resolver import (
    Resolver,
    groups_by_partition,
    last_error,
    pick_group,
    picked_group,
    show_cells,
    show_groups,
)
from branch_console_app.widgets.merge.resolver_rules import show_policy_file, show_rest, show_rules
from branch_console_app.widgets.merge.row_conflicts import (
    MERGE_VIEW,
    compare_button,
    is_comparing,
    show_comparison,
    unresolved_words,
)
from branch_console_app.widgets.merge.sides import missing_side, show_missing_side
from branch_console_app.widgets.parts.problem import guarded, show_problem
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header


def show() -> None:
    """Draw the page."""
    picked = pick_table(PageName.CONFLICTS)
    if picked is None:
        return
    identifier, summary = picked
    show_table_header(identifier, summary, PageName.CONFLICTS, title="Settle conflicts of")
    source, target = state.parameter("source"), state.parameter("target") or MAIN_BRANCH
    if source is None:
        st.info("Conflicts belong to a merge: choose its branches first.")
        state.link(PageName.MERGE, "Merge", here(), icon=":material/merge:")
        return
    missing = missing_side(summary)
    if missing is not None:
        show_missing_side(missing, summary, PageName.CONFLICTS)
        return
    arguments = merge_arguments(identifier, source, target)
    with guarded("The conflicts cannot be shown; nothing changed."):
        with st.skeleton(height=240):
            resolution = reads.resolution(arguments)
            settled = reads.settled_conflicts(identifier, resolution.plan.id, resolution.draft)
            schema = reads.table(identifier.on_branch(target)).schema
        if _is_stale(resolution):
            return
        if settled is None:
            stopped = blocks_of(resolution.plan)
            if waits_for_rows(resolution.plan):
                show_comparison(resolution)
                if not is_comparing(resolution):
                    compare_button(resolution, arguments)
            elif stopped:
                st.warning(
                    f"**{code(source)} cannot be merged into {code(target)}.** "
                    + " ".join(prose(each.text) for each in stopped)
                )
                _show_way_back()
            else:
                st.info("**No row conflicts:** this merge has no rows to compare.")
                _show_way_back()
            return
        partitions = partition_texts(settled, schema)
        resolver = Resolver(resolution, arguments, settled, partitions, schema)
        _show(resolver, identifier)


def _show(resolver: Resolver, identifier: Identifier) -> None:
    plan, settled = resolver.resolution.plan, resolver.settled
    open_number = settled["take"].null_count
    with st.container(
        horizontal=True, gap="medium", vertical_alignment="center", key="line-resolve"
    ):
        st.markdown(
            f"Source {code(plan.source)} → target {code(plan.target)}: "
            + unresolved_words(settled),
            width="content",
        )
        st.space("stretch")
        _show_way_back(is_settled=not open_number and settled.num_rows > 0)
    error = last_error()
    if error is not None:
        show_problem(error, headline="The choice was not kept.")
    if not settled.num_rows:
        return
    groups = groups_by_partition(resolver)
    group = picked_group(groups)
    left, right = st.columns([1.2, 3.4], gap="medium")
    with left:
        show_groups(resolver, groups, group)
    with right:
        pick_group(resolver, groups, group)
        show_rest(resolver, group)
        show_cells(resolver, group)
    rules, file = st.columns([2.2, 1], gap="medium")
    with rules:
        show_rules(resolver)
    with file:
        show_policy_file(resolver)
    words = ("conflicts", plan.source, "--table", plan.table, "--to", plan.target)
    policy = ("--policy", POLICY_FILE) if resolver.resolution.draft.decisions else ()
    show_same_as(*words, *policy)


def _is_stale(resolution: Resolution) -> bool:
    """Say so where the address was made for another plan."""
    named = state.parameter("plan")
    if named is None or named == resolution.plan.id:
        return False
    plan, decisions = resolution.plan, plural(resolution.draft.decisions, "decision")
    st.warning(
        f"**This link is out of date: {code(plan.source)} or {code(plan.target)} has moved, or "
        f"rows are compared by another rule.** Kept: {decisions}; where a value changed since, "
        "check them again. `HEAD_MOVED`",
        icon=":material/update:",
    )
    st.button(
        "Plan again", icon=":material/refresh:", key="resolve-plan-again",
        on_click=state.set_parameter, args=("plan", plan.id),
    )  # fmt: skip
    return True


def _show_way_back(*, is_settled: bool = False) -> None:
    """Lead to the merge; once nothing is open, that is the next step."""
    view = state.view_of(*MERGE_VIEW)
    if is_settled:
        if st.button(
            "Continue to merge", type="primary", icon=":material/merge:", key="resolve-continue"
        ):
            state.go_to(PageName.MERGE, here(), **view)
        return
    state.link(PageName.MERGE, "Back to the merge", here(), view=view, icon=":material/arrow_back:")
