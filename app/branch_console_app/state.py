"""The session and the address: the only place that touches Streamlit's state.

The address is the truth. What a page needs to be opened again stands in it; the session keeps only
what may be forgotten, such as the key that makes a second click the same command.
"""

import time
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from enum import StrEnum
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from branch_console_app.models.merge.merge_preview import SeenPlan
from branch_console_app.models.parts.actions import DO, WHAT
from branch_console_app.models.parts.location import PARAMETERS, Location, SnapshotPoint


class PageName(StrEnum):
    """The pages, by the path they have in addresses."""

    OVERVIEW = "overview"
    CATALOG = "catalog"
    ACTIVITY = "activity"
    TABLE = "table"
    BRANCHES = "branches"
    SNAPSHOTS = "snapshots"
    SCHEMAS = "schemas"
    MAINTENANCE = "maintenance"
    COMPARE = "compare"
    MERGE = "merge"
    CONFLICTS = "conflicts"
    SQL = "sql"
    JOBS = "jobs"
    JOB = "job"
    RECEIPT = "receipt"


_T = TypeVar("_T")

CATALOG_BRANCH: Final = "ca_b"
"""The parameter of the Catalog page that names the branch to look at."""

_PAGES: Final = "pages"
_ADDRESS: Final = "address"
_LEFT: Final = "left"
"""The parameter that says which address a page was left at."""
_READ_AT: Final = "read_at"
_BEGUN_AT: Final = "begun_at"
_MARK: Final = "mark:"
_SEEN_PLAN: Final = "seen_plan"
_SEEN_PREVIEW: Final = "seen_preview"
_PAIRS: Final = "compared_pairs"
_AWAITED: Final = "awaited_jobs"
_MOST_PAIRS: Final = 50


def register_pages(pages: Mapping[PageName, st.Page]) -> None:
    """Remember the pages of this session: links and commands name them."""
    st.session_state[_PAGES] = dict(pages)


def page_of(name: PageName) -> st.Page:
    """Return the page that `name` stands for."""
    page: st.Page = st.session_state[_PAGES][name]
    return page


def location() -> Location:
    """Return where the address says we are."""
    return Location.from_query(_query())


def announce(page: str) -> None:
    """Tell the browser the address of what it sees.

    A link to the page that is open already reruns it with other parameters, but leaves the old ones
    in the address bar. Where the browser went back or forward its bar is ahead of us: it may have
    gone on since, and would take what it is told for the address of where it is by then.
    """
    query = _query()
    seen = st.session_state.get(_ADDRESS)
    st.session_state[_ADDRESS] = (page, query)
    if seen is None or seen[0] != page:
        forget_plan()
    context = get_script_run_ctx()
    if context is not None and context.is_history_navigation:
        return
    if seen is None or seen[0] != page or seen[1] == query:
        return
    # Writing one parameter sends all of them; those of the location are bound to no widget.
    for name in PARAMETERS:
        if name in query:
            st.query_params[name] = query[name]
            return


def go_back_to_left(page: str) -> None:
    """Give a page that the browser went back to the address that it was left at by `go_to`.

    Streamlit tells the browser the parameters of the next page first and the page afterwards, so
    that the page that is left stands in the history with the parameters of the next one. While it
    answers a step back, what is set here takes the place of that entry.
    """
    left, _, query = (st.query_params.get(_LEFT) or "").partition("?")
    if _LEFT in st.query_params and left == page:
        st.query_params.from_dict(dict(parse_qsl(query)))


def parameter(name: str) -> str | None:
    """Return a parameter of the address that no widget is bound to."""
    return st.query_params.get(name) or None


def set_parameter(name: str, value: str | None) -> None:
    """Write a parameter of the address, or take it out."""
    set_parameters({name: value})


def set_parameters(values: Mapping[str, str | None]) -> None:
    """Write parameters of the address or take them out, all as one step that can be gone back."""
    query = st.query_params
    # One message to the browser is one entry of its history. An empty list leaves a parameter out.
    changed: dict[str, str | list[str]] = {
        name: value or [] for name, value in values.items() if value or name in query
    }
    if changed:
        query.update(changed)


