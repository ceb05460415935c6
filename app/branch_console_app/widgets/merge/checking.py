"""The check that the page of a merge begins with: a person can cancel it, and check again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console_app import state
from branch_console_app.models.merge.merge_state import MergeState
from branch_console_app.reads import Begun, Reading
from branch_console_app.widgets.merge.verdict import draw_verdict

PATIENCE_SECONDS = 2.0
"""How long the page waits for a check before it offers to cancel it."""
_FOLLOW_SECONDS: Final = 0.5
_KEPT_MILLIS: Final = 5_000
_KEY: Final = "merge-check"


@dataclass(slots=True)
class _Check:
    """The check that this tab waits for.

    Attributes:
        subject: The merge that is checked.
        begun: The check under way; None before it begins, and once its answer is shown or dropped.
        is_cancelled: Whether the person no longer waits for it.
    """

    subject: object
    begun: Begun[Reading] | None = None
    is_cancelled: bool = False


def check_merge(
    slot: DeltaGenerator,
    subject: object,
    sides: tuple[str, str],
    begin: Callable[[], Begun[Reading]],
) -> Any | None:
    """Return what a merge would do, and draw in its head that this is being checked.

    Args:
        slot: The place of the verdict.
        subject: The merge, with its options.
        sides: The source and the target.
        begin: Begins the check on the heads as they are now.

    Returns:
        None while it takes long, and after it was cancelled: the head says so.
    """
    check: _Check | None = st.session_state.get(_KEY)
    if check is None or check.subject != subject:
        check = st.session_state[_KEY] = _Check(subject=subject)
    if check.is_cancelled:
        _draw(slot, MergeState.unchecked(*sides), check_again)
        return None
    with slot.container():
        draw_verdict(MergeState.loading(*sides))
    for _ in range(2):
        check.begun = begun = check.begun or begin()
        if not begun.is_done(within_seconds=PATIENCE_SECONDS):
            _draw(slot, MergeState.loading(*sides), _cancel, begun)
            return None
        check.begun = None
        reading = begun.result()
        # A check that ended while the person looked at other pages may be out of date.
        if state.now_millis() - reading.millis < _KEPT_MILLIS:
            break
    return reading.value


def check_again() -> None:
    """Check the merge after its check was cancelled: the callback of a button."""
    st.session_state.pop(_KEY, None)


def _draw(
    slot: DeltaGenerator,
    verdict: MergeState,
    then: Callable[[], None],
    begun: Begun[Reading] | None = None,
) -> None:
    """Draw a verdict with its only button; a check under way draws the page when it has ended."""
    action = verdict.primary or verdict.secondary
    assert action is not None
    with slot.container():
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key="merge-verdict"
        ):
            draw_verdict(verdict)
            st.button(
                action.label, key=f"check-{action.step.name.lower()}", on_click=then,
                type="secondary" if verdict.primary is None else "primary",
            )  # fmt: skip
        if begun is not None:
            st.fragment(_follow, run_every=_FOLLOW_SECONDS)(begun)


def _follow(begun: Begun[Reading]) -> None:
    if begun.is_done():
        st.rerun()


def _cancel() -> None:
    """Stop waiting; nobody asks for the answer any more."""
    check: _Check | None = st.session_state.get(_KEY)
    if check is not None:
        check.begun, check.is_cancelled = None, True
