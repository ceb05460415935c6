"""Compare: what differs between any two states of a table, counted from its manifests at once."""

from dataclasses import replace
from enum import StrEnum

import streamlit as st

from branch_console.diff.state_diff import StateDiff
from branch_console.errors import ErrorKind, PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.quality.comparison import Scope
from branch_console_app import reads, state
from branch_console_app.models.compare.states import counted_difference, counted_sides, summary
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branches_to_compare import show_start
from branch_console_app.widgets.compare.choice import show_choice, show_unknown_branch
from branch_console_app.widgets.compare.parts import show_figures, show_files, show_partitions
from branch_console_app.widgets.compare.quality import show_quality
from branch_console_app.widgets.compare.rows import show_rows
from branch_console_app.widgets.parts.patience import read_states
from branch_console_app.widgets.parts.problem import show_problem
from branch_console_app.widgets.parts.row_counts import show_compared_counts
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.schema_diff import show_schema_diff
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header


class Tab(StrEnum):
    """The tab of a comparison, by its name in addresses."""

    PARTITIONS = "partitions"
    FILES = "files"
    SCHEMA = "schema"
    ROWS = "rows"
    QUALITY = "quality"


_WHY_COUNT = "The number of rows is known only after the files of both sides were read."


def show() -> None:
    """Draw the page."""
    picked = pick_table(PageName.COMPARE)
    if picked is None:
        return
    identifier, found = picked
    show_table_header(identifier, found, PageName.COMPARE, title="Compare")
    branches = found.branches_with_main
    before = state.parameter("cmp_a") or MAIN_BRANCH
    after = state.parameter("cmp_b") or _other(identifier)
    show_choice([*branches, *(f"tag:{name}" for name in found.tags)], before, after)
    if after is None:
        show_start(identifier, here())
        return
    try:
        found_diff = read_states("compare", identifier, before, after)
        if found_diff is None:
            return
        diff = _with_compared_rows(identifier, found_diff)
    except PaimonError as error:
        if error.kind is ErrorKind.BRANCH_NOT_FOUND:
            show_unknown_branch(identifier, error, branches, before, after)
        else:
            show_problem(error, headline="The two states cannot be compared.")
        return
    state.note_compared_pair(identifier.table_name, before, after)
    _show(identifier, diff)
    show_same_as("compare", identifier.table_name, before, after, *_asked())


def _asked() -> list[str]:
    """The options that show the same on the command line."""
    match state.value_of("cmp_tab"):
        case Tab.ROWS:
            kind = state.value_of("cmp_kind")
            given = {
                "--kind": None if kind == "all" else kind,
                "--column": state.value_of("cmp_cols"),
                "--where": state.value_of("cmp_where"),
            }
            chosen = [text for option, value in given.items() if value for text in (option, value)]
            return ["--rows", *chosen]
        case Tab.QUALITY:
            is_merged = state.value_of("cmp_scope") == Scope.MERGED
            return ["--quality", *(["--merged"] if is_merged else [])]
        case _:
            return []


def _with_compared_rows(identifier: Identifier, diff: StateDiff) -> StateDiff:
    """Take the exact numbers of rows where a job has compared them."""
    kept = reads.row_diff(identifier, diff)
    return diff if kept is None else replace(diff, rows=kept.index.difference)


def _other(identifier: Identifier) -> str | None:
    """The branch of the address is what somebody wants to see compared, unless it is main."""
    return None if identifier.is_main else identifier.branch


def _show(identifier: Identifier, diff: StateDiff) -> None:
    if diff.is_empty:
        st.success(f"**{plain(summary(diff))}**", icon=":material/check:")
        _show_links(diff)
        return
    counts = None
    if diff.after.schema.primary_keys and not diff.rows.is_exact:
        counts = reads.row_counts(identifier, diff)
    counted = diff if counts is None else replace(diff, rows=counted_difference(counts))
    st.markdown(f"##### {plain(summary(counted))}")
    _show_links(diff)
    show_figures(counted)
    if counts is not None:
        st.markdown(counted_sides(counts))
    elif diff.after.schema.primary_keys and not diff.rows.is_exact:
        show_compared_counts(identifier, diff, counted_sides, _WHY_COUNT)
    tab = st.segmented_control(
        "Look at", list(Tab), default=Tab.PARTITIONS, key="cmp_tab", bind="query-params",
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    match Tab(tab or Tab.PARTITIONS):
        case Tab.PARTITIONS:
            show_partitions(diff)
        case Tab.FILES:
            show_files(diff)
        case Tab.ROWS:
            show_rows(identifier, diff)
        case Tab.QUALITY:
            show_quality(identifier, diff)
        case Tab.SCHEMA:
            show_schema_diff(diff.schema, f"{diff.before.name} (A)", f"{diff.after.name} (B)")


def _show_links(diff: StateDiff) -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        _show_pinned(diff)
        _link_to_merge(diff)


def _link_to_merge(diff: StateDiff) -> None:
    """Link to the merge of the second branch into the first; of one branch, into main."""
    source, target = diff.after.branch, diff.before.branch
    target = MAIN_BRANCH if source == target else target
    if source == target:
        return
    state.link(
        PageName.MERGE, f"Merge {code(source)} into {code(target)}\N{HORIZONTAL ELLIPSIS}",
        here().at_branch(target), view={"source": source, "target": target},
        icon=":material/merge:",
    )  # fmt: skip


def _show_pinned(diff: StateDiff) -> None:
    """Offer the address of these very snapshots: branches move on."""
    if diff.before.pinned == diff.before.name and diff.after.pinned == diff.after.name:
        return
    view = {"cmp_a": str(diff.before.pinned), "cmp_b": str(diff.after.pinned)}
    state.link(
        PageName.COMPARE, "Link to exactly these two snapshots", here(),
        view={**state.view_of("cmp_tab", "cmp_part"), **view}, icon=":material/keep:",
    )  # fmt: skip
