"""Errors as cards: what happened to what, its code, and the file it is about."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import streamlit as st

from branch_console.errors import ErrorKind, NotAllowed, PaimonError, Refused
from branch_console.format.near_names import nearest_names
from branch_console_app import state
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, count, prose
from branch_console_app.state import PageName

_MOST_NAMES = 5
_ICONS = {True: ":material/warning:", False: ":material/error:"}


def show_problem(error: PaimonError, *, headline: str | None = None) -> None:
    """Draw an error; `headline` is Markdown and says what could not be shown."""
    is_warning = isinstance(error, Refused | NotAllowed)
    draw = st.warning if is_warning else st.error
    lines = [f"**{headline}**"] if headline else []
    lines.append(f"{prose(error.message)} {code(error.kind)}")
    path = error.facts.get("path")
    if isinstance(path, str) and path not in error.message:
        lines.append(f"File: {code(path)}")
    draw("  \n".join(lines), icon=_ICONS[is_warning])


@contextmanager
def guarded(headline: str) -> Iterator[None]:
    """Keep an error to the part of the page that it belongs to."""
    try:
        yield
    except PaimonError as error:
        show_problem(error, headline=headline)


def show_not_found(
    what: str,
    name: str,
    known: Sequence[str],
    *,
    page: PageName,
    place_of: Callable[[str], Location],
    view_of: Callable[[str], Mapping[str, str | None]] | None = None,
) -> None:
    """Say that a name of the address does not exist, with names there are as links.

    Args:
        what: The kind of thing, such as `Branch`.
        name: As the address has it.
        known: The names there are.
        page: The page of the links.
        place_of: The location of a known name.
        view_of: The parameters of the view that stand for a known name, where the location does
            not.
    """
    st.error(
        f"**{what} {code(name)} was not found.** The address names it. Nothing else is shown in "
        f"its place. {code(_KINDS[what])}",
        icon=":material/search_off:",
    )
    near = nearest_names(name, known, _MOST_NAMES)
    if near:
        st.caption("Names that are close:")
    elif len(known) > _MOST_NAMES:
        st.caption(f"No name is close. The first {_MOST_NAMES} of {count(len(known))}:")
    else:
        st.caption("No name is close. Those that there are:" if known else "There is none at all.")
    with st.container(horizontal=True, gap="small"):
        for each in near or known[:_MOST_NAMES]:
            view = view_of(each) if view_of is not None else None
            state.link(page, code(each), place_of(each), view=view)


def show_no_snapshot(name: str) -> None:
    """Say that what the address has for a snapshot cannot be one; nothing stands in for it."""
    st.warning(
        f"**{code(name)} names no snapshot.** Choose one here, or copy its link from its page. "
        f"{code(ErrorKind.SNAPSHOT_NOT_FOUND)}"
    )


_KINDS = {
    "Warehouse": ErrorKind.INVALID_ARGUMENT,
    "Database": ErrorKind.DATABASE_NOT_FOUND,
    "Table": ErrorKind.TABLE_NOT_FOUND,
    "Branch": ErrorKind.BRANCH_NOT_FOUND,
    "Snapshot": ErrorKind.SNAPSHOT_NOT_FOUND,
}
