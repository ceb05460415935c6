"""Readings that may take longer than a click should wait for: the page says so, and goes on."""

from typing import Any, Final, TypeVar

import streamlit as st

from branch_console_app.reads import Begun

T = TypeVar("T")
_PATIENCE_SECONDS: Final = 0.5
_FOLLOW_SECONDS: Final = 0.5


def read_patiently(begun: Begun[T], words: str) -> T | None:
    """Return what is read.

    Args:
        begun: The reading.
        words: Why it takes long, as a sentence.

    Returns:
        None while it takes long: the page shows the sentence, can be used meanwhile, and is drawn
        again when the reading has ended.
    """
    with st.skeleton(height=240):
        if begun.is_done(within_seconds=_PATIENCE_SECONDS):
            return begun.result()
    st.info(words, icon=":material/hourglass_top:")
    st.fragment(_follow, run_every=_FOLLOW_SECONDS)(begun)
    return None


def _follow(begun: Begun[Any]) -> None:
    if begun.is_done():
        st.rerun()
