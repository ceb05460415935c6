"""Merge: a draft with one verdict, always in view, and what it would do in tabs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import Final, TypedDict

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console.diff.fast_forward import ForwardDecision
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.merge.plan import FastForwardPlan, Plan, conflicts_of, merging
from branch_console.operations.agreement import WITHOUT_CALLBACKS
from branch_console.procedures.browse.page_values import BranchItem, TableSummary
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import Role
from branch_console_app import reads, state
from branch_console_app.models.branches.branch_tracks import (
    LaneState,
    is_service_branch,
    standing_words,
)
from branch_console_app.models.merge.eligibility import (
    Check,
    Circumstances,
    checks_of_merge,
    paimon_note,
)
from branch_console_app.models.merge.fast_forward import (
    FastForwardPreview,
    MovedCommits,
    commits_since,
)
from branch_console_app.models.merge.merge_facts import MergeFacts, RoleGap
from branch_console_app.models.merge.merge_preview import (
    HOW_WORDS,
    How,
    MergeDecision,
    MergePreview,
    SeenPlan,
    parts_to_compare,
)
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState
from branch_console_app.models.merge.merge_tabs import MergeTab
from branch_console_app.models.merge.resolver import groups_of
from branch_console_app.models.parts.actions import Action, Form
from branch_console_app.models.parts.wording import code, count, plain
from branch_console_app.reads import CheckedMerge
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.views import catalog_merge
from branch_console_app.widgets.branches.undo_dialog import undo_dialogs
from branch_console_app.widgets.merge.bar import (
    TAB,
    Draft,
    show_sides,
    show_state,
    source_view,
    swap_sides,
)
from branch_console_app.widgets.merge.checking import CheckedBranches, check_merge
from branch_console_app.widgets.merge.confirm import show_merge_dialog
from branch_console_app.widgets.merge.draft_jobs import (
    begin_undo,
    comparison_of_draft,
    dry_run_of_draft,
    gate_run_of_draft,
    merge_of_draft,
    undo_of_draft,
    unless_outdated,
    with_merged_plan,
)
from branch_console_app.widgets.merge.fast_forward import (
    checks_of_forward,
    forward_preview,
    show_fast_forward,
    show_forward_dialog,
)
from branch_console_app.widgets.merge.plan import (
    MergePage,
    merge_arguments,
    merge_form,
    show_merge,
)
from branch_console_app.widgets.merge.row_conflicts import MERGE_VIEW, rows_of_merge
from branch_console_app.widgets.merge.sides import missing_side, show_missing_side
from branch_console_app.widgets.merge.verdict import draw_verdict
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.callbacks import with_reason
from branch_console_app.widgets.parts.confirm import lacks_role
from branch_console_app.widgets.parts.dialogs import show_dialog
from branch_console_app.widgets.parts.gates import show_failing_rows
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.table_picker import (
    here,
    is_open_warehouse,
    pick_table,
    show_table_header,
)

_SOURCES: Final = (
    Column(label="Branch", weight=2.0),
    Column(label="Standing", weight=2.0),
    Column(label="", weight=0.8),
)
_PER_PAGE: Final = 24


class _Person(TypedDict):
    ahead: int | None
    gap: RoleGap | None
    may_settle: bool
    actor: str
    now_millis: int
    zone: tzinfo | None


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
    missing = missing_side(summary)
    if missing is not None:
        show_table_header(identifier, summary, PageName.MERGE, title="Merge")
        show_missing_side(missing, summary, PageName.MERGE)
        return
    with st.skeleton(height=200):
        items = {item.name: item for item in reads.branches(identifier, target)}
    show_table_header(identifier, summary, PageName.MERGE, title="Merge")
    if len(items) == 1:
        _show_no_branch(summary)
        return
    if source is None or source == target or how not in list(How):
        _show_bar(items, None, target, how)
        if how not in list(How):
            _show_unknown_type(how)
            return
        draw_verdict(MergeState.choose())
        _show_sources(items, target)
        return
    slot = _show_bar(items, source, target, how)
    with guarded("The preview cannot be made; nothing changed."):
        try:
            _show_merge(identifier, items, source, target, how, slot)
        except PaimonError:
            # Else the head would go on saying that the merge is being checked.
            slot.empty()
            raise
    _link_to_broken(items[source], items[target])


def _show_merge(
    identifier: Identifier,
    items: Mapping[str, BranchItem],
    source: str,
    target: str,
    how: str,
    slot: DeltaGenerator,
) -> None:
    """Plan the merge that the address asks for, and draw it."""
    asked = merge_arguments(identifier, source, target)
    given = with_reason(asked, f"{source}-{target}")
    branches = CheckedBranches.of(items[source], items[target])
    if how == How.FAST_FORWARD:
        plan: ForwardDecision | None = check_merge(
            slot, (how, identifier, source, target), branches,
            lambda _: reads.begin_fast_forward(identifier, source, target),
        )  # fmt: skip
        if plan is not None:
            _show_forward(identifier, items, plan, slot)
        return
    checked: CheckedMerge | None = check_merge(
        slot, (how, identifier, asked), branches,
        lambda before: reads.begin_merge(identifier, asked, given, before), given,
    )  # fmt: skip
    if checked is None:
        return
    plan_of_files = checked.decision.plan
    if isinstance(plan_of_files, FastForwardPlan):
        move = plan_of_files.move.decision
        _show_forward(identifier, items, move, slot, merge_plan_id=plan_of_files.id)
        return
    _show_draft(identifier, items, checked, slot)


def _show_draft(
    identifier: Identifier,
    items: Mapping[str, BranchItem],
    checked: CheckedMerge,
    slot: DeltaGenerator,
) -> None:
    """Draw a merge of files and rows: its verdict in the bar, its tabs, its dialogs."""
    resolution, decision, arguments = checked.resolution, checked.decision, checked.arguments
    plan = decision.plan
    source, target = items[plan.source], items[plan.target]
    settled = reads.settled_conflicts(identifier, resolution.plan.id, resolution.draft)
    # Rerunning with another plan under the same button would run what nobody has looked at.
    asked = {**arguments, "policy": None}
    stale = state.seen_plan(_choice(asked), SeenPlan.of(plan)).staleness(plan)
    staged = None if merging(plan) is None else reads.staged_figures(identifier, plan.id)
    heads = (plan.heads.ours, plan.heads.theirs)
    gate = gate_run_of_draft(
        identifier, arguments, (target, source), heads, (plan.id,), is_forward=False
    )
    merge = merge_of_draft(identifier, plan.source, plan.target)
    dry_run = dry_run_of_draft(identifier, plan, has_result=staged is not None)
    facts = MergeFacts(
        rows=rows_of_merge(resolution, settled, staged),
        merge=unless_outdated(merge, gate),
        undo=undo_of_draft(plan.source, plan.target),
        dry_run=unless_outdated(dry_run, gate),
        gate=gate,
        comparison=comparison_of_draft(resolution.plan.id, plan.id),
        stale=stale,
        decisions=resolution.draft.decisions,
        **_person(source, decision.preview.role),
    )
    conflicts = conflicts_of(plan)
    facts = replace(facts, settled=checked.settled, parts=parts_to_compare(plan, target.schema))
    preview = MergePreview.of(decision, target.schema, facts=facts, settlings=checked.settlings)
    draft = Draft(
        identifier=identifier,
        source=source,
        target=target,
        arguments=asked,
        resolution=resolution,
        has_file_conflicts=bool(conflicts),
        settlings=checked.settlings,
        groups=() if settled is None else tuple(groups_of(settled)),
        judge=decision.state,
        facts=facts,
    )
    with slot.container():
        show_state(preview.state, draft)
    if preview.state.standing is MergeStanding.DONE:
        facts = with_merged_plan(facts, identifier, plan.source, plan.target)
    rules = reads.rules(identifier)
    circumstances = Circumstances(
        source=source,
        target=target,
        source_table=reads.table(identifier.on_branch(plan.source)),
        target_table=reads.table(identifier.on_branch(plan.target)),
        lacks_role=lacks_role(decision.preview.role),
    )
    form = merge_form(arguments, plan.source, plan.target)
    if preview.state.standing is not MergeStanding.STALE:
        show_merge(
            MergePage(
                preview=preview,
                checks=checks_of_merge(decision, circumstances, preview.state, facts, rules),
                form=form,
                resolution=resolution,
                settled=settled,
                facts=facts,
                rules=rules,
                commits=_commits(identifier, plan),
                paimon=paimon_note(plan, circumstances),
                added=checked.rows_added,
            )
        )
    _show_dialogs(
        identifier,
        plan.source,
        plan.target,
        lambda _: _draw_dialog(identifier, form, decision, circumstances, facts),
        is_override=preview.state.takes_override,
    )


def _commits(identifier: Identifier, plan: Plan) -> MovedCommits | None:
    """Read what the source committed; only those who open its tab wait for two histories."""
    base = plan.heads.base
    if base is None or MergeTab.parse(state.parameter(TAB)) is not MergeTab.CHANGES:
        return None
    return commits_since(reads.fast_forward(identifier, plan.source, plan.target), base)


def _draw_dialog(
    identifier: Identifier,
    form: Form,
    decision: MergeDecision,
    circumstances: Circumstances,
    facts: MergeFacts,
) -> None:
    """Draw the dialog on the heads as they are now, with the reason that stands in its field.

    A choice in it draws it again without the page. It then shows the decision that the page has
    read, as long as it is asked for the same and both heads are where they were: only what has
    changed is read here, while the person waits.
    """
    source, target = decision.plan.source, circumstances.target
    arguments = with_reason(form.arguments, f"{source}-{target.name}")
    if arguments != form.arguments or not _has_its_heads(identifier, decision.plan):
        decision = reads.merge(arguments)
    asked = {**arguments, "policy": None}
    stale = state.seen_plan(_choice(asked), SeenPlan.of(decision.plan)).staleness(decision.plan)
    preview = MergePreview.of(decision, target.schema, facts=replace(facts, stale=stale))
    rules = reads.rules(identifier)
    checks = checks_of_merge(decision, circumstances, preview.state, facts, rules)
    full = replace(form, arguments=arguments)
    show_merge_dialog(preview, checks, full, is_protected=target.protection is not None)


def _has_its_heads(identifier: Identifier, plan: Plan) -> bool:
    """Whether both branches have the heads that a plan was made on."""
    items = {item.name: item for item in reads.branches(identifier, plan.target)}
    planned = {plan.target: plan.heads.ours, plan.source: plan.heads.theirs}
    return all(
        name in items and _identity(items[name].head) == _identity(head)
        for name, head in planned.items()
    )


def _identity(head: Snapshot | None) -> SnapshotIdentity | None:
    return None if head is None else head.identity


def _choice(asked: dict[str, Argument]) -> str:
    """Return what a plan follows from besides the heads; a reason changes no plan."""
    return repr({name: value for name, value in asked.items() if name != WITHOUT_CALLBACKS})


def _show_forward(
    identifier: Identifier,
    items: Mapping[str, BranchItem],
    plan: ForwardDecision,
    slot: DeltaGenerator,
    merge_plan_id: str | None = None,
) -> None:
    """Draw a merge that takes over a history: its verdict in the bar, its tabs, its dialogs."""
    source, target = items[plan.source], items[plan.target]
    merge = merge_of_draft(identifier, plan.source, plan.target)
    if merge is not None and merge.plan_id == merge_plan_id:
        # The command `merge` runs the same move under the plan of a merge.
        merge = replace(merge, plan_id=plan.id)
    answer = forward_preview(plan)
    arguments = merge_arguments(identifier, plan.source, plan.target)
    plan_ids = (plan.id,) if merge_plan_id is None else (plan.id, merge_plan_id)
    heads = (plan.target_head, plan.source_head)
    gate = gate_run_of_draft(
        identifier, arguments, (target, source), heads, plan_ids, is_forward=True
    )
    facts = MergeFacts(
        merge=unless_outdated(merge, gate),
        gate=gate,
        undo=undo_of_draft(plan.source, plan.target),
        blocks=() if answer is None else answer.blocks,
        **_person(source, Role.EDITOR if answer is None else answer.role),
    )
    judge = partial(MergeState.of_forward, plan)
    draft = Draft(
        identifier=identifier,
        source=source,
        target=target,
        arguments=arguments,
        resolution=None,
        has_file_conflicts=False,
        judge=judge,
        facts=facts,
    )
    with slot.container():
        show_state(judge(facts), draft)
    preview = FastForwardPreview.of(plan)

    def checks_with(answer: Preview | None) -> tuple[Check, ...]:
        return checks_of_forward(preview, identifier, answer, judge(facts), facts, target)

    counted = show_fast_forward(
        preview, identifier, answer, judge(facts), facts, checks_with(answer)
    )
    is_protected = target.protection is not None
    _show_dialogs(
        identifier,
        plan.source,
        plan.target,
        lambda _: show_forward_dialog(
            counted, checks_with, is_protected=is_protected, verdict=judge(facts)
        ),
        is_override=judge(facts).takes_override,
    )


def _show_dialogs(
    identifier: Identifier,
    source: str,
    target: str,
    draw: Callable[[str | None], None],
    *,
    is_override: bool,
) -> None:
    despite = " despite the rules" if is_override else ""
    title = f"Merge {plain(source)} into {plain(target)}{despite}"
    what = f"the merge of {plain(source)} into {plain(target)}"
    undo = undo_dialogs(
        identifier.on_branch(MAIN_BRANCH), here().at_branch(target), what,
        start=lambda name, given, plan_id: begin_undo(name, given, plan_id, source, target),
    )  # fmt: skip
    failing = f"Rows that stop the merge of {plain(source)}"
    show_dialog(
        {
            Action.MERGE: (title, draw),
            Action.FAILING_ROWS: (failing, partial(show_failing_rows, identifier)),
            **undo,
        }
    )


def _person(source: BranchItem, needed: Role) -> _Person:
    """Return the facts that a verdict needs about the person, the time and the source."""
    own, versus = Role(get_services().settings.role), source.versus
    return {
        "ahead": versus.ahead if versus else None,
        "gap": RoleGap.between(own, needed),
        "may_settle": own.covers(Role.EDITOR),
        "actor": get_services().settings.actor,
        "now_millis": state.now_millis(),
        "zone": state.zone(),
    }


def _show_bar(
    items: Mapping[str, BranchItem], source: str | None, target: str, how: str
) -> DeltaGenerator:
    """Draw the head that stays in view; return the place of the verdict in it."""
    with st.container(key="merge-bar", gap="xsmall"):
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key="line-sides"
        ):
            show_sides(
                None if source is None else items[source],
                items[target],
                pick_source=lambda: _pick_source(items, source, target),
                pick_target=lambda: _pick_target(items, source, target),
            )
            if source is not None:
                st.button(
                    "⇄", key="ff-swap", type="tertiary", help="Swap source and target",
                    on_click=swap_sides, args=(source, target),
                )  # fmt: skip
            st.space("stretch")
            way = HOW_WORDS[How(how)].lower() if how in list(How) else "unknown"
            with st.popover(f"Merge type: {way}", icon=":material/tune:", type="tertiary"):
                _pick_type(how)
        return st.empty()


def _show_sources(items: Mapping[str, BranchItem], target: str) -> None:
    """List the branches that can be merged, those first that have something new."""
    others = [item for name, item in items.items() if name != target]
    service = sum(is_service_branch(item.name) for item in others)
    is_all = bool(service) and st.toggle(
        f"Rescue branches ({count(service)})", key="merge-rescues",
        help="They keep what an undo, a drop or a replacement removed.",
    )  # fmt: skip
    shown = sorted(
        (item for item in others if is_all or not is_service_branch(item.name)), key=_rank
    )
    listed = rows.row_list("sources")
    visible = rows.page_of_rows("mrg_p", len(shown), _PER_PAGE)
    with listed:
        for number, item in enumerate(shown[visible]):
            name, standing, review = rows.row(f"source-{number}", _SOURCES)
            rows.text(name, _SOURCES[0], code(item.name))
            rows.text(standing, _SOURCES[1], f":gray[{plain(_standing(item))}]")
            with review:
                if item.error is not None:
                    state.link(
                        PageName.BRANCHES, "See why", here().at_branch(item.name),
                        icon=":material/account_tree:",
                    )  # fmt: skip
                elif item.versus is None or item.versus.ahead != 0:
                    view = {**state.view_of("target", "strict", "scope", "isolation")}
                    state.link(
                        PageName.MERGE, "Review", here(), view={**view, "source": item.name},
                        icon=":material/arrow_forward:",
                    )  # fmt: skip


def _link_to_broken(*sides: BranchItem) -> None:
    """Draw a link to each branch that cannot be read, whose card has the cause and the repair."""
    for item in sides:
        if item.error is not None:
            state.link(
                PageName.BRANCHES, f"See why {code(item.name)} cannot be read",
                here().at_branch(item.name), icon=":material/account_tree:",
            )  # fmt: skip


def _show_unknown_type(how: str) -> None:
    """Say that the address names no merge type, with a link to the same merge without one."""
    st.warning(f"There is no merge type {code(how)}. The branches can be merged without one.")
    view = {name: each for name, each in state.view_of(*MERGE_VIEW).items() if name != "how"}
    state.link(PageName.MERGE, "Review the merge", here(), view=view, icon=":material/merge:")


def _show_no_branch(summary: TableSummary) -> None:
    name = summary.identifier.table_name
    st.info(f"{code(name)} has no branch besides main, so there is nothing to merge. Create one:")
    st.code(f"branch-console create-branch {name} NAME", language="bash")


def _pick_source(items: Mapping[str, BranchItem], source: str | None, target: str) -> None:
    others = [
        item
        for name, item in items.items()
        if name != target and (name == source or not is_service_branch(name))
    ]
    sources = [item.name for item in sorted(others, key=_rank)]
    words = {name: _branch_words(items[name]) for name in sources}
    # The browser names an option by its words: where these change, the box must be another one.
    source_key = f"ff-source-{words.get(source or '')}-{target}"
    st.selectbox(
        "Source", sources, index=sources.index(source) if source in sources else None,
        key=source_key, on_change=_choose, args=("source", source_key, sources),
        placeholder="Choose a branch", format_func=words.__getitem__, filter_mode="contains",
        width=_picker_width(words.values()),
    )  # fmt: skip


def _pick_target(items: Mapping[str, BranchItem], source: str | None, target: str) -> None:
    targets = list(items)
    st.selectbox(
        "Target", targets, index=targets.index(target), key=f"ff-target-{source}-{target}",
        on_change=_choose, args=("target", f"ff-target-{source}-{target}", targets),
        filter_mode="contains", width=_picker_width(targets),
    )  # fmt: skip


def _picker_width(labels: Iterable[str]) -> int:
    """Return the pixels of a box that cuts none of its labels, on a page of 1024 px."""
    longest = max((len(each) for each in labels), default=0)
    return min(max(240, 60 + 7 * longest), 620)


def _pick_type(how: str) -> None:
    st.segmented_control(
        "Merge type", list(How), default=how if how in list(How) else None, key=f"merge-how-{how}",
        format_func=lambda each: HOW_WORDS[each], on_change=_choose, required=True,
        args=("how", f"merge-how-{how}", list(How)),
    )  # fmt: skip


def _rank(item: BranchItem) -> tuple[bool, bool, str]:
    """Put first what can be merged without ado."""
    versus = item.versus
    ahead = bool(versus and versus.ahead)
    behind = bool(versus and versus.behind)
    return (not ahead, behind, item.name)


def _branch_words(item: BranchItem) -> str:
    return f"{item.name} ({_standing(item)})"


def _standing(item: BranchItem) -> str:
    versus = item.versus
    if item.error is not None:
        return "cannot be read"
    if versus is None or versus.ahead is None or versus.behind is None:
        is_empty = item.head is None
        return standing_words(LaneState.EMPTY if is_empty else LaneState.UNRELATED, None, None)
    if not versus.ahead and not versus.behind:
        return "even"
    return f"{count(versus.ahead)} ahead, {count(versus.behind)} behind"


def _choose(name: str, key: str, known: list[str] | list[How]) -> None:
    chosen = state.value_of(key)
    if chosen in known:
        state.set_parameters(source_view(chosen) if name == "source" else {name: chosen})
