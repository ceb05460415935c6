"""The merge of two branches of the catalog: cells, names, conflicts and what settles them (K2)."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest

from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState
from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay
from branch_console.errors import ErrorKind
from branch_console.merge.catalog.catalog_merge import CatalogMerge, CatalogSides, merge_catalog
from branch_console.merge.catalog.object_rules import ObjectChoice, ObjectRules
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.conflict_matrix import CellRule
from tests.support.catalog_ledger import MemoryLedger
from tests.support.catalog_states import catalog, database, table, three
from tests.unit.merge.test_conflict_matrix import DATABASES, TABLES, typed

# What each side did to database d with a=0 and b=0, and what the target holds then.
DATABASE_CASES = """
    DB01 | drop      | drop      | absent
    DB02 | drop      | rename e  | absent, reports rename
    DB03 | drop      | set a=1   | absent, reports set
    DB04 | drop      | unset a   | absent, reports unset
    DB05 | rename s  | drop      | object gone
    DB06 | rename s  | rename e  | s a=0 b=0, reports 'e'
    DB07 | rename s  | set a=1   | s a=1 b=0
    DB08 | rename s  | unset a   | s b=0
    DB09 | set a=2   | drop      | object gone
    DB10 | set a=2   | rename e  | e a=2 b=0
    DB11 | set a=2   | set b=1   | d a=2 b=1
    DB12 | set a=2   | set a=1   | d a=2 b=0, reports set it to '1'
    DB13 | set a=2   | unset a   | d a=2 b=0, reports removed it
    DB14 | unset a   | drop      | object gone
    DB15 | unset a   | rename e  | e b=0
    DB16 | unset a   | set a=1   | d b=0, reports set it to '1'
    DB17 | unset a   | unset a   | property
    DB18 | unset a   | unset b   | d
    DB19 | create n9 | nothing   | d a=0 b=0; n
    DB20 | create n9 | create n8 | name occupied
    DB21 | rename n  | create n8 | name occupied
    DB23 | nothing   | set a=1   | d a=1 b=0
