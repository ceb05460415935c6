"""The search: names of the warehouse that match the words of a person."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console_app.models.parts.location import Location

HITS_OF_A_KIND: Final = 8
"""So many are listed of each kind; the number of all stands beside them."""


class HitKind(StrEnum):
    """The kinds of results, in the order of the list."""

    TABLE = "Tables"
    BRANCH = "Branches"
    TAG = "Tags"
    SNAPSHOT = "Snapshots"
    OPERATION = "Operations"
    QUERY = "Queries"
    PAGE = "Pages and settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something with a name, and the page that shows it.

    Attributes:
        name: The name by which it is found and shown.
        context: The object it belongs to, such as the table of a branch; it is found by this too.
        page: The path of the page.
        place: The location of that page.
        view: The parameters of that page.
    """

    kind: HitKind
    name: str
    page: str
    place: Location
    context: str = ""
    view: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HitGroup:
    """The hits of one kind.

    Attributes:
        hits: The best ones, at most HITS_OF_A_KIND.
        total: How many there are.
    """

    kind: HitKind
    hits: tuple[Hit, ...]
    total: int


def find_hits(words: str, known: Iterable[Hit]) -> tuple[HitGroup, ...]:
    """Return what words find, by kinds; without words nothing.

    Each of the words has to stand in the name or in what it belongs to. Who writes a name whole
    finds it first, then names that begin so, then all others, each in their order.
    """
    wanted = words.casefold().split()
    if not wanted:
        return ()
    found: dict[HitKind, list[Hit]] = {kind: [] for kind in HitKind}
    for hit in known:
        text = f"{hit.name} {hit.context}".casefold()
        if all(word in text for word in wanted):
            found[hit.kind].append(hit)
    return tuple(
        HitGroup(kind=kind, hits=_best(hits, words.strip().casefold()), total=len(hits))
        for kind, hits in found.items()
        if hits
    )


def _best(hits: Sequence[Hit], text: str) -> tuple[Hit, ...]:
    return tuple(sorted(hits, key=lambda hit: _distance(hit.name, text))[:HITS_OF_A_KIND])


def _distance(name: str, text: str) -> int:
    own = name.casefold()
    # A table is called by its own name as well as by that of its database with it.
    if text in (own, own.rpartition(".")[2]):
        return 0
    return 1 if own.startswith(text) else 2 if text in own else 3
