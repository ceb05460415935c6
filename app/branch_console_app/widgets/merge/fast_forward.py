"""A fast-forward: what it adds, what it would remove, what blocks it, and its dialog."""

from collections.abc import Callable, Sequence
from typing import Final

import streamlit as st

from branch_console.diff.fast_forward import ForwardDecision, Verdict, WayOut
from branch_console.diff.rows.row_figure import NET_ROWS
from branch_console.format.identifier import Identifier
from branch_console.operations.agreement import Agreement
from branch_console.operations.branch_requests import FastForwardRequest
from branch_console.procedures.browse.page_values import BranchItem
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import Role
from branch_console_app import reads, state
from branch_console_app.models.merge.confirmation import Confirmation
from branch_console_app.models.merge.eligibility import (
    RULES,
    Check,
    CheckState,
    check_of_person,
    checks_of_rules,
)
from branch_console_app.models.merge.fast_forward import (
    FastForwardPreview,
    MovedCommits,
    tag_words,
)
from branch_console_app.models.merge.merge_facts import MergeAttempt, MergeFacts, judged_job
from branch_console_app.models.merge.merge_state import MergeState
from branch_console_app.models.merge.merge_tabs import MergeTab, tab_labels
from branch_console_app.models.parts.exactness import Figure, figure_of
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, count, listed, plain, prose
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.alternatives import show_both_sides, show_changed_rows
from branch_console_app.widgets.merge.commits import show_commits
from branch_console_app.widgets.merge.confirmation import (
    ask_for_approval,
    confirmed,
    label_of_merge,
    show_confirmation,
)
from branch_console_app.widgets.merge.draft_jobs import begin_merge
from branch_console_app.widgets.merge.eligibility import show_checks, show_short_checks
from branch_console_app.widgets.merge.merged import receipt_of_done, show_brought, show_merged
from branch_console_app.widgets.merge.plan import show_tabs
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.callbacks import ask_for_reason, show_left_out, with_reason
from branch_console_app.widgets.parts.confirm import (
    IN_THE_WAY,
    lacks_role,
    reason_field,
    start_once,
    typed_name,
)
from branch_console_app.widgets.parts.figures import show_figures
from branch_console_app.widgets.parts.gates import (
    override_field,
    show_judgement,
    show_rules,
)
from branch_console_app.widgets.parts.row_counts import show_row_counts
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here

PROCEDURE = "fast_forward"
_MOST_FIGURES: Final = 4


def show_fast_forward(
    preview: FastForwardPreview,
    identifier: Identifier,
    answer: Preview | None,
    verdict: MergeState,
    facts: MergeFacts,
    checks: Sequence[Check],
) -> FastForwardPreview:
    """Draw what a fast-forward would do, in tabs; the verdict stands above.

    Args:
        preview: The plan in words.
        identifier: The table.
        answer: The preview of the command; None if it is not offered.
        verdict: The verdict.
        facts: The facts that the verdict depends on.
        checks: The checks of it.

    Returns:
        The plan in words, with the rows that were counted.
    """
    plan, rules = preview.plan, reads.rules(identifier)
    labels = tab_labels(0, checks)
    tabs = show_tabs({tab: label for tab, label in labels.items() if tab is not MergeTab.CONFLICTS})
    with tabs[MergeTab.SUMMARY]:
        preview = _show_summary(preview, checks, identifier, answer, verdict, facts.merge)
    with tabs[MergeTab.CHANGES]:
        done = receipt_of_done(verdict, facts.merge)
        if done is None:
            _show_moves(preview)
        else:
            show_brought(done, identifier, plan.source, plan.target)
    with tabs[MergeTab.CHECKS]:
        show_checks(checks, plan.source, plan.target, verdict.job_id)
        job = judged_job(facts)
        if job is not None:
            show_judgement(job)
        elif rules is not None:
            show_rules(rules, "Quality rules", "They run on the result before it is merged.")
            _link_to_rules(plan)
    with tabs[MergeTab.DETAILS]:
        if plan.verdict is Verdict.REFUSED:
            _show_ways_out(preview, identifier)
        for note in plan.notes:
            st.caption(prose(note))
        _show_same_as(plan)
    return preview


def forward_preview(plan: ForwardDecision) -> Preview | None:
    """Return what the command would do; None if there is nothing to take over."""
    return _preview(plan) if plan.verdict is Verdict.FAST_FORWARD else None


