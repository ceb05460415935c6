"""Schemas: the history of a branch, and any two versions side by side by field id."""

from collections.abc import Sequence

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.near_names import nearest_names
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.browse.page_values import SchemaItem
from branch_console_app import reads, state
from branch_console_app.models.parts.wording import age, code, plain, plural, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.same_as import show_same_as
from branch_console_app.widgets.parts.schema_diff import show_schema_diff
from branch_console_app.widgets.parts.table_picker import here, pick_table, show_table_header

_LATEST = "latest"
_VERSION = Column(label="Version", weight=1.1)
_CHANGE = Column(label="What changed", weight=5.0)
_USED = Column(label="Used by", weight=1.2, align="right")
_WHEN = Column(label="Made", weight=1.3)
_COLUMNS = (_VERSION, _CHANGE, _USED, _WHEN)


def show() -> None:
    """Draw the page."""
    picked = pick_table(PageName.SCHEMAS)
    if picked is None:
        return
    identifier, summary = picked
    with st.skeleton(height=300):
        items = reads.schemas(identifier)
    show_table_header(identifier, summary, PageName.SCHEMAS)
    branches = summary.branches_with_main
    left, right = _sides(identifier, items, branches)
    compared = None
    with guarded("The two schemas cannot be compared."):
        compared = _show_comparison(identifier, branches, left, right)
    _show_history(identifier, items)
    if compared is not None:
        show_same_as("schema-diff", identifier.table_name, *compared)


def _sides(
    identifier: Identifier, items: Sequence[SchemaItem], branches: Sequence[str]
) -> tuple[str, str]:
    """Return what is compared: as the address says, else the newest change there is."""
    newest = items[0].id if items else 0
    right = state.parameter("sc_r") or f"{identifier.branch}:{newest}"
    if identifier.branch != MAIN_BRANCH and MAIN_BRANCH in branches:
        other = f"{MAIN_BRANCH}:{_LATEST}"
    else:
        other = f"{identifier.branch}:{items[1].id if len(items) > 1 else newest}"
    return state.parameter("sc_l") or other, right


def _show_comparison(
    identifier: Identifier, branches: Sequence[str], left: str, right: str
) -> tuple[str, str] | None:
    """Draw two schemas beside each other; return their names, None where there are not two."""
    columns = st.columns(2, gap="medium")
    found = []
    for column, name, side in zip(columns, ("sc_l", "sc_r"), (left, right), strict=True):
        with column:
            found.append(_pick_version(identifier, branches, name, side))
    first, second = found
    if first is None or second is None:
        return None
    if first == second:
        st.info("Both sides are the same schema. Choose another version or branch on one side.")
        return None
    _warn_of_equal_numbers(identifier, first, second)
    with st.skeleton(height=240):
        diff = reads.schema_diff(identifier, f"{first[0]}@{first[1]}", f"{second[0]}@{second[1]}")
    show_schema_diff(diff, f"{first[0]} schema {first[1]}", f"{second[0]} schema {second[1]}")
    return f"{first[0]}@{first[1]}", f"{second[0]}@{second[1]}"


def _pick_version(
    identifier: Identifier, branches: Sequence[str], name: str, side: str
) -> tuple[str, int] | None:
    """Draw the pickers of one side; an unknown name is said to be unknown, never replaced."""
    branch, _, version = side.rpartition(":")
    if branch not in branches:
        near = ", ".join(code(each) for each in nearest_names(branch, branches))
        hint = f" Names that are close: {near}." if near else ""
        st.error(f"**Branch {code(branch)} was not found.**{hint} `BRANCH_NOT_FOUND`")
        _pick(name, "Branch", branches, None, side)
        return None
    items = reads.schemas(identifier.on_branch(branch))
    ids = [item.id for item in items]
    wanted = ids[0] if version == _LATEST and ids else int(version) if version.isdecimal() else -1
    with st.container(horizontal=True, gap="small"):
        _pick(name, "Branch", branches, branch, side)
        at = wanted if wanted in ids else None
        _pick(name, "Version", ids, at, side)
    if wanted not in ids:
        st.error(f"**{code(branch)} has no schema {plain(version)}.** `SCHEMA_NOT_FOUND`")
        return None
    return branch, wanted


def _pick(
    name: str,
    label: str,
    options: Sequence[str] | Sequence[int],
    current: str | int | None,
    side: str,
) -> None:
    """Draw one picker; its choice goes into the address by `_choose`."""
    key = f"{name}-{label}-{side}"
    st.selectbox(
        label,
        list(options),
        index=list(options).index(current) if current in options else None,
        key=key,
        on_change=_choose,
        args=(name, key, side),
        label_visibility="collapsed",
        format_func=lambda each: each if isinstance(each, str) else f"schema {each}",
        filter_mode="contains",
    )


def _choose(name: str, key: str, side: str) -> None:
    chosen = state.value_of(key)
    branch = side.rpartition(":")[0]
    side = f"{chosen}:{_LATEST}" if isinstance(chosen, str) else f"{branch}:{chosen}"
    state.set_parameter(name, side)


def _warn_of_equal_numbers(
    identifier: Identifier, first: tuple[str, int], second: tuple[str, int]
) -> None:
    """Say so where one number stands for two different schemas: numbers fork with branches."""
    if first[0] == second[0] or first[1] != second[1]:
        return
    sides = [_schema_of(identifier, side) for side in (first, second)]
    if all(sides) and len({side.fingerprint for side in sides if side}) > 1:
        st.warning(
            f"**Schema {first[1]} is one thing on {code(first[0])} and another on "
            f"{code(second[0])}.** Both branches were altered after the fork."
        )


def _schema_of(identifier: Identifier, side: tuple[str, int]) -> TableSchema | None:
    items = reads.schemas(identifier.on_branch(side[0]))
    return next((item.schema for item in items if item.id == side[1]), None)


def _show_history(identifier: Identifier, items: Sequence[SchemaItem]) -> None:
    st.markdown(f"**History of {code(identifier.branch)}**")
    with rows.row_list("schemas"):
        rows.head("schemas", _COLUMNS)
        for number, item in enumerate(items):
            before = items[number + 1].id if number + 1 < len(items) else None
            _show_version(number, item, before, identifier)


def _show_version(
    number: int, item: SchemaItem, before: int | None, identifier: Identifier
) -> None:
    cells = dict(zip(_COLUMNS, rows.row(f"schema-{number}", _COLUMNS), strict=True))
    branch = identifier.branch
    with cells[_VERSION]:
        left = f"{branch}:{item.id if before is None else before}"
        state.link(
            PageName.SCHEMAS, f"schema {item.id}", here(),
            view={"sc_l": left, "sc_r": f"{branch}:{item.id}"},
        )  # fmt: skip
    if item.schema is None:
        message = item.error.message if item.error else ""
        rows.text(cells[_CHANGE], _CHANGE, f":red[✕] {prose(message)}")
        return
    words = " ".join(plain(change) for change in item.changes)
    if before is None and not words:
        words = f"First version, {plural(len(item.schema.fields), 'column')}."
    rows.text(cells[_CHANGE], _CHANGE, words or "Nothing but options or comments changed.")
    rows.text(cells[_USED], _USED, plural(item.snapshot_count, "snapshot"))
    rows.text(cells[_WHEN], _WHEN, age(item.schema.time_millis, state.now_millis()))
