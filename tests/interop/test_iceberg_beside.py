"""Tables for which real Paimon writes Iceberg metadata beside each commit."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, Refused
from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import SHARED, MergeBench, three_way

_ICEBERG = {"metadata.iceberg.storage": "table-location"}


def test_a_merge_leaves_no_iceberg_table_behind_without_a_word(
    open_java: Callable[[Path], JavaPaimon], tmp_path: Path
) -> None:
    bench = MergeBench(open_java(tmp_path), tmp_path, options={**SHARED, **_ICEBERG})
    bench.insert("main", 1, 2)
    base = bench.rows["main"]
    bench.branch("dev")
    bench.insert("dev", 3)
    bench.insert("main", 4)
    told = _told_of(tmp_path)
    assert told
    with pytest.raises(Refused, match=r"metadata\.iceberg\.storage") as refused:
        bench.call("merge_branch", branch="dev", plan_id=bench.plan().id)
    assert refused.value.kind is ErrorKind.UNSUPPORTED

    plan = bench.plan()
    bench.call("merge_branch", branch="dev", plan_id=plan.id, without_callbacks="not read")
    bench.rows["main"] = three_way(base, bench.rows["main"], bench.rows["dev"])
    bench.check()
    assert _told_of(tmp_path) == told
    # Paimon's next commit brings it up to date.
    bench.insert("main", 5)
    assert _told_of(tmp_path) > told


def _told_of(folder: Path) -> int:
    """The newest snapshot that Iceberg metadata tells of."""
    files = folder.rglob("metadata/v*.metadata.json")
    return max((int(path.name.split(".")[0][1:]) for path in files), default=0)
