"""The merge base of each object, over the versions of all branches."""

from dataclasses import replace

import pytest

from branch_console.diff.catalog_base import (
    bases_of_objects,
    contents_merged_into,
    contents_to_note,
    state_at_bases,
)
from branch_console.diff.catalog_state import CatalogState
from branch_console.format.catalog.catalog_version import VersionKind, VersionName
from tests.support.catalog_ledger import MemoryLedger
from tests.support.catalog_states import catalog, database, table

MERGED = VersionKind.MERGED
START = catalog(database("d", "air"), table("t", "d.t"), table("u", "d.u"))


def begun(*branches: str) -> MemoryLedger:
    """main@1, and branches that fork from it, each with a change since."""
    ledger = MemoryLedger()
    ledger.add("main", START)
    for branch in branches:
        ledger.fork(branch)
        ledger.add(branch, START)
    return ledger


def bases(ledger: MemoryLedger, ours: str, theirs: str, *ids: str) -> list[str]:
    versions = (ledger.newest[ours], ledger.newest[theirs])
    found = bases_of_objects(ledger.versions, *versions, ids or ("t",))
    return [" ".join(map(str, found[each])) for each in ids or ("t",)]


def test_a_fork_is_the_base_until_a_merge_is() -> None:
    ledger = begun("dev")
    assert bases(ledger, "main", "dev") == bases(ledger, "dev", "main") == ["main@1"]
    ledger.add("main", START, MERGED, parents=(ledger.newest["dev"],))
    ledger.add("dev", START)
    assert bases(ledger, "main", "dev") == bases(ledger, "dev", "main") == ["dev@2"]


def test_a_merge_of_a_part_is_a_base_only_of_that_part() -> None:
    ledger = begun("dev")
    ledger.add("main", START, MERGED, parents=(ledger.newest["dev"],), covers=("t",))
    ledger.add("dev", START)
    assert bases(ledger, "main", "dev", "t", "u") == ["dev@2", "main@1"]
    ledger.add("main", START, MERGED, parents=(ledger.newest["dev"],), covers=("u",))
    assert bases(ledger, "main", "dev", "t", "u") == ["dev@2", "dev@3"]


def test_what_a_branch_got_of_main_begins_there_and_the_rest_at_the_fork() -> None:
    ledger = begun("dev")
    then = ledger.add("main", START)
    ledger.add("dev", START, VersionKind.CHANGED, parents=(then,), covers=("u",))
    ledger.add("main", START)
    assert bases(ledger, "main", "dev", "t", "u") == ["main@1", "main@2"]
    assert bases(ledger, "dev", "main", "t", "u") == ["main@1", "main@2"]


def test_a_merge_that_was_taken_back_is_no_base() -> None:
    ledger = begun("dev")
    merge = ledger.add("main", START, MERGED, parents=(ledger.newest["dev"],))
    ledger.add("main", START, VersionKind.TURNED_BACK, voids=(merge,))
    assert bases(ledger, "main", "dev") == ["main@1"]


def test_a_merge_through_another_branch_counts() -> None:
    ledger = begun("dev", "test")
    ledger.add("test", START, MERGED, parents=(ledger.newest["dev"],))
    ledger.add("main", START, MERGED, parents=(ledger.newest["test"],))
    assert bases(ledger, "main", "dev") == ["dev@2"]


def criss_cross(main: CatalogState, dev: CatalogState) -> MemoryLedger:
    """Both sides merged the other as it was before, and so each has what the other had."""
    ledger = begun()
    ledger.fork("dev")
    ours, theirs = ledger.add("main", main), ledger.add("dev", dev)
    ledger.add("main", dev, MERGED, parents=(theirs,))
    ledger.add("dev", main, MERGED, parents=(ours,))
    return ledger


def test_a_criss_cross_history_has_several_bases() -> None:
    ledger = criss_cross(START, START)
    assert bases(ledger, "main", "dev") == ["dev@2 main@2"]
    assert bases(ledger, "dev", "main") == ["main@2 dev@2"]


@pytest.mark.parametrize(
    ("main", "dev"),
    [
        (catalog(database("d", "air"), table("t", "d.t")), catalog(database("d", "air"))),
        (catalog(database("d", "air")), catalog(database("d", "air"), table("t", "d.t"))),
        (
            catalog(database("d", "air", a="1"), table("t", "d.t", 5)),
            catalog(database("d", "sea", a="2", b="1"), table("t", "d.x", 6)),
        ),
    ],
)
def test_what_equals_any_of_several_bases_is_unchanged(
    main: CatalogState, dev: CatalogState
) -> None:
    ledger = criss_cross(main, dev)
    assert ledger.preview("dev", "main").result == ledger.state("main")
    assert ledger.preview("main", "dev").result == ledger.state("dev")


