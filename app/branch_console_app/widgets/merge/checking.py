"""The check that the page of a merge begins with: a person can cancel it, and check again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, assert_never

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from branch_console.procedures.browse.page_values import BranchItem
from branch_console_app import state
from branch_console_app.models.merge.merge_state import MergeState
from branch_console_app.models.parts.wording import count, plural
from branch_console_app.reads import Begun, Reading
from branch_console_app.widgets.merge.verdict import draw_verdict

PATIENCE_SECONDS = 2.0
"""How long the page waits for a check before it offers to cancel it."""
COUNT_AFTER_MILLIS = 3_000
"""How long a check runs before the page says how much of it is done."""
_FOLLOW_SECONDS: Final = 0.5
_KEPT_MILLIS: Final = 5_000
_KEY: Final = "merge-check"


class CheckedUnit(StrEnum):
    """The unit in which a check counts how much of it is done."""

    MANIFESTS = "manifests"
    TABLES = "tables"

    def words(self, done: int, wanted: int) -> str:
        """Say how much is done: `3 of 12 tables checked.`; empty as long as nothing is known."""
        if not wanted:
            return ""
        match self:
            case CheckedUnit.MANIFESTS:
                return f"{count(done)} of {plural(wanted, 'manifest')} read."
            case CheckedUnit.TABLES:
                return f"{count(done)} of {plural(wanted, 'table')} checked."
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBranches:
    """The branches of a merge that is checked.

    Attributes:
        heads: Differs once a head has moved; None if only a check finds that out.
    """

    source: str
    target: str
    heads: object = None
    unit: CheckedUnit = CheckedUnit.MANIFESTS

    @classmethod
    def of(cls, source: BranchItem, target: BranchItem) -> "CheckedBranches":
        """Return two branches of a table."""
        heads = tuple(item.head and item.head.identity for item in (source, target))
        return cls(source=source.name, target=target.name, heads=heads)


@dataclass(slots=True)
class _Check:
    """The check that this tab waits for, or whose answer it shows.

    Attributes:
        subject: The merge that is checked.
        given: What the last check was begun with besides.
        heads: The heads of both sides when the last check began.
        begun: The check under way; None before it begins, and once its answer is shown or dropped.
        answer: The last answer; None before there is one.
        is_cancelled: Whether the person no longer waits for it.
    """

    subject: object
    given: object = None
    heads: object = None
    begun: Begun[Reading] | None = None
    answer: Any | None = None
    is_cancelled: bool = False


def check_merge(
    slot: DeltaGenerator,
    subject: object,
    branches: CheckedBranches,
    begin: Callable[[Any | None], Begun[Reading]],
    given: object = None,
) -> Any | None:
    """Return what a merge would do, and draw in its head that this is being checked.

    Each look at the page checks again. While that takes long the last answer is returned, so that
    the page stays; it is drawn again when the check has ended.

    Args:
        slot: The place of the verdict.
        subject: The merge, with its options.
        branches: The source and the target.
        begin: Begins the check on the heads as they are now, given the last answer.
        given: What it is begun with that changes no plan, such as the reason in a dialog. A check
            under way with another one is dropped. The last answer stays: without it the page would
            close the dialog, and with it the field would lose what was typed.

    Returns:
        None while a first check takes long, or one after a head moved, and after it was
        cancelled: the head says so.
    """
    check: _Check | None = st.session_state.get(_KEY)
    if check is None or check.subject != subject:
        check = st.session_state[_KEY] = _Check(subject=subject)
    if check.is_cancelled:
        _draw_unchecked(slot, branches)
        return None
    if check.given != given:
        check.begun, check.given = None, given
    if check.answer is not None and check.heads != branches.heads:
        check.begun = check.answer = None
    if check.answer is None:
        with slot.container():
            draw_verdict(MergeState.loading(branches.source, branches.target))
    for _ in range(2):
        if check.begun is None:
            check.begun, check.heads = begin(check.answer), branches.heads
        begun = check.begun
        if not begun.is_done(within_seconds=PATIENCE_SECONDS):
            if check.answer is None:
                _draw_loading(slot, begun, branches)
            else:
                st.fragment(_follow, run_every=_FOLLOW_SECONDS)(begun)
            return check.answer
        check.begun = check.answer = None
        reading = begun.result()
        check.answer = reading.value
        # One that ended while nobody looked may be out of date: it stays until the next one ends.
        if state.now_millis() - reading.millis < _KEPT_MILLIS:
            break
    return check.answer


def forget_check() -> None:
    """Let the next look at a merge check it from the start: also the callback of a button."""
    st.session_state.pop(_KEY, None)


def _draw_loading(slot: DeltaGenerator, begun: Begun[Reading], branches: CheckedBranches) -> None:
    """Draw the state of a check under way until it has ended, with the button that cancels it."""
    with _verdict_line(slot):
        st.fragment(_say_progress, run_every=_FOLLOW_SECONDS)(begun, branches)
        # Not in the fragment: whoever cancels gets another page.
        _button(MergeState.loading(branches.source, branches.target), _cancel)


def _draw_unchecked(slot: DeltaGenerator, branches: CheckedBranches) -> None:
    """Draw the state of a check that was cancelled, with the button that checks again."""
    verdict = MergeState.unchecked(branches.source, branches.target)
    with _verdict_line(slot):
        draw_verdict(verdict)
        _button(verdict, forget_check)


@contextmanager
def _verdict_line(slot: DeltaGenerator) -> Iterator[None]:
    with (
        slot.container(),
        st.container(
            horizontal=True, gap="small", vertical_alignment="center", key="merge-verdict"
        ),
    ):
        yield


def _button(verdict: MergeState, then: Callable[[], None]) -> None:
    """Draw the only button of a verdict."""
    action = verdict.primary or verdict.secondary
    assert action is not None
    st.button(
        action.label, key=f"check-{action.step.name.lower()}", on_click=then,
        type="secondary" if verdict.primary is None else "primary",
    )  # fmt: skip


def _say_progress(begun: Begun[Reading], branches: CheckedBranches) -> None:
    """Draw the state of a check, and after a while how much is done; its end draws the page."""
    _follow(begun)
    is_long = state.now_millis() - begun.begun_millis >= COUNT_AFTER_MILLIS
    progress = branches.unit.words(*begun.so_far) if is_long else ""
    draw_verdict(MergeState.loading(branches.source, branches.target, progress))


def _follow(begun: Begun[Reading]) -> None:
    if begun.is_done():
        st.rerun()


def _cancel() -> None:
    """Stop waiting; nobody asks for the answer any more."""
    check: _Check | None = st.session_state.get(_KEY)
    if check is not None:
        check.begun, check.is_cancelled = None, True
