"""Where a branch left another one: what was recorded, and what tells where nothing was."""

from branch_console.diff.fork_inference import Confidence, best_forks
from branch_console.diff.lineage import build_lineage
from branch_console.format.lineage_event import LineageKind
from tests.support.fork_candidates import infer_forks
from tests.unit.diff.histories import an_event, has_ancestor, snapshot, trace

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


def test_the_ledger_goes_before_what_can_be_inferred() -> None:
    dev = trace("dev", "m2 d3")
    event = an_event(LineageKind.CREATED, source_branch="main", parents=(snapshot("m3").identity,))
    found = infer_forks(dev, [MAIN, dev], [event])
    assert [(each.target_id, each.confidence) for each in found] == [
        (3, Confidence.RECORDED),
        (2, Confidence.HIGH),
    ]
    agreeing = an_event(LineageKind.FORKED, parents=(snapshot("m2").identity,))
    (fork,) = infer_forks(dev, [MAIN, dev], [event, agreeing])[:1]
    assert fork.confidence is Confidence.RECORDED
    assert len(fork.evidence) > 1


def test_a_base_tag_keeps_the_fork_readable_where_nothing_else_tells_it() -> None:
    main = trace("main", "m8 m9", tags="m2")
    dev = trace("dev", "d6 d7")
    event = an_event(LineageKind.CREATED, source_branch="main", base_tag="tag-m2")
    fork = infer_forks(dev, [main, dev], [event])[0]
    assert (fork.identity, fork.confidence) == (snapshot("m2").identity, Confidence.RECORDED)
    assert fork.evidence[1] == "Its base tag 'tag-m2' names snapshot 2."
    lineage = build_lineage([main, dev], [event])
    assert has_ancestor(lineage, snapshot("d7").identity, snapshot("m2").identity)
