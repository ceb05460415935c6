"""The inspector of the branches page: one branch, or one snapshot of it."""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import streamlit as st

from branch_console.diff.health.finding import HazardSeverity
from branch_console.diff.lineage import MERGE_SOURCE
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX, Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import (
    BranchItem,
    ForkView,
    GraphNode,
    Health,
    SnapshotItem,
)
from branch_console_app import state
from branch_console_app.models.branches.branch_tracks import (
    LaneState,
    Track,
    standing_sentence,
    versus_words,
)
from branch_console_app.models.branches.file_health import files_word, findings_of_card
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.query_answer import first_rows_query, text_for_address
from branch_console_app.models.parts.wording import (
    age,
    code,
    count,
    full_count,
    moment,
    plain,
    prose,
    shortened,
    signed,
    span,
)
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.broken_branch import show_broken_branch
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer, open_dialog
from branch_console_app.widgets.parts.fallback import show_fallback

_COLOURS = {
    LaneState.MAIN: "blue",
    LaneState.AHEAD: "green",
    LaneState.DIVERGED: "orange",
    LaneState.EVEN: "gray",
    LaneState.BEHIND: "gray",
    LaneState.UNRELATED: "gray",
    LaneState.EMPTY: "gray",
    LaneState.BROKEN: "red",
}
_GLYPHS = {
    LaneState.MAIN: "●",
    LaneState.AHEAD: "↑",
    LaneState.DIVERGED: "⇅",
    LaneState.EVEN: "=",
    LaneState.BEHIND: "↓",
    LaneState.UNRELATED: "?",
    LaneState.EMPTY: "○",
    LaneState.BROKEN: "✕",
}

_MARKS = {HazardSeverity.CRITICAL: "✕", HazardSeverity.WARNING: "△", HazardSeverity.INFO: "○"}


class Placed(Protocol):
    """A branch, of a table or of the catalog, that stands somehow to another one."""

    @property
    def state(self) -> LaneState:
        """How it stands."""

    @property
    def standing(self) -> str:
        """The same in words."""

    @property
    def ahead(self) -> int | None:
        """How much it has that the other lacks; None if not known."""

    @property
    def behind(self) -> int | None:
        """How much the other has that it lacks; None if not known."""


def standing_text(track: Placed, *, note: str = "") -> str:
    """Write how a branch stands in small coloured words with a glyph, for lanes."""
    words = versus_words(track.ahead, track.behind)
    if track.state not in {LaneState.AHEAD, LaneState.BEHIND, LaneState.DIVERGED}:
        words = track.standing
    also = f" · {note}" if note else ""
    return f":small[:{_COLOURS[track.state]}[{_GLYPHS[track.state]} {words}{also}]]"


def standing_badge(track: Placed, *, short: bool = False) -> str:
    """Write how a branch stands as a badge with a glyph."""
    words = track.standing
    if short and track.state in {LaneState.AHEAD, LaneState.BEHIND, LaneState.DIVERGED}:
        words = versus_words(track.ahead, track.behind)
    return f":{_COLOURS[track.state]}-badge[{_GLYPHS[track.state]} {words}]"


_FILES: Final = {
    Health.HEALTHY: ("green", "✓"),
    Health.UNCHECKED: ("gray", "?"),
    Health.AT_RISK: ("orange", "△"),
    Health.BROKEN: ("red", "✕"),
}


def files_badge(health: Health, *, subject: str = "") -> str:
    """Write the state of files as a badge with a glyph, so that it reads without colour.

    Args:
        health: The state.
        subject: The noun before it, where no heading says that it is about files.
    """
    colour, glyph = _FILES[health]
    words = f"{subject} {files_word(health)}".strip()
    return f":{colour}-badge[{glyph} {words}]"


def quiet_words(since_millis: int | None) -> str:
    """Say for how long nothing has happened to a branch: `quiet for 8 months`."""
    return f"quiet for {span(state.now_millis() - since_millis)}" if since_millis else ""


def check_badge(check: HeadCheck, words: str) -> str:
    """Write what the rules found for the merge of a branch as a badge, in words of the check.

    Args:
        check: The check.
        words: Its words, as Markdown.
    """
    colour, glyph = ("orange", "△") if check.warns else ("green", "✓")
    if check.blocks:
        colour, glyph = "red", "✕"
    return f":{colour}-badge[{glyph} {words}]"


