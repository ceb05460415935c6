"""Laws of merging branches of the catalog, on ledgers in memory against plain dictionaries.

K5 merging twice is merging once. K6 a part and then the whole is the whole. K7 a branch merged on
the way and at its end is that branch merged at its end. K8 through another branch is straight. K9
names are given once, at every step.
"""

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import assume, event, given
from hypothesis import strategies as st

from branch_console.diff.catalog_state import CatalogState
from branch_console.merge.catalog.catalog_merge import CatalogMerge
from branch_console.merge.catalog.catalog_plan import plan_catalog_merge
from branch_console.merge.catalog.catalog_steps import CatalogStep, ordered_steps
from branch_console.merge.catalog.object_rules import EVERY_OBJECT, ObjectChoice, ObjectRules
from branch_console.merge.conflict import OBJECT_KINDS, Take
from branch_console.merge.plan import MergeVerdict
from tests.support.catalog_ledger import MemoryLedger, is_consistent
from tests.support.catalog_states import catalog, database, table

NAMES: Final = ("a", "b", "c", "d")
OURS: Final = ObjectRules(
    choices=tuple(
        ObjectChoice(object_name=EVERY_OBJECT, kind=kind, take=Take.OURS) for kind in OBJECT_KINDS
    )
)

names = st.sampled_from(NAMES)
picks = st.integers(min_value=0, max_value=5)
statements = st.one_of(
    st.tuples(st.just("create database"), picks, names),
    st.tuples(st.just("drop database"), picks, names),
    st.tuples(st.just("rename database"), picks, names),
    st.tuples(st.just("set"), picks, st.sampled_from(("x", "y")), st.sampled_from(("1", "2", ""))),
    st.tuples(st.just("create table"), picks, names),
    st.tuples(st.just("drop table"), picks, names),
    st.tuples(st.just("rename table"), picks, names),
    st.tuples(st.just("move table"), picks, picks),
    st.tuples(st.just("swap tables"), picks, picks),
    st.tuples(st.just("write"), picks, names),
)
scripts = st.lists(statements, max_size=6)


def begun() -> MemoryLedger:
    ledger = MemoryLedger()
    ledger.add(
        "main",
        catalog(
            database("d1", "a", x="0"),
            database("d2", "b"),
            table("t1", "d1.a", 1),
            table("t2", "d1.b", 2),
            table("t3", "d2.a", 3),
        ),
    )
    return ledger


def played(*scripts: tuple[str, list[Any]]) -> MemoryLedger:
    """A ledger on which each branch ran its statements; a branch is made where it first appears."""
    ledger = begun()
    for branch, script in scripts:
        if branch not in ledger.newest:
            ledger.fork(branch)
        for statement in script:
            ledger.run(branch, statement)
    return ledger


def is_clean(ledger: MemoryLedger, source: str, target: str, covers: Any = None) -> bool:
    return not ledger.preview(source, target, covers=covers).conflicts


def values(state: CatalogState) -> dict[object, object]:
    """Everything that a merge decides of objects, by what it is about."""
    found: dict[object, object] = {}
    for key, each in state.databases.items():
        found[key, "name"] = each.name
        found |= {(key, "property", name): value for name, value in each.properties.items()}
    return found | {(key, "name"): (each.database, each.name) for key, each in state.tables.items()}


rules = st.builds(
    lambda takes: ObjectRules(
        choices=tuple(
            ObjectChoice(object_name=EVERY_OBJECT, kind=kind, take=take)
            for kind, take in zip(OBJECT_KINDS, takes, strict=True)
        )
    ),
    st.tuples(
        st.just(Take.OURS), *[st.sampled_from((Take.OURS, Take.THEIRS))] * 4, st.just(Take.OURS)
    ),
)


@given(dev=scripts, main=scripts, rules=rules)
def test_k5_merging_twice_is_merging_once(
    dev: list[Any], main: list[Any], rules: ObjectRules
) -> None:
    ledger = played(("dev", dev), ("main", main))
    assume(not ledger.preview("dev", "main", rules).conflicts)
    ledger.merge("dev", "main", rules)
    version, view = ledger.newest["main"], ledger.view("main")
    again = ledger.merge("dev", "main")
    assert (ledger.newest["main"], ledger.view("main")) == (version, view)
    assert not any(each.brings_content or each.conflicts for each in again.objects)
    assert plan_catalog_merge(ledger.catalog_sides("dev", "main"), rules).verdict is (
        MergeVerdict.UP_TO_DATE
    )


@given(dev=scripts, main=scripts, later=scripts, rules=rules)
def test_k5_what_was_merged_is_in_nobodys_way_whatever_the_target_does_later(
    dev: list[Any], main: list[Any], later: list[Any], rules: ObjectRules
) -> None:
    ledger = played(("dev", dev), ("main", main))
    assume(not ledger.preview("dev", "main", rules).conflicts)
    ledger.merge("dev", "main", rules)
    for statement in later:
        ledger.run("main", statement)
    version, view = ledger.newest["main"], ledger.view("main")
    ledger.merge("dev", "main")
    assert (ledger.newest["main"], ledger.view("main")) == (version, view)


