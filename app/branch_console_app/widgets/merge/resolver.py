"""The conflicts of a merge, group by group: what each side has, and what a person takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st
from pandas.io.formats.style import Styler

from branch_console.errors import PaimonError
from branch_console.format.table_schema import TableSchema
from branch_console.merge.policy import Policy
from branch_console.merge.policy_draft import PolicyDraft
from branch_console.merge.reapply_policy import without_effect
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role as Right
from branch_console.procedures.merge.conflicts import Resolution
from branch_console_app import state
from branch_console_app.charts.palette import ColourRole, faint
from branch_console_app.models.merge.resolver import (
    RESULT,
    TAKE,
    CellLine,
    Choice,
    Decider,
    Group,
    KeyParts,
    Shown,
    cell_lines,
    choices_for,
    decided,
    edits_of,
    groups_of,
    of_group,
)
from branch_console_app.models.parts.wording import count, plain, plural
from branch_console_app.services import get_services
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.row_conflicts import resolver_view
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.confirm import lacks_role
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.table_picker import here

_PER_PAGE = 50
_GROUPS = 20
_LAST_ERROR = "resolver-told"
_ROUND = "resolver-round"
_KEPT = "resolver-kept"
_MOST_KEPT = 50
_PICKED = "resolver-group"
_KEY_WIDTH = 220

BASE = "Base"
DECIDED_BY = "Decided by"
_MORE_COLUMNS = {BASE: "cf_base", DECIDED_BY: "cf_by"}
"""Columns that are shown on demand, with the parameter of the address that asks for each."""

_GROUP = Column(label="Conflicts", weight=3.2)
_OPEN = Column(label="Open", weight=1.5, align="right")
_GROUP_COLUMNS = (_GROUP, _OPEN)
_SHOWN_WORDS = {
    Shown.ALL: "All",
    Shown.OPEN: "Open",
    Shown.SETTLED: "Settled",
    Shown.CHECK_AGAIN: "To be checked again",
}
_FILLS = {
    BASE: ColourRole.BASE,
    "Target": ColourRole.OURS,
    "Source": ColourRole.THEIRS,
    RESULT: ColourRole.MERGED,
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DraftChange:
    """One change of a draft by this session.

    Attributes:
        before: The policy that was looked at.
        after: The draft with the change in it.
    """

    before: Policy
    after: PolicyDraft


class Resolver:
    """The common data of the page's parts: the merge, its draft, and the conflicts by the draft."""

    def __init__(
        self,
        resolution: Resolution,
        arguments: Mapping[str, Argument],
        settled: pa.Table,
        partitions: pa.Array,
        schema: TableSchema,
    ) -> None:
        self.resolution = resolution
        self.arguments = arguments
        self.settled = settled
        self.partitions = partitions
        self.schema = schema
        self.refusal = lacks_role(Right.EDITOR)

    @property
    def table(self) -> str:
        """The table's name in policies."""
        return self.resolution.plan.table

    @property
    def policy(self) -> Policy:
        """The draft that is looked at."""
        return self.resolution.draft.policy

    @property
    def whole(self) -> Group:
        """All conflicts."""
        number, open_number = self.settled.num_rows, self.settled["take"].null_count
        return Group(number=number, open_number=open_number)

    def keep(self, wanted: Policy) -> None:
        """Keep what was decided; what somebody else decided otherwise meanwhile is told."""
        before = self.resolution.draft
        try:
            after = get_services().save_draft(self.arguments, before, wanted)
        except PaimonError as error:
            tell(error)
        else:
            kept = (*self._kept(), DraftChange(before=before.policy, after=after))
            state.put(_KEPT, kept[-_MOST_KEPT:])
        _begin_round()

    @property
    def can_undo(self) -> bool:
        """Whether this session has decided something here that it has not taken back."""
        return bool(self._kept())

    def undo_last(self) -> None:
        """Take back what this session decided last; what others decided since stays."""
        *others, last = self._kept()
        try:
            get_services().save_draft(self.arguments, last.after, last.before)
        except PaimonError as error:
            tell(error)
        state.put(_KEPT, tuple(others))
        _begin_round()

    def _kept(self) -> "tuple[DraftChange, ...]":
        kept: tuple[DraftChange, ...] = state.value_of(_KEPT) or ()
        return tuple(each for each in kept if each.after.id == self.resolution.draft.id)


def tell(error: PaimonError) -> None:
    """Remember an error of a callback for the page that is drawn next."""
    state.put(_LAST_ERROR, error)


