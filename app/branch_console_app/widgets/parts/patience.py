"""Readings that may take longer than a click should wait for: the page says so, and goes on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import streamlit as st

from branch_console.diff.state_diff import StateDiff
from branch_console.format.identifier import Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import SnapshotDetail
from branch_console_app import reads
from branch_console_app.reads import Begun

T = TypeVar("T")
WAITING: Final = "waiting"
"""How the key of the container begins that is drawn until a reading has ended."""

_PATIENCE_SECONDS: Final = 0.5
_FOLLOW_SECONDS: Final = 0.5
_KEY: Final = "read-patiently:"


@dataclass(slots=True)
class _Awaited(Generic[T]):
    """The reading that a session waits for, and the one before it, of one subject."""

    subject: object
    begun: Begun[T] | None = None
    last: Begun[T] | None = None


def read_patiently(
    slot: str, subject: object, begin: Callable[[], Begun[T]], words: str, *, keeps: bool = False
) -> T | None:
    """Return what is read.

    A reading that has begun is shown when it ends, even if a commit came meanwhile, and is shown
    until a later one has ended: where commits come faster than they are read, a page would
    otherwise never show anything.

    Args:
        slot: The part of the console that asks; it remembers one subject.
        subject: The reading that is asked for, such as the names of two states.
        begin: Begins the reading, or finds what was read before.
        words: Why it takes long, as a sentence.
        keeps: Whether what was read stays until `forget_readings`, whatever has changed since.

    Returns:
        None while the first reading takes long: the page shows the sentence, can be used meanwhile,
        and is drawn again when the reading has ended.
    """
    awaited: _Awaited[T] | None = st.session_state.get(_KEY + slot)
    if awaited is None or awaited.subject != subject:
        awaited = st.session_state[_KEY + slot] = _Awaited(subject=subject)
    if keeps and awaited.last is not None:
        return awaited.last.result()
    begun = awaited.begun = awaited.begun or begin()
    with st.skeleton(height=240):
        if begun.is_done(within_seconds=_PATIENCE_SECONDS):
            awaited.begun = awaited.last = None
            found = begun.result()
            awaited.last = begun
            return found
    with st.container(key=f"{WAITING}-{slot}"):
        if awaited.last is None:
            st.info(words, icon=":material/hourglass_top:")
        else:
            st.caption("Something has changed since this was read. It is being read again.")
    st.fragment(_follow, run_every=_FOLLOW_SECONDS)(begun)
    return None if awaited.last is None else awaited.last.result()


def is_reading(slot: str, subject: object) -> bool:
    """Whether this session waits for the reading of a subject."""
    awaited: _Awaited[Any] | None = st.session_state.get(_KEY + slot)
    return awaited is not None and awaited.subject == subject and awaited.begun is not None


def read_states(slot: str, identifier: Identifier, before: str, after: str) -> StateDiff | None:
    """Return two states compared, None while that is done for the first time; `slot` as above."""
    return read_patiently(
        slot,
        (identifier.full_name, before, after),
        lambda: reads.begin_comparison(identifier, before, after),
        "The manifests of both states are compared. Many files take a moment.",
    )


def read_snapshot(slot: str, identifier: Identifier, snapshot: Snapshot) -> SnapshotDetail | None:
    """Return a snapshot with its files summed up, None while many are; `slot` as above."""
    return read_patiently(
        slot,
        (identifier.full_name, snapshot.id, snapshot.identity.manifest_lists),
        lambda: reads.begin_snapshot(identifier, snapshot),
        "Files, bytes and partitions are summed up from all manifests; that takes a moment.",
    )


def forget_readings() -> None:
    """Drop all that this session has read patiently, so that its next page reads again."""
    for key in [*st.session_state]:
        if str(key).startswith(_KEY):
            del st.session_state[key]


def _follow(begun: Begun[Any]) -> None:
    if begun.is_done():
        st.rerun()
