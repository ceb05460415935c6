"""Rows of tables that keep their deletion vectors beside data files, hidden by Java and by us."""

from pathlib import Path

import pytest

from branch_console.spark.session.session import WarmSession
from tests.support.java_paimon import JavaPaimon
from tests.support.requirements import need_java_paimon
from tests.support.write_bench import WriteBench

_BESIDE = {"index-file-in-data-file-dir": "true", "deletion-vectors.enabled": "true"}
_COLUMNS = {"id": "INT", "day": "STRING", "amount": "INT"}


@pytest.mark.depth("long")
@pytest.mark.parametrize(
    ("keys", "options"),
    [((), {"bucket": "-1"}), (("id", "day"), {"bucket": "1"})],
    ids=["append", "keyed"],
)
def test_java_and_we_hide_rows_of_the_same_files(
    session: WarmSession,
    paimon_version: str,
    tmp_path: Path,
    keys: tuple[str, ...],
    options: dict[str, str],
) -> None:
    need_java_paimon(paimon_version)
    bench = WriteBench(folder=tmp_path, session=session)
    java = JavaPaimon(bench.folder, paimon_version)
    table = java.create_table(
        "db.t",
        _COLUMNS,
        partition_keys=("day",),
        primary_keys=keys,
        options={**_BESIDE, **options, "snapshot.num-retained.min": "1000"},
    )
    table.write([(number, "ab"[number % 2], 0) for number in range(12)])
    bench.delete("t", "id % 3 = 0")
    expected = [(number, "ab"[number % 2], 0) for number in range(12) if number % 3]
    assert sorted(table.rows()) == expected
    bench.expect("t", expected)
    bench.delete("t", "id % 5 = 0")
    expected = [row for row in expected if row[0] % 5]
    assert sorted(table.rows()) == expected
    table.compact(full=True)
    bench.expect("t", expected)
    bench.delete("t", "id = 1")
    assert sorted(table.rows()) == [row for row in expected if row[0] != 1]
    assert bench.files("t") >= bench.named_files("t")
    assert not list(Path(bench.folder).rglob("index/index-*"))
