"""Random steps for walks on branches, and how many of them a law tries."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.merge_walk import BRANCHES, Steps, Walk

Walks: TypeAlias = Callable[[type[Walk]], Any]
"""Begins a walk of a kind, in a folder of its own."""

_USUAL: Final = ("write", "write", "change", "hide", "compact", "merge", "merge")


def steps_with(*more: str) -> st.SearchStrategy[Steps]:
    """Steps of the usual kinds and of others."""
    numbers = st.integers(0, 1000)
    actions = st.sampled_from((*_USUAL, *more))
    each = st.tuples(st.sampled_from(BRANCHES), actions, numbers, numbers)
    return st.lists(each, min_size=4, max_size=10)


def _tries(in_ci: int) -> settings:
    """How many examples are tried; each commits, merges and reads a dozen times over."""
    return settings(
        max_examples=max(10, settings.default.max_examples * in_ci // 100),
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


# Every walk asserts I1 to I3 and I9 to I12; the others have laws of their own.
walking = _tries(30)
law = _tries(60)
law_of_four = _tries(25)
law_of_undo = _tries(30)
