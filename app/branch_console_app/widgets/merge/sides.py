"""The two branches of a merge as the address names them: whether the table has both."""

from branch_console.procedures.browse.page_values import TableSummary
from branch_console_app import state
from branch_console_app.state import PageName
from branch_console_app.widgets.merge.row_conflicts import MERGE_VIEW
from branch_console_app.widgets.parts.lost_branch import show_no_branch
from branch_console_app.widgets.parts.table_picker import here


def missing_side(summary: TableSummary) -> str | None:
    """Return the parameter whose branch the table does not have, None if it has both."""
    known = summary.branches_with_main
    return next(
        (side for side in ("target", "source") if state.parameter(side) not in (None, *known)), None
    )


def show_missing_side(side: str, summary: TableSummary, page: PageName) -> None:
    """Say that the branch of a side does not exist, with links to the same merge of others."""
    show_no_branch(
        summary.identifier, state.parameter(side) or "", summary.branches_with_main, page=page,
        place_of=lambda _: here(),
        view_of=lambda name: {**state.view_of(*MERGE_VIEW), side: name},
    )  # fmt: skip
