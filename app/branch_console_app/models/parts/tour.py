"""The tour: six stations of the demo, each a page with what there is to see and to try."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

TOUR: Final = "tour"
"""The parameter of addresses that says at which station the tour is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """One page of the tour.

    Attributes:
        text: The things to see and to click, as Markdown.
        page: The path of the page.
        table: The table that the page is about; None for a page about none.
        view: The parameters of the page.
    """

    title: str
    text: str
    page: str
    table: tuple[str, str] | None = None
    branch: str | None = None
    view: Mapping[str, str] = field(default_factory=dict)


_FLIGHTS: Final = ("air", "flights")

STATIONS: Final = (
    Station(
        title="The branches of a table",
        text="Each lane is a branch, and each point a snapshot. `fix-delays` is 2 commits ahead of "
        "`main`, `backfill-2013-12` has diverged, and `broken-copy` is broken on purpose. Click a "
        "lane to see its card.",
        page="branches",
        table=_FLIGHTS,
        branch="fix-delays",
    ),
    Station(
        title="What differs",
        text="Compare shows which schemas, files and partitions differ between two states. "
        "*Count rows* says how many rows a query returns on each side; the tab *Rows* lists every "
        "changed row.",
        page="compare",
        table=_FLIGHTS,
        view={"cmp_a": "main", "cmp_b": "fix-delays"},
    ),
    Station(
        title="A conflict",
        text="`fix-wind` and `main` both changed Newark's weather: 1 conflict to settle. "
        "An option that settles it is offered beside it; each option was tried before.",
        page="merge",
        table=("air", "weather"),
        view={"source": "fix-wind"},
    ),
    Station(
        title="A quality rule that blocks",
        text="`lost-tails` has lost the tail numbers of a month, and the rule `tail` blocks that. "
        "Merge it: the rules run first, and the merge stops. *Show rows* lists rows that fail, and "
        "`main` is unchanged.",
        page="merge",
        table=_FLIGHTS,
        view={"source": "lost-tails"},
    ),
    Station(
        title="A merge",
        text="`main` has no commits since `fix-delays` branched off, so nothing can collide. Merge "
        "it into `main`: the rules run on the result first.",
        page="merge",
        table=_FLIGHTS,
        view={"source": "fix-delays"},
    ),
    Station(
        title="Undo",
        text="Open the merge in this list, then its receipt: it says what changed and what was "
        "checked. *Undo* takes it back until the next commit on `main`.",
        page="jobs",
    ),
)
"""All stations in their order."""


def station_at(text: str | None) -> int | None:
    """Return the number of the station that an address names, from 1 on; None without one."""
    if text is None or not text.isdecimal():
        return None
    number = int(text)
    return number if 1 <= number <= len(STATIONS) else None
