"""The quality of two sides: which columns drifted, how their values lie, and all figures."""

import pandas as pd
import streamlit as st

from branch_console.diff.state_diff import StateDiff
from branch_console.format.identifier import Identifier
from branch_console.operations.compare_requests import CompareQualityRequest
from branch_console.procedures.compare.quality import COMPARE_QUALITY
from branch_console.quality.comparison import (
    ColumnComparison,
    QualityComparison,
    Scope,
    ScopeComparison,
    SideFigures,
)
from branch_console.quality.drift import Rating
from branch_console_app import reads, state
from branch_console_app.charts.compare_quality import bins_figure, drift_figure
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.models.compare.quality import (
    bin_shares,
    conflict_words,
    drift_bars,
    explaining_words,
    key_words,
    rating_words,
    read_words,
    scope_words,
    summary,
)
from branch_console_app.models.compare.quality_figures import figure_table, sides_beside
from branch_console_app.models.compare.quality_report import quality_report
from branch_console_app.models.compare.quality_verdict import QualityChange, quality_verdict
from branch_console_app.models.parts.exactness import EXACT, UNREAD, badge, shares_label
from branch_console_app.models.parts.wording import age, code, plain, plural, size
from branch_console_app.state import PageName
from branch_console_app.widgets.compare.job import show_running_job, start_job
from branch_console_app.widgets.compare.quality_map import show_quality_map
from branch_console_app.widgets.compare.rules import findings_on_sides, show_rules_of_sides
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.job_here import find_job
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.table_picker import here

_JOB = "cmp_qjob"
_COLUMN = "cmp_qcol"
_SCOPE = "cmp_scope"
_CHART = "cmp-drift"
_VERDICTS = {
    QualityChange.WORSE: ("✕", "red"),
    QualityChange.BETTER: ("✓", "green"),
    QualityChange.NO_CHANGE: ("✓", "green"),
    QualityChange.FEW_ROWS: ("○", "gray"),
}
_TONES = {
    Rating.ALARM: ":red-badge[! alarm]",
    Rating.WATCH: ":orange-badge[~ watch]",
    Rating.SMALL: ":blue-badge[+ small but certain]",
    Rating.CALM: ":green-badge[calm]",
}


def show_quality(identifier: Identifier, diff: StateDiff) -> None:
    """Draw the quality where it was compared, else what it takes to compare it."""
    with guarded("The quality cannot be shown."):
        found = reads.quality(identifier, diff)
        if found is None:
            if not show_running_job(_JOB, "Columns"):
                _offer(identifier, diff)
        else:
            _show_found(identifier, diff, found)
    with guarded("The rules cannot be shown."):
        show_rules_of_sides(identifier, diff)


def _offer(identifier: Identifier, diff: StateDiff) -> None:
    own = (diff.only_in(after=False), diff.only_in(after=True))
    total = sum(each.byte_count or 0 for each in own)
    st.markdown(
        "A job profiles each column on both sides: nulls, distinct values, quantiles, drift. It "
        f"reads the {plural(diff.files.num_rows, 'file')} that only one side has "
        f"(**{size(total)}**), and up to 1 GiB of the shared files. Nothing is changed."
    )
    st.button(
        "Compare quality", type="primary", icon=":material/monitoring:", key="cmp-quality",
        on_click=start_job, args=(_JOB, COMPARE_QUALITY, identifier, diff),
    )  # fmt: skip


