"""The look of the console: logo, style sheet, and where they lie."""

from pathlib import Path
from typing import Final

import streamlit as st

_HERE: Final = Path(__file__).parent


def asset(name: str) -> Path:
    """Return a file of `assets`, from an installed package or from the checkout."""
    installed = _HERE / "_assets" / name
    return installed if installed.exists() else _HERE.parents[1] / "assets" / name


def dress_page(title: str | None = None) -> None:
    """Give the page its title, logo and style."""
    st.set_page_config(
        page_title=f"{title} · Branch Console" if title else "Branch Console",
        page_icon=str(asset("icon.svg")),
        layout="wide",
        initial_sidebar_state=236,
    )
    st.html(asset("console.css"))
    st.logo(str(asset("logo.svg")), size="large", icon_image=str(asset("icon.svg")))
