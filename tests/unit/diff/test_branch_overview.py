"""Ahead and behind in snapshots, rows and files."""

import json

from branch_console.diff.branch_overview import compare_branches, distance_of
from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.lineage import MERGE_SOURCE_IDENTITY, Lineage, build_lineage
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.format.receipt import identity_to
from branch_console.format.snapshot import CommitKind
from tests.unit.diff.histories import snapshot, trace

MAIN = trace("main", "m1 m2 m3 m4")


def test_each_side_counts_what_the_other_lacks() -> None:
    dev = trace("dev", "m2 d3")
    found = compare_branches(dev, MAIN, build_lineage([MAIN, dev]))
    assert found.base == snapshot("m2").identity
    assert found.ahead is not None
    assert found.behind is not None
    assert (found.ahead.snapshots, found.ahead.records) == (1, 1)
    assert (found.behind.snapshots, found.behind.records) == (2, 2)


def test_compactions_are_counted_apart_and_their_rows_are_none() -> None:
    run = [snapshot("d3", rows=5), snapshot("d4", kind=CommitKind.COMPACT, rows=-2)]
    found = distance_of(run)
    assert (found.snapshots, found.compactions, found.records) == (1, 1, 5)


def test_rows_that_a_commit_does_not_tell_are_not_made_up() -> None:
    assert distance_of([snapshot("d3", rows=5), snapshot("d4", rows=None)]).records is None
    assert distance_of([]).records == 0


def test_branches_without_common_history_have_no_distance() -> None:
    other = trace("other", "o1 o2")
    found = compare_branches(other, MAIN, build_lineage([MAIN, other]))
    assert not found.is_related
    assert (found.ahead, found.behind) == (None, None)
    assert not compare_branches(trace("new"), MAIN, build_lineage([MAIN])).is_related


def test_a_fast_forwarded_branch_is_even() -> None:
    forwarded, dev = trace("main", "m1 m2 d3"), trace("dev", "m2 d3")
    found = compare_branches(dev, forwarded, build_lineage([forwarded, dev]))
    assert found.ahead == found.behind == distance_of([])


def test_what_was_merged_is_no_longer_ahead() -> None:
    source = json.dumps(identity_to(snapshot("d3").identity))
    merged = snapshot("m5", properties={MERGE_SOURCE_IDENTITY: source})
    main = BranchTrace(branch="main", snapshots=(*MAIN.snapshots, merged))
    dev = trace("dev", "m2 d3 d4")
    found = compare_branches(dev, main, build_lineage([main, dev]))
    assert found.ahead is not None
    assert found.behind is not None
    assert (found.ahead.snapshots, found.behind.snapshots) == (1, 3)


def test_a_fork_that_expired_on_the_branch_still_counts() -> None:
    main, dev = trace("main", "m1 m2 m3", tags="m2"), trace("dev", "d3 d4", tags="m2")
    found = compare_branches(dev, main, build_lineage([main, dev]))
    assert found.ahead is not None
    assert found.behind is not None
    assert (found.ahead.snapshots, found.behind.snapshots) == (2, 1)


def test_many_branches_of_a_long_history_are_compared_each() -> None:
    main = trace("main", " ".join(f"m{number}" for number in range(1, 301)))
    branches = [
        trace(f"b{number}", f"m{number * 5} {chr(65 + number % 20)}{number * 5 + 1}")
        for number in range(1, 51)
    ]
    lineage = build_lineage([main, *branches])
    for number, branch in enumerate(branches, start=1):
        found = compare_branches(branch, main, lineage)
        assert found.behind is not None
        assert found.behind.snapshots == 300 - number * 5


def ahead_and_behind(branch: BranchTrace, versus: BranchTrace, lineage: Lineage) -> object:
    found = compare_branches(branch, versus, lineage)
    assert found.ahead is not None
    assert found.behind is not None
    return (found.ahead.snapshots, found.behind.snapshots)


def test_a_branch_of_a_branch_is_ahead_by_what_it_got_from_there() -> None:
    main, dev, sub = trace("main", "m1"), trace("dev", "m1 d2 d3"), trace("sub", "d3 s4")
    lineage = build_lineage([main, dev, sub])
    assert ahead_and_behind(sub, main, lineage) == (3, 0)
    assert ahead_and_behind(sub, dev, lineage) == (1, 0)
    assert ahead_and_behind(main, sub, lineage) == (0, 3)
    assert ahead_and_behind(dev, sub, lineage) == (0, 1)
    found = compare_branches(sub, main, lineage).ahead
    assert found is not None
    assert found.records == 3


