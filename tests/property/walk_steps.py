"""Random steps for walks on branches, and how many of them a law tries."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.depths import PROFILE
from tests.support.merge_walk import BRANCHES, Steps, Walk

Walks: TypeAlias = Callable[[type[Walk]], Any]
"""Begins a walk of a kind, in a folder of its own."""

_OF_A_FULL_RUN: Final = 100
# Each of a law's kinds of tables tries as many in a quick run.
_LEAST: Final = 4
_USUAL: Final = ("write", "write", "change", "hide", "compact", "merge", "merge")


def steps_with(*more: str) -> st.SearchStrategy[Steps]:
    """Steps of the usual kinds and of others."""
    numbers = st.integers(0, 1000)
    actions = st.sampled_from((*_USUAL, *more))
    each = st.tuples(st.sampled_from(BRANCHES), actions, numbers, numbers)
    return st.lists(each, min_size=4, max_size=10)


def late_steps() -> st.SearchStrategy[Steps]:
    """Steps of which most are merges whose target gets a commit once they were planned."""
    numbers = st.integers(0, 1000)
    actions = st.sampled_from(("write", "hide", "compact", "merge_late", "merge_late"))
    branches = st.sampled_from(BRANCHES[:2])
    return st.lists(st.tuples(branches, actions, numbers, numbers), min_size=3, max_size=8)


def _tries(full: int, long: int) -> settings:
    """How many examples are tried; each commits, merges and reads a dozen times over."""
    if settings.get_current_profile_name() != PROFILE:
        raise RuntimeError("walk_steps was imported before the depth of the run is known")
    usual = settings.default.max_examples
    scaled = long if usual > _OF_A_FULL_RUN else max(_LEAST, full * usual // _OF_A_FULL_RUN)
    return settings(
        max_examples=scaled,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


# Every walk asserts I1 to I3 and I9 to I12; the others have laws of their own.
walking = _tries(20, 3_000)
law = _tries(30, 6_000)
late = _tries(5, 500)
law_of_four = _tries(15, 2_500)
law_of_undo = _tries(20, 3_000)
nested = _tries(50, 10_000)
