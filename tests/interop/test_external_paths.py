"""Tables whose data files real Paimon writes outside the table, merged and moved by us."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.java_paimon import JavaPaimon
from tests.support.merge_bench import COPIED, SHARED, MergeBench, three_way

Open = Callable[[Path], JavaPaimon]


def _outside(folder: Path) -> dict[str, str]:
    return {
        "data-file.external-paths": f"file://{folder}",
        "data-file.external-paths.strategy": "round-robin",
    }


@pytest.mark.shared_cells
@pytest.mark.parametrize("sharing", [SHARED, COPIED], ids=["shared", "copied"])
@pytest.mark.parametrize(
    ("keyed", "more"),
    [(False, {}), (True, {}), (True, {"deletion-vectors.enabled": "true"})],
    ids=["append", "keyed", "deletion vectors"],
)
def test_a_merge_finds_files_outside_the_table(
    open_java: Open,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    sharing: dict[str, str],
    keyed: bool,
    more: dict[str, str],
) -> None:
    place = tmp_path_factory.mktemp("outside")
    options = {**sharing, **more, **_outside(place)}
    if "deletion-vectors.enabled" in more:
        options.pop("write-only", None)
    bench = MergeBench(
        open_java(tmp_path), tmp_path, keyed=keyed, partitioned=True, options=options
    )
    bench.insert("main", 1, 2, 5, 6)
    base = bench.rows["main"]
    bench.branch("dev")
    bench.insert("dev", 9, 10, amount=2)
    if keyed:
        bench.insert("dev", 1, amount=3)
    bench.insert("main", 3, 4, amount=4)
    assert {path.name for path in place.rglob("data-*")}
    bench.merge(rows=three_way(base, bench.rows["main"], bench.rows["dev"]))
    bench.check()
    bench.go_on()


def test_a_fast_forward_finds_them_too(
    open_java: Open, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = {**SHARED, **_outside(tmp_path_factory.mktemp("outside"))}
    bench = MergeBench(open_java(tmp_path), tmp_path, keyed=True, options=options)
    bench.insert("main", 1, 2)
    bench.branch("dev")
    bench.insert("dev", 3)
    bench.call("fast_forward", branch="dev")
    bench.rows["main"] = bench.rows["dev"]
    bench.check()
    bench.go_on()
