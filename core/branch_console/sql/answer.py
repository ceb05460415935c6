"""The answer of a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS: Final = 1_000_000
"""Rows that one answer may have if no setting says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRead:
    """A state of a table that a query reads.

    Attributes:
        table: Database and table, and the system table where it is one.
        branch: The branch that is read.
        snapshot_id: The snapshot, None for an empty branch and for system tables.
        asked: The tag, id or time that the query names.
    """

    table: str
    branch: str
    snapshot_id: int | None
    asked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """The rows of a query, and how they came to be.

    Attributes:
        rows: No column name twice.
        has_more: Whether rows were left out behind the last one.
        plan: Spark's plan, as text.
        reads: The tables, each state once.
        notes: Sentences on what the query does not say itself.
        judged: The identities of the heads that rules were judged at; none of a query.
    """

    rows: pa.Table
    has_more: bool
    plan: str
    reads: tuple[StateRead, ...] = ()
    notes: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    started_millis: int = 0
    finished_millis: int = 0


def single_names(given: Iterable[str]) -> tuple[str, ...]:
    """Return names of which none is there twice: behind an earlier one comes a number."""
    names: list[str] = []
    for name in given:
        number, single = 1, name
        while single.lower() in (each.lower() for each in names):
            number += 1
            single = f"{name} ({number})"
        names.append(single)
    return tuple(names)
