"""A merge: its options, what it would do, what collides and what settles that, the button."""

from collections.abc import Mapping, Sequence
from typing import assert_never

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.merge.plan import (
    FastForwardPlan,
    RefusedPlan,
    SchemaPlan,
    ThreeWayPlan,
    UpToDatePlan,
    conflicts_of,
    cost_of,
)
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.merge.conflicts import Resolution
from branch_console_app import reads, state
from branch_console_app.models.merge.eligibility import Check
from branch_console_app.models.merge.merge_facts import MergeFacts
from branch_console_app.models.merge.merge_preview import (
    BucketLine,
    ConflictLine,
    How,
    MergePreview,
    SeenPlan,
    SettleOption,
    strategies_words,
    strategy_reason,
)
from branch_console_app.models.merge.merge_state import MergeAction, MergeState, NextStep
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.wording import code, plain, plural, signed
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.confirm import show_confirm
from branch_console_app.widgets.merge.eligibility import show_eligibility
from branch_console_app.widgets.merge.row_conflicts import (
    MERGE_VIEW,
    compare_button,
    resolver_view,
    show_comparison,
    show_left_over,
    show_row_conflicts,
)
from branch_console_app.widgets.merge.verdict import draw_verdict, update_button
from branch_console_app.widgets.merge.ways_out import show_both_sides
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.figures import show_figures
from branch_console_app.widgets.parts.preview import show_same_command
from branch_console_app.widgets.parts.rows import Column, block
from branch_console_app.widgets.parts.schema_diff import show_schema_diff
from branch_console_app.widgets.parts.table_picker import here

PROCEDURE = "merge_branch"
_PER_PAGE = 25
_WHAT = Column(label="What both sides changed", weight=2.6)
_RULE = Column(label="Rule", weight=1.4)
_BASE = Column(label="Base", weight=1.2)
_OURS = Column(label="Target", weight=1.6)
_THEIRS = Column(label="Source", weight=1.6)
_SETTLE = Column(label="How to settle", weight=2.0)
_COLUMNS = (_WHAT, _RULE, _BASE, _OURS, _THEIRS, _SETTLE)


def merge_arguments(identifier: Identifier, source: str, target: str) -> dict[str, Argument]:
    """Return the arguments of the command, with the options of the address, without a policy."""
    return {
        "table": identifier.on_branch("main").table_name,
        "branch": source,
        "target": target,
        "strict": state.parameter("strict") == "1" or None,
        "scope": state.parameter("scope"),
        "isolation": state.parameter("isolation"),
    }


def show_options() -> None:
    """Draw the options of a merge; what is chosen stands in the address and in the title."""
    strict = state.parameter("strict") == "1"
    scope = state.parameter("scope") or InsertScope.TABLE
    isolation = state.parameter("isolation") or Isolation.SERIALIZABLE
    chosen = [
        *(["strict"] if strict else []),
        *([f"scope {plain(scope)}"] if scope != InsertScope.TABLE else []),
        *([f"isolation {plain(isolation)}"] if isolation != Isolation.SERIALIZABLE else []),
    ]
    title = f"Options: {', '.join(chosen)}" if chosen else "Options"
    with st.expander(title, icon=":material/tune:", key="merge-options"):
        left, middle, right = st.columns(3, gap="medium")
        with left:
            st.toggle(
                "Strict", value=strict, key=f"merge-strict-{strict}", on_change=_set_strict,
                args=(not strict,),
            )  # fmt: skip
            st.caption(MergeRequest.help_of("strict"))
        with middle:
            _choice("Insert scope", "scope", list(InsertScope), scope)
            st.caption("Which rows that the target added can conflict: all, or those in "
                       "partitions that the source changed.")  # fmt: skip
        with right:
            _choice("Isolation", "isolation", list(Isolation), isolation)
            st.caption("Serializable: they can. Snapshot: the source's update leaves rows alone "
                       "that were added after the merge base.")  # fmt: skip


def _choice(
    label: str, name: str, choices: list[InsertScope] | list[Isolation], chosen: str
) -> None:
    key = f"merge-{name}-{chosen}"
    st.segmented_control(
        label, choices, default=chosen if chosen in choices else None, key=key, required=True,
        on_change=_set_option, args=(name, key, choices[0]),
    )  # fmt: skip


