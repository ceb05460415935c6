"""The inspector of the snapshots page: one snapshot, its files, and what can be done with it."""

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console.procedures.browse.page_values import SnapshotItem
from branch_console_app import state
from branch_console_app.models.parts.actions import DO, WHAT, Action
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.wording import count, full_count, plain, plural, size
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branch_card import snapshot_facts
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer
from branch_console_app.widgets.parts.partition_list import show_partitions
from branch_console_app.widgets.parts.patience import read_snapshot
from branch_console_app.widgets.parts.problem import show_problem
from branch_console_app.widgets.parts.table_picker import here, link_to_cause

_MOST_PARTITIONS = 2_000
_CHANGES_ROWS = (CommitKind.APPEND, CommitKind.OVERWRITE)


def show_snapshot(
    identifier: Identifier, item: SnapshotItem, *, is_head: bool, has_others: bool
) -> None:
    """Draw a snapshot that can be read: what it says of itself, its files, what can be done.

    Args:
        identifier: The table and the branch.
        item: The snapshot.
        is_head: Whether it is the head of the branch.
        has_others: Whether the table has other branches.
    """
    snapshot = item.snapshot
    if snapshot is None:
        return
    with st.container(border=True, key="card-snapshot"):
        head = " :blue-badge[head]" if is_head else ""
        st.markdown(f"##### Snapshot {snapshot.id}{head}")
        if item.tags:
            st.markdown(" ".join(f":violet-badge[⚑ {plain(tag)}]" for tag in item.tags))
        rows.facts("snapshot", [*snapshot_facts(item, snapshot), *_more_facts(snapshot)])
        st.caption(_kept_because(item, is_head=is_head))
        try:
            _show_files(identifier, snapshot)
        except PaimonError as error:
            show_problem(error, headline="The files of this snapshot cannot be read.")
            if is_head and not identifier.is_main:
                link_to_cause(here().at_branch(identifier.branch))
        as_json = st.expander("Snapshot file as JSON", key="snap_json", on_change="rerun")
        if as_json.open:
            as_json.code(snapshot.to_json(), language="json", wrap_lines=True)
        _show_links(identifier, snapshot)
    _show_commands(identifier, snapshot, is_head=is_head, has_others=has_others)


def _show_commands(
    identifier: Identifier, snapshot: Snapshot, *, is_head: bool, has_others: bool
) -> None:
    """Draw what can be done with the snapshot; each opens a form that tells the consequences."""
    what = str(snapshot.id)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="commands"):
        offer(Action.TAG, "Tag", icon=":material/sell:", key="do-create-tag", what=what)
        if not is_head:
            offer(
                Action.ROLLBACK, "Roll back to here", icon=":material/history:", key="do-rollback",
                what=what,
            )  # fmt: skip
        if snapshot.commit_kind in _CHANGES_ROWS:
            offer(Action.REVERT, "Revert", icon=":material/undo:", key="do-revert", what=what)
            if has_others:
                offer(
                    Action.PICK, "Pick onto another branch", icon=":material/move_down:",
                    key="do-pick", what=what,
                )  # fmt: skip
        state.link(
            PageName.BRANCHES, "Branch from here", here().at_branch(identifier.branch),
            view={DO: Action.CREATE, WHAT: what}, icon=":material/fork_right:",
        )  # fmt: skip


def _more_facts(snapshot: Snapshot) -> list[tuple[str, str]]:
    facts = []
    if snapshot.changelog_record_count:
        facts.append(("Changelog records", full_count(snapshot.changelog_record_count)))
    if snapshot.watermark is not None and snapshot.watermark > -(2**62):
        facts.append(("Watermark", count(snapshot.watermark)))
    if snapshot.operation:
        facts.append(("Operation", plain(snapshot.operation)))
    if snapshot.writer_version:
        facts.append(("Written by", plain(snapshot.writer_version)))
    return facts


def _kept_because(item: SnapshotItem, *, is_head: bool) -> str:
    reasons = ["it is the head"] if is_head else []
    if item.tags:
        reasons.append(f"{'tag' if len(item.tags) == 1 else 'tags'} {', '.join(item.tags)}")
    return f"Kept because: {plain(' and '.join(reasons))}." if reasons else "Kept by age only."


def _show_files(identifier: Identifier, snapshot: Snapshot) -> None:
    detail = read_snapshot("snapshot", identifier, snapshot)
    if detail is None:
        return
    deletes = detail.change.delete_records
    rows.facts(
        "files",
        [
            ("Data files", full_count(detail.file_count)),
            ("Size", size(detail.byte_count)),
            ("Hold", detail.figure.words(full_count)),
            *([("Deletes added here", plural(deletes, "record"))] if deletes else []),
            ("Added here", plural(detail.added_file_count, "file")),
            ("Deleted here", plural(detail.delete_file_count, "file")),
        ],
    )
    if detail.partitions.num_rows > 1:
        with st.expander(f"{plural(detail.partitions.num_rows, 'partition')}"):
            show_partitions(detail.partitions, most=_MOST_PARTITIONS, height=240)


def _show_links(identifier: Identifier, snapshot: Snapshot) -> None:
    point = SnapshotPoint.of(identifier.branch, snapshot)
    place: Location = here().at_snapshot(point)
    with st.container(horizontal=True, gap="small"):
        state.link(PageName.BRANCHES, "In the graph", place, icon=":material/account_tree:")
        state.link(
            PageName.SCHEMAS,
            f"Schema {snapshot.schema_id}",
            place,
            view={"sc_r": f"{identifier.branch}:{snapshot.schema_id}"},
            icon=":material/schema:",
        )
        sides = {"cmp_a": f"{point.branch}@{point.id}:{point.identity}", "cmp_b": point.branch}
        state.link(
            PageName.COMPARE, "Compare with the head", here().at_branch(identifier.branch),
            view=sides, icon=":material/compare_arrows:",
        )  # fmt: skip
