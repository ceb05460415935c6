"""A merge that is done, on its own page: what it moved and brought, from its receipt."""

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import HeadMove, Receipt
from branch_console.procedures.browse.page_values import SnapshotItem
from branch_console_app import reads
from branch_console_app.models.compare.states import partition_lines, partitions_of
from branch_console_app.models.jobs.before_after import (
    BeforeAfter,
    before_and_after,
    commits_merged,
    commits_of_move,
)
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.jobs.receipt_text import changed_rows, count_pairs, move_words
from branch_console_app.models.merge.fast_forward import MovedCommits
from branch_console_app.models.merge.merge_facts import MergeAttempt
from branch_console_app.models.merge.merge_state import MergeStanding, MergeState
from branch_console_app.models.parts.wording import code, count, listed, plain, plural, prose
from branch_console_app.widgets.jobs.before_after import link_to_comparison, show_changed_rows_of
from branch_console_app.widgets.merge.commits import show_commits
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.patience import read_states
from branch_console_app.widgets.parts.table_picker import here

_MOST_PARTITIONS = 12


def show_merged(verdict: MergeState, merge: MergeAttempt | None, identifier: Identifier) -> None:
    """Draw what a merge has changed; nothing before it is done, or after it was taken back.

    Args:
        verdict: The verdict of the page.
        merge: The job that merged; None if there is none.
        identifier: The table.
    """
    receipt = receipt_of_done(verdict, merge)
    if receipt is None:
        return
    with st.container(border=True, key="card-merged"):
        st.markdown("**What was merged**")
        overridden = OverriddenRules.of_gate(receipt.gate)
        if overridden is not None:
            # Who did it and why is said by the note below, and by the check beside.
            st.markdown(f":orange-badge[:material/gpp_maybe: {overridden.mark}]")
        pairs = count_pairs(receipt.counts)
        if pairs:
            rows.facts("merged", pairs, columns=3)
        for move in receipt.moves:
            st.markdown(move_words(move))
        for note in receipt.notes:
            st.caption(prose(note))
        sides = before_and_after(receipt)
        if sides is not None:
            if changed_rows(receipt.counts) is None:
                show_changed_rows_of(identifier, sides)
            link_to_comparison(here(), sides)


def receipt_of_done(verdict: MergeState, merge: MergeAttempt | None) -> Receipt | None:
    """Return the receipt of a merge; None before it is done, or after it was taken back."""
    if merge is None or verdict.standing is not MergeStanding.DONE:
        return None
    return merge.receipt


def show_brought(receipt: Receipt, identifier: Identifier, source: str, target: str) -> None:
    """Draw the commits that a merge brought, and the partitions that it changed.

    Args:
        receipt: The receipt of the merge.
        identifier: The table.
        source: The source of it.
        target: The target of it.
    """
    sides = before_and_after(receipt)
    move = next((each for each in receipt.moves if each.branch == target), None)
    if move is not None:
        _show_commits(identifier, source, target, move)
    if sides is not None:
        _show_partitions(identifier, sides)
        link_to_comparison(here(), sides)


def _show_commits(identifier: Identifier, source: str, target: str, move: HeadMove) -> None:
    brought = commits_of_move(reads.snapshots(identifier.on_branch(target)), move)
    st.markdown(f"**Commits that {code(target)} got**")
    if not brought:
        st.caption("They cannot be listed.")
        return
    show_commits(_moved(brought), "brought")
    merged = brought[-1].snapshot
    if merged is None:
        return
    taken = commits_merged(_snapshots_of(identifier, source), merged)
    if taken:
        st.markdown(f"**Commits of** {code(source)} **that it took in**")
        show_commits(_moved(taken), "taken-in")


def _snapshots_of(identifier: Identifier, branch: str) -> tuple[SnapshotItem, ...]:
    """Return the snapshots of a branch; none of one that was dropped since."""
    try:
        return reads.snapshots(identifier.on_branch(branch))
    except PaimonError:
        return ()


def _moved(items: tuple[SnapshotItem, ...]) -> MovedCommits:
    return MovedCommits(
        snapshots=tuple(each.snapshot for each in items if each.snapshot is not None),
        changes=tuple(each.change for each in items),
        schema_ids=(),
        tags=(),
    )


def _show_partitions(identifier: Identifier, sides: BeforeAfter) -> None:
    try:
        diff = read_states("brought-partitions", identifier, str(sides.before), str(sides.after))
    except PaimonError as error:
        st.caption(f"Its partitions cannot be compared any more: {plain(error.message)}")
        return
    if diff is None or not diff.after.schema.partition_keys:
        return
    partitions = partitions_of(diff.places)
    lines = partition_lines(partitions, diff.after.schema, slice(0, _MOST_PARTITIONS))
    names, more = [code(each.name) for each in lines], partitions.num_rows - len(lines)
    said = f"{', '.join(names)} and {count(more)} more" if more else listed(names, most=len(names))
    st.markdown(f"**{plural(partitions.num_rows, 'partition')} changed:** {said}")