def show_branch_card(
    item: BranchItem,
    track: Track,
    versus: str,
    identifier: Identifier,
    place: Location,
    check: HeadCheck | None = None,
) -> None:
    """Draw a branch: how it stands in a sentence, what may break it, and the next step."""
    with st.container(border=True, key="card-branch"):
        st.markdown(f"##### {code(item.name)}")
        if item.error is not None:
            show_broken_branch(item, item.error, identifier, place)
            return
        st.markdown(standing_sentence(track, versus))
        badges = []
        if item.health is not Health.HEALTHY:
            badges.append(files_badge(item.health, subject="files"))
        if check is not None:
            badges.append(check_badge(check, check.sentence(code)))
            badges.append(f":gray[checked {age(check.time_millis, state.now_millis())}]")
        if item.protection is not None:
            badges.append(":blue-badge[:material/lock: protected]")
        if item.quiet_since_millis is not None:
            badges.append(f":gray-badge[{quiet_words(item.quiet_since_millis)}]")
        if badges:
            st.markdown(" ".join(badges))
        for finding in findings_of_card(item):
            mark = _MARKS[finding.severity]
            st.caption(f"{mark} {prose(finding.sentences)} {code(finding.rule)}")
        _show_fixes(item)
        _show_actions(item, identifier.on_branch(item.name), place)
        rows.facts("branch", _branch_facts(item, versus))
        if item.branch_options:
            show_fallback(identifier.on_branch(item.name))
        if item.fork is not None:
            _show_fork(item.fork)


def _show_fixes(item: BranchItem) -> None:
    """Draw what remedies the findings, each opening its preview."""
    fixes = [(action, label) for action, label, is_needed in _fixes_of(item) if is_needed]
    if not fixes:
        return
    with st.container(horizontal=True, gap="small", key="branch-fixes"):
        for action, label in fixes:
            offer(action, label, icon=":material/healing:", key=f"fix-{action}", is_link=True)


def _fixes_of(item: BranchItem) -> tuple[tuple[Action, str, bool], ...]:
    needs_pin = any(finding.needs_pin for finding in findings_of_card(item))
    return (
        (Action.PIN, "Pin merge base…", needs_pin),
        (Action.FENCE, "Fence…", item.needs_fence),
        (Action.REPAIR, "Repair…", item.needs_repair),
    )


def _branch_facts(item: BranchItem, versus: str) -> list[tuple[str, str]]:
    now = state.now_millis()
    facts = []
    if item.head is not None:
        facts.append(("Head", f"snapshot {item.head.id}, {age(item.head.time_millis, now)}"))
        facts.append(("Holds", item.figure.words(count)))
    if item.versus is not None and item.name != versus:
        ahead, behind = item.versus.figure_ahead, item.versus.figure_behind
        words = f"this branch {ahead.words(signed)}"
        if behind.is_known:
            words += f", {plain(versus)} {behind.words(signed)}"
        facts.append((f"Net change since the merge base with {plain(versus)}", words))
    if item.fork is not None:
        at = f" at snapshot {item.fork.snapshot_id}" if item.fork.snapshot_id is not None else ""
        facts.append(("Started from", f"{code(item.fork.parent)}{at}"))
    if item.base_tag:
        facts.append(("Base tag", code(item.base_tag)))
    # The folder of main is the folder of the table, and its time that of the last change in it.
    if item.created_millis is not None and item.name != MAIN_BRANCH:
        # A copied or restored folder is younger than the branch.
        label = "Created" if item.is_recorded else "Folder made"
        facts.append((label, age(item.created_millis, now)))
    if item.owner:
        facts.append(("Owner", plain(item.owner)))
    if item.reason:
        facts.append(("Reason", plain(item.reason)))
    if item.protection is not None:
        rule = f"rule {code(item.protection.branch)} of {plain(item.protection.actor)}"
        facts.append(("Protected by", rule))
    if item.used_by:
        facts.append(("Used in options", ", ".join(code(each) for each in item.used_by)))
    return facts


def _show_fork(fork: ForkView) -> None:
    with st.expander(f"Where it started: {fork.confidence}"):
        for sentence in fork.evidence:
            st.markdown(f"- {plain(sentence)}")


def _show_actions(item: BranchItem, identifier: Identifier, place: Location) -> None:
    """Draw the next step, the comparison, and a menu of all the rest."""
    target, is_main = place.at_branch(item.name), item.name == MAIN_BRANCH
    has_changes = item.versus is None or item.versus.ahead != 0
    with st.container(horizontal=True, gap="small", key="branch-commands"):
        if is_main:
            offer(
                Action.CREATE, "Create branch", icon=":material/add:", key="card-create-branch",
                is_primary=True,
            )  # fmt: skip
        elif item.head is not None:
            st.button(
                "Review merge", icon=":material/merge:", key="review-merge",
                type="primary" if has_changes else "secondary", on_click=_review_merge,
                args=(target,),
            )  # fmt: skip
        if item.head is not None:
            st.button(
                "Compare", icon=":material/compare_arrows:", key="compare-branch",
                on_click=_compare, args=(target,),
            )  # fmt: skip
        commands = _menu_of(item, identifier, target)
        chosen = st.menu_button("More", list(commands), key="branch-more")
        if chosen is not None:
            commands[chosen]()


