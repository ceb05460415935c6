"""The tabs of a merge: what it would do, what collides and what settles that, how it is done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console.format.identifier import Identifier
from branch_console.merge.plan import Plan, can_run, waits_for_rows
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.merge_requests import MergeRequest
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.consequence import Weight
from branch_console.procedures.merge.conflicts import Resolution
from branch_console.quality.rules import RuleSet
from branch_console_app import reads, state
from branch_console_app.models.merge.eligibility import Check
from branch_console_app.models.merge.fast_forward import MovedCommits
from branch_console_app.models.merge.merge_facts import MergeFacts, SettledByOptions, judged_job
from branch_console_app.models.merge.merge_preview import (
    BucketLine,
    ConflictLine,
    MergePreview,
    SettleOption,
    rules_in_words,
    strategies_words,
    strategy_reason,
)
from branch_console_app.models.merge.merge_state import MergeStanding, NextStep
from branch_console_app.models.merge.merge_tabs import MergeTab, tab_labels
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.wording import code, count, listed, plain, plural, signed
from branch_console_app.widgets.merge.alternatives import show_both_sides, show_changed_rows
from branch_console_app.widgets.merge.bar import TAB, settle_button
from branch_console_app.widgets.merge.commits import show_commits
from branch_console_app.widgets.merge.eligibility import (
    offer_dry_run,
    show_checks,
    show_short_checks,
)
from branch_console_app.widgets.merge.merged import receipt_of_done, show_brought, show_merged
from branch_console_app.widgets.merge.row_conflicts import (
    show_left_over,
    show_row_conflicts,
)
from branch_console_app.widgets.merge.verdict import draw_verdict
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.figures import draw_figures, show_figures
from branch_console_app.widgets.parts.gates import show_judgement, show_rules
from branch_console_app.widgets.parts.preview import show_preview, show_same_command
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.schema_diff import show_schema_diff

PROCEDURE = "merge_branch"
_PER_PAGE = 25
_WHAT = Column(label="What collides", weight=2.6)
_BASE = Column(label="Base", weight=1.2)
_OURS = Column(label="Target", weight=1.6)
_THEIRS = Column(label="Source", weight=1.6)
_SETTLE = Column(label="How to settle", weight=2.0)
_COLUMNS = (_WHAT, _BASE, _OURS, _THEIRS, _SETTLE)


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
            st.caption("Which added rows can conflict: all, or those in partitions that the "
                       "source changed.")  # fmt: skip
        with right:
            _choice("Isolation", "isolation", list(Isolation), isolation)
            st.caption("Serializable: rows that the target added can conflict. Snapshot: they "
                       "cannot; updates and deletes of the source do not touch them.")  # fmt: skip


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MergePage:
    """The data of the tabs of a merge.

    Attributes:
        checks: The conditions of the merge, failed ones first.
        form: The command, with the policy that settles conflicts.
        settled: Row conflicts with the draft's resolutions; None before any comparison.
        facts: The facts that the verdict depends on.
        rules: The quality rules of the table; None if it has none.
        commits: Those of the source since the merge base; None while nobody looks at them.
        added: How many rows the target added since; None if that is not known.
        paimon: Why Paimon's own merge would not do this, a sentence; empty if there is none.
    """

    preview: MergePreview
    checks: Sequence[Check]
    form: Form
    resolution: Resolution
    settled: pa.Table | None
    facts: MergeFacts
    rules: RuleSet | None
    commits: MovedCommits | None = None
    added: int | None = None
    paimon: str = ""


def show_merge(page: MergePage) -> None:
    """Draw what a merge would do, in tabs; the verdict stands above."""
    preview = page.preview
    labels = tab_labels(_conflict_count(page), page.checks, _settled_count(page))
    is_done = preview.state.standing is MergeStanding.DONE
    tabs = show_tabs(
        {
            tab: label
            for tab, label in labels.items()
            if tab is not MergeTab.CONFLICTS or not is_done
        }
    )
    with tabs[MergeTab.SUMMARY]:
        _show_summary(page)
    with tabs[MergeTab.CHANGES]:
        _show_changes(page)
    if not is_done:
        with tabs[MergeTab.CONFLICTS]:
            _show_all_conflicts(page)
    with tabs[MergeTab.CHECKS]:
        show_checks(page.checks, preview.plan.source, preview.plan.target, preview.state.job_id)
        _show_rules(page)
    with tabs[MergeTab.DETAILS]:
        _show_details(page)


def merge_form(arguments: dict[str, Argument], source: str, target: str) -> Form:
    """Return the command that merges."""
    return Form(
        procedure=PROCEDURE,
        arguments=arguments,
        label=f"Merge {code(source)} into {code(target)}",
        icon=":material/merge:",
    )


def show_tabs(labels: Mapping[MergeTab, str]) -> Mapping[MergeTab, DeltaGenerator]:
    """Draw tabs of which the address names the open one.

    Args:
        labels: The labels of the tabs there are; an address names them without their counts.
    """
    key = "merge-tabs"
    opened = MergeTab.parse(state.parameter(TAB))
    # A count in a label may be another one by now, so that the widget could not find it again.
    state.put(key, labels.get(opened, labels[MergeTab.SUMMARY]))
    drawn = st.tabs(list(labels.values()), key=key, on_change=_keep_tab, args=(key, dict(labels)))
    return dict(zip(labels, drawn, strict=True))


def _keep_tab(key: str, labels: Mapping[MergeTab, str]) -> None:
    chosen = state.value_of(key)
    tab = next((each for each, label in labels.items() if label == chosen), None)
    state.set_parameter(TAB, None if tab is MergeTab.SUMMARY else tab)


def _conflict_count(page: MergePage) -> int:
    rows_found = 0 if page.facts.rows is None else page.facts.rows.number
    return len(page.preview.conflicts) + rows_found + _settled_by_options(page)


def _settled_count(page: MergePage) -> int:
    found = page.facts.rows
    settled = 0 if found is None else found.number - found.open_number
    return settled + _settled_by_options(page)


def _settled_by_options(page: MergePage) -> int:
    return 0 if page.facts.settled is None else page.facts.settled.number


def show_outcome(preview: MergePreview) -> None:
    """Draw what a merge would do to one table: the verdict, figures, schema and buckets."""
    draw_verdict(preview.state)
    st.caption(preview.heads.capitalize())
    _show_figures(preview)
    _show_schema(preview)
    _show_buckets(preview)
    for note in preview.notes:
        st.caption(note)


def _show_summary(page: MergePage) -> None:
    left, right = rows.two_panes()
    with left:
        identifier = Identifier.parse(page.preview.plan.table)
        show_merged(page.preview.state, page.facts.merge, identifier)
        _show_figures(page.preview)
        preview = page.preview.command
        shown = tuple(each for each in preview.consequences if each.weight is not Weight.BLOCKS)
        if shown and can_run(page.preview.plan):
            command = replace(preview, consequences=shown)
            show_preview(command, "summary", is_stopped=page.preview.state.stops)
    with right:
        show_short_checks(page.checks)
        offer_dry_run(page.checks)


def _show_changes(page: MergePage) -> None:
    preview, plan = page.preview, page.preview.plan
    done = receipt_of_done(preview.state, page.facts.merge)
    if done is not None:
        show_brought(done, Identifier.parse(plan.table), plan.source, plan.target)
        show_both_sides(plan.source, plan.target)
        return
    if page.commits is not None:
        _show_source_commits(page.commits, preview.plan)
        if page.commits.snapshots:
            _show_rows_of_source(preview.plan)
    if preview.schema is None:
        st.caption(f"The columns, keys and options of {code(preview.plan.target)} do not change.")
    _show_schema(preview)
    for note in preview.notes:
        st.caption(note)
    show_both_sides(preview.plan.source, preview.plan.target)


def _show_rows_of_source(plan: Plan) -> None:
    """Draw the link to the rows that the source changed since the merge base, if it has both."""
    base, head = plan.heads.base, plan.heads.theirs
    if base is None or head is None:
        return
    # Where the source took in commits of the target, the target alone lists the merge base.
    identifier = Identifier.parse(plan.table)
    branch = reads.branch_listing(identifier, base, plan.source, plan.target)
    if branch is not None:
        show_changed_rows(plan.source, head, branch, base)


def _show_source_commits(commits: MovedCommits, plan: Plan) -> None:
    base, head = plan.heads.base, plan.heads.theirs
    since = "" if base is None else f" since snapshot {base.id}, the merge base"
    st.markdown(f"**Commits of** {code(plan.source)}{since}")
    if commits.snapshots:
        show_commits(commits, "source")
    elif base is not None and head is not None and head.identity.same_as(base.identity):
        st.caption(f"None: {code(plan.source)} is at that snapshot.")
    else:
        st.caption("None of them is left: an expiry has removed their snapshots.")


def _show_all_conflicts(page: MergePage) -> None:
    if page.preview.conflicts:
        _show_conflicts(page.preview, page.added)
    if waits_for_rows(page.resolution.plan):
        _show_rows(page)
    elif page.facts.settled is not None:
        _show_settled(page.facts.settled, page.preview.plan)
    elif not page.preview.conflicts:
        st.caption("No conflicts.")


def _show_settled(settled: SettledByOptions, plan: Plan) -> None:
    """Say what settled the conflicts, and its effect: the header may have other words by now."""
    them = "the conflict" if settled.number == 1 else f"the {count(settled.number)} conflicts"
    options = listed([code(each) for each in settled.view])
    st.markdown(f"Option {options} of this merge settles {them}. {settled.said}")
    _show_rows_of_source(plan)


def _show_rules(page: MergePage) -> None:
    job = judged_job(page.facts)
    if job is not None:
        show_judgement(job)
        return
    if page.rules is not None:
        show_rules(page.rules, "Quality rules", "They run on the result before it is merged.")


def _show_details(page: MergePage) -> None:
    preview = page.preview
    st.caption(f"{preview.heads.capitalize()}, plan {code(preview.plan.id)}")
    if preview.file_figures:
        with st.container(horizontal=True, gap="small", key="details-figures"):
            draw_figures(preview.file_figures)
    _show_buckets(preview)
    for words in rules_in_words(preview.conflicts):
        st.caption(f"Conflict rule: {words}")
    if page.paimon:
        st.caption(page.paimon)
    if preview.state.kind is not None:
        st.caption(f"Code of what stops the merge: {code(preview.state.kind)}")
    show_options()
    show_same_command(page.form)


def _show_rows(page: MergePage) -> None:
    """Draw the rows that both sides changed, and what settles them."""
    plan, compared = page.preview.plan, page.resolution.plan
    if page.settled is None:
        known = page.facts.rows
        is_compared = known is not None and known.is_compared
        st.caption(
            "Rows were compared; none of them collide."
            if is_compared
            else "The rows of the newest commits have not been compared yet."
        )
        return
    show_row_conflicts(page.resolution, page.settled)
    if plan.id != compared.id and not page.settled["take"].null_count:
        # A run with these very decisions looks at what readers would see of the result as well.
        tried = reads.row_conflicts(Identifier.parse(plan.table), plan.id)
        left = None if tried is None else tried.filter(pc.is_null(tried["take"]))
        if left is not None and left.num_rows:
            show_left_over(left)


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
            "Files added": [line.files_added for line in lines],
            "Files removed": [line.files_removed for line in lines],
            "Records in files": [signed(line.records) for line in lines],
            "Matched by": [line.known_by for line in lines],
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


def _show_conflicts(preview: MergePreview, added: int | None) -> None:
    primary = preview.state.primary
    is_in_header = primary is not None and primary.step is NextStep.SETTLE
    _show_rows_of_source(preview.plan)
    if preview.settlings:
        with st.container(key="sentences-settlings"):
            for number, settling in enumerate(preview.settlings):
                # The header has the button of the first one, in view while this list is read.
                if number or not is_in_header:
                    settle_button(settling, key=f"settle-{settling.label}", is_primary=False)
                settles = _settles(settling, len(preview.conflicts))
                st.markdown(f"{settling.cost_on(preview.plan, added)}{settles}")
    else:
        st.caption("No option of the merge settles these conflicts. Change one of the branches.")
    listed_rows = rows.row_list("conflicts")
    visible = rows.page_of_rows("cf_p", len(preview.conflicts), _PER_PAGE)
    with listed_rows:
        rows.head("conflicts", _COLUMNS)
        for number, line in enumerate(preview.conflicts[visible]):
            _show_conflict(number, line, preview.settlings)


def _settles(settling: SettleOption, number: int) -> str:
    if settling.number < number:
        return f" This settles {count(settling.number)} of {count(number)} conflicts."
    return "" if number == 1 else f" This settles all {count(number)} conflicts."


def _show_conflict(number: int, line: ConflictLine, proven: Sequence[SettleOption]) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"conflict-{number}", _COLUMNS), strict=True))
    advice = f"  \n:small[:gray[{line.advice}]]" if line.advice else ""
    rows.text(cells[_WHAT], _WHAT, f"**{plain(line.subject)}** :gray[{plain(line.kind)}]{advice}")
    for column, side in ((_BASE, line.base), (_OURS, line.ours), (_THEIRS, line.theirs)):
        rows.text(cells[column], column, plain(side) if side else rows.NOTHING)
    views = [dict(each.view) for each in line.settled_by]
    options = [each.label for each in proven if dict(each.view) in views]
    words = listed(options) or line.otherwise or "change one of the branches"
    rows.text(cells[_SETTLE], _SETTLE, f":gray[{plain(words)}]")
