"""Each type as a column of the primary key, with its extremes: a row is found by its key alone.

Java writes the rows; we delete some, update others and merge a branch; Java writes all keys again
and compacts them. After each step Java holds one row a key, in the order of a table that only Java
wrote. But for long runs, one format holds all types in one key.
"""

from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import InvalidInput
from branch_console.spark.session.session import WarmSession
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.merge_bench import MergeBench
from tests.support.requirements import need_java_paimon
from tests.support.type_matrix import FINE, exact_rows, held_in_keys, one_by_one
from tests.support.write_bench import WriteBench

pytestmark = pytest.mark.depth("full")
_IN_LONG_RUNS = pytest.mark.depth("long")


@pytest.fixture
def bench(session: WarmSession, tmp_path: Path) -> WriteBench:
    return WriteBench(folder=tmp_path, session=session)


@pytest.mark.parametrize("are_fine", [False, True], ids=["plain", "fine times"])
@pytest.mark.parametrize(
    "file_format", ["parquet", *(pytest.param(o, marks=_IN_LONG_RUNS) for o in ("orc", "avro"))]
)
def test_java_finds_one_row_of_each_key(
    file_format: str, are_fine: bool, bench: WriteBench, paimon_version: str
) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(bench.folder, paimon_version)
    kinds = held_in_keys(file_format, paimon_version)
    chosen = {kind: held for kind, held in kinds.items() if kind.startswith(FINE) is are_fine}
    if chosen:
        _walk(bench, java, chosen, file_format)


@_IN_LONG_RUNS
@pytest.mark.parametrize("at", range(31))
def test_each_type_is_a_key_alone(at: int, bench: WriteBench, paimon_version: str) -> None:
    need_java_paimon(paimon_version)
    java = JavaPaimon(bench.folder, paimon_version)
    kinds = list(held_in_keys("parquet", paimon_version).items())
    assert len(kinds) == 31
    _walk(bench, java, dict([kinds[at]]), "parquet")


def _walk(
    bench: WriteBench, java: JavaPaimon, kinds: dict[str, list[Any]], file_format: str
) -> None:
    columns = {f"k{number}": f"{kind} NOT NULL" for number, kind in enumerate(kinds)}
    options = {
        "file.format": file_format,
        "bucket": "1",
        "num-sorted-run.compaction-trigger": "100",
        "snapshot.num-retained.min": "100",
    }
    ours, javas = (
        java.create_table(
            name,
            {"n": "INT", **columns, "v": "INT"},
            primary_keys=tuple(columns),
            options=options,
        )
        for name in ("db.t", "db.java")
    )
    groups: list[list[int]] = [[], [], [], []]
    rows = []
    for number, (which, key) in enumerate(one_by_one(list(kinds.values()))):
        rows.append((number, *key))
        groups[which % 4].append(number)
    deleted, updated, merged, _ = groups
    are_fine = any(kind.startswith(FINE) for kind in kinds)
    if are_fine:
        deleted, updated = [], []
    for table in (ours, javas):
        table.write([(*row, 0) for row in rows])
    ours.create_tag("base")
    ours.create_branch("dev", "base")
    ours.on("dev").write([(*rows[at], 7) for at in merged])
    javas.write([(*rows[at], 7) for at in merged])

    if are_fine:
        with pytest.raises(InvalidInput, match="deleted here: key column 'k0' is TIMESTAMP"):
            bench.delete("t", "n = 0")
    else:
        bench.delete("t", f"n IN ({', '.join(map(str, deleted))})")
    if updated:
        bench.update("t", {"v": "5"}, f"n IN ({', '.join(map(str, updated))})")
    merging = MergeBench.__new__(MergeBench)
    merging.folder = bench.folder
    merging.call("merge_branch", branch="dev", target="main")
    javas.delete([(*rows[at], 0) for at in deleted])
    javas.write([(*rows[at], 5) for at in updated])
    _check_same(ours, javas)

    for table in (ours, javas):
        table.write([(*row, 9) for row in rows])
    _check_same(ours, javas)
    for table in (ours, javas):
        table.compact()
    _check_same(ours, javas)
    assert exact_rows(ours).keys() == set(range(len(rows)))


def _check_same(ours: JavaTable, javas: JavaTable) -> None:
    found, wanted = exact_rows(ours), exact_rows(javas)
    assert found == wanted
    assert list(found) == list(wanted)
