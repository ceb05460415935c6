"""R9: random walks on branches: each merge gives what a plain model says, or is refused.

The data files of the walks exist as entries only. No model knows a merge base.
"""

from typing import Final

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from tests.property.walk_steps import Walks, late, late_steps, law, steps_with, walking
from tests.support.keyed_walks import KeyedWalk
from tests.support.keyless_walks import KeylessWalk, MixedWalk, RewritingWalk
from tests.support.merge_walk import BRANCHES, Steps, Walk
from tests.support.overwriting_walks import OverwritingWalk
from tests.support.settling_walks import SettlingWalk
from tests.support.taking_back_walks import ForgettingWalk, TakingBackWalk

# What exp wrote comes to main by dev, is compacted there, and must not come again from exp.
_THROUGH_A_THIRD: Final = [
    ("main", "write", 0, 0),
    ("exp", "write", 0, 0),
    ("dev", "merge", 281, 0),
    ("main", "write", 0, 0),
    ("dev", "write", 0, 0),
    ("main", "write", 0, 0),
    ("main", "merge", 0, 0),
    ("main", "compact", 999, 0),
    ("main", "merge", 47, 0),
]

# dev deletes of a file that it compacted twice, and of which main had deleted too.
_OF_WHAT_WAS_COMPACTED_TWICE: Final = [
    ("main", "hide", 0, 0),
    *[("dev", "compact", 0, 0)] * 2,
    ("dev", "hide", 0, 0),
    ("main", "merge", 0, 0),
]
# The head that main merged first was a compaction.
_AFTER_A_COMPACTED_HEAD: Final = [
    ("main", "hide", 0, 0),
    ("dev", "hide", 0, 0),
    ("dev", "compact", 0, 0),
    ("main", "merge", 0, 0),
    ("dev", "hide", 0, 0),
    ("main", "merge", 0, 0),
]

# main takes a compaction of its own back for what dev deleted, which is no overwrite.
_AFTER_A_COMPACTION_TAKEN_BACK: Final = [
    ("main", "compact", 1, 0),
    ("dev", "hide", 0, 0),
    ("dev", "write", 0, 0),
    ("main", "merge", 0, 0),
    ("dev", "hide", 0, 0),
    ("main", "hide", 0, 0),
    ("dev", "merge", 0, 5),
]
# main deletes what it and dev both took in of exp.
_TAKEN_IN_BY_BOTH: Final = [
    *((branch, "write", 0, 0) for branch in BRANCHES),
    ("dev", "merge", 1, 0),
    ("main", "merge", 1, 0),
    ("main", "change", 4, 0),
    ("main", "merge", 0, 0),
]
# dev has joined what both deleted, of a file of which main hides more.
_AFTER_A_JOIN: Final = [
    ("main", "hide", 0, 0),
    ("dev", "hide", 1, 0),
    ("dev", "merge", 0, 0),
    ("main", "hide", 0, 0),
    ("main", "merge", 0, 0),
]
# What one branch overwrote goes with a merge, and what came stays: the target overwrote too.
_OVERWRITTEN_BY_BOTH: Final = [
    *((branch, "overwrite", 0, 0) for branch in BRANCHES),
    ("dev", "merge", 0, 0),
    ("exp", "merge", 1, 0),
]
_CHANGED_ONCE_OVERWRITTEN: Final = [
    ("dev", "overwrite", 0, 0),
    ("dev", "change", 0, 1),
    ("main", "overwrite", 0, 0),
    ("main", "merge", 0, 0),
]
# The file of the row that comes back is gone for another reason.
_REVERTED_IN_A_FILE_THAT_WENT: Final = [
    ("exp", "hide", 2, 11),
    ("exp", "change", 1, 2),
    ("exp", "revert", 1, 0),
]
# What comes back takes neither what was written since nor what is hidden since.
_REVERTED_BEFORE_OTHERS: Final = [
    ("exp", "compact", 1, 0),
    ("exp", "hide", 1, 0),
    ("exp", "write", 0, 0),
    ("exp", "hide", 0, 0),
    ("exp", "revert", 2, 0),
]
# What comes back is all that its partition holds, and yet no overwrite of what main writes there.
_ALL_OF_IT_REVERTED: Final = [
    ("main", "compact", 1, 0),
    ("dev", "merge", 0, 0),
    ("dev", "hide", 1, 0),
    ("dev", "revert", 0, 0),
    ("exp", "write", 0, 0),
    ("exp", "merge", 1, 0),
]
# Only the ledger knows that dev had taken over what main wrote, before it compacted all of it.
_TAKEN_OVER_AND_EXPIRED: Final = [
    ("main", "write", 0, 0),
    ("dev", "merge", 0, 0),
    ("dev", "compact", 2, 0),
    ("dev", "expire", 0, 0),
    ("main", "merge", 0, 0),
]
# dev has nothing left to go back to.
_UNDONE_ONCE_EXPIRED: Final = [
    ("exp", "compact", 0, 0),
    ("dev", "settle", 1, 0),
    ("dev", "expire", 0, 0),
    ("dev", "undo", 0, 0),
]
# dev writes what it inserted again with a file that exp has deleted.
_JOINED_WITH_WHAT_IS_NEW: Final = [
    ("dev", "write", 0, 0),
    ("exp", "write", 0, 0),
    ("exp", "change", 0, 0),
    ("dev", "hide", 215, 227),
    ("exp", "merge", 1, 0),
]
# main gets more between the plan of a merge and the merge.
_LATE: Final = [
    ("dev", "write", 0, 0),
    ("main", "write", 0, 0),
    ("main", "merge_late", 0, 0),
    ("dev", "write", 1, 1),
    ("main", "merge_late", 0, 1),
    ("dev", "hide", 0, 0),
    ("main", "merge_late", 0, 3),
]


