"""Figures: one trace a kind, few edge traces, data for clicks, no theme and no foreign HTML."""

import json
import re
from dataclasses import replace

import pytest

from branch_console.diff.rows.row_figure import RECORDS_IN_FILES
from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console_app.charts.branch_graph import LANE_HEIGHT, branch_graph_figure, legend_words
from branch_console_app.charts.palette import ColourRole, faint
from branch_console_app.charts.snapshot_timeline import snapshot_timeline_figure
from branch_console_app.models.branches.branch_graph import Axis, LaneGraph, draw_branches
from branch_console_app.models.branches.branch_tracks import Track
from branch_console_app.models.branches.snapshot_timeline import (
    Timeline,
    TimelineAxis,
    draw_timeline,
)
from tests.unit.app.histories import Entry, history, snapshot

MAIN = history("m", 1, 6)


def graph_of(*tracks: Track, axis: Axis = Axis.LINEAGE) -> LaneGraph:
    main = Track(branch="main", snapshots=MAIN, head=MAIN[-1])
    return draw_branches([main, *tracks], axis=axis, selected="main")


def dev(name: str = "dev", ahead: int | None = 2, behind: int | None = 3) -> Track:
    own = (*MAIN[:3], *history(name, 4, 5))
    return Track(branch=name, snapshots=own, head=own[-1], ahead=ahead, behind=behind)


def timeline_of(*snapshots: Snapshot, branch: str = "main") -> Timeline:
    return draw_timeline(branch, [Entry(each.id, each, (f"t{each.id}",)) for each in snapshots])


def test_nodes_carry_branch_id_and_identity() -> None:
    figure = branch_graph_figure(graph_of(dev()), uirevision="t")
    carried = [list(each) for trace in figure.data for each in trace.customdata or ()]
    assert ["dev", 5, "dev5-uui"] in carried
    assert len(carried) == 8


def test_many_lanes_need_no_more_than_six_edge_traces() -> None:
    tracks = [dev(f"b{n}", n % 3, n % 2) for n in range(20)]
    tracks += [Track(branch="torn", problem="gone"), dev("odd", None, None)]
    figure = branch_graph_figure(graph_of(*tracks), uirevision="t")
    edges = [trace for trace in figure.data if trace.name == "edges"]
    assert len(edges) <= 6
    names = [trace.name for trace in figure.data if trace.name != "edges"]
    assert len(names) == len(set(names))


def test_names_are_text_and_never_markup() -> None:
    track = dev("<b>bold</b><script>alert(1)</script>")
    figure = branch_graph_figure(graph_of(track), uirevision="t")
    shown = json.dumps([text for trace in figure.data for text in trace.hovertext or ()])
    assert "<script" not in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.parametrize("axis", list(Axis))
def test_zoom_stays_with_its_table(axis: Axis) -> None:
    figure = branch_graph_figure(graph_of(dev(), axis=axis), uirevision="air.flights")
    assert figure.layout.uirevision == "air.flights"
    assert figure.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"


def test_a_broken_lane_tells_its_file() -> None:
    torn = Track(branch="torn", problem="/wh/t/branch/branch-torn/snapshot/snapshot-3 is <cut>.")
    figure = branch_graph_figure(graph_of(torn), uirevision="t")
    (trace,) = [each for each in figure.data if each.name == "cannot be read"]
    assert "snapshot-3 is &lt;cut&gt;." in trace.hovertext[0]


def test_the_legend_names_only_what_is_drawn() -> None:
    assert legend_words(graph_of(dev())) == [("●", "append")]


def test_a_thousand_snapshots_and_fifty_branches_stay_under_two_thousand_marks() -> None:
    long = history("m", 1, 1_000)
    tracks = [Track(branch="main", snapshots=long, head=long[-1])]
    for number in range(50):
        own = (*long[: 20 * number + 1], *history(f"b{number}-", 20 * number + 2, 20 * number + 9))
        tracks.append(Track(branch=f"b{number}", snapshots=own, head=own[-1], ahead=8, behind=1))
    graph = draw_branches(tracks)
    figure = branch_graph_figure(graph, uirevision="t")
    assert sum(len(trace.customdata or ()) for trace in figure.data) <= 2_000
    assert graph.hidden == 51 - len(graph.lanes)


@pytest.mark.parametrize("axis", list(TimelineAxis))
def test_beads_carry_what_a_click_needs(axis: TimelineAxis) -> None:
    figure = snapshot_timeline_figure(
        [timeline_of(*MAIN)], axis=axis, selected=("main", 3), uirevision="t"
    )
    beads = next(trace for trace in figure.data if trace.name == "snapshots")
    assert [list(each) for each in beads.customdata][2] == ["main", 3, "m3-uuid"]
    assert beads.selectedpoints == (2,)


