"""Which snapshot came from which, and where a branch forked when nobody wrote it down."""

import json

import pytest

from core.diff.fork_inference import Confidence, best_forks, infer_forks
from core.diff.lineage import MERGE_SOURCE_IDENTITY, Lineage, build_lineage, merge_source
from core.diff.merge_base import best_common_ancestors
from core.format.lineage_event import LineageEvent, LineageKind
from core.format.receipt import identity_to
from core.format.snapshot import SnapshotIdentity
from tests.unit.diff.histories import snapshot, trace


def merge_base(
    lineage: Lineage, ours: SnapshotIdentity, theirs: SnapshotIdentity
) -> SnapshotIdentity | None:
    """The best common ancestor nearest to theirs."""
    return next(iter(best_common_ancestors(lineage, ours, theirs)), None)


MAIN = trace("main", "m1 m2 m3 m4", tags="m2")


def test_a_branch_that_begins_with_a_shared_snapshot_forked_there() -> None:
    dev = trace("dev", "m2 d3 d4")
    (fork,) = infer_forks(dev, [MAIN, dev])
    assert (fork.parent, fork.source_id, fork.target_id) == ("main", 2, 2)
    assert fork.confidence is Confidence.HIGH
    assert fork.snapshot == snapshot("m2")
    assert fork.evidence[0].startswith("Its oldest snapshot 2 is snapshot 2 of 'main'")


def test_snapshots_are_the_same_by_identity_and_never_by_id() -> None:
    stranger = trace("stranger", "s2 s3 s4")
    found = infer_forks(stranger, [MAIN, stranger])
    assert all(each.confidence is Confidence.LOW for each in found)


def test_the_uuid_is_named_as_evidence_where_there_is_one() -> None:
    first = snapshot("m2", uuid="u")
    main, dev = (
        type(MAIN)(branch="main", snapshots=(snapshot("m1"), first)),
        type(MAIN)(branch="dev", snapshots=(first,)),
    )
    assert "the same uuid" in infer_forks(dev, [main, dev])[0].evidence[0]


def test_a_branch_from_a_branch_forked_from_that_one() -> None:
    dev, nested = trace("dev", "m2 d3 d4"), trace("nested", "d3 n4")
    forks = best_forks([MAIN, dev, nested])
    assert (forks["nested"].parent, forks["dev"].parent) == ("dev", "main")
    assert "main" not in forks


def test_siblings_that_begin_with_one_snapshot_both_came_from_where_it_was_made() -> None:
    dev, fix = trace("dev", "m2 d3"), trace("fix", "m2 f3")
    found = infer_forks(fix, [MAIN, dev, fix])
    assert [each.parent for each in found] == ["main", "dev"]
    # Also where the main branch is gone and a branch of it stands in.
    older = trace("older", "m1 m2 o3")
    assert infer_forks(fix, [dev, older, fix])[0].parent == "older"


def test_after_a_fast_forward_the_fork_is_still_where_the_branch_began() -> None:
    forwarded, dev = trace("main", "m1 m2 d3 d4"), trace("dev", "m2 d3 d4")
    assert infer_forks(dev, [forwarded, dev])[0].identity == snapshot("m2").identity


def test_a_shared_tag_tells_the_fork_when_its_snapshot_expired() -> None:
    main = trace("main", "m5 m6", tags="m2")
    dev = trace("dev", "d3 d4", tags="m2")
    fork = infer_forks(dev, [main, dev])[0]
    assert fork.confidence is Confidence.HIGH
    assert (fork.identity, fork.source_id, fork.target_id) == (snapshot("m2").identity, None, None)
    assert fork.snapshot == snapshot("m2")
    assert "name one snapshot" in fork.evidence[0]


def test_a_tag_on_a_snapshot_of_the_other_branch_is_evidence_too() -> None:
    dev = trace("dev", "d3", tags="m1")
    fork = infer_forks(dev, [trace("main", "m1 m2"), dev])[0]
    assert (fork.target_id, fork.confidence) == (1, Confidence.HIGH)


