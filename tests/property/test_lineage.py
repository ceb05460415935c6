"""Ancestors, forks and distances of random histories, against a reading of the whole graph."""

import json
import random
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from branch_console.diff.branch_overview import compare_branches, distance_of
from branch_console.diff.branch_trace import BranchTrace, Lists
from branch_console.diff.fork_inference import best_forks
from branch_console.diff.lineage import MERGE_SOURCE_IDENTITY, Lineage, build_lineage
from branch_console.diff.merge_base import best_common_ancestors
from branch_console.format.lineage_event import LineageEvent, LineageKind
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


def recorded_histories(rng: random.Random) -> tuple[list[BranchTrace], list[LineageEvent]]:
    """Branches whose forks the ledger names, and rescue branches that hold a whole history."""
    begun = [a_snapshot(number, "first-") for number in range(1, 5)]
    lines: dict[str, list[Snapshot]] = {"main": list(begun)}
    rescues: dict[str, list[Snapshot]] = {}
    events: list[LineageEvent] = []
    builds_on = {each: set(begun[: each.id]) for each in begun}
    for step in range(rng.randrange(2, 25)):
        parent = rng.choice(list(lines))
        line, name = lines[parent], f"b{step}"
        made = LineageEvent(
            id=name,
            branch=name,
            source_branch=parent,
            operation_id=name,
            actor="ann",
            kind=LineageKind.FORKED,
            time_millis=line[-1].time_millis,
        )
        choice = rng.random()
        if choice < 0.2 and len(lines) < 6:
            lines[name] = [rng.choice(line[1:] or line)]
            events.append(replace(made, after=lines[name][0].identity))
        elif choice < 0.35:
            rescues[name] = list(line)
            # Nothing that its source still builds on was taken away from it.
            events.append(replace(made, kind=LineageKind.RESCUED, time_millis=0))
        else:
            properties, head = {}, line[-1]
            source = lines[rng.choice(list(lines))][-1]
            # A merge of what is merged already makes no snapshot.
            is_merge = rng.random() < 0.5 and source not in builds_on[head]
            if is_merge:
                properties[MERGE_SOURCE_IDENTITY] = json.dumps(identity_to(source.identity))
            line.append(a_snapshot(head.id + 1, f"step{step}-", properties=properties))
            taken_in = builds_on[source] if is_merge else set()
            builds_on[line[-1]] = {line[-1], *builds_on[head], *taken_in}
    traces = [
        BranchTrace(
            branch=name,
            snapshots=tuple(line),
            tags=tuple(
                Tag(name=f"at-{each.id}", snapshot=each) for each in line if rng.random() < 0.4
            ),
        )
        for name, line in (lines | rescues).items()
    ]
    return traces, events


def needed_by_pairs(traces: list[BranchTrace], lineage: Lineage) -> set[Lists]:
    """The merge bases of all pairs of branches, where they parted, and what either has since."""
    needed = set[Lists]()
    for ours in traces:
        for theirs in traces:
            assert ours.head is not None
            assert theirs.head is not None
            mine, other = lineage.ancestors(ours.head.identity), theirs.head.identity
            needed |= set([each for each in ours.places if each in theirs.places][-1:])
            needed |= {
                each.manifest_lists
                for each in best_common_ancestors(lineage, ours.head.identity, other)
            }
            needed |= {
                each.manifest_lists
                for each in lineage.walk(other)
                if each.manifest_lists not in mine
            }
    return needed


@given(st.randoms(use_true_random=False))
def test_no_expiry_of_what_is_older_than_every_merge_base_changes_a_distance(
    rng: random.Random,
) -> None:
    traces, events = recorded_histories(rng)
    before = build_lineage(traces, events)
    needed, after = needed_by_pairs(traces, before), []
    for trace in traces:
        stays = min(
            at
            for lists, at in trace.places.items()
            if lists in needed or at == len(trace.places) - 1
        )
        after.append(replace(trace, snapshots=trace.snapshots[rng.randint(0, stays) :]))
    lineage = build_lineage(after, events)
    for whole, left in zip(traces, after, strict=True):
        for other, other_left in zip(traces, after, strict=True):
            assert compare_branches(left, other_left, lineage) == compare_branches(
                whole, other, before
            )
