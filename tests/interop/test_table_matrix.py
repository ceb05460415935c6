"""Every kind of table: written by Paimon and read by us, written by us and read by Paimon."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from branch_console.procedures.call.warehouse import Warehouse
from branch_console.spark.read.readers import plan_table
from branch_console.storage.file_io import FileIO
from branch_console.table.table_state import ReadState
from tests.support.examples import Examples
from tests.support.golden import to_plain
from tests.support.java_child import Read, read_with_java
from tests.support.java_paimon import JavaPaimon
from tests.support.local_tables import rows_of
from tests.support.our_rows import OurRows
from tests.support.plain_rows import bag, plain_rows
from tests.support.table_matrix import CELLS, Cell, few_of_all, fill_table, make_table
from tests.support.warehouses import VERSIONS

Bag = Counter[str]
_IN_QUICK = 15


@dataclass
class Matrix:
    """The cells of one version of Paimon, as it wrote them."""

    folder: Path
    java: JavaPaimon
    cells: list[Cell]
    expected: dict[str, Bag] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse.open(str(self.folder))

    def each(self, act: Callable[[Cell], Any]) -> None:
        """Act on every cell; what goes wrong is kept by its name."""
        for cell in self.cells:
            try:
                act(cell)
            except Exception as error:  # the cell must be named whatever happened
                said = str(error).splitlines() or [""]
                self.wrong[cell.name] = f"{type(error).__name__}: {said[0]}"

    def compare(self, cell: Cell, found: Bag, who: str) -> None:
        expected = self.expected[cell.name]
        if found != expected:
            self.wrong[f"{cell.name}, {who}"] = (
                f"{dict(found - expected)} for {dict(expected - found)}"
            )


@pytest.fixture(scope="module")
def written_by_java(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path_factory: pytest.TempPathFactory,
    paimon_version: str,
    examples: Examples,
) -> Matrix:
    cells = _cells(paimon_version, examples.depth)
    folder = tmp_path_factory.mktemp("matrix")
    matrix = Matrix(folder=folder, java=open_java(folder), cells=cells)

    def write(cell: Cell) -> None:
        table = make_table(matrix.java, "theirs", cell)
        fill_table(table, cell, table)
        matrix.expected[cell.name] = bag(to_plain(table.rows()))

    matrix.each(write)
    assert matrix.wrong == {}
    return matrix


def _cells(paimon_version: str, depth: str) -> list[Cell]:
    """All cells in a long run; in a full one any three values, and the versions share the cells.

    A quick run takes each kind of table once: of what they are made of, each value comes up.
    """
    if depth == "long":
        return CELLS
    if depth == "quick":
        return CELLS[:: len(CELLS) // _IN_QUICK]
    return few_of_all()[VERSIONS.index(paimon_version) :: len(VERSIONS)]


def test_every_kind_of_table_reads_as_in_paimon(written_by_java: Matrix) -> None:
    matrix = written_by_java

    def read(cell: Cell) -> None:
        matrix.compare(cell, _ours(matrix.warehouse, f"theirs.{cell.name}"), "read by us")

    matrix.each(read)
    assert matrix.wrong == {}, f"{len(matrix.wrong)} of {len(matrix.cells)}"
    assert len(CELLS) >= 150
    assert sum(map(Counter.total, matrix.expected.values())) > 8 * len(matrix.cells)


def test_every_kind_of_table_that_we_write_reads_in_paimon(
    written_by_java: Matrix, paimon_version: str, examples: Examples
) -> None:
    # What waits for a bucket is Paimon's alone to place.
    cells = [cell for cell in written_by_java.cells if cell.bucket != "postpone"]
    matrix = Matrix(
        folder=written_by_java.folder,
        java=written_by_java.java,
        cells=cells,
        expected=written_by_java.expected,
    )
    tables = {cell.name: make_table(matrix.java, "ours", cell) for cell in cells}
    names = {cell.name: f"ours.{cell.name}" for cell in cells}

    def write(cell: Cell) -> None:
        fill_table(tables[cell.name], cell, OurRows(matrix.warehouse, names[cell.name]))

    def read_and_compact(cell: Cell) -> None:
        table = tables[cell.name]
        matrix.compare(cell, bag(to_plain(table.rows())), paimon_version)
        table.compact()
        matrix.compare(cell, bag(to_plain(table.rows())), "after compaction by Java")
        matrix.compare(cell, _ours(matrix.warehouse, names[cell.name]), "by us after it")

    matrix.each(write)
    # The other version of Java would have to be started for it.
    others = set() if examples.depth == "quick" else set(VERSIONS) - {paimon_version}
    for other in others:
        answers = read_with_java(
            other, matrix.folder, [Read(table=each) for each in names.values()]
        )
        for cell in cells:
            answer = answers[Read(table=names[cell.name])]
            if isinstance(answer, list):
                matrix.compare(cell, bag(to_plain(answer)), other)
            else:
                matrix.wrong[f"{cell.name}, {other}"] = str(answer)
    matrix.each(read_and_compact)
    assert matrix.wrong == {}, f"{len(matrix.wrong)} of {len(cells)}"
    assert len([cell for cell in CELLS if cell.bucket != "postpone"]) >= 150


def _ours(warehouse: Warehouse, name: str) -> Bag:
    table = warehouse.table(name)
    assert isinstance(warehouse.file_io, FileIO)
    rows = rows_of(plan_table(warehouse.file_io, ReadState.as_it_is(table)))
    return bag(plain_rows(rows, table.schema().row_type))
