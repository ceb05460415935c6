"""Tables whose data files real Paimon writes outside the table, merged and moved by us."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.maintenance.named_files import DATA_RANK, RELEASED_FILES
from branch_console.maintenance.trash import Trash
from tests.support.command_line import CommandLine
from tests.support.java_paimon import JavaPaimon
from tests.support.jobs_at_once import run_jobs_at_once
from tests.support.local_row_engine import LocalFiles
from tests.support.merge_bench import COPIED, NAME, SHARED, MergeBench, three_way

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


def test_a_lost_file_outside_the_table_is_not_looked_for_in_a_trash_whose_list_is_torn(
    open_java: Open,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for setting in ("STATE_DIR", "CACHE_DIR"):
        monkeypatch.setenv(f"BRANCH_CONSOLE_{setting}", str(tmp_path / setting))
    monkeypatch.setenv("BRANCH_CONSOLE_ROLE", "operator")
    # Its path begins with that of the table, and lies in another folder.
    place = tmp_path / "db.db" / "t-outside"
    bench = MergeBench(open_java(tmp_path), tmp_path, options={**SHARED, **_outside(place)})
    bench.insert("main", 1, 2)
    bench.insert("main", 3, 4)
    orphan = tmp_path / "db.db" / "t" / "bucket-0" / "data-orphan-0.parquet"
    orphan.parent.mkdir(parents=True, exist_ok=True)
    orphan.write_bytes(b"rows")
    warehouse = bench.warehouse()
    trash = Trash(table=warehouse.table(NAME), store=warehouse.store, operation_id="cleaning")
    row = {"path": str(orphan), "file_size": 4, "rank": DATA_RANK, "name": 1}
    trash.note(pa.Table.from_pylist([row], schema=RELEASED_FILES))
    trash.put([str(orphan)])
    (listed,) = Path(trash.folder).parent.glob("*.arrow")
    listed.write_bytes(b"")
    lost = sorted(place.rglob("data-*"))[0]
    lost.unlink()
    run_jobs_at_once(monkeypatch, bench.warehouse, lambda _: LocalFiles())
    console = CommandLine(tmp_path, capsys)
    (table,) = console("doctor", NAME, "--deep", "--json").document["tables"]
    (finding,) = [each for each in table["findings"] if each["rule"] == "F20"]
    assert lost.name in str(finding["evidence"])
    assert "by hand" not in finding["advice"]
    (remedy,) = finding["remedies"]
    assert console("sql", remedy["sql"]).code == 0
    assert len(bench.table().rows()) == 2