def move_to(place: Location) -> None:
    """Change the location and stay on the page; the parameters of the view stay too."""
    query = place.query()
    set_parameters({name: query.get(name) for name in PARAMETERS})


def query_of(place: Location, **view: str | None) -> dict[str, str]:
    """Return all parameters of a link: a page change replaces every parameter there was."""
    return {**place.query(), **{name: value for name, value in view.items() if value}}


def link(
    page: PageName,
    label: str,
    place: Location,
    *,
    view: Mapping[str, str | None] | None = None,
    **appearance: Any,
) -> None:
    """Draw a link to a page at a place; `label` is Markdown."""
    st.page_link(
        page_of(page), label=label, query_params=query_of(place, **(view or {})), **appearance
    )


def go_to(page: PageName, place: Location, **view: str | None) -> None:
    """Open a page at a place, so that the browser goes back to the page without its dialog."""
    here: str = st.session_state[_ADDRESS][0]
    if page_of(page).url_path != here:
        kept = {name: each for name, each in _query().items() if name not in (DO, WHAT, _LEFT)}
        view = {**view, _LEFT: f"{here}?{urlencode(kept)}"}
    st.switch_page(page_of(page), query_params=query_of(place, **view))


def correct_address(page: PageName, **view: str) -> None:
    """Open the page that is open already with today's values of parameters that have old ones.

    A widget that is bound to a parameter takes a value that it does not know out of the address,
    and none may be written under its name once the widget was drawn.
    """
    st.switch_page(page_of(page), query_params={**_query(), **view})


def address() -> str:
    """Return the full address of what is seen now, to be copied."""
    base = urlsplit(st.context.url or "http://localhost/")
    query = urlencode({name: each for name, each in _query().items() if name != _LEFT})
    return urlunsplit((base.scheme, base.netloc, base.path, query, ""))


def _query() -> dict[str, str]:
    """Return the parameters of the address that say something."""
    return {name: each for name, each in st.query_params.to_dict().items() if each}


def clicked_points(key: str) -> Iterable[list[Any]]:
    """Return what a click on a chart carried; nothing for the empty events of a redraw."""
    state = st.session_state.get(key) or {}
    for point in (state.get("selection") or {}).get("points") or ():
        carried = point.get("customdata")
        if isinstance(carried, dict):
            # The browser sends arrays as objects with numbered keys.
            carried = [carried[each] for each in sorted(carried, key=int)]
        if isinstance(carried, list):
            yield carried


def clicked_rows(key: str) -> list[int]:
    """Return the rows of a table that are selected."""
    state = st.session_state.get(key) or {}
    return list((state.get("selection") or {}).get("rows") or ())


def marked_point(chart: str, context: str) -> SnapshotPoint | None:
    """Return the snapshot that a figure itself marks as selected.

    That is the one of the address, unless it got there by a click on this very figure: the browser
    has marked it already, and another figure would put the chart back to where it began.

    Args:
        chart: The key of the chart.
        context: Other values that the figure depends on; another context is another figure.
    """
    snap = parameter("snap")
    kept = st.session_state.get(f"{_MARK}{chart}")
    marked = kept[1] if kept and kept[0] == context and kept[2] == snap else snap
    st.session_state[f"{_MARK}{chart}"] = (context, marked, snap)
    return SnapshotPoint.parse(marked) if marked else None


def select_clicked_snapshot(key: str) -> None:
    """Put the snapshot that was clicked in a chart into the address."""
    for branch, snapshot_id, identity in (each[:3] for each in clicked_points(key)):
        if identity is None or identity == "fold" or snapshot_id is None:
            continue
        point = SnapshotPoint(branch=str(branch), id=int(snapshot_id), identity=str(identity))
        move_to(location().at_snapshot(point))
        kept = st.session_state.get(f"{_MARK}{key}")
        if kept:
            st.session_state[f"{_MARK}{key}"] = (kept[0], kept[1], str(point))
        return