"""


def did(operation: str) -> CatalogState:
    """The objects of a branch that did one thing to database d, which has one table."""
    name, properties = "d", {"a": "0", "b": "0"}
    others: list[DatabaseState] = []
    match operation.split():
        case ["drop"]:
            return catalog()
        case ["rename", name]:
            pass
        case ["set", text]:
            key, _, value = text.partition("=")
            properties[key] = value
        case ["unset", key]:
            del properties[key]
        case ["create", text]:
            others.append(database(text, text[0]))
    return catalog(database("d", name, **properties), *others, table("t", "d.t"))


def shown(state: CatalogState) -> str:
    """All databases with their properties, in a line."""
    databases = [
        " ".join([each.name, *(f"{key}={value}" for key, value in sorted(each.properties.items()))])
        for each in state.databases.values()
    ]
    return "; ".join(databases) or "absent"


def merged(
    theirs: CatalogState,
    ours: CatalogState,
    base: CatalogState | None = None,
    *,
    rules: ObjectRules | None = None,
    operations: ThreeWay[frozenset[TableOperation]] | None = None,
    ignores_case: bool = False,
    covers: frozenset[str] | None = None,
    restorable: frozenset[str] | None = None,
) -> CatalogMerge:
    sides = CatalogSides(
        states=three(did("nothing") if base is None else base, ours, theirs),
        operations={} if operations is None else {"t": operations},
        ignores_case=ignores_case,
        covers=covers,
        restorable=restorable,
    )
    return merge_catalog(sides, rules or ObjectRules())


def choices(**takes: str) -> ObjectRules:
    """Rules for every object, by kinds with underscores."""
    return ObjectRules(
        choices=tuple(
            ObjectChoice.parse("*", ConflictKind(kind.replace("_", " ")), take)
            for kind, take in takes.items()
        )
    )


def named(name: str, kind: str, take: str) -> ObjectRules:
    return ObjectRules(choices=(ObjectChoice.parse(name, ConflictKind(kind), take),))


def kinds(merge: CatalogMerge) -> list[tuple[str, str]]:
    return [(str(each.kind), each.subject.table) for each in merge.conflicts]


def reports(merge: CatalogMerge) -> str:
    return " ".join((*(text for each in merge.objects for text in each.reported), *merge.reported))


def rows(cases: str) -> Iterable[list[str]]:
    for line in cases.strip().split("\n"):
        yield [each.strip() for each in line.split("|")]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [pytest.param(*row, id=name) for name, *row in rows(DATABASE_CASES)],
)
def test_a_case_of_the_database_table(source: str, target: str, expected: str) -> None:
    merge = merged(did(source), did(target))
    state, _, report = expected.partition(", reports ")
    if merge.conflicts:
        assert {str(each.kind) for each in merge.conflicts} == {state}
        assert merge.result == did(target)
    else:
        assert shown(merge.result) == state
    assert report in reports(merge)
    assert bool(report) == bool(reports(merge))


def test_a_database_that_was_merged_before_is_that_database() -> None:
    # DB22, with a base and without one: another engine may have made it visible on main.
    after = catalog(database("n9", "n", x="1"))
    for base in (catalog(), catalog(database("n9", "n"))):
        merge = merged(after, catalog(database("n9", "n")), base)
        assert (shown(merge.result), kinds(merge)) == ("n x=1", [])


def test_an_object_of_another_type_does_not_arrive_and_is_named() -> None:
    # DB24.
    source = catalog(database("d", "d", a="0", b="0"), left_out={"d.v": "It is a view."})
    merge = merged(source, did("nothing"), catalog(database("d", "d", a="0", b="0")))
    assert merge.result == did("nothing")
    assert reports(merge) == "d.v does not come: It is a view."


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [pytest.param(*row, id=name) for name, *row in rows(DATABASE_CASES)],
)
def test_a_case_of_the_database_table_on_a_ledger(source: str, target: str, expected: str) -> None:
    ledger = MemoryLedger()
    ledger.add("main", did("nothing"))
    ledger.fork("dev")
    for branch, operation in (("dev", source), ("main", target)):
        if operation != "nothing":
            ledger.add(branch, did(operation))
    before, version = ledger.view("main"), ledger.newest["main"]
    state = expected.partition(", reports ")[0]
    if ledger.preview("dev", "main").conflicts:
        assert (ledger.view("main"), ledger.newest["main"]) == (before, version)
        assert state in {"object gone", "property", "name occupied"}
        return
    ledger.merge("dev", "main")
    assert shown(ledger.state("main")) == state
    # Only where the source did nothing there is no version (DB23). Where both did the same, one
    # says so and changes nothing (DB01).
    assert (ledger.newest["main"] == version) == (source == "nothing")
    assert state != "absent" or target != "drop" or ledger.view("main") == before
    merged_at = ledger.newest["main"]
    ledger.merge("dev", "main")
    assert ledger.newest["main"] == merged_at


def test_a_database_that_a_merge_brought_is_changed_by_the_next() -> None:
    # DB22, by two merges.
    ledger = MemoryLedger()
    ledger.add("main", did("nothing"))
    ledger.fork("dev")
    ledger.add("dev", did("create n9"))
    ledger.merge("dev", "main")
    after = did("create n9")
    changed = {**after.databases, "n9": database("n9", "n", x="1")}
    ledger.add("dev", replace(after, databases=changed))
    assert ledger.preview("dev", "main").conflicts == ()
    ledger.merge("dev", "main")
    assert shown(ledger.state("main")) == "d a=0 b=0; n x=1"


# --- every cell ----------------------------------------------------------------------------------


def cell_of_databases(theirs: str, ours: str, rule: str) -> None:
    arguments = {"drop": "drop", "rename": "rename", "set": "set a=", "unset": "unset a"}

    def text(operation: str, value: str) -> str:
        found = arguments[operation]
        return f"{found} s{value}" if operation == "rename" else found.replace("=", f"={value}")

    merge = merged(did(text(theirs, "2")), did(text(ours, "1")))
    (found,) = [each for each in merge.objects if each.id == "d"]
    assert found.cells == (f"database/{theirs}.{ours}",)
    expected = {"conflict": ["object gone"], "unless same key": ["property"]}.get(rule, [])
    assert [str(each.kind) for each in found.conflicts] == expected
    assert [each.rule for each in found.conflicts] == [found.cells[0]] * len(expected)
    if rule == "unless same key":
        other = merged(did("unset a"), did("unset b"))
        assert (shown(other.result), kinds(other)) == ("d", [])


@pytest.mark.parametrize(("theirs", "ours", "rule"), [(*k, v) for k, v in typed(DATABASES).items()])
def test_a_cell_of_databases_decides_the_merge(theirs: str, ours: str, rule: str) -> None:
    cell_of_databases(theirs, ours, rule)


def side_of_table(operation: str, number: int) -> CatalogState:
    home = database("d", "d")
    match operation:
        case "drop":
            return catalog(home)
        case "rename":
            return catalog(home, table("t", f"d.t{number}"))
        case _:
            return catalog(home, table("t", "d.t", number))


def cell_of_tables(theirs: str, ours: str, rule: str) -> None:
    content = {"drop", "rename"}
    operations = ThreeWay(
        base=frozenset[TableOperation](),
        ours=frozenset({TableOperation(ours)} - {TableOperation(each) for each in content}),
        theirs=frozenset({TableOperation(theirs)} - {TableOperation(each) for each in content}),
    )
    target = side_of_table(ours, 3)
    merge = merged(
        side_of_table(theirs, 2),
        target,
        catalog(*target.databases.values(), table("t", "d.t")),
        operations=operations,
    )
    if theirs == "compaction":
        # Never replayed: a no-op, also where the table is gone.
        assert (merge.objects, merge.result) == ((), target)
        return
    (found,) = merge.objects
    is_named = rule not in {"ok", "conflict"}
    assert found.cells == (f"table/{rule}" if is_named else f"table/{theirs}.{ours}",)
    # Of what meets inside of a table, the merge of that table finds the conflicts.
    is_conflict = rule == "conflict" and ours == "drop"
    assert kinds(merge) == ([("object gone", "d.t" + ("2" * (theirs == "rename")))] * is_conflict)
    held = merge.result.tables.get("t")
    if theirs == "drop" or ours == "drop":
        assert held is None
    else:
        name = {"rename": "t2"}.get(theirs, {"rename": "t3"}.get(ours, "t"))
        assert held is not None
        assert held.name == name


@pytest.mark.parametrize(("theirs", "ours", "rule"), [(*k, v) for k, v in typed(TABLES).items()])
def test_a_cell_of_tables_decides_the_merge(theirs: str, ours: str, rule: str) -> None:
    cell_of_tables(theirs, ours, rule)


def test_each_cell_is_tried() -> None:
    assert len(typed(DATABASES)) == len(DatabaseOperation) ** 2
    assert len(typed(TABLES)) == len(TableOperation) ** 2
    assert set(typed(TABLES).values()) <= set(map(str, CellRule))


# --- what settles a conflict ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "ours", "theirs"),
    [
        ("rename s", "drop", "absent", "s a=0 b=0"),
        ("set a=2", "drop", "absent", "d a=2 b=0"),
        ("unset a", "drop", "absent", "d b=0"),
        ("unset a", "unset a", "d b=0", "d b=0"),
    ],
)
def test_a_conflict_over_a_database_is_settled_for_either_side(
    source: str, target: str, ours: str, theirs: str
) -> None:
    for take, expected in (("ours", ours), ("theirs", theirs)):
        merge = merged(did(source), did(target), rules=choices(object_gone=take, property=take))
        assert (shown(merge.result), kinds(merge), merge.is_noted) == (expected, [], True)
        assert f"settled by {take}" in reports(merge)


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        ("drop", "rename e", "object gone"),
        ("drop", "set a=1", "object gone"),
        ("set a=2", "set a=1", "property"),
        ("set a=2", "unset a", "property"),
        ("unset a", "set a=1", "property"),
    ],
)
def test_strict_turns_what_is_only_reported_into_a_conflict(
    source: str, target: str, kind: str
) -> None:
    strict = merged(did(source), did(target), rules=ObjectRules(strict=True))
    assert [each for each, name in kinds(strict) if name in {"d", "e"}] == [kind]
    for take, holds in (("ours", target), ("theirs", source)):
        rules = ObjectRules(strict=True, choices=choices(object_gone=take, property=take).choices)
        assert shown(merged(did(source), did(target), rules=rules).result) == shown(did(holds))


def test_strict_leaves_equal_changes_alone() -> None:
    assert kinds(merged(did("set a=2"), did("set a=2"), rules=ObjectRules(strict=True))) == []


def test_a_choice_for_one_object_is_stronger_than_one_for_all() -> None:
    rules = ObjectRules(
        choices=(*named("d", "object gone", "theirs").choices, *choices(object_gone="ours").choices)
    )
    assert shown(merged(did("set a=2"), did("drop"), rules=rules).result) == "d a=2 b=0"


HOME = database("d", "d")
OTHER = database("e", "e")


def tables(state: CatalogState) -> dict[str, str]:
    return {each: str(state.name_of(each)) for each in state.tables}


@pytest.mark.parametrize("restorable", [frozenset({"t"}), frozenset[str]()])
def test_a_changed_table_that_is_gone_comes_back_only_from_a_rescue(
    restorable: frozenset[str],
) -> None:
    base, source = catalog(HOME, table("t", "d.t")), catalog(HOME, table("t", "d.x", 2))
    (conflict,) = merged(source, catalog(HOME), base, restorable=restorable).conflicts
    offered = ["ours", "theirs"] if restorable else ["ours"]
    assert [str(each) for each in conflict.settle_with] == offered
    back = merged(
        source, catalog(HOME), base, restorable=restorable, rules=choices(object_gone="theirs")
    )
    assert tables(back.result) == ({"t": "d.x"} if restorable else {})
    assert bool(back.conflicts) != bool(restorable)


def test_content_of_a_gone_table_conflicts_although_nobody_read_what_was_done() -> None:
    merge = merged(
        catalog(HOME, table("t", "d.t", 2)), catalog(HOME), catalog(HOME, table("t", "d.t"))
    )
    assert [(each.rule, str(each.kind)) for each in merge.conflicts] == [
        ("table/content.drop", "object gone")
    ]


def test_a_drop_counts_what_goes_with_it() -> None:
    base, ours = catalog(HOME, table("t", "d.t")), catalog(HOME, table("t", "d.x", 3))
    sides = CatalogSides(states=three(base, ours, catalog(HOME)), target_counts={"t": "2 commits"})
    merge = merge_catalog(sides, ObjectRules())
    assert merge.result.tables == {}
    assert "rename, content (2 commits)" in reports(merge)


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "expected"),
    [
        # Two names change places, also in a ring, while the target does something else.
        ("a b", "b a", "a b", "b a"),
        ("a b c", "b c a", "a b c", "b c a"),
        # A name that this merge frees, by a drop or by a rename.
        ("a b", "- a", "a b", "- a"),
        ("a b", "x a", "a b", "x a"),
        # The source's name wins, and the target's becomes free.
        ("a b", "x b", "y b", "x b"),
        ("a b", "x y", "y b", "x y"),
    ],
)
def test_names_are_judged_when_all_objects_have_theirs(
    base: str, theirs: str, ours: str, expected: str
) -> None:
    def state(names: str) -> CatalogState:
        held = [(f"t{at}", name) for at, name in enumerate(names.split()) if name != "-"]
        return catalog(HOME, *(table(each, f"d.{name}") for each, name in held))

    merge = merged(state(theirs), state(ours), state(base))
    assert (merge.conflicts, tables(merge.result)) == ((), tables(state(expected)))


@pytest.mark.parametrize("change", ["create", "rename", "move"])
@pytest.mark.parametrize("case", ["same", "other case"])
def test_an_occupied_name_is_a_conflict_and_rename_or_ours_settles_it(
    change: str, case: str
) -> None:
    base = catalog(HOME, OTHER, table("t", "e.n" if change == "move" else "d.t"))
    arriving = table("new" if change == "create" else "t", "d.n")
    kept = base.tables.values() if change == "create" else ()
    source = catalog(HOME, OTHER, *kept, arriving)
    target = catalog(
        HOME, OTHER, *base.tables.values(), table("u", "d.N" if case == "other case" else "d.n")
    )
    ignores_case = case == "other case"
    merge = merged(source, target, base, ignores_case=ignores_case)
    assert (kinds(merge), merge.result) == ([("name occupied", "d.n")], target)
    (conflict,) = merge.conflicts
    assert [str(each) for each in conflict.settle_with] == ["ours", "rename"]
    ours = merged(
        source, target, base, ignores_case=ignores_case, rules=choices(name_occupied="ours")
    )
    assert (ours.conflicts, ours.result) == ((), target)
    rules = named("d.n", "name occupied", "rename=m")
    aside = merged(source, target, base, ignores_case=ignores_case, rules=rules)
    assert (aside.conflicts, tables(aside.result)) == (
        (),
        tables(target) | {arriving.id: "d.m"},
    )
    if case == "other case":
        assert merged(source, target, base).conflicts == ()


def test_a_new_name_that_is_occupied_too_stays_a_conflict() -> None:
    base = catalog(HOME)
    source = catalog(HOME, table("a", "d.n"))
    target = catalog(HOME, table("b", "d.n"), table("c", "d.m"))
    merge = merged(source, target, base, rules=named("d.n", "name occupied", "rename=m"))
    assert (kinds(merge), merge.result) == ([("name occupied", "d.n")], target)


@pytest.mark.parametrize("folder", ["d.db/n", "d.db/a"])
def test_a_table_in_a_folder_of_the_target_is_offered_no_other_name(folder: str) -> None:
    base = catalog(HOME)
    source = catalog(HOME, replace(table("a", "d.n"), folder="d.db/n"))
    target = catalog(HOME, replace(table("b", "d.n"), folder=folder))
    merge = merged(source, target, base, rules=named("d.n", "name occupied", "rename=m"))
    if folder == "d.db/a":
        assert (merge.conflicts, tables(merge.result)) == ((), {"b": "d.n", "a": "d.m"})
        return
    assert (kinds(merge), merge.result) == ([("name occupied", "d.n")], target)
    (conflict,) = merge.conflicts
    assert [str(each) for each in conflict.settle_with] == ["ours"]
    assert "cannot come under another name, as both lie in the folder d.db/n" in conflict.advice
    ours = merged(source, target, base, rules=choices(name_occupied="ours"))
    assert (ours.conflicts, ours.result) == ((), target)


def test_a_table_that_both_have_is_renamed_whoever_lies_in_its_folder() -> None:
    mine = replace(table("t", "d.t"), folder="d.db/n")
    source = catalog(HOME, replace(mine, name="n"))
    target = catalog(HOME, mine, replace(table("b", "d.n"), folder="d.db/n"))
    rules = named("d.n", "name occupied", "rename=m")
    merge = merged(source, target, catalog(HOME, mine), rules=rules)
    assert (merge.conflicts, tables(merge.result)) == ((), {"b": "d.n", "t": "d.m"})


def test_a_name_that_a_broken_table_has_is_occupied() -> None:
    target = catalog(HOME, left_out={"d.n": "It is broken."})
    merge = merged(catalog(HOME, table("a", "d.n")), target, catalog(HOME))
    assert kinds(merge) == [("name occupied", "d.n")]


def test_putting_one_table_back_can_be_in_the_way_of_another() -> None:
    base = catalog(HOME, table("a", "d.a"), table("b", "d.b"))
    source = catalog(HOME, table("a", "d.n"), table("b", "d.a"))
    target = catalog(HOME, *base.tables.values(), table("u", "d.n"))
    assert kinds(merged(source, target, base)) == [
        ("name occupied", "d.n"),
        ("name occupied", "d.a"),
    ]
    settled = merged(source, target, base, rules=choices(name_occupied="ours"))
    assert (settled.conflicts, settled.result) == ((), target)


def test_a_database_that_stays_out_keeps_its_tables_out() -> None:
    source = catalog(HOME, database("n1", "n"), table("x", "n1.x"), table("t", "n1.t"))
    base = catalog(HOME, table("t", "d.t"))
    target = catalog(HOME, table("t", "d.t"), database("n2", "n"))
    merge = merged(source, target, base)
    assert (kinds(merge), merge.result) == ([("name occupied", "n")], target)
    ours = merged(source, target, base, rules=choices(name_occupied="ours"))
    assert (ours.conflicts, ours.result) == ((), target)
    assert reports(ours).count("stays out with its database") == 2
    aside = merged(source, target, base, rules=named("n", "name occupied", "rename=m"))
    assert tables(aside.result) == {"x": "m.x", "t": "m.t"}


@pytest.mark.parametrize("change", ["create", "move"])
def test_a_table_whose_database_is_gone_is_a_conflict(change: str) -> None:
    base = catalog(HOME, OTHER, table("t", "e.t"))
    moved = [table("t", "d.t")] if change == "move" else [table("t", "e.t"), table("n", "d.n")]
    source, target = catalog(HOME, OTHER, *moved), catalog(OTHER, table("t", "e.t"))
    name = "d.t" if change == "move" else "d.n"
    merge = merged(source, target, base)
    assert (kinds(merge), merge.result) == ([("database gone", name)], target)
    assert merged(source, target, base, rules=choices(database_gone="ours")).result == target
    brought = merged(source, target, base, rules=choices(database_gone="theirs"))
    assert (brought.conflicts, tables(brought.result)) == ((), tables(source))
    assert {each.id for each in brought.objects} == {"d", moved[-1].id}


def test_a_dropped_database_with_a_table_that_the_source_never_saw() -> None:
    base = catalog(HOME, OTHER, table("t", "d.t"))
    source = catalog(OTHER)
    target = catalog(HOME, OTHER, table("t", "d.t"), table("n", "d.n"))
    merge = merged(source, target, base)
    assert kinds(merge) == [("database not empty", "d")]
    assert merge.conflicts[0].sides.ours == "holds d.n"
    ours = merged(source, target, base, rules=choices(database_not_empty="ours"))
    assert (ours.conflicts, tables(ours.result)) == ((), {"n": "d.n"})
    theirs = merged(source, target, base, rules=choices(database_not_empty="theirs"))
    assert (theirs.conflicts, theirs.result) == ((), catalog(OTHER))
    assert "go with it: d.n" in reports(theirs)


def test_a_dropped_database_names_each_changed_table_and_strict_is_a_conflict() -> None:
    base = catalog(HOME, table("t", "d.t"), table("u", "d.u"))
    target = catalog(HOME, table("t", "d.t", 2), table("u", "d.u"))
    merge = merged(catalog(), target, base)
    assert (merge.conflicts, merge.result) == ((), catalog())
    assert [each.name for each in merge.objects if each.reported] == ["d.t"]
    strict = merged(catalog(), target, base, rules=ObjectRules(strict=True))
    assert ("object gone", "d.t") in kinds(strict)


def test_nothing_settles_an_object_that_several_folders_may_be() -> None:
    base = catalog(HOME, table("t", "d.t"))
    source = catalog(HOME, table("t", "d.x"))
    target = catalog(HOME, unclear={"t": "d.t and d.copy have one birth."})
    every = {"object_gone": "theirs", "identity_unclear": "theirs", "name_occupied": "ours"}
    (conflict,) = merged(source, target, base, rules=choices(**every)).conflicts
    assert (conflict.kind, conflict.settle_with, conflict.advice) == (
        ConflictKind.IDENTITY_UNCLEAR,
        (),
        "d.t and d.copy have one birth.",
    )
    assert merged(base, target, base).objects == ()


def test_a_lost_table_branch_is_never_a_drop() -> None:
    base = catalog(HOME, table("t", "d.t"))
    lost = catalog(HOME, table("t", "d.t", 0, content=Content.LOST), version="dev@3")
    merge = merged(lost, base, base)
    assert merge.result == base
    (block,) = [block for each in merge.objects for block in each.blocks]
    assert block.kind is ErrorKind.BRANCH_NOT_FOUND
    assert block.text.startswith("The table branch 'dev' of 'd.t' is gone, although the table")


def test_a_merge_of_a_part_leaves_the_rest_of_the_source_out() -> None:
    base = catalog(HOME, table("t", "d.t"), table("u", "d.u"))
    source = catalog(HOME, OTHER, table("t", "d.x"), table("n", "e.n"))
    only = merged(source, base, base, covers=frozenset({"t"}))
    assert (only.conflicts, tables(only.result)) == ((), {"t": "d.x", "u": "d.u"})
    assert [each.id for each in only.objects] == ["t"]
    homeless = merged(source, base, base, covers=frozenset({"n"}))
    assert kinds(homeless) == [("database gone", "e.n")]
    along = merged(
        source, base, base, covers=frozenset({"n"}), rules=choices(database_gone="theirs")
    )
    assert tables(along.result) == {"t": "d.t", "u": "d.u", "n": "e.n"}
    assert {each.id for each in along.objects} == {"e", "n"}


@pytest.mark.parametrize(
    ("source", "target"), list(product(("drop", "rename s", "set a=2", "unset a"), repeat=2))
)
def test_a_merge_of_what_was_merged_changes_nothing(source: str, target: str) -> None:
    # K5: the source is the base of the next merge.
    once = merged(did(source), did(target), rules=choices(object_gone="ours", property="theirs"))
    again = merged(did(source), once.result, did(source))
    assert (again.objects, again.result) == ((), once.result)
