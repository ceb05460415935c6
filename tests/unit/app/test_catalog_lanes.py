"""The lanes of the catalog and the list of objects: columns, edges, filters, order."""

from branch_console.diff.catalog_standing import ObjectOnBranch, ObjectStanding
from branch_console.errors import FormatError
from branch_console.format.catalog.catalog_version import CatalogVersion, VersionKind, VersionName
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.procedures.browse.catalog_values import (
    CatalogBranchItem,
    CatalogBranchStanding,
    CatalogObject,
    CatalogOverview,
)
from branch_console_app.charts.catalog_lanes import catalog_lanes_figure, legend_words
from branch_console_app.models.branches.branch_graph import EdgeKind
from branch_console_app.models.branches.branch_tracks import LaneState
from branch_console_app.models.catalog.lanes import draw_catalog
from branch_console_app.models.catalog.objects import ListedObjects, choose_objects, object_lines


def version(name: str, kind: VersionKind, millis: int, *parents: str) -> CatalogVersion:
    named = VersionName.parse(name)
    return CatalogVersion(
        branch=named.branch,
        number=named.number,
        kind=kind,
        operation="op",
        actor="<ann>",
        time_millis=millis,
        parents=tuple(VersionName.parse(each) for each in parents),
    )


SAME = ObjectOnBranch(standings=(ObjectStanding.SAME,), name="air.flights")
NEW = ObjectOnBranch(standings=(ObjectStanding.NEW,), name="air.routes")
LOST = ObjectOnBranch(standings=(ObjectStanding.LOST,), name="lab.notes")


def overview() -> CatalogOverview:
    """A branch that was merged although its clock runs behind, and one that cannot be read."""
    dev = CatalogBranchStanding(
        item=CatalogBranchItem(name="dev", created_millis=2),
        ahead=2,
        behind=0,
        objects={"f": SAME, "r": NEW, "n": LOST},
        versions=(
            version("dev@2", VersionKind.CHANGED, 900, "dev@1"),
            version("dev@1", VersionKind.FORKED, 2, "main@1"),
        ),
    )
    torn = CatalogBranchStanding(
        item=CatalogBranchItem(name="torn", error=FormatError("not JSON <b>"))
    )
    return CatalogOverview(
        main="main@2",
        main_versions=(
            version("main@2", VersionKind.MERGED, 5, "main@1", "dev@2"),
            version("main@1", VersionKind.SIGHTED, 1),
        ),
        branches=(dev, torn),
        objects=(
            CatalogObject(
                kind=ObjectKind.TABLE, id="f", name="air.flights", main_name="air.flights"
            ),
            CatalogObject(kind=ObjectKind.TABLE, id="r", name="air.routes", main_name=None),
            CatalogObject(kind=ObjectKind.TABLE, id="n", name="lab.notes", main_name="lab.notes"),
        ),
    )


def test_a_version_stands_after_all_that_it_builds_on_whatever_the_clocks_say() -> None:
    lanes = draw_catalog(overview())
    at = {str(node.version.name): node.x for node in lanes.nodes if node.version is not None}
    assert at["main@1"] < at["dev@1"] < at["dev@2"] < at["main@2"]


def test_forks_and_merges_are_edges_between_lanes() -> None:
    lanes = draw_catalog(overview())
    rows = {lane.branch: lane.row for lane in lanes.lanes}
    kinds = {(edge.kind, edge.start[1], edge.end[1]) for edge in lanes.edges}
    assert (EdgeKind.FORK, rows["main"], rows["dev"]) in kinds
    assert (EdgeKind.MERGE, rows["dev"], rows["main"]) in kinds


def test_a_branch_that_cannot_be_read_has_a_lane_that_says_so() -> None:
    lanes = draw_catalog(overview())
    (torn,) = (lane for lane in lanes.lanes if lane.branch == "torn")
    assert torn.state is LaneState.BROKEN
    assert "torn: cannot be read" in lanes.alt
    figure = catalog_lanes_figure(lanes, uirevision="x")
    words = [text for trace in figure.data for text in trace.hovertext or ()]
    assert any("not JSON &lt;b&gt;" in text for text in words)
    assert not any("<ann>" in text for text in words)


def test_points_carry_branch_and_number_and_the_legend_names_what_is_drawn() -> None:
    lanes = draw_catalog(overview())
    figure = catalog_lanes_figure(lanes, uirevision="x")
    carried = [list(each) for trace in figure.data for each in trace.customdata or ()]
    assert ["dev", 2] in carried
    assert ["torn", None] in carried
    assert {glyph for glyph, _ in legend_words(lanes)} == {"●", "◆", "○", "⬢"}


def test_of_many_branches_the_newest_and_the_chosen_have_lanes() -> None:
    many = tuple(
        CatalogBranchStanding(
            item=CatalogBranchItem(name=f"b{n}", created_millis=n),
            ahead=0,
            behind=0,
            versions=(version(f"b{n}@1", VersionKind.FORKED, n, "main@1"),),
        )
        for n in range(10)
    )
    whole = overview()
    one = CatalogOverview(
        main=whole.main, main_versions=whole.main_versions, branches=many, objects=()
    )
    lanes = draw_catalog(one, selected="b0", most_lanes=4)
    assert [lane.branch for lane in lanes.lanes] == ["main", "b0", "b8", "b9"]
    assert lanes.hidden == 7


def test_lost_and_changed_objects_come_first_and_filters_keep_the_order() -> None:
    lines = object_lines(overview(), ["dev"])
    names = [line.object.name for line in lines]
    assert names == ["lab.notes", "air.routes", "air.flights"]
    changed = choose_objects(lines, shown=ListedObjects.CHANGED)
    assert [line.object.name for line in changed] == ["lab.notes", "air.routes"]
    assert [each.object.name for each in choose_objects(lines, words="AIR rou")] == ["air.routes"]
    new = choose_objects(lines, standing=ObjectStanding.NEW)
    assert [each.object.name for each in new] == ["air.routes"]
    assert not choose_objects(lines, kind=ObjectKind.DATABASE)
