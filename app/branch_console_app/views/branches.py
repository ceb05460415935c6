"""Branches: the lane graph, an inspector beside it, and the list that says the same in words."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from branch_console.diff.branch_counts import BranchCounts
from branch_console.errors import ErrorKind, NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.procedures.browse import page_values
from branch_console.procedures.browse.page_values import BranchItem
from branch_console_app import reads, state
from branch_console_app.charts.branch_graph import (
    branch_graph_figure,
    is_wider_than_shown,
    legend_words,
)
from branch_console_app.charts.palette import CHART_CONFIG
from branch_console_app.models.branches.alike_names import alike_parts
from branch_console_app.models.branches.branch_graph import Axis, LaneGraph, draw_branches
from branch_console_app.models.branches.branch_tracks import (
    Track,
    is_service_branch,
    tracks_of,
    with_service_branches,
)
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location, SnapshotPoint
from branch_console_app.models.parts.wording import age, code, count, plain, shortened
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branch_card import (
    check_badge,
    files_badge,
    quiet_words,
    show_branch_card,
    show_snapshot_card,
    standing_badge,
    standing_text,
)
from branch_console_app.widgets.branches.branch_dialogs import BranchDialogs
from branch_console_app.widgets.branches.dropped_branches import show_dropped
from branch_console_app.widgets.branches.lane_names import LaneName, show_lane_names
from branch_console_app.widgets.branches.undo_dialog import undo_dialogs
from branch_console_app.widgets.maintenance.rescue import release_dialogs
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.act_here import act_here, follow_act, show_act
from branch_console_app.widgets.parts.dialogs import offer, show_dialog
from branch_console_app.widgets.parts.lost_branch import show_no_branch
from branch_console_app.widgets.parts.problem import guarded, show_no_snapshot
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header

_PER_PAGE = 24
# At 1024 px the list cuts longer names; all of one is in its tooltip.
_WIDE = 34
_NARROW = 18
_CHART = "branch-graph"
_VIEW = ("br_axis", "br_vs", "br_show", "br_q", "br_open")
_NAME = Column(label="Branch", weight=2.4)
_VERSUS = Column(label="Standing", weight=2.3)
_FILES = Column(label="Files", weight=1.4)
_FORK = Column(label="Started from", weight=1.8)
_HEAD = Column(label="Head", weight=1.0, align="right")
_AGE = Column(label="Last commit", weight=1.5)
_OWNER = Column(label="Owner", weight=1.2)
_COLUMNS = (_NAME, _VERSUS, _FILES, _FORK, _HEAD, _AGE, _OWNER)


def show() -> None:
    """Draw the page."""
    follow_act()
    picked = pick_table(PageName.BRANCHES)
    if picked is None:
        return
    identifier, summary = picked
    versus = state.parameter("br_vs") or MAIN_BRANCH
    names = [MAIN_BRANCH, *summary.branches]
    if versus not in names:
        show_table_header(identifier, summary, PageName.BRANCHES)
        show_no_branch(
            identifier, versus, names, page=PageName.BRANCHES, place_of=lambda _: here(),
            view_of=lambda name: {**state.view_of(*_VIEW), "br_vs": name},
        )  # fmt: skip
        return
    with st.skeleton(height=420):
        graph = reads.graph(identifier, versus)
    items = {lane.branch: lane.item for lane in graph.lanes}
    if identifier.branch not in items:
        raise NotFound(
            f"Table {identifier.table_name} has no branch {identifier.branch!r}.",
            kind=ErrorKind.BRANCH_NOT_FOUND,
        )
    show_table_header(identifier, summary, PageName.BRANCHES)
    show_act(identifier, has_branch_dialogs=True)
    tracks = tracks_of(graph)
    checks = reads.head_checks(identifier, items.values(), versus)
    _show_controls(list(items))
    shown = with_service_branches(tracks, shown=bool(state.value_of("br_show")))
    left, right = rows.two_panes()
    with left, guarded("The graph cannot be drawn."):
        _show_graph(graph, shown, identifier, versus)
    with right:
        _show_inspector(graph, items, checks, tracks, versus, identifier)
    _show_list(shown, items, checks, identifier)
    show_dropped(graph.dropped)
    show_dialog(
        {
            **BranchDialogs(identifier, items, here()).all(),
            **undo_dialogs(identifier, here(), start=act_here),
            **release_dialogs(identifier, here(), act_here),
        }
    )
    show_same_as("branches", identifier.table_name, "--versus", versus)


def _show_controls(names: list[str]) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="filters"):
        st.text_input(
            "Find a branch", key="br_q", bind="query-params", type="search", width=220,
            placeholder="Find a branch", label_visibility="collapsed", live=True,
        )  # fmt: skip
        st.caption("versus", width="content")
        st.selectbox(
            "Compare with", names, key="br_vs", bind="query-params", width=210,
            index=names.index(MAIN_BRANCH) if MAIN_BRANCH in names else 0,
            label_visibility="collapsed", filter_mode="contains",
        )  # fmt: skip
        if any(is_service_branch(name) for name in names):
            st.toggle("Rescue branches", key="br_show", bind="query-params")
        st.space("stretch")
        offer(Action.CREATE, "Create branch", icon=":material/add:", key="create-branch")
        st.segmented_control(
            "Axis", list(Axis), default=Axis.LINEAGE, key="br_axis", bind="query-params",
            required=True, label_visibility="collapsed",
        )  # fmt: skip


def _show_graph(
    graph: page_values.BranchGraph, tracks: Sequence[Track], identifier: Identifier, versus: str
) -> None:
    place = here()
    words = (state.value_of("br_q") or "").lower()
    found = [track.branch for track in tracks if words and words in track.branch.lower()]
    axis = Axis(state.value_of("br_axis") or Axis.LINEAGE)
    heads = [(track.branch, track.head.id if track.head else None) for track in tracks]
    context = repr((identifier.table_name, axis, versus, found, _opened(), heads))
    point = state.marked_point(_CHART, context)
    marked = _find_snapshot(graph, point)
    model = draw_branches(
        tracks,
        events=graph.events,
        parents=graph.edges,
        selected=point.branch if point else place.branch_or_main,
        selected_snapshot=marked.snapshot.identity if marked else None,
        shown=[*found, place.branch_or_main],
        opened=_opened(),
        axis=axis,
    )
    if not model.nodes:
        st.info("No commit yet: the graph begins with the first one.")
        return
    revision = f"{identifier.table_name} {axis} {model.hidden}"
    figure = branch_graph_figure(model, uirevision=revision)
    with st.container(horizontal=True, gap=None, key="graph"):
        _show_lane_names(model, place)
        with st.container(key="lane-chart"):
            st.plotly_chart(
                figure,
                key=_CHART,
                on_select=_on_click,
                selection_mode="points",
                config=CHART_CONFIG,
                alt=model.alt,
            )
    _show_legend(model)


def _show_lane_names(model: LaneGraph, place: Location) -> None:
    names = [
        LaneName(
            words=standing_text(lane.track, note=quiet_words(lane.track.quiet_since_millis)),
            is_selected=lane.branch == place.branch_or_main,
            show=partial(_show_branch_link, lane.branch, place, length=26),
        )
        for lane in model.lanes
    ]
    show_lane_names(names, hidden=model.hidden)


def _show_branch_link(
    branch: str, place: Location, *, length: int, parts: Sequence[str] = ()
) -> None:
    # Each part is an element of its own, of which the style sheet cuts the shared ones first.
    label = "".join(f":gray[{plain(part)}]" for part in parts) or plain(shortened(branch, length))
    state.link(
        PageName.BRANCHES,
        label,
        place.at_branch(branch),
        view=state.view_of(*_VIEW),
        help=plain(branch) if len(branch) > min(length, _NARROW) else None,
    )


def _show_legend(model: LaneGraph) -> None:
    parts = [f"{glyph} {meaning}" for glyph, meaning in legend_words(model)]
    if any(node.folded for node in model.nodes):
        parts.append("■ folded run, click opens it")
    if any(node.tags for node in model.nodes):
        parts.append(":violet[▸] tag")
    if any(node.has_new_schema for node in model.nodes):
        parts.append(":violet[▬] schema change")
    if is_wider_than_shown(model):
        parts.append("drag the graph sideways for older commits")
    st.caption(" \u2003 ".join(parts))


def _opened() -> list[tuple[str, int]]:
    pairs = (each.rpartition(":") for each in (state.parameter("br_open") or "").split(","))
    return [(branch, int(first)) for branch, _, first in pairs if branch and first.isdecimal()]


def _on_click() -> None:
    for branch, number, identity in (each[:3] for each in state.clicked_points(_CHART)):
        if identity == "fold":
            runs = [*_opened(), (str(branch), int(number))]
            state.set_parameter("br_open", ",".join(f"{name}:{first}" for name, first in runs))
            return
        if number is None:
            state.move_to(here().at_branch(str(branch)))
            return
    state.select_clicked_snapshot(_CHART)


def _find_snapshot(
    graph: page_values.BranchGraph, point: SnapshotPoint | None
) -> page_values.GraphNode | None:
    """Return the snapshot that is meant, if the graph still has exactly that one."""
    if point is None:
        return None
    return next((node for node in graph.nodes if point.names(node.snapshot)), None)


def _show_inspector(
    graph: page_values.BranchGraph,
    items: dict[str, BranchItem],
    checks: Mapping[str, HeadCheck],
    tracks: Sequence[Track],
    versus: str,
    identifier: Identifier,
) -> None:
    place = here()
    selected = _find_snapshot(graph, place.point)
    if place.snap and place.point is None:
        show_no_snapshot(place.snap)
    elif place.point and selected is None:
        st.warning(
            f"Snapshot {place.point.id} of {code(place.point.branch)} is not the one this link "
            "was made for: its id was used again, or it expired. `SNAPSHOT_NOT_FOUND`"
        )
    if selected is not None and place.point:
        show_snapshot_card(place.point.branch, selected, place)
        return
    item = items.get(place.branch_or_main)
    track = next((each for each in tracks if each.branch == place.branch_or_main), None)
    if item is not None and track is not None:
        show_branch_card(item, track, versus, identifier, place, checks.get(item.name))


def _show_list(
    tracks: Sequence[Track],
    items: dict[str, BranchItem],
    checks: Mapping[str, HeadCheck],
    identifier: Identifier,
) -> None:
    words = (state.value_of("br_q") or "").lower().split()
    chosen = [track for track in tracks if all(word in track.branch.lower() for word in words)]
    found = f"{count(len(chosen))} of " if words else ""
    st.markdown(f"**{found}{BranchCounts.of(items).words}**")
    if not chosen:
        st.info(f"No branch of {code(identifier.table_name)} has these words in its name.")
        return
    listed = rows.row_list("branches")
    visible = rows.page_of_rows("br_p", len(chosen), _PER_PAGE)
    parts = alike_parts([track.branch for track in chosen[visible]], _NARROW - 2)
    with listed:
        rows.head("branches", _COLUMNS)
        for number, track in enumerate(chosen[visible]):
            name = parts.get(track.branch, ())
            _show_row(number, track, items[track.branch], checks.get(track.branch), name)
    if len(tracks) == 1:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.caption("No branch besides main.", width="content")
            offer(
                Action.CREATE, "Create the first branch", icon=":material/add:",
                key="create-first-branch",
            )  # fmt: skip


def _show_row(
    number: int,
    track: Track,
    item: BranchItem,
    check: HeadCheck | None,
    parts: Sequence[str],
) -> None:
    place = here()
    is_selected = track.branch == place.branch_or_main
    key = f"branch-{number}"
    cells = dict(zip(_COLUMNS, rows.row(key, _COLUMNS, is_selected=is_selected), strict=True))
    with cells[_NAME]:
        _show_branch_link(track.branch, place, length=_WIDE, parts=parts)
    quiet = quiet_words(item.quiet_since_millis)
    standing = standing_badge(track, short=True) + (f" :gray-badge[{quiet}]" if quiet else "")
    if check is not None and check.blocks:
        standing += f" {check_badge(check, check.words(code))}"
    rows.text(cells[_VERSUS], _VERSUS, standing)
    rows.text(cells[_FILES], _FILES, files_badge(item.health))
    rows.text(cells[_FORK], _FORK, _fork_words(item))
    head = item.head
    rows.text(cells[_HEAD], _HEAD, str(head.id) if head else rows.NOTHING)
    when = age(head.time_millis, state.now_millis()) if head else rows.NOTHING
    rows.text(cells[_AGE], _AGE, when)
    rows.text(cells[_OWNER], _OWNER, plain(item.owner) if item.owner else rows.NOTHING)


def _fork_words(item: BranchItem) -> str:
    if item.fork is None:
        return rows.NOTHING
    at = f" @ {item.fork.snapshot_id}" if item.fork.snapshot_id is not None else ""
    return f"{plain(shortened(item.fork.parent, 18))}{at}"
