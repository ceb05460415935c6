import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind, PaimonError
from branch_console.spark.session.session import SparkSettings, WarmSession
from tests.support.source_roots import python_path

COUNT_WITHOUT_JAVA = """
import sys
from pathlib import Path
from branch_console.spark.session.session import SparkSettings, open_session

def plus_one(batches):
    import pyarrow as pa
    import pyarrow.compute as pc
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pc.add(batch.column(0), 1)], ["id"])

session = open_session(SparkSettings(master="local[1]", memory="1g", cache=Path(sys.argv[1])))
rows = session.spark.range(1000).mapInArrow(plus_one, "id long")
print(session.run(lambda _: rows.count(), description="count"))
print(session.run(lambda _: rows.agg({"id": "max"}).first()[0], description="take the last"))
session.close()
"""


def wait_a_little(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(0.2)
        yield batch


def slow_count(session: WarmSession) -> Any:
    frame = session.spark.range(0, 40, 1, 40).mapInArrow(wait_a_little, "id long")
    return lambda _: frame.count()


@pytest.mark.depth("full")
def test_a_machine_without_java_counts_rows_with_the_packaged_one(tmp_path: Path) -> None:
    shell = tmp_path / "bin"
    shell.mkdir()
    for tool in ("bash", "sh", "env", "dirname", "ps", "head", "uname", "rm", "cat", "basename"):
        for folder in ("/bin", "/usr/bin"):
            if (Path(folder) / tool).exists() and not (shell / tool).exists():
                (shell / tool).symlink_to(Path(folder) / tool)
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", COUNT_WITHOUT_JAVA, str(tmp_path / "cache")],
        env={"PATH": str(shell), "HOME": str(tmp_path), "PYTHONPATH": python_path()},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["1000", "1000"]
    assert "incubator" not in answer.stderr
    assert list((tmp_path / "cache").glob("java-*/bin/java"))


def test_progress_rises_to_all_tasks(session: WarmSession) -> None:
    told: list[tuple[int, int | None]] = []
    frame = session.spark.range(0, 8, 1, 8).mapInArrow(wait_a_little, "id long")
    rows = session.run(
        lambda _: frame.count(), description="count", progress=lambda *counts: told.append(counts)
    )
    assert rows == 8
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert max(done for done, _ in told) <= 8 + 1


def test_whoever_hears_the_progress_may_stop_the_run(session: WarmSession) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int | None) -> None:
        if done > 1:
            raise Enough

    with pytest.raises(Enough):
        session.run(slow_count(session), description="count", progress=stop)
    assert session.spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_cancel_stops_what_runs_and_the_session_goes_on(session: WarmSession) -> None:
    has_begun = threading.Event()

    def begin(done: int, total: int | None) -> None:
        if done:
            has_begun.set()

    def cancel() -> None:
        has_begun.wait(60)
        session.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(PaimonError) as caught:
        session.run(slow_count(session), description="count", progress=begin)
    canceller.join()
    assert caught.value.kind is ErrorKind.CANCELLED
    assert session.run(lambda spark: spark.range(3).count(), description="count") == 3


def test_a_failed_task_is_told_by_its_reason(session: WarmSession) -> None:
    def refuse(batches: Iterator[Any]) -> Iterator[Any]:
        raise ValueError("this bucket has no bottom")
        yield from batches

    frame = session.spark.range(3).mapInArrow(refuse, "id long")
    with pytest.raises(PaimonError, match="could not fill: ValueError: this bucket has no bottom"):
        session.run(lambda _: frame.count(), description="fill")


def test_the_interface_of_spark_stays_shut(session: WarmSession) -> None:
    assert session.spark.sparkContext.uiWebUrl is None
    assert int(session.spark.conf.get("spark.sql.shuffle.partitions") or 0) <= 8


def test_workers_have_imported_what_tasks_need_before_they_begin(session: WarmSession) -> None:
    def imported(batches: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        list(batches)
        yield pa.RecordBatch.from_pydict({"name": sorted(sys.modules)})

    frame = session.spark.range(1).mapInArrow(imported, "name string")
    names = session.run(lambda _: frame.toArrow(), description="see imports")["name"].to_pylist()
    assert {"pandas", "pyarrow.parquet", "branch_console.spark.engine"} <= set(names)


def test_settings_know_whether_tasks_run_here() -> None:
    assert SparkSettings().is_local
    assert not SparkSettings(master="spark://host:7077").is_local
    assert not SparkSettings(remote="sc://host:15002").is_local
