"""Which cells of the rules for tables without a key have cases on tables that Paimon writes."""

from itertools import product
from typing import Final

import pytest

from branch_console.diff.table_operation import TableOperation
from branch_console.merge.conflict_matrix import CellRule, cells
from tests.support.merge_cells import CELLS, OURS, THEIRS, Pair

# What is done to a whole table, or to its partitions, is merged with the catalog.
OF_CATALOGS: Final = frozenset({"drop", "rename", "partition"})
# Rules by which both sides may do what cannot both stand.
REFUSING: Final = frozenset(
    {CellRule.CONFLICT, CellRule.M7, CellRule.M1, CellRule.M3, CellRule.M6, CellRule.M6_2}
)


def rule_of(pair: Pair) -> CellRule:
    theirs, ours = (TableOperation(each) for each in pair)
    (cell,) = cells(frozenset({theirs}), frozenset({ours}))
    return cell.rule


def test_every_cell_that_one_table_can_have_has_a_case() -> None:
    everything = {(str(theirs), str(ours)) for theirs, ours in product(TableOperation, repeat=2)}
    without = everything - {*product(THEIRS, OURS), *CELLS}
    assert without == {pair for pair in everything if not OF_CATALOGS.isdisjoint(pair)}


@pytest.mark.parametrize("pair", CELLS, ids=" x ".join)
def test_a_cell_with_conditions_has_cases_of_each_outcome(pair: Pair) -> None:
    rule, cases = rule_of(pair), CELLS[pair]
    assert len({case.name for case in cases}) == len(cases)
    if rule is not CellRule.OK:
        assert len(cases) > 1
    if rule in REFUSING:
        assert any(case.conflicts for case in cases)
        merges = any(case.rules or not (case.conflicts or case.blocked) for case in cases)
        assert merges or pair in set(product(THEIRS, OURS))
