"""The card of a branch of the catalog: where it stands, what it holds, where to go on."""

import streamlit as st

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.procedures.browse.catalog_values import CatalogBranchItem, CatalogBranchStanding
from branch_console.procedures.browse.page_values import Health
from branch_console_app import state
from branch_console_app.models.branches.head_checks import HeadCheck
from branch_console_app.models.catalog.lanes import lane_of
from branch_console_app.models.parts.actions import Action
from branch_console_app.models.parts.location import Location
from branch_console_app.models.parts.wording import age, code, count, plain, plural, prose
from branch_console_app.state import PageName
from branch_console_app.widgets.branches.branch_card import check_badge, files_badge, standing_badge
from branch_console_app.widgets.parts import rows
from branch_console_app.widgets.parts.dialogs import offer


def health_of(item: CatalogBranchItem) -> Health:
    """Return whether all of a branch can be read."""
    if item.error is not None or item.lost:
        return Health.BROKEN
    return Health.HEALTHY


def tables_words(item: CatalogBranchItem) -> str:
    """Say of how many tables the table branches are made."""
    parts = [f"{count(item.made)} made"] if item.made or not item.not_made else []
    if item.not_made:
        parts.append(f"{count(item.not_made)} not made yet")
    if item.lost:
        parts.append(f"{count(item.lost)} lost")
    if item.made == item.tables and len(parts) == 1:
        return count(item.tables)
    return f"{plural(item.tables, 'table')}: {', '.join(parts)}"


def standing_sentence(branch: CatalogBranchStanding) -> str:
    """Say what a branch and main changed since their merge base."""
    if branch.ahead is None or branch.behind is None:
        return ""
    if not branch.ahead:
        here = "Main has every change of this branch"
    else:
        here = f"Changes {plural(branch.ahead, 'database or table', 'databases or tables')}"
    if not branch.behind:
        return f"{here}; main has changed none since."
    return f"{here}; main has changed {count(branch.behind)} since."


def show_catalog_card(
    branch: CatalogBranchStanding, place: Location, check: HeadCheck | None = None
) -> None:
    """Draw the card of a branch, with the step that comes next as its one primary button.

    Args:
        branch: The branch.
        place: The location of the page.
        check: The result of the quality rules for its merge into main; None if it is not known.
    """
    item = branch.item
    with st.container(border=True, key="card-catalog-branch"):
        st.markdown(f"##### {code(item.name)}")
        files = files_badge(health_of(item), subject="files")
        st.markdown(f"{standing_badge(lane_of(branch))} {files}")
        if check is not None:
            checked = f":gray[checked {age(check.time_millis, state.now_millis())}]"
            st.markdown(f"{check_badge(check, check.sentence(code))} {checked}")
        if item.error is not None:
            st.error(f"{prose(item.error.message)} {code(item.error.kind)}")
        else:
            st.caption(standing_sentence(branch))
            rows.facts("catalog-branch", _facts(item))
            if item.lost:
                st.warning(
                    f"{plural(item.lost, 'table')} lost its table branch although nobody dropped "
                    "it. Until it is back, this branch cannot be merged.",
                    icon=":material/warning:",
                )
        with st.container(horizontal=True, gap="small", key="branch-commands"):
            if item.error is None:
                st.button(
                    "Review merge", type="primary", icon=":material/merge:", key="review-merge",
                    on_click=_review, args=(item.name, place),
                )  # fmt: skip
            offer(
                Action.DROP_CATALOG, "Drop…", icon=":material/delete:", key="drop-catalog",
                what=item.name,
            )  # fmt: skip


def _facts(item: CatalogBranchItem) -> list[tuple[str, str]]:
    facts = [
        ("Holds", plain(item.scope)),
        ("Table branches", plain(tables_words(item))),
        ("Version", code(item.version)),
        ("Started from", f"{code(item.base)}, {age(item.created_millis, state.now_millis())}"),
    ]
    if item.owner:
        facts.append(("Owner", plain(item.owner)))
    if item.reason:
        facts.append(("Reason", plain(item.reason)))
    return facts


def _review(branch: str, place: Location) -> None:
    home = Location(warehouse=place.warehouse)
    state.go_to(PageName.MERGE, home, of="catalog", source=branch, target=MAIN_BRANCH)