def last_error() -> PaimonError | None:
    """Return the error of the last callback, once."""
    error: PaimonError | None = state.value_of(_LAST_ERROR)
    state.put(_LAST_ERROR, None)
    return error


def _begin_round() -> None:
    """Let the editor be another one: what was typed into the last one is stored, or refused."""
    state.put(_ROUND, (state.value_of(_ROUND) or 0) + 1)


def picked_group(groups: tuple[Group, ...]) -> Group:
    """Return the group of the address, all conflicts where it names none and there are several."""
    named = Group(
        kind=state.parameter("cf_kind"),
        column=state.parameter("cf_col"),
        partition=state.parameter("cf_part"),
    )
    found = next((each for each in groups if each.view == named.view), None)
    if found is not None:
        return found
    inside = [
        each
        for each in groups
        if all(value in (None, each.view[name]) for name, value in named.view.items())
    ]
    if len(inside) == 1:
        return inside[0]
    return replace(
        named,
        number=sum(each.number for each in inside),
        open_number=sum(each.open_number for each in inside),
    )


def show_groups(resolver: Resolver, groups: tuple[Group, ...], picked: Group) -> None:
    """Draw the groups with how many conflicts of each are open; a click lists one."""
    listed = rows.row_list("groups")
    visible = rows.page_of_rows("cf_g", len(groups), _GROUPS)
    with listed:
        rows.head("groups", _GROUP_COLUMNS)
        for number, each in enumerate((resolver.whole, *groups[visible])):
            is_picked = each.view == picked.view
            cells = rows.row(f"group-{number}", _GROUP_COLUMNS, is_selected=is_picked)
            with cells[0].container(gap=None):
                state.link(
                    PageName.CONFLICTS, plain(_subject(each)), here(), view=_view(resolver, each)
                )
                if _beside(each):
                    st.markdown(f":small[:gray[{plain(_beside(each))}]]")
            left = f"**{count(each.open_number)}**" if each.open_number else ":green[✓] 0"
            rows.text(cells[1], _OPEN, f"{left} :gray[of {count(each.number)}]")


def pick_group(resolver: Resolver, groups: tuple[Group, ...], picked: Group) -> None:
    """Draw the groups as a select box, which a narrow window shows in place of the list."""
    offered = (resolver.whole, *groups)
    words = [
        " · ".join(filter(None, (_subject(each), _beside(each), _left_words(each))))
        for each in offered
    ]
    at = next((at for at, each in enumerate(offered) if each.view == picked.view), 0)
    # The browser names an option by its words: where these change, the box must be another one.
    key = f"{_PICKED}-{hash(tuple(words))}-{at}"
    with st.container(key="groups-box"):
        chosen = st.selectbox(
            "Conflicts", range(len(offered)), index=at, key=key, format_func=words.__getitem__,
            label_visibility="collapsed", filter_mode="contains",
        )  # fmt: skip
    if chosen != at:
        state.go_to(PageName.CONFLICTS, here(), **_view(resolver, offered[chosen]))


def _view(resolver: Resolver, group: Group) -> dict[str, str | None]:
    """The parameters that list a group with the columns that are shown now."""
    columns = state.view_of(*_MORE_COLUMNS.values())
    return {**resolver_view(resolver.resolution, group), **columns}


def _subject(group: Group) -> str:
    return group.column or "All"


def _beside(group: Group) -> str:
    return " · ".join(filter(None, (group.kind, group.partition)))


def _left_words(group: Group) -> str:
    return f"{count(group.open_number)} of {count(group.number)} open"


def show_cells(resolver: Resolver, group: Group) -> None:
    """Draw one page of a group in an editor; what is changed there is stored at once."""
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key="filters-cells"
    ):
        shown = st.segmented_control(
            "Shown", list(Shown), default=Shown.ALL, key="cf_state", bind="query-params",
            format_func=lambda each: _SHOWN_WORDS[Shown(each)], required=True,
            label_visibility="collapsed",
        )  # fmt: skip
        by_row = st.toggle(
            "One choice per row", key="cf_row", bind="query-params",
            help="What you take in one cell is taken in all conflicting cells of its row",
        )  # fmt: skip
        with st.popover("Columns", icon=":material/view_column:", type="tertiary"):
            more = [
                name
                for name, parameter in _MORE_COLUMNS.items()
                if st.checkbox(name, key=parameter, bind="query-params")
            ]
    found = of_group(resolver.settled, resolver.partitions, group, Shown(shown or Shown.ALL))
    if not found.num_rows:
        st.info("No conflict matches this filter.")
        return
    parts = KeyParts.of(found)
    st.caption(f"Key: {plain(parts.words)}")
    holder = st.container()
    visible = rows.page_of_rows("cf_p", found.num_rows, _PER_PAGE)
    lines = found.slice(visible.start or 0, _PER_PAGE)
    with holder:
        _show_editor(resolver, lines, parts, more, by_row=by_row)
    st.caption(
        f"{plural(found.num_rows, 'conflict')} listed. `NULL` no value \u2003 `·` a leading or "
        'trailing space \u2003 `⏎` a line break \u2003 `""` an empty text \u2003 `"NULL"` the text '
        f"NULL. Type a value of your own into *{RESULT}*, without these marks. To remove a "
        f"decision, set *{TAKE}* to `{Choice.OPEN}`."
    )


