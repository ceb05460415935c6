"""How many tables of a merge of the catalog are planned, for those who wait for its preview."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from branch_console.diff.catalog_diff import ChangedTable


class _Count:
    """Counts each table once: with decisions in a draft, a merge is planned twice."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self._report = report
        self._wanted, self._planned = set[str](), set[str]()

    def want(self, tables: Sequence[ChangedTable]) -> None:
        self._wanted.update(each.id for each in tables)
        self._tell()

    def note_planned(self, table: ChangedTable) -> None:
        self._planned.add(table.id)
        self._tell()

    def _tell(self) -> None:
        self._report(len(self._planned), len(self._wanted))


_COUNT: Final[ContextVar[_Count | None]] = ContextVar("planned_tables", default=None)


@contextmanager
def counting_tables(report: Callable[[int, int], None]) -> Iterator[None]:
    """Report the tables that are planned while the block runs.

    Args:
        report: Called at each change with how many tables are planned, of how many whose content
            both sides have and the source changed.
    """
    token = _COUNT.set(_Count(report))
    try:
        yield
    finally:
        _COUNT.reset(token)


def counted(tables: Sequence[ChangedTable]) -> Iterator[ChangedTable]:
    """Yield tables that are planned one after the other, and count each when it is done."""
    count = _COUNT.get()
    if count is None:
        yield from tables
        return
    count.want(tables)
    for table in tables:
        yield table
        count.note_planned(table)
