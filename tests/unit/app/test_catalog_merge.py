"""A merge of the catalog in words: one verdict, the order of its lines, what settles a conflict."""

from dataclasses import replace

import pytest

from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState, TableState
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import InvalidInput
from branch_console.merge.catalog.catalog_merge import CatalogSides
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan, plan_catalog_merge
from branch_console.merge.catalog.object_rules import ObjectRules
from branch_console.merge.conflict import Conflict, ConflictKind, Subject, Take
from branch_console.merge.policy import Policy
from branch_console_app.models.merge.catalog_merge import (
    CatalogConflictLine,
    MergeCounts,
    ObjectVerdict,
    catalog_merge_state,
    choose_conflicts,
    conflict_lines,
    object_lines,
    opened_again,
    settled_by,
)
from branch_console_app.models.merge.merge_state import MergeAction, MergeStanding, NextStep
from tests.support.catalog_states import catalog, database, table, three

AIR, FLIGHTS, PLANES = database("d", "air"), table("f", "d.flights"), table("p", "d.planes")
BASE = catalog(AIR, FLIGHTS, PLANES)


def side(*objects: DatabaseState | TableState) -> CatalogState:
    members = frozenset({"d", "f", "p"} | {each.id for each in objects})
    return catalog(*objects, version="dev@3", members=members)


def planned(
    theirs: CatalogState, ours: CatalogState = BASE, policy: Policy | None = None
) -> CatalogMergePlan:
    rules = ObjectRules(choices=() if policy is None else policy.objects)
    return plan_catalog_merge(CatalogSides(states=three(BASE, ours, theirs)), rules)


def occupied(policy: Policy | None = None) -> CatalogMergePlan:
    """Both sides made a table of one name; the source renamed another one and set a property."""
    theirs = side(
        database("d", "air", team="ann"), table("f", "d.legs"), PLANES, table("r", "d.routes")
    )
    return planned(theirs, catalog(AIR, FLIGHTS, PLANES, table("q", "d.routes")), policy)


def test_the_verdict_follows_the_plan_and_what_was_decided() -> None:
    clean = planned(side(AIR, table("f", "d.legs")))
    found = catalog_merge_state(clean, settled=0)
    assert found.standing is MergeStanding.CLEAN
    assert found.primary == MergeAction(step=NextStep.MERGE, label="Merge into main…")
    assert found.sentence == "No conflicts. `dev` merges into `main`: 2 objects, all or none."
    assert catalog_merge_state(clean, settled=2).standing is MergeStanding.SETTLED
    stale = catalog_merge_state(clean, settled=0, seen="another plan")
    assert stale.standing is MergeStanding.STALE
    assert stale.primary == MergeAction(step=NextStep.UPDATE, label="Update preview")
    done = catalog_merge_state(planned(side(AIR, FLIGHTS, PLANES)), settled=0)
    assert done.standing is MergeStanding.UP_TO_DATE


def test_a_lost_table_blocks_and_is_named() -> None:
    lost = planned(side(AIR, replace(FLIGHTS, content=Content.LOST), table("p", "d.craft")))
    found = catalog_merge_state(lost, settled=0)
    assert found.standing is MergeStanding.REFUSED
    assert "flights" in found.sentence
    assert object_lines(lost)[0].verdict is ObjectVerdict.BLOCKED


def test_conflicts_stand_before_what_is_ready() -> None:
    lines = object_lines(occupied())
    assert [(each.merged.name, each.verdict) for each in lines] == [
        ("air.routes", ObjectVerdict.CONFLICT),
        ("air", ObjectVerdict.READY),
        ("air.legs", ObjectVerdict.READY),
    ]
    assert lines[2].sentence == "It is renamed from air.flights to air.legs."


def test_a_name_settles_an_occupied_one_and_can_be_taken_back() -> None:
    asked = occupied()
    (line,) = conflict_lines(asked, asked, Policy())
    assert [each.take for each in line.choices] == [Take.OURS, Take.RENAME]
    policy = settled_by(Policy(), line, Take.RENAME, "ways")
    plan = occupied(policy)
    (settled,) = conflict_lines(asked, plan, policy)
    assert settled.taken == "rename=ways"
    assert catalog_merge_state(plan, settled=1).standing is MergeStanding.SETTLED
    assert opened_again(policy, settled).objects == ()
    with pytest.raises(InvalidInput, match="without its database"):
        settled_by(Policy(), line, Take.RENAME, "lab.ways")


def in_table(table: str, subject: str, kind: ConflictKind) -> CatalogConflictLine:
    conflict = Conflict(
        kind=kind,
        rule="schema/options",
        subject=Subject(table=table, name=subject),
        sides=ThreeWay(base="1", ours="2", theirs="3"),
        settle_with=(Take.OURS, Take.THEIRS),
    )
    return CatalogConflictLine(
        conflict=conflict, table=table, decided_on=table, subject=subject, kind=kind
    )


def test_a_side_settles_what_one_table_holds_and_a_rule_of_a_file_is_taken_back_whole() -> None:
    line = in_table("air.flights", "num-levels", ConflictKind.OPTION)
    policy = settled_by(Policy(), line, Take.THEIRS)
    assert policy.kinds == ()
    ((table, rules),) = ((each.table, each.kinds) for each in policy.tables)
    assert (table, [(each.kind, str(each.take)) for each in rules]) == (
        "air.flights",
        [(ConflictKind.OPTION, "theirs")],
    )
    assert not any(each.kinds for each in opened_again(policy, line).tables)
    by_file = Policy.from_yaml("version: 1\nkinds: {option: ours, added on both: ours}")
    assert [each.kind for each in opened_again(by_file, line).kinds] == [ConflictKind.ADD_ADD]


def test_conflicts_are_filtered_by_object_and_kind() -> None:
    asked = occupied()
    lines = conflict_lines(asked, asked, Policy())
    assert choose_conflicts(lines, table="air.routes", kind=ConflictKind.NAME_OCCUPIED)
    assert not choose_conflicts(lines, table="air.legs", kind=None)
    assert not choose_conflicts(lines, table=None, kind=ConflictKind.OBJECT_GONE)


def test_one_confirmation_counts_what_happens_and_leaves_zeros_out() -> None:
    theirs = side(database("d", "air", team="ann"), table("f", "d.legs"), table("r", "d.routes"))
    counts = MergeCounts.of(planned(theirs), now_millis=0)
    assert (counts.new, counts.renamed, counts.dropped, counts.changed_databases) == (1, 1, 1, 1)
    assert counts.sentence == (
        "On `main`, 1 database or table is new, 1 is renamed, 1 is dropped and 1 database gets "
        "other properties. No file is copied."
    )
