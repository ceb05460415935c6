"""The cells of the table's matrix that need a catalog: drops and renames beside all else (K1).

Each operation meets a drop and a rename of the other side, as four tables of one warehouse that
one merge brings. The operation beside a table that main dropped is a conflict, for which nothing
of the four comes until it is settled. Real Paimon writes before and reads after the merge.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from branch_console.errors import Refused
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from branch_console.procedures.dispatch import run_call
from tests.support.branch_bench import tree
from tests.support.catalog_bench import CatalogBench
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.java_rewrites import rewrite
from tests.support.local_row_engine import LocalRows

pytestmark = pytest.mark.shared_cells

Rows: TypeAlias = list[tuple[object, ...]]

BASE: Final[Rows] = [(1, "mon"), (2, "tue")]
ACTS: Final[Mapping[str, tuple[Callable[[JavaTable], None], Rows]]] = {
    "properties": (lambda table: table.set_options({"snapshot.time-retained": "9 d"}), BASE),
    "column": (
        lambda table: table.add_column("extra", "INT"),
        [(*row, None) for row in BASE],
    ),
    "partition": (lambda table: table.drop_partition({"day": "mon"}), [(2, "tue")]),
    "insert": (lambda table: table.write([(3, "mon")]), [*BASE, (3, "mon")]),
    "delete": (
        lambda table: rewrite(table, lambda row: None if row[0] == 1 else row),
        [(2, "tue")],
    ),
    "update": (
        lambda table: rewrite(table, lambda row: (9, "mon") if row[0] == 1 else row),
        [(2, "tue"), (9, "mon")],
    ),
    "overwrite": (
        lambda table: table.write([(5, "mon"), (6, "mon")], overwrite={"day": "mon"}),
        [(2, "tue"), (5, "mon"), (6, "mon")],
    ),
    "compaction": (lambda table: table.compact(), BASE),
}
SETTLED: Final = "version: 1\nobjects: {'*': {object gone: ours}}"


def begin(java: JavaPaimon, root: Path, names: tuple[str, ...]) -> CatalogBench:
    for name in names:
        table = java.create_table(
            f"d.{name}", {"id": "INT", "day": "STRING"}, partition_keys=["day"]
        )
        table.write([BASE[0]])
        table.write([BASE[1]])
    sql = CatalogBench(root=root)
    sql("CREATE BRANCH dev ON CATALOG")
    return sql


def merge(sql: CatalogBench, policy: str | None = None) -> Receipt:
    call = sql.call("merge_catalog_branch", None, branch="dev", policy=policy)
    warehouse = sql.warehouse()
    return run_call(warehouse, LocalRows(warehouse.file_io), call, InlineStages())


def cells_of(sql: CatalogBench, gone: tuple[str, ...]) -> set[str]:
    """The cells of a merge that has these conflicts, for which it changes no byte."""
    spec = CatalogMergeSpec(source="dev", target="main")
    plan = preview_catalog_merge(sql.warehouse(read_only=True), spec)
    assert [(str(each.kind), each.subject.table) for each in plan.conflicts] == [
        ("object gone", name) for name in gone
    ]
    cells = {cell for each in plan.objects for cell in each.cells}
    if not gone:
        return cells
    before = tree(sql.root)
    with pytest.raises(Refused):
        merge(sql)
    assert tree(sql.root) == before
    return cells


def shown(java: JavaPaimon) -> dict[str, Rows]:
    return {name: sorted(java.table(f"d.{name}").rows()) for name in java.tables("d")}


@pytest.mark.parametrize(
    "did",
    [
        pytest.param(did, marks=pytest.mark.depth("full" if did == "update" else "long"))
        for did in ACTS
    ],
)
def test_an_operation_beside_drops_and_renames(
    did: str, open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    act, rows = ACTS[did]
    java = open_java(tmp_path / "w")
    sql = begin(java, tmp_path / "w", ("dropped", "renamed", "at_renamed", "at_dropped"))
    sql("USE BRANCH dev; DROP TABLE d.dropped; ALTER TABLE d.renamed RENAME TO d.moved")
    for name in ("at_renamed", "at_dropped"):
        act(java.table(f"d.{name}$branch_dev"))
    for name in ("dropped", "renamed"):
        act(java.table(f"d.{name}"))
    sql("DROP TABLE d.at_dropped; ALTER TABLE d.at_renamed RENAME TO d.at_moved")
    before = shown(java)
    cells = cells_of(sql, () if did == "compaction" else ("d.at_dropped",))
    assert shown(java) == before
    receipt = merge(sql, SETTLED)
    assert shown(java) == {"moved": sorted(rows), "at_moved": sorted(rows)}
    if did != "compaction":
        # What schemas alone say is in no list of cells.
        assert did == "properties" or any(each.endswith(".rename") for each in cells)
        assert "d.at_dropped" in " ".join(receipt.notes)
    assert merge(sql, SETTLED).notes[-1] == "Nothing was changed."


@pytest.mark.depth("full")
def test_drops_and_renames_beside_each_other(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    java = open_java(tmp_path / "w")
    sql = begin(java, tmp_path / "w", ("both", "dropped", "renamed", "gone"))
    sql("USE BRANCH dev; DROP TABLE d.both; DROP TABLE d.dropped")
    sql("USE BRANCH dev; ALTER TABLE d.renamed RENAME TO d.s; ALTER TABLE d.gone RENAME TO d.x")
    sql("DROP TABLE d.both; ALTER TABLE d.dropped RENAME TO d.e; DROP TABLE d.gone")
    sql("ALTER TABLE d.renamed RENAME TO d.f")
    cells = cells_of(sql, ("d.x",))
    assert cells >= {"table/drop.rename", "table/rename.rename", "table/rename.drop"}
    receipt = merge(sql, SETTLED)
    assert shown(java) == {"s": BASE}
    assert "The target had renamed it to 'd.f'" in " ".join(receipt.notes)
    assert merge(sql, SETTLED).notes[-1] == "Nothing was changed."