def _show_editor(
    resolver: Resolver, lines: pa.Table, parts: KeyParts, more: Sequence[str], *, by_row: bool
) -> None:
    shown = cell_lines(lines, parts)
    version = (resolver.resolution.plan.id, resolver.resolution.draft.version)
    address = state.view_of(
        "cf_kind", "cf_col", "cf_part", "cf_state", "cf_row", "cf_p", *_MORE_COLUMNS.values()
    )
    key = f"cells-{hash((version, tuple(address.values())))}-{state.value_of(_ROUND) or 0}"
    frame = _frame(shown)
    if pc.any(pc.or_(lines["needs_another_look"], without_effect(lines))).as_py():
        # Why these are open again stands where it is told who decides.
        more = [*more, DECIDED_BY]
    columns = [str(each) for each in frame]
    edited = {TAKE} if by_row else {TAKE, RESULT}
    st.data_editor(
        _coloured(frame),
        hide_index=True,
        num_rows="fixed",
        disabled=True if resolver.refusal else [each for each in columns if each not in edited],
        key=key,
        row_height=rows.TABLE_ROW,
        height=rows.table_height(len(shown), 16),
        placeholder="NULL",
        on_change=_decide,
        args=(key, resolver, lines, by_row),
        # What is decided on stays in a narrow window; Base and who decided are asked for.
        column_order=[each for each in columns if each not in _MORE_COLUMNS or each in more],
        column_config={
            "Key": st.column_config.TextColumn(
                pinned=True, width=_KEY_WIDTH, help=" · ".join(parts.differing)
            ),
            "Column": st.column_config.TextColumn(width=100),
            TAKE: st.column_config.SelectboxColumn(
                options=list(choices_for(lines, by_row=by_row)), required=True, width=100
            ),
            RESULT: st.column_config.TextColumn(width=100, help="Type a value of your own here"),
            DECIDED_BY: st.column_config.TextColumn(width=170),
            **{name: st.column_config.TextColumn(width=80) for name in (BASE, "Target", "Source")},
        },
        alt=f"{plural(len(shown), 'conflict')}: target, source, decision and result of each",
    )
    if resolver.refusal:
        st.caption(resolver.refusal)


def _frame(shown: tuple[CellLine, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Key": [line.key for line in shown],
            "Column": [line.column for line in shown],
            BASE: [line.base for line in shown],
            "Target": [line.ours for line in shown],
            "Source": [line.theirs for line in shown],
            TAKE: [line.take for line in shown],
            RESULT: [line.result for line in shown],
            DECIDED_BY: [line.by for line in shown],
        },
        dtype=object,
    )


def _coloured(frame: pd.DataFrame) -> Styler:
    def paint(column: "pd.Series[str]") -> list[str]:
        role = _FILLS.get(str(column.name))
        fill = "" if role is None else f"background-color: {faint(role, 0.2)}"
        return [fill] * len(column)

    return frame.style.apply(paint, axis=0)


def _decide(key: str, resolver: Resolver, lines: pa.Table, by_row: bool) -> None:
    """Store what was changed in the editor; the callback of it."""
    edited = (state.value_of(key) or {}).get("edited_rows") or {}
    decider = Decider(
        table=resolver.table,
        schema=resolver.schema,
        actor=get_services().settings.actor,
        time_millis=state.now_millis(),
        by_row=by_row,
    )
    try:
        wanted = decided(resolver.policy, lines, edits_of(edited), decider)
    except PaimonError as error:
        tell(error)
        _begin_round()
        return
    resolver.keep(wanted)


def groups_by_partition(resolver: Resolver) -> tuple[Group, ...]:
    """Return the groups of all conflicts."""
    return groups_of(resolver.settled, resolver.partitions)
