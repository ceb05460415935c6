"""Index files beside data files, and files outside the table, expire as Java expires them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interop.test_expire_snapshots import age_by_hours, expire, files
from tests.support.java_paimon import JavaPaimon, JavaTable

pytestmark = [pytest.mark.shared_cells, pytest.mark.depth("full")]

_NAME = "db.t"
_COLUMNS = {"id": "INT", "name": "STRING", "pt": "INT"}
_LIMITS = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "1",
    "snapshot.time-retained": "1 ms",
}
_BESIDE = {"index-file-in-data-file-dir": "true"}
_KEPT = {"snapshot.num-retained.min": "100", "snapshot.expire.limit": "1"}


def vectors(java: JavaPaimon, **options: str) -> JavaTable:
    """Deletion vectors of two partitions, written again by each compaction."""
    given = {"bucket": "1", "deletion-vectors.enabled": "true", **_KEPT, **options}
    table = java.create_table(
        _NAME, _COLUMNS, primary_keys=["id", "pt"], partition_keys=["pt"], options=given
    )
    for number in range(4):
        table.write([(number, "ada", 1), (9, f"name {number}", 2), (8 + number % 2, "eve", 1)])
        table.compact(full=number == 0)
    return table


def hashes(java: JavaPaimon, **options: str) -> JavaTable:
    """The index of dynamic buckets."""
    given = {"bucket": "-1", **_KEPT, **options}
    table = java.create_table(_NAME, _COLUMNS, primary_keys=["id"], options=given)
    for number in range(3):
        table.write([(number, "ada", 1), (9, f"name {number}", 2)])
    table.compact()
    return table


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (vectors, _BESIDE),
        pytest.param(hashes, _BESIDE, marks=pytest.mark.depth("long")),
        pytest.param(vectors, {}, marks=pytest.mark.depth("long")),
    ],
)
def test_index_files_go_as_java_lets_them_go(
    build: Callable[..., JavaTable],
    options: dict[str, str],
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
) -> None:
    table = build(open_java(tmp_path / "made"), **options)
    rows = sorted(table.rows(), key=repr)
    age_by_hours(tmp_path / "made")
    before = files(tmp_path / "made")
    is_beside = [name for name in before if "/bucket-" in name and "/index-" in name]
    assert bool(is_beside) == bool(options)
    for side in ("java", "ours"):
        shutil.copytree(tmp_path / "made", tmp_path / side)
    removed = open_java(tmp_path / "java").table(_NAME).expire(_LIMITS)
    receipt = expire(tmp_path / "ours", _LIMITS)
    assert receipt.counts.snapshots_removed == removed > 0
    left = files(tmp_path / "ours")
    assert left == files(tmp_path / "java")
    assert len(left) < len(before)
    assert sorted(open_java(tmp_path / "ours").table(_NAME).rows(), key=repr) == rows


def test_what_lies_outside_the_warehouse_stays_and_nothing_fails(
    open_java: Callable[[Path], JavaPaimon],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    table = vectors(
        open_java(tmp_path / "ours"),
        **{
            "data-file.external-paths": f"file://{outside}",
            "data-file.external-paths.strategy": "round-robin",
        },
    )
    rows = sorted(table.rows(), key=repr)
    age_by_hours(tmp_path / "ours")
    kept = {path for path in outside.rglob("*") if path.is_file()}
    receipt = expire(tmp_path / "ours", _LIMITS)
    assert receipt.counts.snapshots_removed > 0
    assert {path for path in outside.rglob("*") if path.is_file()} == kept
    assert sorted(table.rows(), key=repr) == rows
