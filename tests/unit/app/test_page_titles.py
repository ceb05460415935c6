"""The titles of browser tabs: the page and its subject, so that two tabs differ."""

import pytest

from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.page_titles import page_title

FLIGHTS = Location(warehouse="demo-1", database="air", table="flights")


@pytest.mark.parametrize(
    ("page", "place", "view", "title"),
    [
        ("merge", FLIGHTS, {"source": "fix-delays"}, "fix-delays → main · air.flights"),
        ("merge", FLIGHTS, {"source": "a", "target": "b"}, "a → b · air.flights"),
        ("merge", FLIGHTS, {}, "Label · air.flights"),
        ("merge", Location(), {"source": "spring"}, "spring → main · demo"),
        ("conflicts", FLIGHTS, {"source": "a"}, "Label a → main · air.flights"),
        ("compare", FLIGHTS, {"cmp_b": "dev"}, "Label main with dev · air.flights"),
        ("compare", FLIGHTS, {"cmp_a": "dev"}, "Label dev with another state · air.flights"),
        ("branches", FLIGHTS.at_branch("dev"), {}, "dev · Label · air.flights"),
        ("snapshots", FLIGHTS.at_branch("dev"), {}, "dev · Label · air.flights"),
        ("job", Location(), {"id": "9f2a00c4d5"}, "Label 9f2a00c4 · demo"),
        ("receipt", Location(), {"id": "9f2a00c4d5"}, "Label 9f2a00c4 · demo"),
        ("sql", Location(), {"q": "SELECT 1\n FROM  t"}, "SELECT 1 FROM t · Label · demo"),
        ("jobs", Location(branch="dev"), {}, "Label · demo"),
    ],
)
def test_a_title_names_the_subject_and_the_page(
    page: str, place: Location, view: dict[str, str], title: str
) -> None:
    told = page_title(page, "Label", place, view, warehouse="s3://lake/demo")
    assert told == f"{title} · Branch Console"


def test_a_snapshot_is_named_with_its_branch() -> None:
    place = Location(database="air", table="flights", branch="dev", snap="dev:12:abc")
    told = page_title("snapshots", "Snapshots", place, {}, warehouse="")
    assert told == "Snapshot 12 of dev · air.flights · Branch Console"
