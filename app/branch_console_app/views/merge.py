"""Merge, guided: choose, preview, see what collides, confirm. Fast-forward is one way of it."""

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.merge.plan import FastForwardPlan
from branch_console.procedures.browse.page_values import BranchItem, TableSummary
from branch_console_app import reads, state
from branch_console_app.models.merge.eligibility import Circumstances, checks_of_merge
from branch_console_app.models.merge.fast_forward import FastForwardPreview
from branch_console_app.models.merge.merge_facts import MergeFacts
from branch_console_app.models.merge.merge_preview import HOW_WORDS, How, MergePreview
from branch_console_app.models.parts.wording import code, count
from branch_console_app.state import PageName
from branch_console_app.views import catalog_merge
from branch_console_app.widgets.merge.fast_forward import show_fast_forward
from branch_console_app.widgets.merge.plan import merge_arguments, show_merge, show_options
from branch_console_app.widgets.merge.row_conflicts import rows_of_merge
from branch_console_app.widgets.merge.sides import missing_side, show_missing_side
from branch_console_app.widgets.parts.callbacks import with_reason
from branch_console_app.widgets.parts.confirm import lacks_role
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.rows import block
from branch_console_app.widgets.parts.table_picker import (
    here,
    is_open_warehouse,
    pick_table,
    show_table_header,
)


def show() -> None:
    """Draw the page."""
    if catalog_merge.is_asked_for():
        place = here()
        if is_open_warehouse(place):
            catalog_merge.show(place)
        return
    picked = pick_table(PageName.MERGE)
    if picked is None:
        return
    identifier, summary = picked
    source, target = state.parameter("source"), state.parameter("target") or MAIN_BRANCH
    how = state.parameter("how") or How.AUTO
    title = "Fast-forward" if how == How.FAST_FORWARD else "Merge"
    missing = missing_side(summary)
    if missing is not None:
        show_table_header(identifier, summary, PageName.MERGE, title=title)
        show_missing_side(missing, summary, PageName.MERGE)
        return
    with st.skeleton(height=200):
        items = {item.name: item for item in reads.branches(identifier, target)}
    show_table_header(identifier, summary, PageName.MERGE, title=title)
    _show_choice(items, source, target, how)
    if len(items) == 1:
        _show_no_branch(summary)
        return
    if how not in list(How):
        st.warning(f"The address asks for a way to merge that there is not: {code(how)}.")
        return
    if source is None or source == target:
        st.info("Choose two branches: the source brings its changes, the target takes them over.")
        return
    with guarded("The preview cannot be made; nothing changed."):
        if how == How.FAST_FORWARD:
            _show_forward(identifier, source, target)
            return
        with st.skeleton(height=240):
            plain = merge_arguments(identifier, source, target)
            resolution = reads.resolution(plain)
            draft = resolution.draft
            policy = draft.policy.to_yaml() if draft.decisions else None
            arguments = with_reason({**plain, "policy": policy}, f"{source}-{target}")
            decision = reads.merge(arguments)
        if isinstance(decision.plan, FastForwardPlan) and how == How.AUTO:
            _show_forward(identifier, source, target)
            return
        settled = reads.settled_conflicts(identifier, resolution.plan.id, draft)
        versus = items[source].versus
        preview = MergePreview.of(
            decision,
            items[target].schema,
            facts=MergeFacts(
                rows=rows_of_merge(resolution, settled),
                ahead=versus.ahead if versus else None,
                decisions=draft.decisions,
            ),
        )
        circumstances = Circumstances(
            source=items[source],
            target=items[target],
            source_table=reads.table(identifier.on_branch(source)),
            target_table=reads.table(identifier.on_branch(target)),
            lacks_role=lacks_role(decision.preview.role),
        )
        checks = checks_of_merge(decision, circumstances)
        show_merge(preview, checks, arguments, resolution, settled)


def _show_forward(identifier: Identifier, source: str, target: str) -> None:
    with st.skeleton(height=240):
        plan = reads.fast_forward(identifier, source, target)
    show_fast_forward(FastForwardPreview.of(plan), identifier)


def _show_no_branch(summary: TableSummary) -> None:
    name = summary.identifier.table_name
    st.info(f"{code(name)} has no branch besides main, so nothing can be brought to it.")
    st.code(f"branch-console create-branch {name} NAME", language="bash")


def _show_choice(items: dict[str, BranchItem], source: str | None, target: str, how: str) -> None:
    block(1, "Choose")
    others = [name for name in items if name != target]
    sources = sorted(others, key=lambda name: _rank(items[name]))
    words = {name: _branch_words(items[name]) for name in sources}
    # The browser names an option by its words: where these change, the box must be another one.
    source_key = f"ff-source-{words.get(source or '')}-{target}"
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        st.selectbox(
            "Source: the branch that comes in", sources,
            index=sources.index(source) if source in sources else None,
            key=source_key, on_change=_choose, args=("source", source_key, sources),
            placeholder="Choose a branch", format_func=words.__getitem__, width=290,
            filter_mode="contains",
        )  # fmt: skip
        st.button(
            "", icon=":material/swap_horiz:", help="Swap source and target", key="ff-swap",
            on_click=_swap, args=(source, target), disabled=source is None,
        )  # fmt: skip
        targets = list(items)
        st.selectbox(
            "Target: the branch that changes", targets, index=targets.index(target),
            key=f"ff-target-{source}-{target}", on_change=_choose,
            args=("target", f"ff-target-{source}-{target}", targets), width=290,
            filter_mode="contains",
        )  # fmt: skip
        st.segmented_control(
            "How", list(How), default=how if how in list(How) else None, key=f"merge-how-{how}",
            format_func=lambda each: HOW_WORDS[each], on_change=_choose, required=True,
            args=("how", f"merge-how-{how}", list(How)),
        )  # fmt: skip
    if how != How.FAST_FORWARD:
        show_options()


def _rank(item: BranchItem) -> tuple[bool, bool, str]:
    """Put first what can be brought in without ado."""
    versus = item.versus
    ahead = bool(versus and versus.ahead)
    behind = bool(versus and versus.behind)
    return (not ahead, behind, item.name)


def _branch_words(item: BranchItem) -> str:
    versus = item.versus
    if item.error is not None:
        return f"{item.name} (cannot be read)"
    if versus is None or versus.ahead is None or versus.behind is None:
        return item.name
    if not versus.ahead and not versus.behind:
        return f"{item.name} (even)"
    return f"{item.name} ({count(versus.ahead)} ahead, {count(versus.behind)} behind)"


def _choose(name: str, key: str, known: list[str] | list[How]) -> None:
    chosen = state.value_of(key)
    if chosen in known:
        state.set_parameter(name, chosen)


def _swap(source: str, target: str) -> None:
    state.set_parameters({"source": target, "target": source})