def _set_strict(strict: bool) -> None:
    state.set_parameter("strict", "1" if strict else None)


def _set_option(name: str, key: str, usual: str) -> None:
    chosen = state.value_of(key)
    state.set_parameter(name, None if chosen == usual else chosen)


def show_merge(
    preview: MergePreview,
    checks: Sequence[Check],
    arguments: dict[str, Argument],
    resolution: Resolution,
    settled: pa.Table | None,
) -> None:
    """Draw a merge from its preview on; the branches and the options were chosen above.

    Args:
        preview: What it would do.
        checks: What stands in the way of it, and what does not.
        arguments: Of the command that was previewed, with the policy that settles conflicts.
        resolution: The conflicts that there are to settle, and the draft of that policy.
        settled: Conflicts of rows as that draft settles them; None before any comparison.
    """
    plan = preview.plan
    block(2, "Preview")
    # Rerunning with another plan under the same button would run what nobody has looked at.
    asked = {**arguments, "policy": None}
    stale = state.seen_plan(repr(asked), SeenPlan.of(plan)).staleness(plan)
    if stale is not None:
        moved = MergeFacts(stale=stale, decisions=resolution.draft.decisions)
        _show_verdict(MergeState.of(plan, moved), resolution, asked)
        return
    _show_verdict(preview.state, resolution, asked)
    _show_contents(preview)
    if not isinstance(plan, UpToDatePlan):
        show_eligibility(checks, plan.source, plan.target)
    if conflicts_of(plan):
        _show_conflicts(preview)
    open_number = 0
    if cost_of(resolution.plan).buckets_to_compare:
        open_number = _show_rows(preview, resolution, settled)
    form = Form(
        procedure=PROCEDURE,
        arguments=arguments,
        label=f"Merge {code(plan.source)} into {code(plan.target)}",
        icon=":material/merge:",
    )
    match plan:
        case ThreeWayPlan() | SchemaPlan() if not plan.conflicts:
            show_confirm(preview, form, open_number)
        case ThreeWayPlan() | SchemaPlan() | RefusedPlan():
            block(5 if conflicts_of(plan) else 4, "What you can do")
            show_both_sides(plan.source, plan.target)
        case FastForwardPlan():
            _show_link("Take over the history", {"how": How.FAST_FORWARD}, "fast_forward")
        case UpToDatePlan():
            pass
        case _:
            assert_never(plan)
    show_same_command(form)


def show_outcome(preview: MergePreview) -> None:
    """Draw what a merge would do to one table: the verdict, figures, schema and buckets."""
    draw_verdict(preview.state)
    _show_contents(preview)


def _show_contents(preview: MergePreview) -> None:
    st.caption(preview.heads.capitalize())
    _show_figures(preview)
    _show_schema(preview)
    _show_buckets(preview)
    for note in preview.notes:
        st.caption(note)


def _show_rows(preview: MergePreview, resolution: Resolution, settled: pa.Table | None) -> int:
    """Draw the rows that both sides changed; return how many of their conflicts are open."""
    block(4, "Rows that both sides changed")
    table, compared = Identifier.parse(preview.plan.table), resolution.plan
    if settled is None:
        show_comparison(resolution)
    else:
        show_row_conflicts(resolution, settled)
    open_number = 0 if settled is None else settled["take"].null_count
    if preview.plan.id != compared.id and not open_number:
        # A run with these very decisions looks at what readers would see of the result as well.
        tried = reads.row_conflicts(table, preview.plan.id)
        left = None if tried is None else tried.filter(pc.is_null(tried["take"]))
        if left is not None and left.num_rows:
            show_left_over(left)
    return open_number


def _show_verdict(
    verdict: MergeState, resolution: Resolution, arguments: dict[str, Argument]
) -> None:
    """Draw the verdict with the one step that comes next.

    Args:
        verdict: The verdict.
        resolution: What there is to decide on.
        arguments: Of the merge, without a policy.
    """
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key="merge-verdict"
    ):
        draw_verdict(verdict)
        match verdict.primary:
            case MergeAction(step=NextStep.UPDATE):
                update_button()
            case MergeAction(step=NextStep.COMPARE):
                compare_button(resolution, arguments)
            case MergeAction(step=NextStep.SETTLE, label=label) if not conflicts_of(
                resolution.plan
            ):
                if st.button(
                    label, type="primary", icon=":material/call_split:",
                    key="settle-conflicts",
                ):  # fmt: skip
                    state.go_to(PageName.CONFLICTS, here(), **resolver_view(resolution))
            case _:
                # The confirmation stands below, and conflicts with what settles them.
                pass


