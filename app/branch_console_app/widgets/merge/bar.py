"""The head of a merge, always in view: both branches, the verdict, and the buttons it leads to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.jobs.progress import JobState
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import Argument
from branch_console.procedures.merge.conflicts import Resolution
from branch_console_app import reads, state
from branch_console_app.models.merge.merge_facts import MergeFacts
from branch_console_app.models.merge.merge_preview import SettleOption
from branch_console_app.models.merge.merge_state import (
    MergeAction,
    MergeStanding,
    MergeState,
    NextStep,
)
from branch_console_app.models.merge.merge_tabs import MergeTab
from branch_console_app.models.merge.remedies import CheckRemedy
from branch_console_app.models.merge.resolver import Group
from branch_console_app.models.parts.actions import DO, WHAT, Action
from branch_console_app.models.parts.wording import code, count, prose, shortened
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.checking import forget_check
from branch_console_app.widgets.merge.draft_jobs import forget_dry_run, forget_jobs
from branch_console_app.widgets.merge.row_conflicts import (
    MERGE_VIEW,
    compare_button,
    resolver_view,
)
from branch_console_app.widgets.merge.verdict import draw_verdict, update_button
from branch_console_app.widgets.parts.dialogs import offer, open_dialog
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.table_picker import here

TAB = "tab"
_LONGEST_NAME = 40
_ICONS = {
    NextStep.CHECK: "refresh",
    NextStep.VIEW_JOB: "checklist",
    NextStep.CANCEL: "cancel",
    NextStep.VIEW_RECEIPT: "receipt_long",
    NextStep.REVIEW: "refresh",
    NextStep.RESUME: "resume",
    NextStep.SHOW_COMMITS: "timeline",
    NextStep.CHOOSE_SOURCE: "account_tree",
    NextStep.DROP_SOURCE: "delete",
    NextStep.RELEASE_SOURCE: "delete_forever",
    NextStep.REMEDY: "arrow_forward",
    NextStep.COMPARE_SIDES: "compare_arrows",
    NextStep.SETTLE: "call_split",
    NextStep.VIEW_CONFLICTS: "call_split",
    NextStep.CHANGE_DECISIONS: "call_split",
    NextStep.CHANGE_OPTIONS: "undo",
    NextStep.SHOW_ROWS: "table_rows",
    NextStep.OVERRIDE: "gpp_maybe",
    NextStep.PUBLISH: "publish",
    NextStep.DISCARD: "delete_sweep",
    NextStep.MERGE: "merge",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """A merge that nobody has saved: the address is all there is.

    Attributes:
        arguments: The arguments of the merge, without a policy.
        resolution: The conflicts to decide on; None for a fast-forward.
        has_file_conflicts: Whether conflicts of files stop it, which no resolver settles.
        groups: The groups of the conflicts of rows; a single one is opened in the resolver at once.
        settlings: The options that settle conflicts of files, the best first.
        judge: Returns the verdict anew, with jobs that went on.
        facts: The facts that the verdict depends on.
    """

    identifier: Identifier
    source: BranchItem
    target: BranchItem
    arguments: dict[str, Argument]
    resolution: Resolution | None
    has_file_conflicts: bool
    settlings: Sequence[SettleOption] = ()
    groups: Sequence[Group] = ()
    judge: Callable[[MergeFacts], MergeState]
    facts: MergeFacts


def show_sides(
    source: BranchItem | None,
    target: BranchItem,
    *,
    pick_source: Callable[[], None],
    pick_target: Callable[[], None],
) -> None:
    """Draw which branch is merged into which, with their standing; each opens a choice of another.

    Args:
        source: The source; None if none is chosen yet.
        target: The target.
        pick_source: Draws the choice of another source.
        pick_target: Draws the choice of another target.
    """
    if source is None:
        st.markdown("**Into**", width="content")
    else:
        _show_side("source", f"{_name(source.name)} {_standing(source)}", source, pick_source)
        st.markdown("→", width="content")
    is_protected = " :gray[(protected)]" if target.protection is not None else ""
    _show_side("target", f"{_name(target.name)}{is_protected}", target, pick_target)


def _show_side(side: str, label: str, item: BranchItem, pick: Callable[[], None]) -> None:
    whole = f"{code(item.name)}: " if len(item.name) > _LONGEST_NAME else ""
    hint = f"{whole}choose another {side}" if whole else f"Choose another {side}"
    with st.popover(label, type="tertiary", help=hint):
        pick()


def show_state(verdict: MergeState, draft: Draft) -> None:
    """Draw the verdict and its buttons; a job that it tells of is followed."""
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key="merge-verdict"
    ):
        if verdict.is_followed and verdict.job_id is not None:
            st.fragment(_follow, run_every=1.0)(verdict.job_id, verdict.steps, draft)
        else:
            draw_verdict(verdict)
        _show_more(draft, verdict)
        if verdict.secondary is not None:
            _show_action(verdict.secondary, verdict, draft, is_primary=False)
        if verdict.primary is not None:
            _show_action(verdict.primary, verdict, draft, is_primary=True)


def _show_more(draft: Draft, verdict: MergeState) -> None:
    """Draw what can be done with a draft whatever its verdict is."""
    source, target = draft.source.name, draft.target.name
    with st.popover("More", key="merge-more"):
        st.button(
            "Swap source and target", icon=":material/swap_horiz:", key="more-swap",
            type="tertiary", on_click=swap_sides, args=(source, target),
        )  # fmt: skip
        st.button(
            "Choose other branches", icon=":material/close:", key="more-close", type="tertiary",
            help="Lists the branches again. Decisions on conflicts are kept.",
            on_click=_choose_another,
        )  # fmt: skip
        if verdict.standing is MergeStanding.RULES_UNCHECKED and draft.facts.gap is None:
            offer(
                Action.MERGE, "Override…", key="more-override", is_link=True,
                icon=f":material/{_ICONS[NextStep.OVERRIDE]}:",
            )  # fmt: skip
        st.caption("This address opens this merge:")
        st.code(state.address(), language=None, wrap_lines=True)


def swap_sides(source: str, target: str) -> None:
    """Have the merge go the other way: the callback of a button."""
    state.set_parameters({**source_view(target), "target": source})


def source_view(source: str) -> dict[str, str | None]:
    """Return the parameters that choose a source: the path on top of the page names it as well."""
    return {"source": source, "branch": source, "snap": None}


def open_tab(tab: MergeTab) -> None:
    """Have a tab stand open: the callback of a button."""
    state.set_parameter(TAB, tab)


def _follow(job_id: str, drawn: tuple[NextStep | None, NextStep | None], draft: Draft) -> None:
    job = reads.job(job_id)
    verdict = draft.judge(draft.facts.with_job(job))
    if job.state.is_over:
        reads.forget()
        st.rerun()
    if verdict.steps != drawn:
        # The buttons are beside this fragment: the page draws them again with the sentence.
        st.rerun()
    draw_verdict(verdict)
    worker = reads.worker()
    if job.state is JobState.QUEUED and worker is not None and worker.other_store:
        st.caption(prose(job.message))


def _show_action(
    action: MergeAction, verdict: MergeState, draft: Draft, *, is_primary: bool
) -> None:
    source, target = draft.source.name, draft.target.name
    place = here().at_branch(target)
    match action.step:
        case NextStep.UPDATE:
            update_button()
        case NextStep.COMPARE:
            assert draft.resolution is not None
            compare_button(draft.resolution, draft.arguments)
        case NextStep.COPY_LINK:
            with st.popover(
                action.label, icon=":material/link:", type="primary" if is_primary else "secondary"
            ):
                st.caption("This address opens this merge.")
                st.code(state.address(), language=None, wrap_lines=True)
        case NextStep.MERGE | NextStep.PUBLISH | NextStep.OVERRIDE:
            offer(
                Action.MERGE, action.label, key=_key(action), is_primary=is_primary,
                icon=f":material/{_ICONS[action.step]}:",
            )  # fmt: skip
        case NextStep.UNDO:
            offer(
                Action.UNDO, action.label, key="undo", icon=":material/undo:", what=verdict.job_id
            )
        case NextStep.DISCARD:
            _button(action, is_primary=is_primary, then=lambda: _discard(draft))
        case NextStep.CANCEL:
            _button(action, is_primary=is_primary, then=lambda: _cancel(verdict.job_id))
        case NextStep.RESUME:
            _button(action, is_primary=is_primary, then=lambda: _resume(verdict.job_id))
        case NextStep.CHECK:
            _button(action, is_primary=is_primary, then=forget_check)
        case NextStep.REVIEW:
            _button(action, is_primary=is_primary, then=forget_jobs)
        case NextStep.CHOOSE_SOURCE:
            _button(action, is_primary=is_primary, then=_choose_another)
        case NextStep.SHOW_ROWS:
            offer(
                Action.FAILING_ROWS, action.label, key=_key(action), is_primary=is_primary,
                icon=f":material/{_ICONS[action.step]}:", what=verdict.job_id,
            )  # fmt: skip
        case NextStep.SETTLE | NextStep.VIEW_CONFLICTS | NextStep.CHANGE_DECISIONS:
            best = draft.settlings[0] if draft.settlings else None
            is_open = MergeTab.parse(state.parameter(TAB)) is MergeTab.CONFLICTS
            if is_open and best is not None and action.step is NextStep.SETTLE:
                settle_button(best, key="settle-conflicts", is_primary=is_primary)
            elif draft.has_file_conflicts or draft.resolution is None:
                _button(
                    action, is_primary=is_primary, then=lambda: open_tab(MergeTab.CONFLICTS),
                    key="settle-conflicts",
                )  # fmt: skip
            elif _button(action, is_primary=is_primary, key="settle-conflicts"):
                only = draft.groups[0] if len(draft.groups) == 1 else None
                state.go_to(PageName.CONFLICTS, here(), **resolver_view(draft.resolution, only))
        case NextStep.CHANGE_OPTIONS:
            settled = draft.facts.settled
            view = () if settled is None else settled.view
            _button(action, is_primary=is_primary, then=lambda: unset_options(view))
        case NextStep.VIEW_JOB:
            if _button(action, is_primary=is_primary):
                state.go_to(PageName.JOB, place, id=verdict.job_id)
        case NextStep.VIEW_RECEIPT:
            if _button(action, is_primary=is_primary):
                state.go_to(PageName.RECEIPT, place, id=verdict.job_id)
        case NextStep.SHOW_COMMITS:
            if _button(action, is_primary=is_primary):
                state.go_to(PageName.SNAPSHOTS, place)
        case NextStep.DROP_SOURCE | NextStep.RELEASE_SOURCE:
            if _button(action, is_primary=is_primary):
                is_rescue = action.step is NextStep.RELEASE_SOURCE
                dialog = {DO: str(Action.RELEASE if is_rescue else Action.DROP), WHAT: source}
                state.go_to(PageName.BRANCHES, here().at_branch(source), **dialog)
        case NextStep.COMPARE_SIDES:
            if _button(action, is_primary=is_primary):
                state.go_to(PageName.COMPARE, place, cmp_a=target, cmp_b=source)
        case NextStep.REMEDY:
            if _button(action, is_primary=is_primary):
                go_to_remedy(CheckRemedy(action.label), source, target)
        case _:
            assert_never(action.step)


def settle_button(option: SettleOption, *, key: str, is_primary: bool) -> None:
    """Draw the button that settles conflicts of files by an option of the merge."""
    st.button(
        f"Settle: {option.label}", icon=":material/call_split:", key=key,
        type="primary" if is_primary else "secondary",
        on_click=state.set_parameters, args=(dict(option.view),),
    )  # fmt: skip


def unset_options(names: Sequence[str]) -> None:
    """Have options of the merge settle no conflicts any more: the callback of a button."""
    state.set_parameters({**dict.fromkeys(names), TAB: MergeTab.CONFLICTS})


def go_to_remedy(remedy: CheckRemedy, source: str, target: str, job_id: str | None = None) -> None:
    """Open the page, or the dialog of this page, that clears a block.

    Args:
        remedy: The place.
        source: The source.
        target: The target.
        job_id: The job that the verdict is about.
    """
    view = state.view_of(*MERGE_VIEW)
    match remedy:
        case CheckRemedy.JOBS:
            state.go_to(PageName.JOBS, here())
        case CheckRemedy.PIN:
            pinned = {DO: str(Action.PIN), WHAT: source}
            state.go_to(PageName.BRANCHES, here().at_branch(source), **pinned)
        case CheckRemedy.BRANCH:
            state.go_to(PageName.BRANCHES, here().at_branch(source))
        case CheckRemedy.BOTH_SIDES:
            state.go_to(PageName.COMPARE, here().at_branch(target), cmp_a=target, cmp_b=source)
        case CheckRemedy.FAST_FORWARD:
            state.go_to(PageName.MERGE, here(), **{**view, "how": "ff"})
        case CheckRemedy.MERGE:
            state.go_to(PageName.MERGE, here(), **{**view, "how": None})
        case CheckRemedy.SETTLE:
            state.go_to(PageName.MERGE, here(), **{**view, TAB: MergeTab.CONFLICTS})
        case CheckRemedy.DRY_RUN:
            open_dialog(Action.MERGE)
            st.rerun()
        case CheckRemedy.ROWS:
            open_dialog(Action.FAILING_ROWS, job_id)
            st.rerun()
        case _:
            assert_never(remedy)


def _button(
    action: MergeAction,
    *,
    is_primary: bool,
    then: Callable[[], None] | None = None,
    key: str | None = None,
) -> bool:
    return st.button(
        action.label, icon=f":material/{_ICONS[action.step]}:", on_click=then,
        key=key or _key(action), type="primary" if is_primary else "secondary",
    )  # fmt: skip


def _key(action: MergeAction) -> str:
    return f"merge-{action.step.name.lower()}"


def _choose_another() -> None:
    state.set_parameters({"source": None, "how": None, TAB: None})
    forget_jobs()


def _cancel(job_id: str | None) -> None:
    with guarded("The job was not cancelled."):
        get_services().cancel_job(job_id or "")


def _discard(draft: Draft) -> None:
    dry_run = draft.facts.dry_run
    if dry_run is None:
        return
    with guarded("The staged result was not discarded."):
        get_services().discard_result(draft.arguments, dry_run.plan_id)
        forget_dry_run()


def _resume(job_id: str | None) -> None:
    with guarded("The job was not resumed."):
        get_services().resume_job(job_id or "")


def _name(name: str) -> str:
    return f"**{code(shortened(name, _LONGEST_NAME))}**"


def _standing(item: BranchItem) -> str:
    versus = item.versus
    if versus is None or versus.ahead is None or versus.behind is None:
        return ""
    return f":gray[({count(versus.ahead)} ahead, {count(versus.behind)} behind)]"
