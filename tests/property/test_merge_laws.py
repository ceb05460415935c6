"""The laws of merging that compare ends: of two orders, of both directions, of an undo (section 6).

Their states come from random walks, which `test_merge_walks` holds against plain models.
"""

from typing import Final

import pytest
from hypothesis import example, given

from branch_console.errors import Refused
from branch_console.merge.plan import MergeVerdict, ThreeWayPlan, verdict_of
from tests.property.walk_steps import Walks, law, law_of_four, law_of_undo, steps_with
from tests.support.branch_bench import tree
from tests.support.keyed_walks import KeyedWalk
from tests.support.keyless_walks import KeylessWalk, MixedWalk, RewritingWalk
from tests.support.lifecycle import run
from tests.support.merge_walk import Steps, Walk, lasting

# dev compacts what main has too, is merged, and then hides a row of what it compacted.
_HIDDEN_IN_COMPACTED: Final = {
    "steps": [*[("main", "write", 0, 0)] * 3, ("dev", "compact", 1, 0)],
    "later": [*[("main", "write", 0, 0)] * 2, ("dev", "hide", 0, 0), ("main", "merge", 0, 0)],
}

# What is merged writes rows, and is undone.
_JOINED: Final = {
    "steps": [
        *(("main", "compact", 1, 0), ("main", "write", 0, 0), ("main", "hide", 0, 0)),
        ("dev", "change", 0, 0),
    ],
    "later": [],
}


@law
@given(steps=steps_with())
def test_the_order_of_two_merges_does_not_matter(steps: Steps, walks: Walks) -> None:
    walk = walks(KeylessWalk)
    walk.play([each for each in steps if each[1] != "merge"])
    twin, ends = walk.twin(walk.root.with_name("twin")), []
    for each, order in ((twin, ("dev", "exp")), (walk, ("exp", "dev"))):
        for source in order:
            each.merge(source, "main")
        ends.append((each.refused, each.content("main")))
    assert any(refused for refused, _ in ends) or ends[0] == ends[1], "I5"


@pytest.mark.parametrize("kind", [KeylessWalk, RewritingWalk, MixedWalk, KeyedWalk])
@law_of_four
@given(steps=steps_with())
def test_merges_of_either_branch_into_the_other_hold_the_same_rows(
    kind: type[Walk], steps: Steps, walks: Walks
) -> None:
    walk = walks(kind)
    walk.play(steps)
    twin, before = walk.twin(walk.root.with_name("twin")), walk.refused
    walk.merge("dev", "main")
    twin.merge("main", "dev")
    refused = (walk.refused > before, twin.refused > before)
    # The rules for tables without keys speak of source and target, and refuse one way alone.
    assert kind is not KeyedWalk or refused in ((True, True), (False, False)), "I4"
    assert any(refused) or walk.content("main") == twin.content("dev"), "I4"


@law_of_undo
@given(steps=steps_with(), later=steps_with())
@example(**_HIDDEN_IN_COMPACTED)
@example(**_JOINED)
def test_undo_brings_back_every_byte_and_the_source_merges_again(
    steps: Steps, later: Steps, walks: Walks
) -> None:
    walk = walks(KeylessWalk)
    walk.play(steps)
    walk.write("dev")
    walk.write("main")
    plan = walk.plan("dev", "main")
    if verdict_of(plan) is not MergeVerdict.CLEAN:
        return
    before = _metadata(walk)
    try:
        walk.run("dev", "main", plan)
    except Refused:
        # Rows told what files could not.
        assert isinstance(plan, ThreeWayPlan)
        assert plan.moves.joins
        return
    run(walk.bench, "undo", "undo", operation=walk.last_operation)
    assert _metadata(walk) == before, "I8"
    walk.play([("main", "merge", 0, 0), *later])


def _metadata(walk: Walk) -> dict[str, bytes]:
    """What readers of its branches go by; what an undo takes off lives on in a rescue branch."""
    kept = lasting(tree(walk.root))
    gone = ("/manifest/", "/branch-rescue-")
    return {name: data for name, data in kept.items() if not any(each in name for each in gone)}
