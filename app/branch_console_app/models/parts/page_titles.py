"""The titles of browser tabs: the subject first, so that two tabs differ."""

from collections.abc import Mapping
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console_app.models.parts.location import Location, warehouse_name
from branch_console_app.models.parts.wording import shortened

PRODUCT: Final = "Branch Console"
"""The end of every title."""

TITLE_VIEW: Final = ("source", "target", "cmp_a", "cmp_b", "id", "q")
"""The parameters of views that a title follows from."""

_STATEMENT_LENGTH: Final = 40
_ID_LENGTH: Final = 8


def page_title(
    page: str, label: str, place: Location, view: Mapping[str, str | None], *, warehouse: str
) -> str:
    """Return the title of a page for the browser's tab.

    Such as `fix-delays → main · air.flights · Branch Console`.

    Args:
        page: The path of the page.
        label: The title of the page.
        place: The location in the address.
        view: Those of TITLE_VIEW, as the address has them.
        warehouse: The warehouse that is open, for pages about no table.
    """
    table = place.full_table
    parts = [_subject(page, label, place, view), table or warehouse_name(warehouse), PRODUCT]
    return " · ".join(part for part in parts if part)


def _subject(page: str, label: str, place: Location, view: Mapping[str, str | None]) -> str:
    named, query = (view.get("id") or "")[:_ID_LENGTH], (view.get("q") or "").split()
    match page:
        case "merge" | "conflicts" if view.get("source"):
            pair = f"{view['source']} → {view.get('target') or MAIN_BRANCH}"
            return pair if page == "merge" else f"{label} {pair}"
        case "compare" if view.get("cmp_a") or view.get("cmp_b"):
            before = view.get("cmp_a") or MAIN_BRANCH
            return f"{label} {before} with {view.get('cmp_b') or 'another state'}"
        case "job" | "receipt" if named:
            return f"{label} {named}"
        case "sql" if query:
            return f"{shortened(' '.join(query), _STATEMENT_LENGTH)} · {label}"
        case "snapshots" if place.point is not None:
            return f"Snapshot {place.point.id} of {place.point.branch}"
        case _ if place.branch and place.full_table:
            return f"{place.branch} · {label}"
        case _:
            return label