def _show_figures(preview: MergePreview) -> None:
    if not preview.figures:
        return
    show_figures(preview.figures)
    for reason in preview.reasons:
        st.caption(reason)


def _show_schema(preview: MergePreview) -> None:
    if preview.schema is None:
        return
    title = f"Schema: {plural(len(preview.schema.changes), 'change')}"
    with st.expander(title, icon=":material/schema:", key="merge-schema"):
        show_schema_diff(preview.schema, f"{preview.plan.target} now", "merged")


def _show_buckets(preview: MergePreview) -> None:
    if not preview.buckets:
        return
    with st.expander(
        f"Buckets: {strategies_words(preview.plan, is_compared=preview.is_compared)}",
        icon=":material/grid_view:",
        key="merge-buckets",
    ):
        _show_bucket_table(preview.buckets, is_compared=preview.is_compared)


def _show_bucket_table(lines: tuple[BucketLine, ...], *, is_compared: bool) -> None:
    frame = pd.DataFrame(
        {
            "Partition": [line.partition for line in lines],
            "Bucket": [line.bucket for line in lines],
            "What happens": [
                strategy_reason(line.strategy, is_compared=is_compared) for line in lines
            ],
            "Files in": [line.files_added for line in lines],
            "Files out": [line.files_removed for line in lines],
            "Records in files": [signed(line.records) for line in lines],
            "Known by": [line.known_by for line in lines],
        }
    )
    if not any(line.partition for line in lines):
        frame = frame.drop(columns="Partition")
    st.dataframe(
        frame,
        key="merge-bucket-table",
        hide_index=True,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(len(lines), 8),
        column_config={
            "Bucket": st.column_config.NumberColumn(format="%d", width=75),
            "What happens": st.column_config.TextColumn(width=330),
            "Records in files": st.column_config.TextColumn(alignment="right"),
        },
        alt=f"{plural(len(lines), 'bucket')}, and what the merge does with the files of each",
    )


def _show_conflicts(preview: MergePreview) -> None:
    block(4, "Conflicts")
    if preview.settlings:
        with st.container(
            horizontal=True, gap="medium", vertical_alignment="center", key="line-settlings"
        ):
            st.markdown("**Settle with:**", width="content")
            for settling in preview.settlings:
                _show_link(_settling_words(settling, preview), settling.view, "tune")
    listed = rows.row_list("conflicts")
    visible = rows.page_of_rows("cf_p", len(preview.conflicts), _PER_PAGE)
    with listed:
        rows.head("conflicts", _COLUMNS)
        for number, line in enumerate(preview.conflicts[visible]):
            _show_conflict(number, line)


def _settling_words(settling: SettleOption, preview: MergePreview) -> str:
    if not settling.number:
        return settling.label
    return f"{settling.label} ({settling.number} of {len(preview.conflicts)})"


def _show_conflict(number: int, line: ConflictLine) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"conflict-{number}", _COLUMNS), strict=True))
    advice = f"  \n:small[:gray[{plain(line.advice)}]]" if line.advice else ""
    rows.text(cells[_WHAT], _WHAT, f"**{plain(line.subject)}** :gray[{plain(line.kind)}]{advice}")
    rows.text(cells[_RULE], _RULE, code(line.rule))
    for column, side in ((_BASE, line.base), (_OURS, line.ours), (_THEIRS, line.theirs)):
        rows.text(cells[column], column, plain(side) if side else rows.NOTHING)
    with cells[_SETTLE], st.container(gap="xxsmall"):
        for settling in line.settled_by:
            _show_link(settling.label, settling.view, "tune")
        if line.otherwise:
            st.markdown(f":gray[{plain(line.otherwise)}]")


def _show_link(label: str, view: Mapping[str, str | None], icon: str) -> None:
    """Draw a link to this page with some of its parameters changed."""
    changed = {**state.view_of(*MERGE_VIEW), **view}
    state.link(PageName.MERGE, label, here(), view=changed, icon=f":material/{icon}:")
