"""The plan of a merge of the catalog: its steps in order, its verdict, its id and its JSON."""

import json
from dataclasses import replace

import pytest

from branch_console.diff.catalog_state import CatalogState, Content
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind
from branch_console.merge.catalog.catalog_merge import CatalogSides
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan, plan_catalog_merge
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.catalog.object_rules import ObjectChoice, ObjectRules
from branch_console.merge.conflict import Conflict, ConflictKind, Subject
from branch_console.merge.file_moves import Block, MergeRules
from branch_console.merge.plan import Heads, MergeVerdict, Plan, PlanCost
from tests.support.catalog_states import catalog, database, table, three
from tests.support.made_plans import made_plan

HOME = database("d", "air")
BASE = catalog(HOME, table("t", "d.t"), table("u", "d.u"), version="main@1")


def plan(
    theirs: CatalogState, ours: CatalogState = BASE, base: CatalogState = BASE, **more: object
) -> CatalogMergePlan:
    plans = {each.table: each for each in (more.pop("plans", None) or ())}
    sides = CatalogSides(
        states=three(base, replace(ours, version="main@4"), replace(theirs, version="dev@9")),
        plans=plans,
        **more,
    )
    return plan_catalog_merge(sides, ObjectRules())


def of_table(verdict: MergeVerdict, **more: object) -> Plan:
    """The plan of table t."""
    heads = Heads(table="t", source="dev", target="main", base=None, ours=None, theirs=None)
    return made_plan(verdict, id=f"plan {verdict}", heads=heads, rules=MergeRules(), **more)


def told(found: CatalogMergePlan) -> list[str]:
    return [
        f"{each.kind} {each.id}{' aside' * bool(each.after and each.after.is_aside)}"
        for each in found.steps
    ]


def test_steps_come_in_the_order_in_which_places_become_free() -> None:
    base = catalog(
        database("d", "air"),
        database("e", "old", a="0"),
        database("g", "sea"),
        table("t", "d.t"),
        table("u", "d.u"),
        table("v", "e.v"),
        table("w", "d.w"),
    )
    source = catalog(
        # Database d gives its name to a new one, e is dropped, the properties of g change.
        database("d", "sky"),
        database("n", "air"),
        database("g", "sea", a="1"),
        # t and u change places, v moves out of the dropped database, w is dropped and made again.
        table("t", "d.u", 2),
        table("u", "d.t", 3),
        table("v", "g.v"),
        table("x", "d.w"),
        table("y", "n.y"),
    )
    found = plan(source, base, base)
    assert told(found) == [
        "create database n aside",
        "merge content t",
        "merge content u",
        "create table x aside",
        "create table y",
        "drop table w",
        "move table v",
        "move table x",
        "move table t aside",
        "move table u",
        "move table t",
        "drop database e",
        "rename database d",
        "rename database n",
        "set properties g",
    ]
    assert found.cost.steps["move table"] == 5
    (made,) = [each for each in found.steps if each.kind is StepKind.SET_PROPERTIES]
    assert (made.inverse.properties_after, made.inverse.inverse) == ({}, made)


def test_content_of_busy_tables_comes_first() -> None:
    source = catalog(HOME, table("t", "d.t", 2), table("u", "d.u", 2))
    sides = CatalogSides(states=three(BASE, BASE, source))
    for newest, order in (({"u": 5, "t": 3}, ["u", "t"]), ({}, ["t", "u"])):
        found = plan_catalog_merge(sides, ObjectRules(), newest_commits=newest)
        assert [each.id for each in found.steps] == order


@pytest.mark.parametrize(
    ("table_verdict", "verdict", "steps"),
    [
        (None, MergeVerdict.UNDECIDED, 1),
        (MergeVerdict.CLEAN, MergeVerdict.CLEAN, 1),
        (MergeVerdict.UNDECIDED, MergeVerdict.UNDECIDED, 1),
        (MergeVerdict.UP_TO_DATE, MergeVerdict.UP_TO_DATE, 0),
    ],
)
def test_the_plan_of_a_table_decides_on_its_content(
    table_verdict: MergeVerdict | None, verdict: MergeVerdict, steps: int
) -> None:
    cost = PlanCost(files_added=2, records_added=7, bytes_added=10, bytes_to_copy=3)
    told = {} if table_verdict is MergeVerdict.UP_TO_DATE else {"cost": cost}
    plans = () if table_verdict is None else (of_table(table_verdict, **told),)
    found = plan(catalog(HOME, table("t", "d.t", 2), table("u", "d.u")), plans=plans)
    assert (found.verdict, len(found.steps)) == (verdict, steps)
    counted = found.cost.to_object()
    # Of a table without a plan it is not known what comes.
    added = 7 * steps if plans else None
    assert (counted["snapshots"], counted["records_added"]) == (steps, added)


