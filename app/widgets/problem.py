"""Errors as cards: what happened to what, its code, and the file it is about."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from app import state
from app.models.location import Location, nearest
from app.models.wording import code, plain
from app.state import PageName
from core.errors import ErrorKind, NotAllowed, PaimonError, Refused

_ICONS = {True: ":material/warning:", False: ":material/error:"}


def show_problem(error: PaimonError, *, headline: str | None = None) -> None:
    """Draw an error; `headline` is Markdown and says what could not be shown."""
    is_warning = isinstance(error, Refused | NotAllowed)
    draw = st.warning if is_warning else st.error
    lines = [f"**{headline}**"] if headline else []
    lines.append(f"{plain(error.message)} {code(error.kind)}")
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
    places: dict[str, Location],
) -> None:
    """Say that a name of the address does not exist, with the nearest ones as links.

    Args:
        what: The kind of thing, such as `Branch`.
        name: As the address has it.
        known: The names there are.
        page: Where the links lead.
        places: The location of each known name.
    """
    st.error(
        f"**{what} {code(name)} was not found.** The address names it, nothing else is shown in "
        f"its place. {code(_KINDS[what])}",
        icon=":material/search_off:",
    )
    near = nearest(name, known)
    if not near:
        st.caption(f"There are {len(known)} others." if known else "There is none at all.")
        return
    st.caption("Names that are close:")
    with st.container(horizontal=True, gap="small"):
        for each in near:
            state.link(page, code(each), places[each])


_KINDS = {
    "Warehouse": ErrorKind.INVALID_ARGUMENT,
    "Database": ErrorKind.DATABASE_NOT_FOUND,
    "Table": ErrorKind.TABLE_NOT_FOUND,
    "Branch": ErrorKind.BRANCH_NOT_FOUND,
    "Snapshot": ErrorKind.SNAPSHOT_NOT_FOUND,
}
