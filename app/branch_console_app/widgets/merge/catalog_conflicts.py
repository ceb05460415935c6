"""The conflicts of a merge of the catalog, of all objects in one list, with what settles each."""

from collections.abc import Mapping, Sequence

import streamlit as st

from branch_console.errors import PaimonError
from branch_console.merge.conflict import Take
from branch_console.merge.policy import Policy
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.catalog_merge.catalog_resolution import CatalogResolution
from branch_console_app import state
from branch_console_app.models.merge.catalog_merge import (
    CatalogConflictLine,
    SettleChoice,
    choose_conflicts,
    conflict_lines,
    opened_again,
    settled_by,
)
from branch_console_app.models.parts.wording import code, count, plain
from branch_console_app.services import get_services
from branch_console_app.widgets.merge.checking import forget_check
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.confirm import lacks_role
from branch_console_app.widgets.parts.problem import show_problem
from branch_console_app.widgets.parts.rows import Column

_PER_PAGE = 25
_WHAT = Column(label="Conflict", weight=2.6)
_BASE = Column(label="Base", weight=1.3)
_OURS = Column(label="Target", weight=1.5)
_THEIRS = Column(label="Source", weight=1.5)
_TAKE = Column(label="How to settle", weight=2.8)
_COLUMNS = (_WHAT, _BASE, _OURS, _THEIRS, _TAKE)
_OPTIONS = {
    Take.ISOLATION_SNAPSHOT: ("isolation", Isolation.SNAPSHOT),
    Take.SCOPE_PARTITION: ("scope", InsertScope.PARTITION),
}
"""Choices that are options of the whole merge, by the parameter of the address that sets them."""


class CatalogResolver:
    """The list, and what its buttons do to the draft."""

    def __init__(self, resolution: CatalogResolution, arguments: Mapping[str, Argument]) -> None:
        self._resolution = resolution
        self._arguments = arguments
        self._policy = resolution.draft.policy
        self._lines = conflict_lines(resolution.asked, resolution.plan, self._policy)

    @property
    def settled(self) -> int:
        """How many conflicts were decided on."""
        return sum(line.taken is not None for line in self._lines)

    @property
    def number(self) -> int:
        """How many conflicts there are, open or settled."""
        return len(self._lines)

    def show(self) -> None:
        """Draw the filters, the list, and what settles each line."""
        chosen = self._filtered()
        if not chosen:
            st.info("No conflict matches these filters.")
            return
        refused = lacks_role(Role.EDITOR)
        if refused:
            st.caption(refused)
        listed = rows.row_list("catalog-conflicts")
        visible = rows.page_of_rows("cf_p", len(chosen), _PER_PAGE)
        with listed:
            rows.head("catalog-conflicts", _COLUMNS)
            for number, line in enumerate(chosen[visible]):
                self._show_line(number, line, is_allowed=refused is None)

    def _filtered(self) -> Sequence[CatalogConflictLine]:
        tables = sorted({line.table for line in self._lines})
        kinds = list(dict.fromkeys(line.kind for line in self._lines))
        if len(self._lines) == 1:
            return self._lines
        with st.container(horizontal=True, gap="small", key="conflict-filters"):
            table = st.selectbox(
                "Database or table", tables, index=None, key="cf_table", bind="query-params",
                width=260, placeholder="Every database and table", label_visibility="collapsed",
                filter_mode="contains",
            )  # fmt: skip
            kind = st.selectbox(
                "Kind", kinds, index=None, key="cf_kind", bind="query-params", width=200,
                placeholder="Every kind", label_visibility="collapsed",
            )  # fmt: skip
        return choose_conflicts(self._lines, table=table, kind=kind)

    def _show_line(self, number: int, line: CatalogConflictLine, *, is_allowed: bool) -> None:
        cells = dict(zip(_COLUMNS, rows.row(f"conflict-{number}", _COLUMNS), strict=True))
        sides = line.conflict.sides
        subject = "" if line.subject == line.table else f" {plain(line.subject)}"
        # Buttons say what settles it in the words of the page.
        text = plain(line.conflict.advice) if line.needs_advice else ""
        advice = f"  \n:small[:gray[{text}]]" if text else ""
        rows.text(
            cells[_WHAT], _WHAT,
            f"**{plain(line.table)}**{subject} :gray[{plain(line.kind)}]{advice}",
        )  # fmt: skip
        for column, side in ((_BASE, sides.base), (_OURS, sides.ours), (_THEIRS, sides.theirs)):
            rows.text(cells[column], column, plain(side) if side else rows.NOTHING)
        with cells[_TAKE]:
            if line.taken is not None:
                self._show_settled(line, is_allowed=is_allowed)
            elif line.choices:
                self._show_choices(line, is_allowed=is_allowed)
            else:
                st.markdown(":gray[Only a change of a branch settles it.]")

    def _show_settled(self, line: CatalogConflictLine, *, is_allowed: bool) -> None:
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.markdown(f":green[✓ settled] {code(line.taken or '')}", width="content")
            st.button(
                "Change", key=f"again-{line.conflict.id}", type="tertiary",
                disabled=not is_allowed, on_click=self._open_again, args=(line,),
            )  # fmt: skip

    def _show_choices(self, line: CatalogConflictLine, *, is_allowed: bool) -> None:
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="bottom"):
            for choice in line.choices:
                if choice.take is Take.RENAME:
                    self._show_rename(line, choice, is_allowed=is_allowed)
                else:
                    st.button(
                        choice.label, key=f"take-{choice.take}-{line.conflict.id}",
                        disabled=not is_allowed, on_click=self._settle, args=(line, choice.take),
                    )  # fmt: skip

    def _show_rename(
        self, line: CatalogConflictLine, choice: SettleChoice, *, is_allowed: bool
    ) -> None:
        key = f"name-{line.conflict.id}"
        with st.popover(choice.label, disabled=not is_allowed):
            st.text_input(
                "Its name on the target", key=key, live=True, placeholder="routes_2026",
                help="Without the database.",
            )  # fmt: skip
            st.button(
                "Bring it under this name", key=f"take-rename-{line.conflict.id}",
                disabled=not state.value_of(key), on_click=self._settle,
                args=(line, Take.RENAME, key),
            )  # fmt: skip

    def _settle(self, line: CatalogConflictLine, take: Take, key: str | None = None) -> None:
        option = _OPTIONS.get(take)
        if option is not None:
            state.set_parameter(*option)
            return
        try:
            name = None if key is None else str(state.value_of(key) or "").strip()
            wanted = settled_by(self._policy, line, take, name)
        except PaimonError as error:
            show_problem(error, headline="The conflict was not settled.")
            return
        self._save(wanted)

    def _open_again(self, line: CatalogConflictLine) -> None:
        self._save(opened_again(self._policy, line))

    def _save(self, wanted: Policy) -> None:
        try:
            get_services().save_catalog_draft(self._arguments, self._resolution.draft, wanted)
        except PaimonError as error:
            show_problem(error, headline="Your decision was not kept.")
        # A check under way, and the answer of the last one, lack the decision.
        forget_check()


def conflicts_title(resolver: CatalogResolver) -> str:
    """Write the name of the list with how much of it is settled."""
    if not resolver.settled:
        return f"Conflicts ({count(resolver.number)})"
    return f"Conflicts ({count(resolver.settled)} of {count(resolver.number)} settled)"