def checks_of_forward(
    preview: FastForwardPreview,
    identifier: Identifier,
    answer: Preview | None,
    verdict: MergeState,
    facts: MergeFacts,
    target: BranchItem,
) -> tuple[Check, ...]:
    """Return the checks of a fast-forward into `target`, what fails first.

    The other arguments are those of `show_fast_forward`.
    """
    rules = reads.rules(identifier)
    of_rules = checks_of_rules(
        verdict, 0 if rules is None or answer is None else len(rules.rules), facts
    )
    receipt = receipt_of_done(verdict, facts.merge)
    moves = () if receipt is None else receipt.moves
    done = next((each for each in moves if each.branch == preview.plan.target), None)
    own = preview.checks_with(answer)
    if receipt is not None and done is not None:
        # Only what a replacement takes from the target goes to a rescue branch.
        own = preview.checks_of_done(done, is_replaced=receipt.rescue_branch is not None)
    found = [*own, *of_rules]
    if answer is not None and done is None:
        # Who may merge now is no condition of a merge that somebody did.
        found.append(check_of_person(target, lacks_role(answer.role)))
    return tuple(sorted(found, key=lambda check: check.standing))


def _show_summary(
    preview: FastForwardPreview,
    checks: Sequence[Check],
    identifier: Identifier,
    answer: Preview | None,
    verdict: MergeState,
    merge: MergeAttempt | None,
) -> FastForwardPreview:
    plan = preview.plan
    left, right = rows.two_panes()
    with left:
        show_merged(verdict, merge, identifier)
        if plan.verdict is not Verdict.UP_TO_DATE:
            _show_figures(preview)
            if plan.can_run and plan.target_head is not None and preview.arrives.needs_counting:
                found = show_row_counts(identifier, plan.target, plan.source, preview.counted_words)
                preview = preview.knowing(found)
        if preview.changes:
            undo = "" if answer is None else answer.undo
            _show_consequences(preview, undo, is_stopped=verdict.stops)
    with right:
        show_short_checks(checks)
        if any(each.name == RULES and each.standing is CheckState.NOT_RUN for each in checks):
            _link_to_rules(plan)
    return preview


def _link_to_rules(plan: ForwardDecision) -> None:
    """Link to the page that runs the rules: the result of a fast-forward is its source."""
    state.link(
        PageName.COMPARE, "Check the rules now", here(), icon=":material/rule:",
        view={"cmp_a": plan.target, "cmp_b": plan.source, "cmp_tab": "quality"},
    )  # fmt: skip


def _show_consequences(preview: FastForwardPreview, undo: str, *, is_stopped: bool) -> None:
    with st.container(border=True, key="card-summary"):
        left, right = st.columns(2, gap="medium")
        for pane, title, sentences in (
            (left, "What would happen" if is_stopped else "What happens", preview.changes),
            (right, "What stays", preview.stays),
        ):
            with pane:
                st.caption(title)
                for sentence in sentences:
                    st.markdown(sentence)
        if undo:
            st.caption(f":material/undo: {prose(undo)}")


def _show_figures(preview: FastForwardPreview) -> None:
    arrives, removes = preview.arrives, preview.removes
    counts = {
        "New commits": len(arrives.snapshots),
        "Commits that would leave": len(removes.snapshots),
        "Schema versions": len(arrives.schema_ids),
        "Tags": len(arrives.tags),
    }
    moved = figure_of(NET_ROWS, arrives.figure, is_change=True) if arrives.snapshots else None
    first, *others = (_number(label, each) for label, each in counts.items())
    deletes = _number("Deletes among them", arrives.figure.delete_records)
    shown = [each for each in (first, moved, deletes, *others) if each is not None]
    show_figures(shown[:_MOST_FIGURES])


def _number(label: str, number: int) -> Figure | None:
    return Figure(label=label, value=count(number)) if number else None


def _show_moves(preview: FastForwardPreview) -> None:
    # Below each other: half of a narrow page would cut off who committed, and when.
    plan = preview.plan
    target = code(plan.target)
    st.markdown(f"**New on** {target}")
    _show_moved(preview.arrives, "arrives", "Nothing arrives.")
    has_commits = plan.can_run and bool(preview.arrives.snapshots)
    if has_commits and plan.source_head is not None and plan.target_head is not None:
        show_changed_rows(plan.source, plan.source_head, plan.target, plan.target_head)
    st.markdown(f"**Removed from the history of** {target}")
    _show_moved(preview.removes, "removes", "Nothing: every snapshot, schema and tag stays.")
    if plan.can_run:
        show_both_sides(plan.source, plan.target)


def _show_moved(moved: MovedCommits, key: str, nothing: str) -> None:
    if moved.is_empty:
        st.caption(nothing)
        return
    if moved.snapshots:
        show_commits(moved, key)
    if moved.tags:
        st.markdown(f"Tags: {tag_words(moved.tags)}")
    if moved.schema_ids:
        st.markdown(f"Schemas: {listed([str(each) for each in moved.schema_ids], most=12)}")
    if moved.consumers:
        names = [f"{code(name)} (reads {at} next)" for name, at in moved.consumers]
        st.markdown(f"Consumers that would be rewound: {listed(names, most=8)}")


