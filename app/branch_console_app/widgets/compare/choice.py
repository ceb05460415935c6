"""The choice of two states to compare: pickers that also take what somebody types."""

from collections.abc import Sequence

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console_app import state
from branch_console_app.state import PageName
from branch_console_app.widgets.parts.lost_branch import show_no_branch
from branch_console_app.widgets.parts.table_picker import here

_SIDES = {"cmp_a": "From (A)", "cmp_b": "To (B)"}
_HELP = (
    "A branch, or type `branch@snapshot-id`, `branch@time`, `tag:NAME` or `branch@tag:NAME`, "
    "such as `dev@7` or `main@2026-05-01T12:00`."
)


def show_choice(known: Sequence[str], before: str, after: str | None) -> None:
    """Draw the two pickers, each with the names that are known and what the address says."""
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="filters"):
        _pick("cmp_a", known, before)
        st.button(
            "", icon=":material/swap_horiz:", help="Swap A and B", key="cmp-swap",
            on_click=_swap, args=(before, after), disabled=after is None,
        )  # fmt: skip
        _pick("cmp_b", known, after)


def show_unknown_branch(
    identifier: Identifier, error: PaimonError, known: Sequence[str], before: str, after: str
) -> None:
    """Say that a side names no branch, with the way to others; nothing stands in for it."""

    def changed(name: str) -> dict[str, str | None]:
        sides = (("cmp_a", before), ("cmp_b", after))
        return {key: name if _branch(side) == unknown else side for key, side in sides}

    unknown = str(error.facts.get("branch"))
    show_no_branch(
        identifier, unknown, known, page=PageName.COMPARE, place_of=lambda _: here(),
        view_of=changed,
    )  # fmt: skip


def _branch(side: str) -> str:
    return side.partition("@")[0]


def _pick(name: str, known: Sequence[str], current: str | None) -> None:
    options = list(dict.fromkeys([*known, *([current] if current else [])]))
    key = f"{name}-{current}"
    st.selectbox(
        _SIDES[name], options, index=options.index(current) if current else None, key=key,
        on_change=_choose, args=(name, key), placeholder="Choose or type a state", help=_HELP,
        filter_mode="contains", accept_new_options=True, width=300,
    )  # fmt: skip


def _choose(name: str, key: str) -> None:
    chosen = state.value_of(key)
    if isinstance(chosen, str) and chosen.strip():
        state.set_parameter(name, chosen.strip())


def _swap(before: str, after: str | None) -> None:
    state.set_parameters({"cmp_a": after, "cmp_b": before})
