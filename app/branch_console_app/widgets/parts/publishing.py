"""The notice on every page while a merge of the catalog is being published."""

import streamlit as st

from branch_console.procedures.catalog_merge.publishing_progress import Publishing
from branch_console_app import reads
from branch_console_app.models.parts.wording import code, count

_WHILE = "Some tables are shown as before it and some as after it, until all of it is there."


def show_publishing() -> None:
    """Say which version of main is on its way and how far; the page is drawn anew when it is."""
    if reads.publishing() is not None:
        st.fragment(_show, run_every=1.0)()


def publishing_words(found: Publishing) -> str:
    """Write how far a publication is: `main@42, publishing 7 of 11`."""
    far = "" if found.total is None else f" {count(found.done)} of {count(found.total)}"
    return f"{code(str(found.version))}, publishing{far}"


def _show() -> None:
    found = reads.publishing()
    if found is None:
        reads.forget()
        st.rerun()
    else:
        st.info(f"**{publishing_words(found)}.** {_WHILE}", icon=":material/publish:")