def test_a_tag_made_later_is_weaker_than_the_first_snapshot() -> None:
    dev = trace("dev", "m2 d3 d4", tags="m4")
    found = infer_forks(dev, [MAIN, dev])
    assert [(each.target_id, each.confidence) for each in found] == [
        (2, Confidence.HIGH),
        (4, Confidence.MEDIUM),
    ]


def test_a_file_in_common_tells_where_nothing_else_does() -> None:
    main = type(MAIN)(branch="main", snapshots=(snapshot("m1"), snapshot("m4", index_manifest="i")))
    dev = type(MAIN)(branch="dev", snapshots=(snapshot("d9", index_manifest="i"),))
    fork = infer_forks(dev, [main, dev])[0]
    assert (fork.target_id, fork.confidence) == (4, Confidence.MEDIUM)
    assert "shares the index manifest with snapshot 4" in fork.evidence[0]


def test_numbers_and_times_are_weak_evidence_and_add_up() -> None:
    dev = trace("dev", "d3 d4", created_minute=2)
    fork = infer_forks(dev, [MAIN, dev])[0]
    assert (fork.target_id, fork.confidence) == (2, Confidence.LOW)
    assert len(fork.evidence) == 2


def test_a_branch_made_empty_has_no_fork() -> None:
    assert infer_forks(trace("new"), [MAIN]) == ()
    assert infer_forks(trace("own", "o1 o2", created_minute=3), [MAIN]) == ()
    assert infer_forks(MAIN, [MAIN, trace("dev", "m2 d3")]) == ()


def _event(kind: LineageKind, **fields: object) -> LineageEvent:
    given = {"id": "e", "branch": "dev", "operation_id": "op", "actor": "ann", "time_millis": 1}
    return LineageEvent(kind=kind, **{**given, **fields})  # type: ignore[arg-type]


def test_the_ledger_goes_before_what_can_be_inferred() -> None:
    dev = trace("dev", "m2 d3")
    event = _event(LineageKind.CREATED, source_branch="main", parents=(snapshot("m3").identity,))
    found = infer_forks(dev, [MAIN, dev], [event])
    assert [(each.target_id, each.confidence) for each in found] == [
        (3, Confidence.RECORDED),
        (2, Confidence.HIGH),
    ]
    agreeing = _event(LineageKind.FORKED, parents=(snapshot("m2").identity,))
    (fork,) = infer_forks(dev, [MAIN, dev], [event, agreeing])[:1]
    assert fork.confidence is Confidence.RECORDED
    assert len(fork.evidence) > 1


def test_a_base_tag_keeps_the_fork_readable_where_nothing_else_tells_it() -> None:
    main = trace("main", "m8 m9", tags="m2")
    dev = trace("dev", "d6 d7")
    event = _event(LineageKind.CREATED, source_branch="main", base_tag="tag-m2")
    fork = infer_forks(dev, [main, dev], [event])[0]
    assert (fork.identity, fork.confidence) == (snapshot("m2").identity, Confidence.RECORDED)
    assert fork.evidence[1] == "Its base tag 'tag-m2' names snapshot 2."
    lineage = build_lineage([main, dev], [event])
    assert lineage.has_ancestor(snapshot("d7").identity, snapshot("m2").identity)


def test_parents_come_from_ids_forks_merges_and_events() -> None:
    merged = snapshot(
        "m5", properties={MERGE_SOURCE_IDENTITY: json.dumps(identity_to(snapshot("d4").identity))}
    )
    main = type(MAIN)(branch="main", snapshots=(*MAIN.snapshots, merged))
    dev = trace("dev", "d3 d4", tags="m2")
    event = _event(
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
    assert lineage.has_ancestor(merged.identity, snapshot("d3").identity)
    assert not lineage.has_ancestor(snapshot("d4").identity, snapshot("m3").identity)


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
