"""What may be called rows of a table, and the numbers that pages and commands call so."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from branch_console.diff.rows.row_diff import plan_row_diff
from branch_console.format.identifier import Identifier
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.compare.states import compare_states
from branch_console.spark.read.readers import plan_table
from branch_console.table.table_state import ReadState
from tests.support.compared_rows import compared_rows
from tests.support.local_tables import rows_of

# A bound such as `≤ 6 rows` is no count, nor is the end of `2 to 6 rows`.
_BOUNDS: Final = ("most_rows", "at_most", "at_least")
_SAID: Final = re.compile(
    r"(?<!≤ )(?<! to )(?<![\d,.])([+\N{MINUS SIGN}-]?\d[\d,]*) rows?\b(?! group)"
)
_LABELLED: Final = re.compile(
    r"^rows[^\n]*?\s+([+\N{MINUS SIGN}-]?\d[\d,]*)$", re.IGNORECASE | re.MULTILINE
)
_HEADING: Final = re.compile(r"(?:^|  )rows(?=  |$)")
_NUMBER: Final = re.compile(r"[+\N{MINUS SIGN}-]?\d[\d,]*")


class Truth:
    """What readers get of each snapshot of a table, and what its files hold."""

    def __init__(
        self, warehouse: Path, table: str, compared: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._path, self._table, self._compared = warehouse, Identifier.parse(table), compared
        self._seen: set[tuple[str, object]] = set()
        self._differing: set[int] = set()
        self.rows: set[int] = set()
        self.records: set[int] = set()
        self.learn()
        assert self.records - self.allowed, "records that are not rows could not be told from rows"

    def learn(self) -> None:
        """Take in what the table holds by now."""
        opened = Warehouse.open(str(self._path), read_only=True)
        found = opened.table(self._table)
        for branch in ("main", *found.branches.names()):
            there = found.on(branch)
            for snapshot in there.snapshots.all():
                if (branch, snapshot.identity) not in self._seen:
                    self._seen.add((branch, snapshot.identity))
                    state = ReadState.as_it_was(there, snapshot)
                    self.rows.add(rows_of(plan_table(opened.file_io, state)).num_rows)
                    self.records.add(snapshot.total_record_count or 0)
        for before, after in self._compared:
            diff = compare_states(opened, found.identifier, before, after)
            differing = compared_rows(opened.file_io, found, plan_row_diff(diff))
            kinds = Counter(kind for rows in differing for kind in rows["kind"].to_pylist())
            self._differing |= set(kinds.values())
        self._compared = ()

    @property
    def allowed(self) -> set[int]:
        """The numbers that are rows of a state, or by which states differ."""
        changes = {after - before for before, after in permutations(self.rows, 2)}
        return {0, *self.rows, *changes, *self._differing}

    def check(self, numbers: Iterator[int], where: object) -> None:
        """Assert that numbers called rows are rows."""
        assert {number for number in numbers if number not in self.allowed} == set(), where


def numbers_in(text: str) -> Iterator[int]:
    """The numbers of a text with the word rows behind them, before them or above their column."""
    for pattern in (_SAID, _LABELLED):
        for found in pattern.findall(text):
            yield as_number(found)
    lines = text.splitlines()
    for at, line in enumerate(lines):
        for heading in _HEADING.finditer(line):
            yield from _column_below(lines[at + 1 :], heading.end())


def _column_below(lines: list[str], end: int) -> Iterator[int]:
    """The numbers that end below the end of a heading, down to a blank line."""
    for line in lines:
        if not line.strip():
            return
        cell = line[:end].rpartition("  ")[2].strip()
        if _NUMBER.fullmatch(cell) and (len(line) <= end or line[end] == " "):
            yield as_number(cell)


def as_number(text: str) -> int:
    """Read a number as people are shown it."""
    return int(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


def is_number(text: str) -> bool:
    """Whether a cell is a number, with or without a sign."""
    return _NUMBER.fullmatch(text) is not None


def numbers_under_rows(document: Any, name: str = "") -> Iterator[int]:
    """The numbers of a JSON document below a key that says rows, and those said in its texts."""
    if isinstance(document, dict):
        for key, value in document.items():
            if key not in _BOUNDS:
                yield from numbers_under_rows(value, key if "rows" in key or not name else name)
    elif isinstance(document, list):
        for value in document:
            yield from numbers_under_rows(value)
    elif isinstance(document, str):
        yield from numbers_in(document)
    elif "rows" in name and isinstance(document, int) and not isinstance(document, bool):
        yield document