def _menu_of(
    item: BranchItem, identifier: Identifier, target: Location
) -> dict[str, Callable[[], None]]:
    """Return what the menu of a branch offers, by its labels."""
    is_main, is_rescue = item.name == MAIN_BRANCH, item.name.startswith(RESCUE_PREFIX)
    query = partial(
        state.go_to, PageName.SQL, target, q=text_for_address(first_rows_query(identifier))
    )
    protect = "Protect…" if item.protection is None else "Protection…"
    offered = (
        ("Snapshots", item.head is not None, partial(state.go_to, PageName.SNAPSHOTS, target)),
        ("Schemas", item.schema is not None, partial(state.go_to, PageName.SCHEMAS, target)),
        ("Query", item.head is not None, query),
        ("Rename…", not is_main, partial(open_dialog, Action.RENAME)),
        (protect, True, partial(open_dialog, Action.PROTECT)),
        ("Pin merge base…", not is_main, partial(open_dialog, Action.PIN)),
        ("Fence…", item.needs_fence, partial(open_dialog, Action.FENCE)),
        ("Repair…", item.needs_repair, partial(open_dialog, Action.REPAIR)),
        (
            "Replace main…",
            not is_main and item.head is not None,
            partial(open_dialog, Action.REPLACE_MAIN),
        ),
        # To drop a rescue branch makes another one; to release it is what frees its files.
        ("Release…", is_rescue, partial(open_dialog, Action.RELEASE, item.name)),
        ("Drop…", not is_main and not is_rescue, partial(open_dialog, Action.DROP)),
    )
    return {label: command for label, is_offered, command in offered if is_offered}


def _review_merge(target: Location) -> None:
    state.go_to(PageName.MERGE, target, source=target.branch_or_main, target=MAIN_BRANCH)


def _compare(target: Location) -> None:
    if target.branch_or_main == MAIN_BRANCH:
        state.go_to(PageName.COMPARE, target)
    else:
        state.go_to(PageName.COMPARE, target, cmp_a=MAIN_BRANCH, cmp_b=target.branch_or_main)


def show_snapshot_card(branch: str, node: GraphNode, place: Location) -> None:
    """Draw a snapshot in short; its page tells the rest."""
    snapshot, tags = node.snapshot, node.tags
    with st.container(border=True, key="card-snapshot"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"##### Snapshot {snapshot.id} of {code(branch)}", width="content")
            st.space("stretch")
            state.link(
                PageName.BRANCHES,
                "",
                place.at_snapshot(None),
                view=state.view_of("br_axis", "br_vs", "br_show", "br_q", "br_open"),
                icon=":material/close:",
                help="Back to the branch",
            )
        rows.facts("snapshot", snapshot_facts(node, snapshot))
        if tags:
            st.markdown(" ".join(f":violet-badge[⚑ {plain(tag)}]" for tag in tags))
        point = SnapshotPoint.of(branch, snapshot)
        with st.container(horizontal=True, gap="small"):
            state.link(
                PageName.SNAPSHOTS,
                "Open in Snapshots",
                place.at_snapshot(point),
                icon=":material/timeline:",
            )
            state.link(
                PageName.COMPARE,
                "Compare with the head",
                place.at_branch(branch),
                view={"cmp_a": f"{branch}@{point.id}:{point.identity}", "cmp_b": branch},
                icon=":material/compare_arrows:",
            )


def snapshot_facts(item: SnapshotItem | GraphNode, snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return what a snapshot file says, as labels with Markdown.

    Args:
        item: The snapshot as a list or the graph has it.
        snapshot: The snapshot, which could be read.
    """
    facts = [
        ("Kind", snapshot.commit_kind.lower()),
        ("Committed by", plain(shortened(snapshot.commit_user, 20))),
        ("Time", moment(snapshot.time_millis, state.zone())),
        ("Schema", count(snapshot.schema_id)),
        ("Changed", item.change.words(signed)),
        ("In all", item.figure.words(full_count)),
        ("Identity", code(snapshot.identity.short)),
    ]
    source = snapshot.properties.get(MERGE_SOURCE)
    return [*facts, *([("Merged from", code(source))] if source else [])]
