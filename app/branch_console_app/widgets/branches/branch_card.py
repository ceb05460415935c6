"""The inspector of the branches page: one branch, or one snapshot of it."""

from typing import Protocol

import streamlit as st

from branch_console.diff.health.finding import HazardSeverity
from branch_console.diff.lineage import MERGE_SOURCE
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import (
    BranchItem,
    ForkView,
    GraphNode,
    Health,
    SnapshotItem,
)
from branch_console_app import state
from branch_console_app.models.branches.branch_tracks import LaneState, Track, versus_words
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.wording import (
    age,
    code,
    count,
    full_count,
    moment,
    plain,
    shortened,
    signed,
)
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer
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

_MARKS = {HazardSeverity.CRITICAL: "✕", HazardSeverity.WARNING: "△", HazardSeverity.INFO: "ⓘ"}


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


def standing_text(track: Placed, *, is_stale: bool = False) -> str:
    """Write how a branch stands in small coloured words with a glyph, for lanes."""
    words = versus_words(track.ahead, track.behind)
    if track.state not in {LaneState.AHEAD, LaneState.BEHIND, LaneState.DIVERGED}:
        words = track.standing
    stale = " · stale" if is_stale else ""
    return f":small[:{_COLOURS[track.state]}[{_GLYPHS[track.state]} {words}{stale}]]"


def standing_badge(track: Placed, *, short: bool = False) -> str:
    """Write how a branch stands as a badge with a glyph."""
    words = track.standing
    if short and track.state in {LaneState.AHEAD, LaneState.BEHIND, LaneState.DIVERGED}:
        words = versus_words(track.ahead, track.behind)
    return f":{_COLOURS[track.state]}-badge[{_GLYPHS[track.state]} {words}]"


def health_badge(health: Health) -> str:
    """Write a health as a badge with a glyph, so that it reads without colour."""
    match health:
        case Health.HEALTHY:
            return ":green-badge[✓ healthy]"
        case Health.UNCHECKED:
            return ":gray-badge[? not checked]"
        case Health.AT_RISK:
            return ":orange-badge[△ at risk]"
        case Health.BROKEN:
            return ":red-badge[✕ broken]"


def show_branch_card(
    item: BranchItem, track: Track, versus: str, identifier: Identifier, place: Location
) -> None:
    """Draw a branch: where it stands, where it came from, what may break it, where to go on."""
    with st.container(border=True, key="card-branch"):
        st.markdown(f"##### {code(item.name)}")
        badges = [standing_badge(track), health_badge(item.health)]
        if item.protection is not None:
            badges.append(":blue-badge[:material/lock: protected]")
        if item.is_stale:
            badges.append(":gray-badge[stale]")
        st.markdown(" ".join(badges))
        if item.error is not None:
            st.error(f"{plain(item.error.message)} {code(item.error.kind)}")
        for finding in item.findings:
            mark = _MARKS[finding.severity]
            st.caption(f"{mark} {plain(finding.sentences)} {code(finding.rule)}")
        rows.facts("branch", _branch_facts(item, versus))
        if item.branch_options and item.error is None:
            show_fallback(identifier.on_branch(item.name))
        if item.fork is not None:
            _show_fork(item.fork)
        _show_actions(item, track, place)


def _branch_facts(item: BranchItem, versus: str) -> list[tuple[str, str]]:
    now = state.now_millis()
    facts = []
    if item.head is not None:
        facts.append(("Head", f"snapshot {item.head.id}, {age(item.head.time_millis, now)}"))
        facts.append(("Holds", item.figure.words(count)))
    if item.versus is not None and item.name != versus:
        ahead, behind = item.versus.figure_ahead, item.versus.figure_behind
        words = f"{ahead.words(signed)} here"
        if behind.is_known:
            words += f", {behind.words(signed)} there"
        facts.append((f"Since the fork, against {plain(versus)}", words))
    if item.fork is not None:
        at = f" at snapshot {item.fork.snapshot_id}" if item.fork.snapshot_id is not None else ""
        facts.append(("Started from", f"{code(item.fork.parent)}{at}"))
    if item.base_tag:
        facts.append(("Base tag", code(item.base_tag)))
    if item.created_millis is not None:
        facts.append(("Created", age(item.created_millis, now)))
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


def _show_actions(item: BranchItem, track: Track, place: Location) -> None:
    target = place.at_branch(item.name)
    with st.container(horizontal=True, gap="small"):
        if item.head is not None:
            state.link(PageName.SNAPSHOTS, "Snapshots", target, icon=":material/timeline:")
        if item.schema is not None:
            state.link(PageName.SCHEMAS, "Schemas", target, icon=":material/schema:")
        if item.head is not None and item.name != MAIN_BRANCH:
            sides = {"cmp_a": MAIN_BRANCH, "cmp_b": item.name}
            state.link(
                PageName.COMPARE, "Compare", target, view=sides, icon=":material/compare_arrows:"
            )
        view = {"source": item.name, "target": MAIN_BRANCH}
        if track.state is LaneState.AHEAD:
            state.link(
                PageName.MERGE,
                "Fast-forward",
                target,
                view={**view, "how": "ff"},
                icon=":material/fast_forward:",
            )
        elif track.state is LaneState.DIVERGED:
            state.link(PageName.MERGE, "Merge", target, view=view, icon=":material/merge:")
    _show_commands(item)


def _show_commands(item: BranchItem) -> None:
    """Draw what can be done to the branch; each opens a form that tells the consequences first."""
    with st.container(horizontal=True, gap="small", key="branch-commands"):
        label, icon = ("Protect", ":material/lock:")
        if item.protection is not None:
            label, icon = ("Protection", ":material/lock_open:")
        offer(Action.PROTECT, label, icon=icon, key="do-protect-branch")
        if item.needs_fence:
            offer(Action.FENCE, "Fence", icon=":material/fence:", key="do-fence-branch")
        if item.name == MAIN_BRANCH:
            return
        if item.needs_repair:
            offer(Action.REPAIR, "Repair", icon=":material/healing:", key="do-repair-branch")
        offer(Action.RENAME, "Rename", icon=":material/edit:", key="do-rename-branch")
        if item.needs_pin:
            offer(Action.PIN, "Pin", icon=":material/keep:", key="do-pin-branch")
        if item.head is not None:
            offer(
                Action.REPLACE_MAIN, "Replace main", icon=":material/swap_vert:",
                key="do-replace-main",
            )  # fmt: skip
        offer(Action.DROP, "Drop", icon=":material/delete:", key="do-drop-branch")


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
