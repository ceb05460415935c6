"""A receipt: what an operation did, by whom, on which heads."""

from contextlib import suppress

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.jobs.progress import JobView
from branch_console.procedures.undo.undo import UndoChance
from branch_console_app import reads, state
from branch_console_app.models.jobs.before_after import before_and_after
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.jobs.receipt_text import (
    changed_rows,
    count_pairs,
    job_of,
    move_words,
    notes_of,
    reason_of,
    receipt_markdown,
    receipt_title,
    time_pairs,
    truth_words,
    undone_operation,
)
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import (
    bare,
    code,
    plain,
    prose,
    short_id,
)
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.pick_dialogs import operation_dialogs
from branch_console_app.widgets.branches.undo_dialog import undo_dialogs
from branch_console_app.widgets.jobs.before_after import link_to_comparison, show_changed_rows_of
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer, show_dialog
from branch_console_app.widgets.parts.location import show_location
from branch_console_app.widgets.parts.problem import show_problem
from branch_console_app.widgets.parts.reason import show_reason, show_statement
from branch_console_app.widgets.parts.same_as import RUN_BY_CONSOLE, show_same_as
from branch_console_app.widgets.parts.table_picker import here, is_open_warehouse


def show() -> None:
    """Draw the page."""
    place = here()
    if not is_open_warehouse(place):
        return
    show_location(place)
    operation_id = state.parameter("id")
    if operation_id is None:
        st.info("This address names no receipt. Jobs lists the operations that have one.")
        state.link(PageName.JOBS, "Jobs", Location(warehouse=place.warehouse))
        return
    try:
        receipt = reads.receipt(operation_id)
    except PaimonError as error:
        show_problem(error, headline=f"The receipt of {code(operation_id)} cannot be shown.")
        state.link(PageName.JOBS, "Jobs", Location(warehouse=place.warehouse))
        return
    identifier = _changed_table(place, operation_id)
    _show_receipt(receipt, place, identifier)
    what = f"“{plain(bare(_title_of(receipt)))}”"
    undo, branch = undo_dialogs(identifier, place, what), _added_to(receipt)
    if identifier is None or branch is None:
        show_dialog(undo)
    else:
        show_dialog({**undo, **operation_dialogs(identifier.on_branch(branch), place)})


def _changed_table(place: Location, operation_id: str) -> Identifier | None:
    """Return the table that an operation changed; None for one of the catalog."""
    if place.full_table is not None:
        return Identifier.parse(place.full_table)
    return reads.table_of_operation(operation_id)


def _show_receipt(receipt: Receipt, place: Location, table: Identifier | None) -> None:
    zone = state.zone()
    chance = reads.undo_chance(table, receipt.operation_id)
    undo, job = _find_undo(chance), _find_job(receipt)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        undone = "" if chance.undone_by is None else ", undone"
        st.subheader(f"{_title_of(receipt)}{undone}", anchor=False, width="content")
        if chance.undone_by is None:
            st.badge("done", icon=":material/check:", color="green")
        overridden = OverriddenRules.of_gate(receipt.gate)
        if overridden is not None:
            st.badge(overridden.mark, icon=":material/gpp_maybe:", color="orange")
        st.space("stretch")
        file_name = f"receipt-{short_id(receipt.operation_id)}"
        st.download_button(
            "Markdown", receipt_markdown(receipt, job, zone), f"{file_name}.md",
            "text/markdown", icon=":material/download:",
        )  # fmt: skip
        st.download_button(
            "JSON", receipt.to_json(), f"{file_name}.json",
            "application/json", icon=":material/download:",
        )  # fmt: skip
    _show_truth(receipt, undo, chance, place)
    left, right = st.columns([3, 2], gap="medium")
    with left, st.container(border=True, key="card-receipt"):
        # A merge of the catalog tells of the heads of its tables in its notes.
        if receipt.moves or not receipt.counts.snapshots_added:
            st.markdown("**Newest snapshot before and after**")
        for move in receipt.moves:
            st.markdown(move_words(move))
        if not receipt.moves and not receipt.counts.snapshots_added:
            st.caption("No branch got another newest snapshot.")
        if receipt.rescue_branch:
            st.markdown(f"What was replaced went to rescue branch {code(receipt.rescue_branch)}.")
        pairs = count_pairs(receipt.counts)
        if pairs:
            st.markdown("**Counts**")
            rows.facts("counts", pairs, columns=3)
        notes = notes_of(receipt)
        if notes and chance.undone_by is not None:
            st.markdown("**Notes from before the undo**")
        for note in notes:
            st.caption(prose(note))
        sides = before_and_after(receipt, undo)
        if table is not None and sides is not None:
            counts = receipt.counts
            # Rows that deletion vectors hide, and equal numbers both ways, change no records.
            if (counts.snapshots_added or counts.records_added) and changed_rows(counts) is None:
                show_changed_rows_of(table, sides)
            link_to_comparison(place.at_table(table.database, table.table), sides)
    with right, st.container(border=True, key="card-who"):
        reason = reason_of(receipt)
        if reason is not None:
            show_reason(reason)
        rows.facts(
            "who",
            [
                *_override_pair(overridden, reason),
                ("By", plain(receipt.actor)),
                *time_pairs(receipt, job, zone),
                ("Preview id", code(receipt.plan_id)),
                ("Operation", code(receipt.operation_id)),
            ],
        )
    st.caption("Statement")
    show_statement(receipt.statement)
    st.caption(RUN_BY_CONSOLE)
    show_same_as("receipt", receipt.operation_id)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if chance.obstacle is None:
            offer(
                Action.UNDO, "Undo", icon=":material/undo:", key="undo",
                what=receipt.operation_id,
                help="Puts everything back as it was before, while nothing builds on it.",
            )  # fmt: skip
        if place.full_table:
            if _added_to(receipt) is not None and chance.undone_by is None:
                offer(
                    Action.REVERT, "Revert", icon=":material/settings_backup_restore:",
                    key="revert", what=receipt.operation_id,
                    help="Adds a commit that takes back what this one changed, also after later "
                    "commits.",
                )  # fmt: skip
            state.link(PageName.BRANCHES, "Branches", place, icon=":material/account_tree:")
        state.link(
            PageName.JOB, "Job", place, view={"id": job_of(receipt)},
            icon=":material/checklist:",
        )  # fmt: skip
    if table is None and chance.undone_by is None:
        _show_parts(receipt.operation_id)
    if chance.obstacle is not None and chance.undone_by is None:
        st.caption(f":material/undo: {plain(chance.obstacle)}")