def _show_found(identifier: Identifier, diff: StateDiff, found: QualityComparison) -> None:
    _open_merged_once(found)
    # The verdict stands first, though the choice of rows below decides what it is about.
    verdict_place = st.container()
    is_running = show_running_job(_JOB, "Columns")
    scope = _picked_scope(found)
    with verdict_place:
        _show_verdict(identifier, diff, scope)
    tone = _TONES.get(scope.rating, "")
    st.markdown(f"{plain(summary(scope))} {tone}")
    # The names of the choices above do not say which rows they take.
    st.caption(f"Compared: {plain(scope_words(scope, found.base))}")
    unsettled = conflict_words(found, scope)
    if unsettled is not None:
        st.caption(f":material/warning: {plain(unsettled)}")
    with st.expander("How this was measured", key="cmp-measured"):
        names = f"A is {code(found.before)}, B is {code(found.after)}."
        st.markdown(f"{names} {badge(EXACT)}")
        made = age(found.finished_millis, state.now_millis())
        st.markdown(f"{plain(read_words(found))} Compared {made}.")
        for words, label in key_words(scope):
            st.markdown(f"{plain(words)} {badge(label)}")
        for note in found.notes:
            st.markdown(plain(note))
    if not is_running:
        _offer_more(identifier, diff, found)
    if not scope.columns:
        return
    column = _picked_column(scope)
    _show_bars(scope)
    show_quality_map(found, column.name, _COLUMN)
    _show_columns(found, scope)
    _show_column(found, scope, column)


def _show_verdict(identifier: Identifier, diff: StateDiff, scope: ScopeComparison) -> None:
    """Draw whether the second side is worse, and the way to the merge."""
    found = quality_verdict(scope, findings_on_sides(identifier, diff), str(diff.before.name))
    with st.container(border=True, key="card-quality"):
        icon, colour = _VERDICTS[found.change]
        st.markdown(f":{colour}[{icon}] {found.sentence}")
        if diff.before.branch != diff.after.branch:
            st.button(
                "Review merge", type="primary", icon=":material/merge:", key="cmp-review-merge",
                on_click=_review_merge, args=(diff.after.branch, diff.before.branch),
                help=f"Merge {code(diff.after.branch)} into {code(diff.before.branch)}",
            )  # fmt: skip


def _review_merge(source: str, target: str) -> None:
    state.go_to(PageName.MERGE, here().at_branch(source), source=source, target=target)


def _open_merged_once(found: QualityComparison) -> None:
    """Choose the merged rows when the job that this session waited for has ended."""
    job = find_job(state.parameter(_JOB))
    if job is None or job.name != COMPARE_QUALITY:
        return
    if not reads.call_of_job(job.id).request(CompareQualityRequest).merged:
        return
    if not job.state.is_over:
        state.await_job(job.id)
    elif found.find_scope(Scope.MERGED) is not None and state.was_awaited(job.id):
        state.put(_SCOPE, str(Scope.MERGED))


def _offer_more(identifier: Identifier, diff: StateDiff, found: QualityComparison) -> None:
    merges = found.open_conflicts is not None
    is_whole = found.find_scope(Scope.WHOLE) is not None
    name = identifier.table_name
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "HTML", lambda: quality_report(name, found), file_name="quality.html",
            mime="text/html", key="cmp-quality-html", type="tertiary", icon=":material/download:",
            on_click="ignore", help="All of it in one file",
        )  # fmt: skip
        if not is_whole:
            st.button(
                "Profile both sides fully", key="cmp-quality-whole", type="tertiary",
                icon=":material/menu_book:", on_click=start_job,
                args=(_JOB, COMPARE_QUALITY, identifier, diff, {"whole": True, "merged": merges}),
            )  # fmt: skip
        if not merges and reads.can_try_merge(identifier, diff):
            st.button(
                "Include merged result", key="cmp-quality-merged", type="tertiary",
                icon=":material/merge:", on_click=start_job,
                args=(_JOB, COMPARE_QUALITY, identifier, diff, {"whole": is_whole, "merged": True}),
                help=f"What merging {code(diff.after.branch)} into {code(diff.before.branch)} "
                "would leave; nothing is published",
            )  # fmt: skip