def value_of(key: str) -> Any:
    """Return the current value of a widget."""
    return st.session_state.get(key)


def uploaded_text(key: str) -> str | None:
    """Return the text of the file that was given to an uploader, None without one."""
    file = st.session_state.get(key)
    return None if file is None else file.getvalue().decode("utf-8", errors="replace")


def put(key: str, value: Any) -> None:
    """Set what a widget holds, before it is drawn."""
    st.session_state[key] = value


def now_millis() -> int:
    """Return the time."""
    return time.time_ns() // 1_000_000


def zone() -> tzinfo | None:
    """Return the time zone of the person who looks; None if the browser does not say."""
    name = st.context.timezone
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def seen_plan(choice: str, plan: SeenPlan) -> SeenPlan:
    """Return the plan that was shown first for a choice, and remember this one if there is none.

    Opening the page anew looks anew: only who stays on it can have seen another plan.

    Args:
        choice: The inputs of the plan besides the heads; another choice is another plan.
        plan: The current plan.
    """
    return _first_seen(_SEEN_PLAN, choice, plan)


def forget_plan() -> None:
    """Let the next plan be the one that is shown."""
    st.session_state.pop(_SEEN_PLAN, None)


def seen_preview(choice: str, plan_id: str) -> str:
    """Return the id of the preview that was shown first for a filled-in form, or remember this one.

    Args:
        choice: The inputs of the form; another choice is another preview.
        plan_id: The plan id of the current preview.
    """
    return _first_seen(_SEEN_PREVIEW, choice, plan_id)


def forget_preview() -> None:
    """Let the next preview be the one that is shown."""
    st.session_state.pop(_SEEN_PREVIEW, None)


def _first_seen(key: str, choice: str, now: _T) -> _T:
    kept: tuple[str, _T] | None = st.session_state.get(key)
    if kept is None or kept[0] != choice:
        kept = st.session_state[key] = (choice, now)
    return kept[1]


def await_job(job_id: str) -> None:
    """Remember that this session saw a job run."""
    st.session_state.setdefault(_AWAITED, set()).add(job_id)


def was_awaited(job_id: str) -> bool:
    """Whether this session saw a job run, and has not asked this since."""
    awaited: set[str] = st.session_state.get(_AWAITED, set())
    is_awaited = job_id in awaited
    awaited.discard(job_id)
    return is_awaited


def note_compared_pair(table: str, before: str, after: str) -> None:
    """Remember the two states of a table that somebody looked at last."""
    kept: list[tuple[str, str, str]] = st.session_state.setdefault(_PAIRS, [])
    pair = (table, before, after)
    st.session_state[_PAIRS] = [pair, *(each for each in kept if each != pair)][:_MOST_PAIRS]


def compared_pairs(table: str) -> list[tuple[str, str]]:
    """Return the states of a table that this session compared, the last pair first."""
    kept: list[tuple[str, str, str]] = st.session_state.get(_PAIRS, [])
    return [(before, after) for name, before, after in kept if name == table]


def note_reading(millis: int) -> None:
    """Remember the oldest reading that the page shows."""
    earlier = st.session_state.get(_READ_AT)
    st.session_state[_READ_AT] = millis if earlier is None else min(earlier, millis)


def begin_reading() -> None:
    """Forget the readings of the run before."""
    st.session_state[_READ_AT] = None
    st.session_state[_BEGUN_AT] = now_millis()


def oldest_reading() -> int | None:
    """Return when the oldest value that this run has shown so far was read."""
    found: int | None = st.session_state.get(_READ_AT)
    return found


def shows_earlier_reading() -> bool:
    """Whether this run has gone by a value that was read before it began."""
    read_at = oldest_reading()
    return read_at is not None and read_at < st.session_state[_BEGUN_AT]


def view_of(*names: str) -> dict[str, str | None]:
    """Return parameters of the view as they stand, for links that keep the view."""
    return {name: parameter(name) for name in names}