def test_what_a_fast_forward_of_a_table_brings_is_not_counted() -> None:
    move = of_table(MergeVerdict.FAST_FORWARD, decision=lambda: None)
    found = plan(catalog(HOME, table("t", "d.t", 2), table("u", "d.u")), plans=(move,))
    counted = found.cost.to_object()
    keys = ("snapshots", "files_added", "records_added", "bytes_added", "bytes_to_copy")
    assert [counted[key] for key in keys] == [1, None, None, None, 0]


def test_conflicts_and_blocks_of_a_table_are_those_of_the_catalog() -> None:
    conflict = Conflict(
        kind=ConflictKind.OPTION,
        rule="M7",
        subject=Subject(table="air.t", name="x"),
        sides=ThreeWay(base="", ours="1", theirs="2"),
    )
    block = Block(kind=ErrorKind.UNSUPPORTED, text="It is not merged here.")
    changed = catalog(HOME, table("t", "d.t", 2), table("u", "d.x"))
    open_one = plan(changed, plans=(of_table(MergeVerdict.CONFLICTS, conflicts=(conflict,)),))
    assert (open_one.verdict, open_one.conflicts) == (MergeVerdict.CONFLICTS, (conflict,))
    assert [each.id for each in open_one.objects] == ["t", "u"]
    refused = plan(changed, plans=(of_table(MergeVerdict.REFUSED, blocks=(block,)),))
    assert (refused.verdict, refused.blocks, refused.can_run) == (
        MergeVerdict.REFUSED,
        (block,),
        False,
    )


def test_nothing_to_bring_is_up_to_date_and_a_settled_conflict_is_not() -> None:
    # DB23.
    assert plan(BASE, catalog(HOME)).verdict is MergeVerdict.UP_TO_DATE
    # What both sides dropped is noted: the target may bring it back, and the next merge leaves it.
    both = plan(catalog(HOME), catalog(HOME))
    assert (both.verdict, both.steps) == (MergeVerdict.CLEAN, ())
    choice = ObjectChoice.parse("*", ConflictKind.OBJECT_GONE, "ours")
    states = three(BASE, catalog(HOME), catalog(HOME, table("t", "d.x"), table("u", "d.u")))
    found = plan_catalog_merge(CatalogSides(states=states), ObjectRules(choices=(choice,)))
    assert (found.verdict, found.steps) == (MergeVerdict.CLEAN, ())


def test_a_lost_table_branch_refuses_the_merge() -> None:
    lost = table("t", "d.t", 0, content=Content.LOST)
    assert plan(catalog(HOME, lost, table("u", "d.u"))).verdict is MergeVerdict.REFUSED


def test_the_id_changes_with_what_the_plan_rests_on_and_with_nothing_else() -> None:
    source = catalog(HOME, table("t", "d.x", 2), table("u", "d.u"))
    same = plan(source).id
    assert plan(source).id == same
    others = [
        plan(catalog(HOME, table("t", "d.x", 3), table("u", "d.u"))),
        plan(source, catalog(HOME, table("t", "d.t", 9), table("u", "d.u"))),
        plan(source, plans=(of_table(MergeVerdict.CLEAN),)),
        plan(source, covers=frozenset({"t"})),
        plan(catalog(HOME, table("t", "d.y", 2), table("u", "d.u"))),
        plan(catalog(HOME, table("t", "d.x", 2, schema=1), table("u", "d.u"))),
    ]
    assert len({same, *(each.id for each in others)}) == 7
    # A commit of the target on a table that the source left alone changes no decision.
    assert plan(source, catalog(HOME, table("t", "d.t"), table("u", "d.u", 9))).id == same


def test_the_json_has_what_a_program_needs() -> None:
    source = catalog(HOME, table("t", "d.legs"), table("u", "d.u"))
    found = json.loads(json.dumps(plan(source, catalog(HOME, table("u", "d.u"))).to_object()))
    assert {
        key: found[key] for key in ("verdict", "base", "ours", "theirs", "version", "steps")
    } == {
        "verdict": "conflicts",
        "base": "main@1",
        "ours": "main@4",
        "theirs": "dev@9",
        "version": None,
        "steps": 0,
    }
    (only,) = found["objects"]
    assert (only["kind"], only["id"], only["cells"]) == ("table", "t", ["table/rename.drop"])
    assert only["name"] == {"base": "air.t", "ours": None, "theirs": "air.legs", "merged": None}
    assert (only["theirs_did"], only["ours_did"]) == (["rename"], ["drop"])
    assert [(each["kind"], each["settle_with"]) for each in only["conflicts"]] == [
        ("object gone", ["ours", "theirs"])
    ]
