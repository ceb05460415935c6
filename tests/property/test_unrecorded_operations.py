"""Commits that record no operation: whatever they were, no merge drops a change without a word.

A merge leaves what both sides left and all that either added, or it is refused. Each way out of a
conflict leaves one side's version of rows in its place, and loses nothing else.
"""

from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from branch_console.diff.changes.file_history import keys_of
from branch_console.diff.file_masks import HiddenRows
from tests.property.walk_steps import Walks, walking
from tests.support.commit_tables import UNPARTITIONED
from tests.support.merge_walk import Steps
from tests.support.unrecorded_walks import (
    BucketedUnrecordedWalk,
    RewritingUnrecordedWalk,
    UnpartitionedUnrecordedWalk,
    UnrecordedWalk,
)

_NUMBERS: Final = st.integers(0, 1000)
_CHANGES: Final = ("change", "change", "change", "write", "compact")
_ONE_SIDE: Final = st.lists(st.tuples(st.sampled_from(_CHANGES), _NUMBERS, _NUMBERS), max_size=3)


# dev writes a whole partition again with more rows, and main changes rows of it.
_REPLACED: Final[Steps] = [
    ("dev", "write", 600, 739),
    ("dev", "change", 130, 53),
    ("dev", "change", 662, 648),
    ("main", "compact", 602, 958),
    ("main", "change", 830, 72),
    ("main", "merge", 0, 0),
]
_REWRITTEN: Final[Steps] = [
    ("dev", "change", 225, 697),
    ("dev", "compact", 241, 457),
    ("main", "write", 853, 823),
    ("main", "change", 964, 76),
    ("main", "merge", 0, 0),
]


@st.composite
def diverging(draw: st.DrawFn) -> Steps:
    """Commits on both sides and a merge, once or twice."""
    steps: Steps = []
    for _ in range(draw(st.integers(1, 2))):
        for branch in ("dev", "main"):
            steps += [(branch, *each) for each in draw(_ONE_SIDE)]
        steps.append((draw(st.sampled_from(("main", "dev"))), "merge", 0, 0))
    return steps


@pytest.mark.parametrize(
    "kind",
    [
        UnrecordedWalk,
        RewritingUnrecordedWalk,
        UnpartitionedUnrecordedWalk,
        BucketedUnrecordedWalk,
    ],
)
@walking
@given(steps=diverging())
@example(steps=_REPLACED)
@example(steps=_REWRITTEN)
def test_no_change_is_dropped(kind: type[UnrecordedWalk], steps: Steps, walks: Walks) -> None:
    walks(kind).play(steps)


def test_a_deleted_file_takes_no_rows_along_that_may_be_new(walks: Walks) -> None:
    walk = walks(UnpartitionedUnrecordedWalk)
    live = walk.live("main")
    both, first, second = live.slice(0, 2), live.slice(0, 1), live.slice(1, 1)
    # The source deletes two files at once.
    walk.kill("dev", walk.shown("dev", both))
    walk.rewrites["dev"] = frozenset({1})
    walk.commit("dev", walk.message(deleted_files=both))
    # The target writes one again, without three rows and with a new one: that looks like a delete.
    rows = walk.shown("main", first)
    walk.kill("main", rows[:3])
    walk.seen["main"] |= {"new"}
    made = walk.placed(frozenset({*rows[3:], "new"}), (UNPARTITIONED, 0))
    walk.commit("main", walk.message(deleted_files=first, new_files=walk.entries(made)))
    # It hides a row of the other, which the deletion of the source may take along.
    (key,) = (each for _, each in keys_of(second))
    walk.kill("main", walk.shown("main", second)[:1])
    walk.commit("main", walk.part(key[:2], **walk.index("main", {key: HiddenRows([0])})))
    walk.merge("dev", "main")
    assert walk.refused == 1
