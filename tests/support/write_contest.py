"""Writers that change one row at once, each time computed from what they read."""

from collections.abc import Mapping
from typing import Any, Final

from branch_console.errors import CommitConflict, ErrorKind
from branch_console.spark.read.readers import read_table
from branch_console.table.table_state import ReadState
from tests.support.write_bench import WriteBench

_NAME: Final = "counted"
_COLUMNS: Final = {"id": "INT NOT NULL", "n": "INT"}


def make_counter(bench: WriteBench, **settings: Any) -> None:
    """The table, with a row that begins at 0 and one beside it."""
    bench.create(_NAME, _COLUMNS, **settings)
    bench.insert(_NAME, [(1, 0), (2, 0)])


def count_up(bench: WriteBench, times: int) -> Mapping[str, int]:
    """Add 1 so many times; how many of the updates landed, and how many were told by name."""
    ends = {"landed": 0, "told": 0}
    for _ in range(times):
        try:
            ends["landed"] += bench.update(_NAME, {"n": "n + 1"}, "id = 1").rows
        except CommitConflict as error:
            if error.kind is not ErrorKind.COMMIT_CONFLICT:
                raise
            ends["told"] += 1
    return ends


def counted(bench: WriteBench) -> int:
    """What the row says."""
    rows = read_table(
        bench.session.spark, bench.warehouse.file_io, ReadState.as_it_is(bench.open(_NAME))
    )
    return int(rows.where("id = 1").collect()[0].n)