@pytest.mark.parametrize("kind", [KeylessWalk, RewritingWalk, MixedWalk])
@walking
@given(steps=steps_with())
@example(steps=_THROUGH_A_THIRD)
@example(steps=_TAKEN_IN_BY_BOTH)
@example(steps=_JOINED_WITH_WHAT_IS_NEW)
def test_merges_of_rows_without_keys_follow_the_model(
    kind: type[KeylessWalk], steps: Steps, walks: Walks
) -> None:
    walk = walks(kind)
    walk.play(steps)


@walking
@given(steps=steps_with())
@example(steps=_THROUGH_A_THIRD)
def test_merges_of_keys_follow_the_model(steps: Steps, walks: Walks) -> None:
    walk = walks(KeyedWalk)
    walk.play(steps)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(KeylessWalk, marks=pytest.mark.depth("long")),
        pytest.param(RewritingWalk, marks=pytest.mark.depth("long")),
        MixedWalk,
        KeyedWalk,
    ],
)
@late
@given(steps=late_steps())
@example(steps=_LATE)
def test_a_plan_that_is_carried_over_a_commit_gives_what_a_new_one_would(
    kind: type[KeylessWalk], steps: Steps, walks: Walks
) -> None:
    walk = walks(kind)
    # Of a table with keys each branch writes to another bucket than the one before.
    apart = [(branch, "write", number, 0) for number, branch in enumerate(BRANCHES)]
    walk.play([*apart, *steps])
    event(f"carried over {min(walk.carried, 1)}, stopped {min(walk.stopped, 1)}")


@law
@given(steps=steps_with())
def test_inserts_and_compactions_always_merge(steps: Steps, walks: Walks) -> None:
    walk = walks(KeylessWalk)
    walk.play([each for each in steps if each[1] not in ("change", "hide")])
    assert walk.refused == 0, "I7"


@pytest.mark.parametrize("kind", [RewritingWalk, MixedWalk])
@walking
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(("main", "dev")),
            st.sampled_from(("hide", "hide", "merge", "merge", "compact", "write")),
            st.integers(0, 11),
            st.integers(0, 5),
        ),
        min_size=4,
        max_size=12,
    )
)
@example(steps=_OF_WHAT_WAS_COMPACTED_TWICE)
@example(steps=_AFTER_A_COMPACTED_HEAD)
@example(steps=_AFTER_A_COMPACTION_TAKEN_BACK)
@example(steps=_AFTER_A_JOIN)
def test_deletes_of_rows_always_merge(kind: type[Walk], steps: Steps, walks: Walks) -> None:
    walk = walks(kind)
    # The first of the other branches is main or dev, never the third.
    walk.play([(on, act, 0 if act == "merge" else one, two) for on, act, one, two in steps])
    assert walk.refused == 0, "M2"


@walking
@given(steps=steps_with("overwrite", "overwrite"))
@example(steps=_OVERWRITTEN_BY_BOTH)
@example(steps=_CHANGED_ONCE_OVERWRITTEN)
def test_merges_of_overwrites_follow_the_model(steps: Steps, walks: Walks) -> None:
    walk = walks(OverwritingWalk)
    walk.play(steps)


@walking
@given(steps=steps_with("revert", "revert", "undo", "merge"))
@example(steps=_REVERTED_IN_A_FILE_THAT_WENT)
@example(steps=_ALL_OF_IT_REVERTED)
@example(steps=_REVERTED_BEFORE_OTHERS)
def test_what_is_taken_back_follows_the_model(steps: Steps, walks: Walks) -> None:
    walk = walks(TakingBackWalk)
    walk.play(steps)


@walking
@given(steps=steps_with("revert", "undo", "merge", "expire", "expire"))
@example(steps=_TAKEN_OVER_AND_EXPIRED)
def test_where_snapshots_expired_merges_are_right_or_refused(steps: Steps, walks: Walks) -> None:
    walk = walks(ForgettingWalk)
    walk.play(steps)


@walking
@given(steps=steps_with("settle", "settle", "undo", "revert"))
@example(steps=_UNDONE_ONCE_EXPIRED)
def test_rows_of_keys_are_settled_as_the_model_does(steps: Steps, walks: Walks) -> None:
    walks(SettlingWalk).play(steps)