def test_branches_of_two_branches_count_both_ways() -> None:
    main = trace("main", "m1 m2")
    dev, sub = trace("dev", "m1 d2 d3"), trace("sub", "d3 s4")
    other, deep = trace("other", "m1 o2"), trace("deep", "o2 e3 e4")
    lineage = build_lineage([main, dev, sub, other, deep])
    assert ahead_and_behind(sub, deep, lineage) == (3, 3)
    assert ahead_and_behind(deep, main, lineage) == (3, 1)


def test_what_a_merge_took_in_is_not_counted_beside_the_merge() -> None:
    source = json.dumps(identity_to(snapshot("d3").identity))
    merged = snapshot("s3", properties={MERGE_SOURCE_IDENTITY: source})
    main, dev = trace("main", "m1"), trace("dev", "m1 d2 d3")
    sub = BranchTrace(branch="sub", snapshots=(snapshot("m1"), snapshot("s2"), merged))
    assert ahead_and_behind(sub, main, build_lineage([main, dev, sub])) == (2, 0)


def test_a_branch_whose_fork_a_replaced_branch_held_counts_what_a_rescue_keeps() -> None:
    main, dev = trace("main", "m1 d2"), trace("dev", "m1 d2")
    rescue, feature = trace("rescue-op", "m1 m2 m3"), trace("feature", "m3 f4")
    lineage = build_lineage([main, dev, rescue, feature])
    assert ahead_and_behind(feature, main, lineage) == (3, 1)


def test_a_fork_that_expired_where_it_was_made_still_counts() -> None:
    main = trace("main", "m8 m9", tags="m3 m5")
    dev, later = trace("dev", "m3 d4 d5", tags="m3"), trace("later", "m5 l6", tags="m5")
    lineage = build_lineage([main, dev, later])
    assert ahead_and_behind(dev, main, lineage) == (2, 3)
    assert ahead_and_behind(later, main, lineage) == (1, 2)
    assert ahead_and_behind(later, dev, lineage) == (2, 2)


def test_a_fork_that_expired_on_a_branch_leads_back_to_where_that_began() -> None:
    main, dev = trace("main", "m1 m2"), trace("dev", "d7 d8", tags="m1 d3")
    sub = trace("sub", "d3 s4", tags="d3")
    assert ahead_and_behind(sub, main, build_lineage([main, dev, sub])) == (2, 1)


def test_what_a_fast_forward_brought_stays_common_once_main_has_expired_past_it() -> None:
    main, dev = trace("main", "m4 m5", tags="m1"), trace("dev", "m1 d2 d3", tags="m1")
    landed = LineageEvent(
        id="op",
        branch="main",
        source_branch="dev",
        operation_id="op",
        actor="ann",
        kind=LineageKind.FAST_FORWARDED,
        after=snapshot("d3").identity,
        parents=(snapshot("m1").identity,),
        time_millis=snapshot("d3").time_millis,
    )
    assert ahead_and_behind(dev, main, build_lineage([main, dev], [landed])) == (0, 2)


def test_an_expiry_on_main_leaves_distances_alone_while_a_rescue_holds_the_whole_history() -> None:
    rescue = trace("rescue-op", "m1 m2 m3 d4", tags="m3 d4")
    dev = trace("dev", "m2 v3", tags="m2")
    source = json.dumps(identity_to(snapshot("v3").identity))
    merged = snapshot("m5", properties={MERGE_SOURCE_IDENTITY: source})

    def of_main(words: str) -> object:
        kept = trace("main", words, tags="m2 m3 d4")
        main = BranchTrace(branch="main", snapshots=(*kept.snapshots, merged), tags=kept.tags)
        return ahead_and_behind(dev, main, build_lineage([main, rescue, dev]))

    assert of_main("m1 m2 m3 d4") == of_main("m2 m3 d4") == (0, 3)


def test_a_fork_on_a_history_that_was_taken_away_does_not_count_as_expired() -> None:
    main, dev = trace("main", "x8 x9", tags="m5"), trace("dev", "m5 d6", tags="m5")
    rescued = LineageEvent(
        id="op-rescue",
        branch="rescue-op",
        source_branch="main",
        operation_id="op",
        actor="ann",
        kind=LineageKind.RESCUED,
        time_millis=snapshot("m6").time_millis,
    )
    assert not compare_branches(dev, main, build_lineage([main, dev], [rescued])).is_related
