"""Ahead and behind in snapshots, rows and files."""

import json

import pyarrow as pa

from core.diff.branch_overview import compare_branches, distance_of, with_files
from core.diff.lineage import MERGE_SOURCE_IDENTITY, BranchTrace, build_lineage
from core.format.receipt import identity_to
from core.format.snapshot import CommitKind
from tests.unit.diff.histories import snapshot, trace

MAIN = trace("main", "m1 m2 m3 m4")


def test_each_side_counts_what_the_other_lacks() -> None:
    dev = trace("dev", "m2 d3")
    found = compare_branches(dev, MAIN, build_lineage([MAIN, dev]))
    assert found.base == snapshot("m2").identity
    assert found.ahead is not None
    assert found.behind is not None
    assert (found.ahead.snapshots, found.ahead.rows) == (1, 1)
    assert (found.behind.snapshots, found.behind.rows) == (2, 2)
    assert found.ahead.files is None


def test_compactions_are_counted_apart_and_their_rows_are_none() -> None:
    run = [snapshot("d3", rows=5), snapshot("d4", kind=CommitKind.COMPACT, rows=-2)]
    found = distance_of(run)
    assert (found.snapshots, found.compactions, found.rows) == (1, 1, 5)


def test_rows_that_a_commit_does_not_tell_are_not_made_up() -> None:
    assert distance_of([snapshot("d3", rows=5), snapshot("d4", rows=None)]).rows is None
    assert distance_of([]).rows == 0


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


def test_files_are_counted_by_identity() -> None:
    dev = trace("dev", "m2 d3")
    overview = compare_branches(dev, MAIN, build_lineage([MAIN, dev]))
    found = with_files(
        overview, pa.table({"identity": ["a", "b", "c"]}), pa.table({"identity": ["b", "x"]})
    )
    assert found.ahead is not None
    assert found.behind is not None
    assert (found.ahead.files, found.behind.files) == (2, 1)
    empty = pa.table({"identity": pa.array([], pa.string())})
    assert with_files(overview, empty, empty).ahead == found.ahead.__class__(
        snapshots=1, compactions=0, rows=1, files=0
    )


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
