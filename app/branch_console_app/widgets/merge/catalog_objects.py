"""The objects of a merge of the catalog: a line each, which opens the preview of its table."""

import streamlit as st

from branch_console.format.identifier import Identifier
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.merge.catalog.catalog_report import did_words
from branch_console.merge.catalog.object_merge import ObjectKind
from branch_console.merge.plan import Plan
from branch_console.procedures.call.consequence import Preview
from branch_console_app import reads, state
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.merge.catalog_merge import (
    MergedObjectLine,
    ObjectVerdict,
    object_lines,
)
from branch_console_app.models.merge.merge_preview import MergeDecision, MergePreview
from branch_console_app.models.parts.wording import code, plain, prose, shortened
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.alternatives import show_changed_rows
from branch_console_app.widgets.merge.plan import show_outcome
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.problem import guarded
from branch_console_app.widgets.parts.rows import Column
from branch_console_app.widgets.parts.table_picker import here

_PER_PAGE = 25
_OPEN = "cm_open"
_OBJECT = Column(label="Database or table", weight=2.0)
_VERDICT = Column(label="Verdict", weight=1.6)
_WHAT = Column(label="Change", weight=4.5)
_CELLS = Column(label="Merge rule", weight=1.3)
_COLUMNS = (_OBJECT, _VERDICT, _WHAT, _CELLS)
_BADGES = {
    ObjectVerdict.BLOCKED: ":red-badge[✕ blocked]",
    ObjectVerdict.CONFLICT: ":orange-badge[! conflict]",
    ObjectVerdict.NEEDS_ROWS: ":blue-badge[◌ compare rows]",
    ObjectVerdict.READY: ":green-badge[✓ ready]",
    ObjectVerdict.NOTHING: ":gray-badge[○ stays]",
}

_FAILS = ":red-badge[✕ rule fails]"


def show_merged_objects(
    plan: CatalogMergePlan, preview: Preview, check: HeadCheck | None = None
) -> None:
    """Draw a line an object, blocked ones first; one of them is open, as the address says.

    Args:
        plan: The merge.
        preview: The preview of its command.
        check: The result of the quality rules for this merge; None if it is not known.
    """
    # By id: the target may have had another name for a table, and its rules are under that one.
    failing = frozenset() if check is None else check.blocking_tables
    lines = object_lines(plan)
    listed = rows.row_list("merged-objects")
    visible = rows.page_of_rows("cm_p", len(lines), _PER_PAGE)
    opened = state.parameter(_OPEN)
    with listed:
        rows.head("merged-objects", _COLUMNS)
        for number, line in enumerate(lines[visible]):
            is_open = line.merged.id == opened
            _show_line(number, line, is_open=is_open, fails=line.merged.id in failing)
            if is_open:
                with st.container(border=True, key="card-object"):
                    _show_opened(line, preview)


def _show_line(number: int, line: MergedObjectLine, *, is_open: bool, fails: bool) -> None:
    merged = line.merged
    key = f"merged-{number}"
    cells = dict(zip(_COLUMNS, rows.row(key, _COLUMNS, is_selected=is_open), strict=True))
    icon = ":material/database:" if merged.kind is ObjectKind.DATABASE else ":material/table:"
    with cells[_OBJECT]:
        st.button(
            plain(shortened(merged.name, 34)), key=f"open-{merged.id}", type="tertiary", icon=icon,
            help="Close it" if is_open else "Show what both branches did to it",
            on_click=state.set_parameter, args=(_OPEN, None if is_open else merged.id),
        )  # fmt: skip
    rows.text(cells[_VERDICT], _VERDICT, _FAILS if fails else _BADGES[line.verdict])
    rows.text(cells[_WHAT], _WHAT, plain(line.sentence))
    rule = ", ".join(code(each) for each in line.cells)
    rows.text(cells[_CELLS], _CELLS, rule or rows.NOTHING)


def _show_opened(line: MergedObjectLine, preview: Preview) -> None:
    merged = line.merged
    did = did_words(merged)
    rows.facts(
        "merged-object",
        [
            ("Source", _did(merged.names.theirs, did.theirs)),
            ("Target", _did(merged.names.ours, did.ours)),
            ("At the base", _name(merged.names.base)),
            ("On the target afterwards", _name(merged.merged_name)),
        ],
        columns=4,
    )
    for block in merged.blocks:
        st.warning(f"{prose(block.text)} {code(block.kind)}", icon=":material/block:")
    for text in merged.reported:
        st.caption(plain(text))
    if merged.plan is None:
        return
    with guarded("The preview of this table cannot be made."):
        table = Identifier.parse(merged.plan.heads.table).on_branch(merged.plan.target)
        schema = reads.table(table).schema
        decision = MergeDecision(plan=merged.plan, preview=preview)
        show_outcome(MergePreview.of(decision, schema))
        _link_to_rows(merged.plan)
    if merged.is_undecided:
        _link_to_table(merged.plan)


def _link_to_rows(plan: Plan) -> None:
    """Lead to the rows of one table that the source changed since the merge base."""
    base, head = plan.heads.base, plan.heads.theirs
    if base is None or head is None:
        return
    table = Identifier.parse(plan.heads.table)
    branch = reads.branch_listing(table, base, plan.source, plan.target)
    if branch is not None:
        place = here().at_table(table.database, table.table)
        show_changed_rows(plan.source, head, branch, base, place)


def _link_to_table(plan: Plan) -> None:
    """Lead to where conflicts of the rows of one table are settled: the catalog has no such page.

    Args:
        plan: The merge of its content.
    """
    table = Identifier.parse(plan.heads.table)
    st.caption(
        "If rows collide, merge this table alone first and settle them there; the merge of the "
        "catalog then brings the rest."
    )
    state.link(
        PageName.MERGE, f"Merge {plain(table.table)} alone",
        here().at_table(table.database, table.table), icon=":material/merge:",
        view={"source": plan.source, "target": plan.target},
    )  # fmt: skip


def _did(name: str | None, did: str) -> str:
    return f"{_name(name)}  \n:small[{plain(did or 'left it as it was')}]"


def _name(name: str | None) -> str:
    return rows.NOTHING if name is None else code(name)