@given(dev=scripts, main=scripts, part=st.sets(st.integers(0, 9)))
def test_k6_a_part_and_then_the_whole_is_the_whole(
    dev: list[Any], main: list[Any], part: set[int]
) -> None:
    ledger = played(("dev", dev), ("main", main))
    ids = sorted(
        {key for each in ledger.states.values() for key in (*each.databases, *each.tables)}
    )
    covers = {key for at, key in enumerate(ids) if at in part}
    assume(is_clean(ledger, "dev", "main") and is_clean(ledger, "dev", "main", covers))
    direct = ledger.twin()
    direct.merge("dev", "main")
    ledger.merge("dev", "main", covers=covers)
    ledger.merge("dev", "main")
    assert ledger.view("main") == direct.view("main")


@given(first=scripts, second=scripts, main=scripts)
def test_k7_a_branch_merged_on_the_way_is_that_branch_merged_at_its_end(
    first: list[Any], second: list[Any], main: list[Any]
) -> None:
    ledger = played(("dev", first), ("main", main))
    base, middle = values(begun().state("main")), values(ledger.state("dev"))
    direct = ledger.twin()
    assume(is_clean(ledger, "dev", "main"))
    ledger.merge("dev", "main")
    for statement in second:
        ledger.run("dev", statement)
        direct.run("dev", statement)
    end = values(ledger.state("dev"))
    # What the branch takes back later was merged on the way: that it came and went is no change.
    both = {*base, *middle, *end}
    assume(not any(base.get(x) == end.get(x) != middle.get(x) for x in both))
    assume(is_clean(ledger, "dev", "main") and is_clean(direct, "dev", "main"))
    ledger.merge("dev", "main")
    direct.merge("dev", "main")
    assert ledger.view("main") == direct.view("main")


@given(dev=scripts, main=scripts)
def test_k8_through_another_branch_is_straight(dev: list[Any], main: list[Any]) -> None:
    ledger = played(("dev", dev), ("main", main))
    assume(is_clean(ledger, "dev", "main"))
    direct = ledger.twin()
    direct.merge("dev", "main")
    ledger.fork("test")
    ledger.merge("dev", "test")
    assume(is_clean(ledger, "test", "main"))
    ledger.merge("test", "main")
    assert ledger.view("main") == direct.view("main")
    # And dev itself has nothing left to bring.
    assert ledger.preview("dev", "main").result == ledger.state("main")


moves = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("main", "dev", "test")), statements),
        st.tuples(st.just("merge"), st.permutations(("main", "dev", "test"))),
    ),
    max_size=14,
)


@given(moves=moves)
def test_k9_a_clean_plan_never_meets_an_occupied_name(moves: list[Any]) -> None:
    ledger = played(("dev", []), ("test", []))
    merges = 0
    for branch, what in moves:
        if branch != "merge":
            ledger.run(branch, what)
            continue
        source, target, _ = what
        merge = ledger.preview(source, target)
        merges += 1
        assert is_consistent(merge.result)
        before = ledger.state(target)
        check_steps(before, merge)
        if not merge.conflicts:
            sides = ledger.catalog_sides(source, target).states
            assert plain(merge.result) == replayed(
                plain(sides.base), plain(sides.ours), plain(sides.theirs)
            )
        check_steps(before, ledger.merge(source, target, OURS))
    event(f"{min(merges, 4)} merges")


def plain(state: CatalogState) -> dict[str, object]:
    """Objects as a dictionary of what a merge decides of them."""
    return {
        **{key: (each.database, each.name) for key, each in state.tables.items()},
        **{key: each.name for key, each in state.databases.items()},
        **{
            f"{key}.{name}": value
            for key, each in state.databases.items()
            for name, value in each.properties.items()
        },
    }


def replayed(
    base: Mapping[str, object], ours: Mapping[str, object], theirs: Mapping[str, object]
) -> dict[str, object]:
    """A merge without conflicts, as four lines: what the source changed holds."""
    found = {
        key: ours.get(key) if base.get(key) == theirs.get(key) else theirs.get(key)
        for key in {*base, *ours, *theirs}
    }
    kept = {key: value for key, value in found.items() if value is not None}
    # A property goes with its database.
    return {key: value for key, value in kept.items() if key.partition(".")[0] in kept}


def check_steps(ours: CatalogState, merge: CatalogMerge) -> None:
    """Carry out the steps of a merge on dictionaries, then take them back."""
    steps = ordered_steps(ours, merge, newest_commits={}, fold=str)
    assert [each.inverse.inverse for each in steps] == list(steps)
    places = of_state(ours)
    for step in steps:
        carry_out(places, step)
    assert places == of_state(merge.result)
    for step in reversed(steps):
        carry_out(places, step.inverse)
    assert places == of_state(ours)


def of_state(state: CatalogState) -> dict[str, tuple[object, ...]]:
    return {
        **{key: ("", each.name, False) for key, each in state.databases.items()},
        **{key: (each.database, each.name, False) for key, each in state.tables.items()},
    }


def carry_out(places: dict[str, tuple[object, ...]], step: CatalogStep) -> None:
    """Do one step, which finds its object where it says and its place free."""
    before = step.before and (step.before.database, step.before.name, step.before.is_aside)
    after = step.after and (step.after.database, step.after.name, step.after.is_aside)
    assert places.get(step.id) == before
    if before == after:
        return
    if after is None:
        del places[step.id]
        assert not any(home == step.id for home, *_ in places.values())
        return
    assert after[2] or after not in places.values()
    assert not after[0] or after[0] in places
    places[step.id] = after
