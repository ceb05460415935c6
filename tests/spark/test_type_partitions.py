"""Each type as a partition column, with its extremes: Java finds its own folders and rows.

Java writes rows into a partition for each value; we delete and insert some, update others and merge
a branch. Java then lists the partitions that a table has which only Java wrote.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.spark.read.readers import plan_table
from branch_console.spark.session.session import WarmSession
from branch_console.table.table_state import ReadState
from tests.support.java_paimon import JavaPaimon, JavaTable, serialized_row
from tests.support.java_vm import java_class
from tests.support.local_tables import rows_of
from tests.support.merge_bench import MergeBench
from tests.support.requirements import need_java_paimon
from tests.support.type_matrix import FINE, exact_rows, held_in_keys, one_by_one
from tests.support.write_bench import WriteBench

pytestmark = pytest.mark.depth("full")

_SPECIAL = (" ", "\t", "__DEFAULT_PARTITION__", "a=b/c%20:d", "..", "{x}\"'*?\\#^[]\x7f", "é\u00a0")


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> WriteBench:
    return WriteBench(folder=tmp_path, session=session)


@pytest.mark.parametrize(
    ("is_legacy", "are_fine"),
    [
        pytest.param(True, False, id="legacy", marks=pytest.mark.depth("long")),
        pytest.param(False, False, id="by casts"),
        pytest.param(True, True, id="fine times, legacy"),
        pytest.param(False, True, id="fine times, by casts", marks=pytest.mark.depth("long")),
    ],
)
def test_java_lists_the_partitions_that_we_write(
    is_legacy: bool, are_fine: bool, bench: WriteBench, paimon_version: str
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(bench.folder, paimon_version)
    kinds = _held(is_legacy, paimon_version)
    chosen = {kind: held for kind, held in kinds.items() if kind.startswith(FINE) is are_fine}
    _walk(bench, java, chosen, is_legacy)


def _held(is_legacy: bool, version: str) -> dict[str, list[Any]]:
    found = held_in_keys("parquet", version)
    text = java_class("data.BinaryString").fromString
    # The name of a folder is at most 255 bytes long.
    found["STRING"] = [*found["STRING"][:-1], *map(text, _SPECIAL)]
    found["BYTES"] = found["BYTES"][:-1]
    for kind in ("BINARY(3)", "VARBINARY(4)", "BYTES") if is_legacy else ():
        # Java names such a folder after a place in its memory; we refuse to.
        del found[kind]
    return {kind: [*held, None] for kind, held in found.items()}


def _walk(
    bench: WriteBench,
    java: JavaPaimon,
    kinds: dict[str, list[Any]],
    is_legacy: bool,
) -> None:
    columns = {f"p{number}": kind for number, kind in enumerate(kinds)}
    options = {"bucket": "-1", "partition.legacy-name": str(is_legacy).lower()}
    ours, javas = (
        java.create_table(
            each,
            {"n": "INT", **columns, "v": "INT"},
            partition_keys=tuple(columns),
            options=options,
        )
        for each in ("db.t", "db.java")
    )
    groups: list[list[int]] = [[], [], [], []]
    rows = []
    for number, (which, values) in enumerate(one_by_one(list(kinds.values()))):
        rows.append((number, *values))
        groups[which % 4].append(number)
    again, updated, merged, _ = groups
    gone: list[int] = []
    if any(kind.startswith(FINE) for kind in kinds):
        # Spark does not keep them whole, so they go for good.
        gone, updated = again, []
    ours.write([(*row, 0) for row in rows])
    ours.create_tag("base")
    ours.create_branch("dev", "base")
    ours.on("dev").write([(1000 + at, *rows[at][1:], 7) for at in merged])

    warehouse = bench.warehouse
    given = rows_of(plan_table(warehouse.file_io, ReadState.as_it_is(warehouse.table("db.t"))))
    bench.delete("t", f"n IN ({_listed(again)})")
    if updated:
        bench.update("t", {"v": "5"}, f"n IN ({_listed(updated)})")
    chosen = given.filter(pc.is_in(given["n"], value_set=pa.array(again, pa.int32())))
    if not gone:
        bench.insert("t", chosen)
    merging = MergeBench.__new__(MergeBench)
    merging.folder = bench.folder
    merging.call("merge_branch", branch="dev", target="main")
    javas.write([(1000 + at, *rows[at][1:], 7) for at in merged])

    javas.write([(*row, 5 if row[0] in updated else 0) for row in rows if row[0] not in gone])
    assert exact_rows(ours) == exact_rows(javas)
    assert _partitions(ours) == _partitions(javas)
    home = bench.folder / "db.db"
    assert _folders(home / "t") >= _folders(home / "java")
    assert gone or _folders(home / "t") == _folders(home / "java")


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "NULL"


def _partitions(table: JavaTable) -> dict[str, int]:
    entries = table.load().newReadBuilder().newScan().listPartitionEntries()
    return {serialized_row(each.partition()).hex(): int(each.recordCount()) for each in entries}


def _folders(table: Path) -> set[str]:
    return {str(each.parent.relative_to(table)) for each in table.rglob("bucket-*")}