def show_forward_dialog(
    preview: FastForwardPreview,
    checks_with: Callable[[Preview], Sequence[Check]],
    *,
    is_protected: bool,
    verdict: MergeState,
) -> None:
    """Draw what a fast-forward would do, and the button that does it.

    Args:
        preview: The plan in words.
        checks_with: Returns the checks of it with the preview of the command.
        is_protected: Whether the name of the target has to be typed.
        verdict: The verdict of the page.
    """
    plan = preview.plan
    # The reason that stands in a field of this dialog belongs to the command.
    answer = forward_preview(plan)
    if answer is None:
        st.info(f"{preview.headline} {preview.detail}")
        return
    show_confirmation(Confirmation.of_forward(preview, answer, checks_with(answer)))
    ask_for_reason(answer, _subject(plan))
    approval = ask_for_approval(verdict, answer, plan.target if is_protected else None)
    label = label_of_merge(verdict, f"Merge into {plain(plan.target)}")
    if confirmed(label, icon=":material/fast_forward:", key="ff-run", refused=approval.refused):
        allowed = Agreement(override_gate=approval.override)
        given = {**_arguments(plan, reason=approval.reason), **allowed.encode()}
        if begin_merge(PROCEDURE, given, plan.id, plan.source, plan.target):
            st.rerun()


def _show_ways_out(preview: FastForwardPreview, identifier: Identifier) -> None:
    plan = preview.plan
    if WayOut.MERGE in preview.ways_out:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown("**Keep both.**", width="content")
            state.link(
                PageName.MERGE, "Merge three ways", here(),
                view={"source": plan.source, "target": plan.target}, icon=":material/merge:",
            )  # fmt: skip
            if WayOut.UPDATE in preview.ways_out:
                state.link(
                    PageName.MERGE, f"Merge {code(plan.target)} into {code(plan.source)} first",
                    here(), view={"source": plan.target, "target": plan.source},
                    icon=":material/sync_alt:",
                )  # fmt: skip
    if WayOut.COMPARE in preview.ways_out:
        show_both_sides(plan.source, plan.target)
    if WayOut.REPLACE in preview.ways_out and plan.can_replace:
        _show_replace(preview, identifier)


def _show_replace(preview: FastForwardPreview, identifier: Identifier) -> None:
    """Offer to replace the target: what goes stands above, the name has to be typed."""
    plan = preview.plan
    override = override_field(identifier)
    with st.expander(f"Replace {code(plan.target)} by {code(plan.source)}", key="ff-replace"):
        st.markdown(
            f"{code(plan.target)} gets the history of {code(plan.source)} in place of its own. The "
            f"{preview.removes.words} listed under *Changes* leave it. A rescue branch keeps them "
            "readable, and no data file is deleted."
        )
        answer = _preview(plan, force=True)
        show_left_out(answer)
        ask_for_reason(answer, _subject(plan))
        refused = lacks_role(Role.OPERATOR)
        blocked = None if answer.can_run else IN_THE_WAY
        confirmed = typed_name(f"replace-{plan.id}", plan.target)
        reason = reason_field("ff-force")
        if st.button(
            f"Replace {code(plan.target)}",
            icon=":material/warning:",
            disabled=(refused or blocked) is not None or not confirmed,
            help=refused or blocked,
            key="ff-force",
        ):
            allowed = Agreement(override_gate=override)
            given = {**_arguments(plan, force=True, reason=reason), **allowed.encode()}
            place = _place(identifier, plan)
            start_once(PROCEDURE, given, place, subject=f"{plan.id} force")
        if refused:
            st.caption(refused)


def _preview(plan: ForwardDecision, *, force: bool = False) -> Preview:
    return reads.preview(PROCEDURE, _arguments(plan, force=force))


def _arguments(
    plan: ForwardDecision, *, force: bool = False, reason: str | None = None
) -> dict[str, Argument]:
    """Return the arguments of the command, with why it goes on without callbacks."""
    request = FastForwardRequest(
        table=plan.table, source=plan.source, target=plan.target, force=force, reason=reason
    )
    arguments = {**request.encode(), **Agreement(plan_id=plan.id).encode()}
    return with_reason(arguments, _subject(plan))


def _subject(plan: ForwardDecision) -> str:
    return f"{plan.source}-{plan.target}"


def _place(identifier: Identifier, plan: ForwardDecision) -> Location:
    return here().at_table(identifier.database, identifier.table).at_branch(plan.target)


def _show_same_as(plan: ForwardDecision) -> None:
    arguments = {"table": plan.table, "branch": plan.source, "target": plan.target}
    sql = get_services().call(PROCEDURE, arguments, "same-as").statement
    show_same_as("fast-forward", plan.table, plan.source, "--to", plan.target, sql=f"{sql};")
