"""The warehouses that the console is measured on: a large table, and many small ones."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.warehouse import Warehouse
from tests.benchmarks.catalog_branches import make_tables
from tests.benchmarks.commit_one_row import Size, make_warehouse
from tests.benchmarks.own_procedure import run_ours
from tests.benchmarks.prepared import prepared
from tests.benchmarks.synthetic import BRANCH, add_files, open_table
from tests.support.contested_table import ContestedTable

_PARTITIONS_A_MANIFEST: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Large:
    """What is looked at; a flight of the contested table is two conflicts.

    Attributes:
        tables: Of the warehouse with branches of the catalog.
    """

    files: int
    snapshots: int
    branches: int
    conflicts: int
    tables: int


CASES: Final = {
    "tiny": [Large(files=200, snapshots=5, branches=3, conflicts=40, tables=20)],
    "small": [Large(files=100_000, snapshots=1_000, branches=100, conflicts=10_000, tables=1_000)],
    "full": [
        Large(files=1_000_000, snapshots=1_000, branches=100, conflicts=100_000, tables=1_000)
    ],
}


def large_warehouse(folder: Path, size: Large) -> Path:
    """Return a warehouse with a large table and a contested one; see `prepared`."""

    def make(warehouse: Path) -> int:
        make_large(warehouse, size)
        return size.files

    return prepared(folder, size, make).warehouse


def catalog_warehouse(folder: Path, tables: int) -> Path:
    """Return a warehouse with many small tables and branches of the catalog; see `prepared`."""

    def make(warehouse: Path) -> int:
        make_catalog(warehouse, tables)
        return tables

    return prepared(folder, ("catalog", tables), make).warehouse


def make_catalog(folder: Path, tables: int) -> None:
    """Write many small tables, a lazy and an eager branch of all, and what one of them changed."""
    make_tables(folder, tables)
    warehouse = Warehouse.open(str(folder))
    run_ours(warehouse, "create_catalog_branch", branch="lazy", lazy=True)
    run_ours(warehouse, "create_catalog_branch", branch="eager")
    for number in range(tables // 100):
        name = f"air.t{number}$branch_lazy"
        run_ours(
            warehouse, "drop_table", sql=f"DROP TABLE air.t{number}", table=name, branch="lazy"
        )


def make_large(folder: Path, size: Large) -> None:
    """Write `db.t` with its files, snapshots and branches, and `air.delays` with its conflicts."""
    manifests = max(1, size.files // _PARTITIONS_A_MANIFEST)
    # Two entries of a hundred are no live file: one deletes what the other added.
    entries = size.files * 50 // 49
    make_warehouse(folder, Size(files=entries, snapshots=size.snapshots, manifests=manifests))
    table = folder / "db.db" / "t"
    head = Snapshot.from_json((table / "snapshot" / f"snapshot-{size.snapshots}").read_text())
    first = table / "branch" / f"branch-{BRANCH}"
    shutil.rmtree(first / "snapshot")
    (first / "snapshot").mkdir()
    (first / "snapshot" / f"snapshot-{head.id}").write_text(head.to_json())
    for name in ("LATEST", "EARLIEST"):
        (first / "snapshot" / name).write_text(str(head.id))
    for number in range(1, size.branches):
        shutil.copytree(first, table / "branch" / f"branch-work-{number:03}")
    main = open_table(folder)
    add_files(folder, main.on(BRANCH), [f"theirs-{number}" for number in range(20)])
    add_files(folder, main, [f"ours-{number}" for number in range(20)])
    contested = ContestedTable(folder, flights=size.conflicts // 2)
    contested.call("compare_rows", branch="fix-delays", target="main")