def test_a_change_against_both_bases_is_a_change() -> None:
    ledger = criss_cross(
        catalog(database("d", "air", a="1"), table("t", "d.t")),
        catalog(database("d", "sea", a="2"), table("t", "d.x")),
    )
    ledger.add("dev", catalog(database("d", "sky", a="3"), table("t", "d.z")))
    result = ledger.preview("dev", "main").result
    assert result.databases["d"] == database("d", "sky", a="3")
    assert result.tables["t"].name == "z"


def test_a_base_that_does_not_speak_for_an_object_says_nothing_of_it() -> None:
    name = VersionName(branch="dev", number=1)
    branch = catalog(database("d", "air"), members=frozenset({"d"}))
    found = state_at_bases({"d": (name,), "t": (name,)}, {name: branch}, START, branch)
    assert (list(found.databases), list(found.tables), found.version) == (["d"], [], "dev@1")


# --- what merges noted of their sources ----------------------------------------------------------


def merged(
    ledger: MemoryLedger, target: str = "main", covers: tuple[str, ...] | None = None
) -> None:
    ledger.merge("dev", target, covers=covers)


def written(ledger: MemoryLedger, *names: str) -> MemoryLedger:
    for name in names:
        ledger.run("dev", ("write", ["t", "u"].index(name), f"row {ledger.made}"))
    return ledger


def found(ledger: MemoryLedger, *, main: CatalogState | None = None) -> list[str]:
    """What dev brings to main, and what is in its way, after main went on."""
    if main is not None:
        ledger.add("main", main)
    merge = ledger.preview("dev", "main")
    brought = [f"content of {each.id}" for each in merge.objects if each.brings_content]
    return brought + [str(each.kind) for each in merge.conflicts]


def test_a_table_that_came_and_that_main_dropped_later_is_not_in_the_way() -> None:
    ledger = written(begun("dev"), "t")
    merged(ledger)
    assert found(ledger, main=catalog(database("d", "air"), table("u", "d.u"))) == []
    written(ledger, "t")
    assert found(ledger) == ["object gone"]


def test_a_merge_of_a_part_notes_that_part_only() -> None:
    ledger = written(begun("dev"), "t", "u")
    merged(ledger, covers=("t",))
    assert found(ledger) == ["content of u"]
    assert found(ledger, main=catalog(database("d", "air"))) == ["object gone"]  # of u
    assert [each.subject.table for each in ledger.preview("dev", "main").conflicts] == ["air.u"]


def test_what_a_merge_noted_that_was_taken_back_does_not_count() -> None:
    ledger = written(begun("dev"), "t")
    before = ledger.state("main")
    merged(ledger)
    ledger.add("main", before, VersionKind.UNDONE, voids=(ledger.newest["main"],))
    assert found(ledger) == ["content of t"]


def test_what_another_branch_received_says_nothing_of_a_part_that_did_not_come() -> None:
    ledger = written(begun("dev", "test"), "t")
    merged(ledger)
    written(ledger, "t", "u")
    merged(ledger, "test")
    ledger.merge("test", "main", covers=("u",))
    assert found(ledger) == ["content of t"]


def test_the_latest_of_several_merges_counts() -> None:
    ledger = begun("dev")
    for _ in range(3):
        written(ledger, "t")
        merged(ledger)
        assert found(ledger) == []
    notes = contents_merged_into(ledger.versions, ledger.newest["main"])
    (contents,) = notes["t"].values()
    assert contents[0].head == ledger.state("dev").tables["t"].head
    assert len(contents) == 3


@pytest.mark.parametrize("when", ["between the merges", "after both"])
def test_what_a_later_merge_need_not_note_came_by_an_earlier_one(when: str) -> None:
    ledger = written(begun("dev"), "t")
    merged(ledger)
    without = catalog(database("d", "air"), table("u", "d.u"))
    if when == "between the merges":
        ledger.add("main", without)
    ledger.run("dev", ("set", 0, "a", "1"))
    merged(ledger)
    if when == "after both":
        new = ledger.state("main")
        kept = {key: each for key, each in new.tables.items() if key != "t"}
        ledger.add("main", replace(new, tables=kept))
    assert found(ledger) == []
    written(ledger, "t")
    assert found(ledger) == ["object gone"]


def test_only_tables_that_the_version_of_the_source_does_not_tell_are_noted() -> None:
    ledger = written(begun("dev"), "t")
    ledger.run("dev", ("create table", 0, "n"))
    ledger.add("dev", ledger.state("dev"))
    sides = ledger.catalog_sides("dev", "main")
    new = ledger.newest["dev"].number - 1
    assert set(contents_to_note(sides.states, None)) == {"t", f"dev{new}"}
    assert set(contents_to_note(sides.states, {"u"})) == set()
