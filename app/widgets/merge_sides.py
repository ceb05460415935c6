"""The two branches of a merge as the address names them: whether the table has both."""

from app import state
from app.state import PageName
from app.widgets.problem import show_not_found
from app.widgets.row_conflicts import MERGE_VIEW
from app.widgets.table_picker import here
from core.procedures.browse_values import TableSummary


def missing_side(summary: TableSummary) -> str | None:
    """Return the parameter whose branch the table does not have, None where it has both."""
    known = summary.branches_with_main
    return next(
        (side for side in ("target", "source") if state.parameter(side) not in (None, *known)), None
    )


def show_missing_side(side: str, summary: TableSummary, page: PageName) -> None:
    """Say that the branch of a side does not exist, with links to the same merge of others."""
    show_not_found(
        "Branch", state.parameter(side) or "", summary.branches_with_main, page=page,
        place_of=lambda _: here(),
        view_of=lambda name: {**state.view_of(*MERGE_VIEW), side: name},
    )  # fmt: skip