def _picked_scope(found: QualityComparison) -> ScopeComparison:
    names = [str(each.scope) for each in found.scopes]
    if len(names) == 1:
        return found.scopes[0]
    picked = st.segmented_control(
        "Rows", names, default=names[0], key=_SCOPE, bind="query-params", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    return found.find_scope(Scope(picked or names[0])) or found.scopes[0]


def _picked_column(scope: ScopeComparison) -> ColumnComparison:
    wanted = state.parameter(_COLUMN)
    return next((each for each in scope.columns if each.name == wanted), scope.columns[0])


def _show_bars(scope: ScopeComparison) -> None:
    drift = drift_bars(scope)
    more = plural(drift.left_out, "more column" if drift.bars else "column")
    left_out = f"{more} differ by no more than chance." if drift.left_out else ""
    if not drift.bars:
        st.caption(left_out)
        return
    key = f"{_CHART}-{scope.scope}"
    st.plotly_chart(
        drift_figure(drift, uirevision=key), key=key, on_select=lambda: _on_click(key),
        selection_mode="points", config=CHART_CONFIG, alt=drift.alt,
    )  # fmt: skip
    st.caption(
        "`!` alarm \u2003 `~` watch \u2003 `+` small but certain \u2003 A bar shows how far a "
        "column has drifted beyond chance; the line is the alarm threshold. `≈` marks a bar that "
        f"is cut, with its number. Click a bar to choose a column. {left_out}"
    )


def _on_click(key: str) -> None:
    for carried in state.clicked_points(key):
        state.set_parameter(_COLUMN, str(carried[0]))
        return


def _show_columns(found: QualityComparison, scope: ScopeComparison) -> None:
    columns, sides = scope.columns, sides_beside(found, scope)
    frame = pd.DataFrame(
        {
            "Column": [each.name for each in columns],
            "Type": [each.type for each in columns],
            "Rating": [str(each.rating) for each in columns],
            "Why": [rating_words(each) for each in columns],
            **{
                f"{title} {side.title}": [
                    _cell(side.figures_of(each.name), title) for each in columns
                ]
                for title in ("Nulls", "Distinct")
                for side in sides
            },
        }
    )
    with st.expander(f"All {plural(len(columns), 'column')}", icon=":material/table_rows:"):
        st.dataframe(
            frame, hide_index=True, row_height=rows.TABLE_ROW,
            height=rows.table_height(len(columns), 15), alt=f"Columns by drift. {summary(scope)}",
        )  # fmt: skip
        st.caption("Distinct with `≈` is known within what the figures of the column say.")


def _cell(figures: SideFigures | None, title: str) -> str:
    if figures is None:
        return ""
    if title == "Nulls":
        return f"{figures.nulls:,}"
    if figures.distinct is None:
        return UNREAD
    return f"{'≈ ' if figures.distinct_error else ''}{figures.distinct:,}"


def _show_column(
    found: QualityComparison, scope: ScopeComparison, column: ColumnComparison
) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"##### {code(column.name)}", width="content")
        st.markdown(
            f"{plain(column.type)} \u2003 {_TONES.get(column.rating, '')} "
            f"{plain(rating_words(column))}",
            width="content",
        )
    explained = explaining_words(column, scope.scope)
    if explained is not None:
        st.caption(plain(explained))
    left, right = st.columns(2, gap="medium")
    with left:
        shares = bin_shares(column, scope.scope)
        if shares.labels:
            key = f"cmp-bins-{scope.scope}-{column.name}"
            st.plotly_chart(
                bins_figure(shares, uirevision=key), key=key, config=CHART_CONFIG, alt=shares.alt
            )
            label = badge(shares_label(column.bins_error))
            st.caption(
                f"Share of all rows in each range of values (ranges of {shares.first}) {label}"
            )
    figures = figure_table(found, scope, column)
    right.dataframe(
        pd.DataFrame(list(figures.lines), columns=list(figures.titles)),
        hide_index=True, row_height=rows.TABLE_ROW,
        height=rows.table_height(len(figures.lines), 18),
        alt=f"Figures of {column.name}, side by side",
    )  # fmt: skip
