"""Ancestors, forks and distances of random histories, against a reading of the whole graph."""

import json
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from branch_console.diff.branch_overview import compare_branches, distance_of
from branch_console.diff.branch_trace import BranchTrace, Lists
from branch_console.diff.fork_inference import best_forks
from branch_console.diff.lineage import MERGE_SOURCE_IDENTITY, Lineage, build_lineage
from branch_console.diff.merge_base import best_common_ancestors
from branch_console.format.receipt import identity_to
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from tests.support.fork_candidates import infer_forks
from tests.support.table_files import a_snapshot


def histories(rng: random.Random) -> list[BranchTrace]:
    """Branches that fork off and merge each other; what began some expired, but for tags."""
    lines: dict[str, list[Snapshot]] = {"main": [a_snapshot(1, "first-")]}
    for step in range(rng.randrange(1, 25)):
        name = rng.choice(list(lines))
        line = lines[name]
        if rng.random() < 0.25 and len(lines) < 6:
            lines[f"b{step}"] = [rng.choice(line)]
            continue
        properties = {}
        if rng.random() < 0.35:
            source = rng.choice(lines[rng.choice(list(lines))])
            properties[MERGE_SOURCE_IDENTITY] = json.dumps(identity_to(source.identity))
        line.append(a_snapshot(line[-1].id + 1, f"step{step}-", properties=properties))
    return [
        BranchTrace(
            branch=name,
            snapshots=tuple(line[rng.choice([0, 0, len(line) // 2]) :]),
            tags=tuple(
                Tag(name=f"at-{each.id}", snapshot=each) for each in line[:: rng.randint(1, 5)]
            ),
            created_millis=rng.choice([None, rng.randrange(20) * 60_000]),
        )
        for name, line in lines.items()
    ]


def reached(lineage: Lineage, head: Lists) -> set[Lists]:
    """All that a head builds on, by taking in parents until none is left."""
    found, left = set[Lists](), {head}
    while left:
        found |= left
        left = {
            parent.manifest_lists
            for child, parent in lineage.parents
            if child.manifest_lists in left
        } - found
    return found


def line(traces: list[BranchTrace], head: Snapshot) -> list[Snapshot]:
    """A head and what it was committed on top of, on whatever branch that lies."""
    below = {
        newer.identity.manifest_lists: older
        for trace in traces
        for older, newer in pairwise(trace.snapshots)
    }
    found = [head]
    while (older := below.get(found[-1].identity.manifest_lists)) is not None:
        found.append(older)
    return found


@given(st.randoms(use_true_random=False))
def test_nearest_common_ancestors_and_distances_are_those_of_the_whole_graph(
    rng: random.Random,
) -> None:
    traces = histories(rng)
    lineage = build_lineage(traces, forks={})
    for ours in traces:
        for theirs in traces:
            assert ours.head is not None
            assert theirs.head is not None
            mine, other = (
                reached(lineage, each.head.identity.manifest_lists) for each in (ours, theirs)
            )
            common = mine & other
            best = {
                each
                for each in common
                if not any(each in reached(lineage, one) for one in common - {each})
            }
            found = best_common_ancestors(lineage, ours.head.identity, theirs.head.identity)
            assert {each.manifest_lists for each in found} == best
            overview = compare_branches(theirs, ours, lineage)
            if not best:
                assert overview.base is None
                continue
            behind, ahead = line(traces, ours.head), line(traces, theirs.head)
            only = [each for each in behind if each.identity.manifest_lists not in other]
            assert overview.behind == distance_of(only)
            only = [each for each in ahead if each.identity.manifest_lists not in mine]
            assert overview.ahead == distance_of(only)


@given(st.randoms(use_true_random=False))
def test_the_best_fork_is_the_first_of_all_candidates(rng: random.Random) -> None:
    traces = histories(rng)
    found = best_forks(traces)
    for trace in traces:
        candidates = infer_forks(trace, traces)
        assert found.get(trace.branch) == (candidates[0] if candidates else None)
