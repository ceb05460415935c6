"""The forms of a branch of the catalog: create, drop."""

from collections.abc import Sequence

import streamlit as st

from branch_console.operations.catalog_requests import (
    BEGINS_AT,
    CreateCatalogBranchRequest,
    DropCatalogBranchRequest,
)
from branch_console.operations.request import Request
from branch_console_app.models.parts.actions import Action, Form, name_problem
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import code, plain
from branch_console_app.widgets.parts.confirm import reason_field
from branch_console_app.widgets.parts.dialogs import Dialogs
from branch_console_app.widgets.parts.preview import show_command, show_unfilled

_CATALOG = "The whole catalog"
_DATABASES = "Some databases"
_TABLES = "Tables by name"


class CatalogDialogs:
    """The dialogs of the page of the catalog."""

    def __init__(
        self, branches: tuple[str, ...], databases: tuple[str, ...], place: Location
    ) -> None:
        self._branches = branches
        self._databases = databases
        self._place = place

    def all(self) -> Dialogs:
        """Title and drawing of each dialog."""
        return {
            Action.CREATE_CATALOG: ("Create a branch of the catalog", self.create),
            Action.DROP_CATALOG: ("Drop a branch of the catalog", self.drop),
        }

    def create(self, _: str | None) -> None:
        """Draw the form of a new branch."""
        asked = CreateCatalogBranchRequest
        name = st.text_input(
            "Name", key="do-name", live=True, placeholder="spring-cleaning",
            help=asked.help_of("branch"),
        )  # fmt: skip
        problem = name_problem(name, self._branches)
        if problem:
            st.markdown(f":small[:red[✕ {plain(problem)}]]")
        scope = st.radio(
            "What it holds", [_CATALOG, _DATABASES, _TABLES], horizontal=True, key="do-scope"
        )
        databases: list[str] = []
        tables = ""
        if scope == _DATABASES:
            databases = st.multiselect(
                "Databases", self._databases, key="do-databases", help=asked.help_of("databases")
            )
        elif scope == _TABLES:
            tables = st.text_input(
                "Tables", key="do-tables", live=True, placeholder="air.fl*, lab.*",
                help=asked.help_of("tables"),
            )  # fmt: skip
        source = st.selectbox(
            "From", ["main", *self._branches], key="do-from", filter_mode="contains",
            help=asked.help_of(BEGINS_AT),
        )  # fmt: skip
        lazy = st.toggle("Make each table's branch at its first write", key="do-lazy",
                         help=asked.help_of("lazy"))  # fmt: skip
        adopt = st.toggle("Take table branches of this name that there are", key="do-adopt",
                          help=asked.help_of("adopt"))  # fmt: skip
        left, right = st.columns(2, gap="small")
        owner = left.text_input("Owner", key="do-owner", help=asked.help_of("owner"))
        with right:
            reason = reason_field()
        missing = _missing(name, problem, scope, databases, tables)
        if missing is not None:
            show_unfilled(asked.procedure, "Create branch", ":material/add:", missing)
            return
        request = asked(
            branch=name,
            databases=",".join(databases) or None,
            tables=",".join(each.strip() for each in tables.split(",") if each.strip()) or None,
            from_branch=None if source == "main" else source,
            lazy=lazy,
            adopt=adopt,
            owner=owner or None,
            reason=reason,
        )
        self._show(request, f"Create {plain(name)}", ":material/add:")

    def drop(self, branch: str | None) -> None:
        """Draw the consequences of a drop; the branch comes with the address."""
        if branch not in self._branches:
            st.info(f"There is no branch {code(branch or '')} of the catalog.")
            return
        request = DropCatalogBranchRequest(branch=branch, reason=reason_field())
        self._show(request, f"Drop {plain(branch)}", ":material/delete:")

    def _show(self, request: Request, label: str, icon: str) -> None:
        show_command(Form.of(request, label, icon), self._place)


def _missing(
    name: str, problem: str | None, scope: str, databases: Sequence[str], tables: str
) -> str | None:
    """Say what the form of a new branch lacks; None if it is filled in."""
    if not name:
        return "Type a name first."
    if problem:
        return "Choose another name."
    if scope == _DATABASES and not databases:
        return "Choose a database first."
    return "Name a table first." if scope == _TABLES and not tables.strip() else None
