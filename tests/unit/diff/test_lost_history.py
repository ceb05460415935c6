"""Histories that are in no snapshot, put together from the manifest lists that they left."""

from collections.abc import Mapping

import pytest

from branch_console.diff.lost_history import (
    LostHistory,
    UnnamedList,
    find_lost_histories,
    lost_branch_name,
)


def a_list(
    name: str,
    entries: Mapping[str, int],
    *,
    manifests: str | None = None,
    time: int = 0,
    is_new: bool = True,
) -> UnnamedList:
    """A list with the manifests that a text spells, one a letter."""
    return UnnamedList(
        name=f"manifest-list-{name}",
        modified_millis=time,
        manifests=frozenset(name if manifests is None else manifests),
        entries=entries,
        is_new=is_new,
    )


def state(*files: str) -> frozenset[str]:
    return frozenset(files)


def told(found: tuple[LostHistory[str], ...]) -> list[tuple[str | None, list[str]]]:
    """What each history follows, and the delta lists of its commits."""
    return [
        (each.follows, [one.delta.name.removeprefix("manifest-list-") for one in each.commits])
        for each in found
    ]


BASE = a_list("a-0", {"f1": 1}, manifests="m")
DELTA = a_list("a-1", {"f2": 1}, manifests="n")


def test_a_commit_that_was_built_on_a_snapshot_follows_it() -> None:
    assert told(find_lost_histories([BASE, DELTA], {state("f1"): "main 1"})) == [
        ("main 1", ["a-1"])
    ]
    assert find_lost_histories([BASE, DELTA], {state("f1"): "main 1"})[0].tip == DELTA.name


def test_a_commit_whose_beginning_has_expired_stands_alone() -> None:
    assert told(find_lost_histories([BASE, DELTA], {state("f9"): "main 1"})) == [(None, ["a-1"])]


def test_commits_of_several_writers_follow_each_other_by_their_files() -> None:
    later = [
        a_list("b-0", {"f1": 1, "f2": 1}, manifests="mn", time=2),
        a_list("b-1", {"f1": -1, "f3": 1}, manifests="o", time=2),
        a_list("c-4", {"f2": 1, "f3": 1}, manifests="p", time=3),
        a_list("c-5", {"f4": 1}, manifests="q", time=3),
    ]
    found = find_lost_histories([*reversed(later), DELTA, BASE], {state("f1"): "main 1"})
    assert told(found) == [("main 1", ["a-1", "b-1", "c-5"])]
    assert [sorted(each.files) for each in found[0].commits] == [
        ["f1", "f2"],
        ["f2", "f3"],
        ["f2", "f3", "f4"],
    ]


def test_two_commits_on_one_snapshot_are_two_histories() -> None:
    other = [
        a_list("b-0", {"f1": 1}, manifests="m", time=1),
        a_list("b-1", {"f3": 1}, manifests="o", time=1),
    ]
    found = find_lost_histories([*other, BASE, DELTA], {state("f1"): "main 1"})
    assert told(found) == [("main 1", ["a-1"]), ("main 1", ["b-1"])]


def test_a_first_commit_builds_on_nothing() -> None:
    first = [a_list("a-0", {}, manifests=""), a_list("a-1", {"f1": 1}, manifests="m")]
    assert told(find_lost_histories(first, dict[frozenset[str], str]())) == [(None, ["a-1"])]


def test_a_list_of_changelog_files_is_no_commit() -> None:
    lists = [
        BASE,
        DELTA,
        a_list("a-2", {"log1": 1}, manifests="x"),
        a_list("a-3", {"f1": 1, "f2": 1}, manifests="mn"),
        a_list("a-4", {"f3": 1}, manifests="o"),
        a_list("a-5", {"log2": 1}, manifests="y"),
    ]
    found = find_lost_histories(lists, {state("f1"): "main 1"})
    assert told(found) == [("main 1", ["a-1", "a-4"])]


def test_the_lists_of_one_writer_are_read_from_the_first_on() -> None:
    """Nothing tells the beginning of the first, so the second must not be taken for one."""
    lists = [BASE, DELTA, a_list("a-2", {"f3": 1}, manifests="o")]
    assert told(find_lost_histories(lists, {state("f9"): "another"})) == [(None, ["a-1"])]


@pytest.mark.parametrize(
    "lists",
    [
        pytest.param([BASE], id="half a commit"),
        pytest.param([BASE, a_list("a-2", {"f2": 1}, manifests="n")], id="no neighbours"),
        pytest.param(
            [BASE, a_list("b-0", {"f2": 1}, manifests="n", time=60_001)],
            id="two writers at two times",
        ),
        pytest.param(
            [BASE, a_list("a-1", {"f2": 1}, manifests="n", is_new=False)],
            id="a commit that was made by another try",
        ),
        pytest.param(
            [BASE, a_list("a-1", {"f2": 1}, manifests="mn")], id="manifests of the base again"
        ),
        pytest.param([BASE, a_list("a-1", {"f9": -1}, manifests="n")], id="deletes what is not"),
        pytest.param([BASE, a_list("a-1", {"f1": 1}, manifests="n")], id="adds what is there"),
        pytest.param(
            [a_list("a-0", {"f1": -1}, manifests="m"), DELTA], id="a base that is no state"
        ),
    ],
)
def test_what_is_no_commit_is_left_out(lists: list[UnnamedList]) -> None:
    assert find_lost_histories(lists, {state("f1"): "main 1"}) == ()


def test_lists_under_names_of_their_own_are_commits_by_their_time() -> None:
    ours = [
        a_list("b-0", {"f1": 1}, manifests="m", time=1_000),
        a_list("c-0", {"f2": 1}, manifests="n", time=1_001),
        a_list("d-0", {"f1": 1, "f2": 1}, manifests="mn", time=3_000),
        a_list("e-0", {"f3": 1}, manifests="o", time=3_001),
    ]
    found = find_lost_histories(ours, {state("f1"): "main 1"})
    assert told(found) == [("main 1", ["c-0", "e-0"])]


def test_a_commit_whose_state_a_snapshot_holds_is_not_lost() -> None:
    states = {state("f1"): "main 1", state("f1", "f2"): "main 2"}
    assert find_lost_histories([BASE, DELTA], states) == ()


def test_a_commit_that_changed_no_file_ends() -> None:
    idle = [a_list("b-0", {"f1": 1, "f2": 1}, manifests="mn", time=2), a_list("b-1", {}, time=2)]
    found = find_lost_histories([BASE, DELTA, *idle], {state("f1"): "main 1"})
    assert told(found) == [("main 1", ["a-1", "b-1"])]


def test_the_branch_of_a_history_is_named_after_its_writer() -> None:
    name = "manifest-list-e29a870d-0d15-45c5-ad74-5ea1e8308a96-1"
    assert lost_branch_name(name) == "lost-e29a870d-1"
