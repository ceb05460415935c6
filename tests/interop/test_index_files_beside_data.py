"""Tables whose deletion vectors Paimon keeps beside data files, merged by us."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import COPIED, SHARED, MergeBench, three_way

_BESIDE = {"index-file-in-data-file-dir": "true", "deletion-vectors.enabled": "true"}


@pytest.mark.shared_cells
@pytest.mark.depth("full")
@pytest.mark.parametrize(
    "sharing",
    [
        pytest.param(SHARED, id="shared", marks=pytest.mark.depth("long")),
        pytest.param(COPIED, id="copied"),
    ],
)
def test_a_merge_finds_deletion_vectors_beside_data_files(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path, sharing: dict[str, str]
) -> None:
    options = {**sharing, **_BESIDE}
    options.pop("write-only", None)
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, partitioned=True, options=options)
    bench.insert("main", 1, 2, 5, 6)
    base = bench.rows["main"]
    bench.branch("dev")
    bench.insert("dev", 9, 10, amount=2)
    bench.insert("dev", 1, amount=3)
    bench.insert("main", 3, 4, amount=4)
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check()
    bench.go_on()
    assert not list(tmp_path.rglob("index/index-*"))
