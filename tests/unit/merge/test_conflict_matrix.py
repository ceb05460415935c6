"""The merge matrices, cell by cell, against the rules typed a second time.

The rules are not symmetric, so every cell is asserted in both directions: as itself and as the one
across the diagonal.
"""

import pytest

from branch_console.diff.database_operation import DatabaseOperation
from branch_console.diff.table_operation import TableOperation
from branch_console.merge.conflict import Take
from branch_console.merge.conflict_matrix import Cell, CellRule, cells, database_cells

# Rows are what the source did, columns what the target did.
DATABASES = """
          | drop     | rename | set | unset
    drop  | ok       | ok     | ok  | ok
    rename| conflict | ok     | ok  | ok
    set   | conflict | ok     | ok  | ok
    unset | conflict | ok     | ok  | unless same key
"""
TABLES = """
               | drop | rename | properties | column | partition | insert | delete | update | overwrite | compaction
    drop       | ok   | ok | ok | ok   | ok | ok   | ok | ok   | ok   | ok
    rename     | C    | ok | ok | ok   | ok | ok   | ok | ok   | ok   | ok
    properties | C    | ok | M7 | ok   | ok | ok   | ok | ok   | ok   | ok
    column     | C    | ok | ok | M6   | ok | M6.2 | ok | M6.2 | M6.2 | ok
    partition  | C    | ok | ok | ok   | M8 | ok   | ok | ok   | ok   | ok
    insert     | C    | ok | ok | M6.2 | ok | ok   | ok | ok   | ok   | ok
    delete     | C    | ok | ok | ok   | ok | C    | M2 | ok   | M5   | M9
    update     | C    | ok | ok | M6.2 | ok | C    | M1 | M3   | M4   | M9
    overwrite  | C    | ok | ok | M6.2 | ok | ok   | ok | ok   | ok   | ok
    compaction | C    | ok | ok | ok   | ok | ok   | ok | ok   | ok   | ok
"""  # noqa: E501 - a matrix


def typed(table: str) -> dict[tuple[str, str], str]:
    head, *rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().split("\n")]
    return {
        (row[0], target): {"C": "conflict"}.get(rule, rule)
        for row in rows
        for target, rule in zip(head[1:], row[1:], strict=True)
    }


def only_cell(theirs: str, ours: str) -> Cell[TableOperation]:
    (cell,) = cells(frozenset({TableOperation(theirs)}), frozenset({TableOperation(ours)}))
    return cell


@pytest.mark.parametrize(("theirs", "ours", "rule"), [(*k, v) for k, v in typed(TABLES).items()])
def test_a_cell_of_the_table_matrix(theirs: str, ours: str, rule: str) -> None:
    cell = only_cell(theirs, ours)
    assert (cell.theirs, cell.ours, cell.rule) == (theirs, ours, rule)
    named = rule not in {"ok", "conflict"}
    assert cell.id == (rule if named else f"{theirs}.{ours}")


@pytest.mark.parametrize(("theirs", "ours", "rule"), [(*k, v) for k, v in typed(DATABASES).items()])
def test_a_cell_of_the_database_matrix(theirs: str, ours: str, rule: str) -> None:
    source, target = DatabaseOperation(theirs), DatabaseOperation(ours)
    (cell,) = database_cells(frozenset({source}), frozenset({target}))
    assert (cell.theirs, cell.ours, cell.rule) == (source, target, rule)
    assert cell.id == f"database.{theirs}.{ours}"
    assert cell.settle_with == ()


def test_the_typed_matrices_are_whole() -> None:
    assert len(typed(TABLES)) == len(TableOperation) ** 2
    assert len(typed(DATABASES)) == len(DatabaseOperation) ** 2


def test_all_that_both_sides_did_meets() -> None:
    theirs = frozenset({TableOperation.UPDATE, TableOperation.INSERT})
    ours = frozenset({TableOperation.INSERT, TableOperation.COLUMN})
    found = [(cell.theirs, cell.ours, cell.rule) for cell in cells(theirs, ours)]
    assert found == [
        (TableOperation.INSERT, TableOperation.COLUMN, CellRule.M6_2),
        (TableOperation.INSERT, TableOperation.INSERT, CellRule.OK),
        (TableOperation.UPDATE, TableOperation.COLUMN, CellRule.M6_2),
        (TableOperation.UPDATE, TableOperation.INSERT, CellRule.CONFLICT),
    ]


def test_every_operation_on_both_sides_meets_once() -> None:
    everything = frozenset(TableOperation)
    assert len(cells(everything, everything)) == len(TableOperation) ** 2
    assert cells(everything, frozenset()) == ()
    assert cells(frozenset(), everything) == ()


def test_only_a_predicate_against_inserts_is_settled_by_an_option() -> None:
    everything = frozenset(TableOperation)
    settled = {
        (cell.theirs, cell.ours): cell.settle_with
        for cell in cells(everything, everything)
        if cell.settle_with
    }
    options = (Take.SCOPE_PARTITION, Take.ISOLATION_SNAPSHOT)
    assert settled == {
        (TableOperation.DELETE, TableOperation.INSERT): options,
        (TableOperation.UPDATE, TableOperation.INSERT): options,
    }
