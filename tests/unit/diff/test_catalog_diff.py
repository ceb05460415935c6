"""What two branches of the catalog did to databases and tables."""

from dataclasses import replace

import pytest

from branch_console.diff.catalog_diff import catalog_changes
from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState, TableState
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay
from tests.support.catalog_states import catalog, database, table, three

AIR = database("d", "air", owner="ana")
FLIGHTS = table("t", "d.flights")
BASE = catalog(AIR, FLIGHTS)
NONE = frozenset[TableOperation]()


@pytest.mark.parametrize(
    ("changed", "operations"),
    [
        (database("d", "air", owner="ana"), set()),
        (database("d", "sea", owner="ana"), {"rename"}),
        (database("d", "air", owner="ben"), {"set"}),
        (database("d", "air", owner="ana", note="new"), {"set"}),
        (database("d", "air"), {"unset"}),
        (database("d", "sea", note="new"), {"rename", "set", "unset"}),
    ],
)
def test_a_database_is_compared_key_by_key(changed: DatabaseState, operations: set[str]) -> None:
    (found,) = catalog_changes(three(BASE, catalog(FLIGHTS), catalog(changed, FLIGHTS))).databases
    assert found.theirs.operations == operations
    assert found.ours.operations == {DatabaseOperation.DROP}


def test_values_of_properties_are_kept_apart_from_keys_that_are_gone() -> None:
    after = catalog(database("d", "air", note="new"), FLIGHTS)
    (found,) = catalog_changes(three(BASE, BASE, after)).databases
    assert (dict(found.theirs.set), found.theirs.unset) == ({"note": "new"}, {"owner"})


@pytest.mark.parametrize(
    ("changed", "operations", "has_content"),
    [
        (table("t", "d.legs"), {"rename"}, False),
        (table("t", "e.flights"), {"rename"}, False),
        (table("t", "d.flights", 2), set(), True),
        (table("t", "d.flights", schema=1), set(), True),
        (table("t", "d.flights", 0), set(), True),
        (table("t", "d.flights", 2, content=Content.PINNED), set(), False),
    ],
)
def test_a_table_is_compared_by_place_head_and_schema(
    changed: TableState, operations: set[str], has_content: bool
) -> None:
    (found,) = catalog_changes(three(BASE, catalog(AIR), catalog(AIR, changed))).tables or (None,)
    assert found is not None
    assert (found.theirs.operations, found.theirs.has_content) == (operations, has_content)
    assert found.ours.operations == {TableOperation.DROP}


def test_a_target_that_was_pinned_elsewhere_than_at_the_base_has_other_content() -> None:
    pinned = catalog(AIR, table("t", "d.flights", 2, content=Content.PINNED))
    (found,) = catalog_changes(three(BASE, pinned, catalog(AIR))).tables
    assert found.ours.has_content


@pytest.mark.parametrize(
    ("ancestor_branches", "at", "schema", "is_new"),
    [
        ("main", 2, 0, False),
        ("main", 2, 1, False),
        ("dev", 2, 0, True),
        ("dev", 1, 1, True),
        ("dev", 0, 1, True),
        ("dev", 0, 0, False),
        ("dev", 1, 0, False),
    ],
)
def test_what_a_source_reads_on_a_third_branch_is_new_to_the_target(
    ancestor_branches: str, at: int, schema: int, is_new: bool
) -> None:
    pinned = replace(
        table("t", "d.flights", at, schema=schema, content=Content.PINNED),
        read_branch=ancestor_branches,
    )
    found = catalog_changes(three(BASE, BASE, catalog(AIR, pinned, version="late@1"))).tables
    assert [each.theirs.has_content for each in found] == [True] * is_new


def test_moving_the_database_of_a_table_changes_no_table() -> None:
    after = catalog(database("d", "sea", owner="ana"), FLIGHTS)
    assert catalog_changes(three(BASE, BASE, after)).tables == ()


def test_one_name_and_two_ids_is_a_drop_and_a_creation() -> None:
    again = table("u", "d.flights")
    found = catalog_changes(three(BASE, BASE, catalog(AIR, again))).tables
    assert [(each.id, each.theirs.operations, each.theirs.is_created) for each in found] == [
        ("t", {TableOperation.DROP}, False),
        ("u", NONE, True),
    ]


def test_net_effect_counts() -> None:
    assert catalog_changes(three(BASE, BASE, BASE)).tables == ()
    made_and_dropped = catalog(AIR, FLIGHTS, version="dev@9")
    assert catalog_changes(three(BASE, BASE, made_and_dropped)).tables == ()


def test_a_side_that_only_compacted_changed_nothing() -> None:
    compacted = catalog(AIR, table("t", "d.flights", 2))
    did = ThreeWay(base=NONE, ours=NONE, theirs=frozenset({TableOperation.COMPACTION}))
    assert catalog_changes(three(BASE, BASE, compacted), {"t": did}).tables == ()
    (found,) = catalog_changes(three(BASE, catalog(AIR), compacted), {"t": did}).tables
    assert not found.theirs.is_changed


@pytest.mark.parametrize("members", [frozenset({"t", "d"}), frozenset({"d"}), frozenset[str]()])
def test_only_a_member_that_is_missing_was_dropped(members: frozenset[str]) -> None:
    branch = catalog(version="dev@2", members=members)
    from_branch = catalog_changes(three(BASE, BASE, branch))
    dropped = {each.id for each in (*from_branch.databases, *from_branch.tables)}
    assert dropped == members
    elsewhere = catalog(AIR, table("t", "d.legs"))
    (*into_branch,) = catalog_changes(three(BASE, branch, elsewhere)).tables
    assert {each.id for each in into_branch} == members & {"t"}


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (1, 2), (0, 1)])
def test_an_object_that_both_sides_know_without_a_base_is_one_object(
    ours: int, theirs: int
) -> None:
    here = catalog(database("n", "lab", kept="1", theirs="2"), table("t", "n.x", ours))
    there = catalog(database("n", "lab", kept="1", theirs="3"), table("t", "n.y", theirs))
    found = catalog_changes(three(catalog(), here, there))
    (lab,), (moved,) = found.databases, found.tables
    assert not any(each.theirs.is_created for each in (lab, moved))
    assert (dict(lab.theirs.set), dict(lab.ours.set)) == ({"theirs": "3"}, {"theirs": "2"})
    assert moved.theirs.operations == {TableOperation.RENAME}
    assert moved.theirs.has_content == (ours != theirs)


def test_names_are_read_through_the_database() -> None:
    state: CatalogState = catalog(AIR, FLIGHTS, table("u", "gone.x"))
    assert [state.name_of(each) for each in ("d", "t", "u", "v")] == [
        "air",
        "air.flights",
        "gone.x",
        None,
    ]