def _override_pair(
    overridden: OverriddenRules | None, reason: str | None
) -> tuple[tuple[str, str], ...]:
    """Return the reason of an override with its label, unless it is that of the operation."""
    why = None if overridden is None else overridden.reason_beside(reason)
    return () if why is None else (("Reason to override", plain(why)),)


def _title_of(receipt: Receipt) -> str:
    """Say what the operation did; of an undo, what it took back."""
    operation_id, undone = undone_operation(receipt), None
    if operation_id is not None:
        with suppress(PaimonError):
            undone = reads.receipt(operation_id)
    return receipt_title(receipt, undone)


def _find_job(receipt: Receipt) -> JobView | None:
    """Return the job of an operation; None if there is none, or the job store does not answer."""
    try:
        return reads.job(job_of(receipt))
    except PaimonError:
        return None


def _find_undo(chance: UndoChance) -> Receipt | None:
    """Return the receipt of what took the operation back; None if it stands, or has none."""
    if chance.undone_by is None:
        return None
    try:
        return reads.receipt(chance.undone_by)
    except PaimonError:
        return None


def _show_truth(
    receipt: Receipt, undo: Receipt | None, chance: UndoChance, place: Location
) -> None:
    """Say what has become of the operation until today."""
    words = truth_words(receipt, undo, state.zone())
    if chance.undone_by is None:
        st.markdown(words)
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="line-undo"):
        # Without the receipt of what took it back only that much is known.
        text = words if undo is not None else "Undone."
        st.markdown(f":orange[:material/undo: **{text}**]", width="content")
        state.link(PageName.RECEIPT, "See that receipt", place, view={"id": chance.undone_by})


def _show_parts(operation_id: str) -> None:
    """Offer to take one object of a merge of the catalog back, and leave the others."""
    parts = reads.parts_of_merge(operation_id)
    if len(parts) < 2:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="line-parts"):
        chosen = st.selectbox(
            "Undo one database or table, and keep the others", parts, index=None, key="undo-part",
            placeholder="Choose one", width=360, filter_mode="contains",
            format_func=lambda part: f"{part.name}: {part.kind}",
        )  # fmt: skip
        if chosen is not None:
            offer(
                Action.UNDO, "Undo this one", icon=":material/undo:", key="undo-one",
                what=chosen.operation_id,
            )  # fmt: skip


def _added_to(receipt: Receipt) -> str | None:
    """Return the branch that got one snapshot; None if a revert has not one to take back.

    Whether that snapshot can be reverted is for the dialog to say, with the reason.
    """
    added = (move.branch for move in receipt.moves if move.is_one_snapshot)
    return next(added, None) if receipt.counts.snapshots_added else None
