"""The location: what an address says, and what it does when it is wrong."""

from dataclasses import replace

import pytest

from branch_console_app.models.parts.location import (
    Location,
    SnapshotPoint,
    warehouse_key,
    warehouse_name,
)
from tests.unit.app.histories import snapshot


def test_a_location_survives_its_address() -> None:
    point = SnapshotPoint(branch="a:b", id=7, identity="0123abcd")
    place = Location(
        warehouse="wh-1", database="air", table="flights", branch="a:b", snap=str(point)
    )
    assert Location.from_query({**place.query(), "ov_q": "x"}) == place
    assert place.point == point


def test_empty_parameters_count_as_left_out() -> None:
    assert Location.from_query({"db": "", "table": "t"}) == Location(table="t")
    assert Location().query() == {}


@pytest.mark.parametrize(
    ("query", "full_table"),
    [
        ({"table": "air.flights"}, "air.flights"),
        ({"db": "air", "table": "flights"}, "air.flights"),
        # A name with a dot is one only where the database is named as well.
        ({"db": "air", "table": "v1.flights"}, "air.v1.flights"),
        ({"table": "air.v1.flights"}, "air.v1.flights"),
        ({"table": "flights"}, None),
        ({"table": ".flights"}, None),
        ({"table": "air."}, None),
    ],
    ids=str,
)
def test_a_table_may_bring_its_database_along(
    query: dict[str, str], full_table: str | None
) -> None:
    place = Location.from_query(query)
    assert place.full_table == full_table
    assert full_table is None or Location.from_query(place.query()) == place


@pytest.mark.parametrize(
    ("query", "table", "branch"),
    [
        ({"db": "air", "table": "flights$branch_audit"}, "flights", "audit"),
        ({"table": "air.flights$branch_audit"}, "flights", "audit"),
        # Which of two is meant, and what a name of nothing means, is not for an address to guess.
        ({"table": "air.flights$branch_a", "branch": "b"}, "flights$branch_a", "b"),
        ({"table": "air.flights$branch_"}, "flights$branch_", None),
    ],
    ids=str,
)
def test_a_table_may_bring_its_branch_along(
    query: dict[str, str], table: str, branch: str | None
) -> None:
    place = Location.from_query(query)
    assert (place.database, place.table, place.branch) == ("air", table, branch)


def test_an_address_without_a_branch_means_main() -> None:
    assert Location(database="air", table="flights").branch_or_main == "main"


@pytest.mark.parametrize("text", ["", "main", "main:7", "main:x:abc", ":7:abc", "main:-1:abc"])
def test_what_is_no_snapshot_point_is_none(text: str) -> None:
    assert SnapshotPoint.parse(text) is None


def test_a_reused_id_is_another_snapshot() -> None:
    old, new = snapshot("first", 7), snapshot("second", 7)
    new = replace(new, uuid="another1-uuid")
    point = SnapshotPoint.of("main", old)
    assert point.names(old)
    assert not point.names(new)


def test_another_branch_drops_the_snapshot_of_the_earlier_one() -> None:
    place = Location(database="air", table="flights", branch="dev", snap="dev:7:abc")
    assert place.at_branch("main").snap is None
    assert place.at_table("air", "carriers") == Location(database="air", table="carriers")


def test_a_snapshot_brings_its_branch_along() -> None:
    place = Location(database="air", table="flights")
    moved = place.at_snapshot(SnapshotPoint(branch="dev", id=7, identity="abc"))
    assert (moved.branch, moved.snap) == ("dev", "dev:7:abc")
    assert moved.at_snapshot(None).snap is None


def test_two_warehouses_of_one_name_have_two_keys() -> None:
    assert warehouse_name("s3://bucket/wh/") == "wh"
    assert warehouse_key("/a/wh") != warehouse_key("/b/wh")
    assert warehouse_key("/a/wh").startswith("wh-")