def test_stacked_branches_share_their_scales() -> None:
    small = timeline_of(snapshot("s1", 1, rows=-50, total=10), branch="dev")
    figure = snapshot_timeline_figure(
        [timeline_of(*MAIN), small], axis=TimelineAxis.SNAPSHOTS, selected=None, uirevision="t"
    )
    assert figure.layout.yaxis.range == figure.layout.yaxis4.range
    assert figure.layout.yaxis2.range == figure.layout.yaxis5.range
    assert figure.layout.yaxis2.range[0] < -50


def test_the_name_of_a_tag_on_the_newest_snapshot_has_room_beside_it() -> None:
    def right_end(*tags: str) -> float:
        entries = [Entry(each.id, each) for each in history("m", 1, 12)]
        tagged = [*entries[:-1], replace(entries[-1], tags=tags)]
        figure = snapshot_timeline_figure(
            [draw_timeline("main", tagged)],
            axis=TimelineAxis.SNAPSHOTS, selected=None, uirevision="t",
        )  # fmt: skip
        return float(figure.layout.xaxis3.range[1])

    assert right_end() == right_end("branch-base-dev")
    # A column is some 48 pixels where a window is narrow, a letter 6.
    assert right_end("2013-full") - 11 > len("2013-full") * 6 / 48
    assert right_end("a-longer-name") > right_end("2013-full") > right_end()


def test_removals_are_hatched_as_well_as_red() -> None:
    shrinking = snapshot("m1", 1, rows=-50, kind=CommitKind.OVERWRITE)
    figure = snapshot_timeline_figure(
        [timeline_of(shrinking)], axis=TimelineAxis.SNAPSHOTS, selected=None, uirevision="t"
    )
    removed = next(trace for trace in figure.data if trace.name == "removed")
    assert removed.marker.pattern.shape == "/"
    assert removed.marker.color == ColourRole.REMOVED.value


def test_records_in_files_that_came_are_not_coloured_as_rows_that_were_added() -> None:
    timeline = timeline_of(snapshot("m1", 1, rows=5))
    for noun, colour in (("rows", ColourRole.ADDED), (RECORDS_IN_FILES, ColourRole.OURS)):
        figure = snapshot_timeline_figure(
            [replace(timeline, noun=noun)], axis=TimelineAxis.SNAPSHOTS, selected=None,
            uirevision="t",
        )  # fmt: skip
        came = next(trace for trace in figure.data if trace.name == "append")
        assert came.marker.color == colour.value
        assert came.hovertext[0].count(noun)


def test_an_impossible_clock_does_not_break_the_time_axis() -> None:
    odd = snapshot("m1", 1, millis=2**62)
    figure = snapshot_timeline_figure(
        [timeline_of(odd)], axis=TimelineAxis.TIME, selected=None, uirevision="t"
    )
    assert figure.data
    graph = draw_branches([Track(branch="main", snapshots=(odd,), head=odd)], axis=Axis.TIME)
    assert branch_graph_figure(graph, uirevision="t").data


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("background", ["#FFFFFF", "#0E1117"])
@pytest.mark.parametrize("role", list(ColourRole))
def test_every_role_can_be_seen_on_both_backgrounds(role: ColourRole, background: str) -> None:
    high, low = sorted((luminance(role.value), luminance(background)), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 3.2


def test_surfaces_take_a_share_of_a_role() -> None:
    assert re.fullmatch(r"rgba\(42, 116, 204, 0\.2\)", faint(ColourRole.OURS, 0.2))


def test_lanes_stand_as_high_as_the_names_beside_them() -> None:
    figure = branch_graph_figure(graph_of(dev()), uirevision="t")
    drawn = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    assert drawn == 2 * LANE_HEIGHT
    assert figure.layout.yaxis.range == (1.5, -0.5)


def test_an_older_snapshot_that_is_selected_is_in_view() -> None:
    long = tuple(snapshot(f"m{n}", n, kind=CommitKind.OVERWRITE) for n in range(1, 101))
    track = Track(branch="main", snapshots=long, head=long[-1])
    newest = branch_graph_figure(draw_branches([track]), uirevision="t").layout.xaxis.range
    assert newest[0] < 99 < newest[1]
    graph = draw_branches([track], selected_snapshot=long[10].identity)
    first, last = branch_graph_figure(graph, uirevision="t").layout.xaxis.range
    assert first < 10 < last
    assert last < 99
