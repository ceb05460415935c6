"""Which snapshot came from which, over all branches."""

import json

import pytest

from branch_console.diff.lineage import MERGE_SOURCE_IDENTITY, Lineage, build_lineage, merge_source
from branch_console.diff.merge_base import best_common_ancestors
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import identity_to
from branch_console.format.snapshot import SnapshotIdentity
from tests.unit.diff.histories import an_event, has_ancestor, snapshot, trace


def merge_base(
    lineage: Lineage, ours: SnapshotIdentity, theirs: SnapshotIdentity
) -> SnapshotIdentity | None:
    """The best common ancestor nearest to theirs."""
    return next(iter(best_common_ancestors(lineage, ours, theirs)), None)


MAIN = trace("main", "m1 m2 m3 m4", tags="m2")


def test_parents_come_from_ids_forks_merges_and_events() -> None:
    merged = snapshot(
        "m5", properties={MERGE_SOURCE_IDENTITY: json.dumps(identity_to(snapshot("d4").identity))}
    )
    main = type(MAIN)(branch="main", snapshots=(*MAIN.snapshots, merged))
    dev = trace("dev", "d3 d4", tags="m2")
    event = an_event(
        LineageKind.REVERTED, after=snapshot("x9").identity, parents=(snapshot("m1").identity,)
    )
    lineage = build_lineage([main, dev], [event])

    def has(child: str, parent: str) -> bool:
        return (snapshot(child).identity, snapshot(parent).identity) in lineage.parents

    assert has("m2", "m1")
    assert has("d4", "d3")
    assert has("d3", "m2")  # the fork, though it has expired on the branch
    assert has("m5", "d4")
    assert has("x9", "m1")
    assert has_ancestor(lineage, merged.identity, snapshot("d3").identity)
    assert not has_ancestor(lineage, snapshot("d4").identity, snapshot("m3").identity)


@pytest.mark.parametrize("text", ["", "[]", "{}", '"x"', "snapshot 4"])
def test_a_merge_property_of_other_software_is_no_parent(text: str) -> None:
    assert merge_source(snapshot("m1", properties={MERGE_SOURCE_IDENTITY: text})) is None


def test_the_merge_base_is_the_fork_of_diverged_branches() -> None:
    dev = trace("dev", "m2 d3 d4")
    lineage = build_lineage([MAIN, dev])
    main, theirs = snapshot("m4").identity, snapshot("d4").identity
    assert merge_base(lineage, main, theirs) == snapshot("m2").identity
    assert merge_base(lineage, theirs, main) == snapshot("m2").identity
    assert merge_base(lineage, main, main) == main


def test_after_a_merge_the_next_one_starts_at_the_merged_source() -> None:
    source = json.dumps(identity_to(snapshot("d3").identity))
    merged = snapshot("m5", properties={MERGE_SOURCE_IDENTITY: source})
    main = type(MAIN)(branch="main", snapshots=(*MAIN.snapshots, merged))
    dev = trace("dev", "m2 d3 d4")
    lineage = build_lineage([main, dev])
    found = merge_base(lineage, merged.identity, snapshot("d4").identity)
    assert found == snapshot("d3").identity


def test_a_criss_cross_has_two_best_ancestors() -> None:
    def merges(word: str, source: str) -> object:
        text = json.dumps(identity_to(snapshot(source).identity))
        return snapshot(word, properties={MERGE_SOURCE_IDENTITY: text})

    main = type(MAIN)(branch="main", snapshots=(*trace("", "m1 m2").snapshots, merges("m3", "d2")))  # type: ignore[arg-type]
    dev = type(MAIN)(branch="dev", snapshots=(*trace("", "m1 d2").snapshots, merges("d3", "m2")))  # type: ignore[arg-type]
    lineage = build_lineage([main, dev])
    best = best_common_ancestors(lineage, snapshot("m3").identity, snapshot("d3").identity)
    assert set(best) == {snapshot("m2").identity, snapshot("d2").identity}


def test_strangers_have_no_merge_base() -> None:
    other = trace("other", "o1 o2")
    lineage = build_lineage([MAIN, other])
    assert merge_base(lineage, snapshot("m4").identity, snapshot("o2").identity) is None
