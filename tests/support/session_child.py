"""A process with a Spark session of its own: `python -m tests.support.session_child`.

Arguments: the address of a Spark Connect server or of a cluster's master, and a folder that all
nodes see. What it found comes as one line of JSON, by the names of its parts. PySpark is either
classic or Connect for as long as a process lives, and has one session, so that a second one needs a
process.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from branch_console.commit.journal import Journal
from branch_console.errors import PaimonError
from branch_console.spark.connector.data_source import FORMAT, register
from branch_console.spark.files.verify_files import verify_data_files
from branch_console.spark.read.readers import read_table
from branch_console.spark.session.session import SparkSettings, WarmSession, open_session
from branch_console.table.file_checks import FILES_TO_VERIFY
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState
from tests.support.source_roots import python_path
from tests.support.statements import Statements
from tests.support.write_bench import WriteBench
from tests.support.write_child import when_files_come
from tests.support.write_contest import count_up, make_counter

_BOUND_SECONDS: Final = 480
_PROJECT: Final = Path(__file__).parents[2]
_COLUMNS: Final = {"id": "INT NOT NULL", "name": "VARCHAR(8)", "at": "TIMESTAMP_LTZ(6)"}
_KEYED: Final = {"primary_keys": ("id",)}
_TABLES: Final[dict[str, dict[str, Any]]] = {
    "marked": {"options": {"deletion-vectors.enabled": "true"}},
    "keyed": {**_KEYED, "options": {"bucket": "2"}},
}
_CHANGED: Final = [[1, "two", 0], [3, "three", 30], [4, "four", 60]]
_WRONG: Final = (
    "UPDATE db.keyed SET ^name = 'far too long'",
    "MERGE INTO db.marked t USING db.keyed s ON t.id = ^s.i WHEN MATCHED THEN DELETE",
    "MERGE INTO ^db.marked t USING (VALUES (1), (1)) AS s (id) ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET name = 'x'",
    "INSERT INTO ^db.marked VALUES (NULL, 'x', NULL)",
)
_ROWS: Final = 100_000
COUNTER_IS_THERE: Final = "counter-is-there"
COUNTS: Final = 5
"""How often the client of a server counts up, once a file of that name stands in the folder."""

_ANYWHERE: Final[dict[str, Any]] = {
    "counted": 6,
    "told": True,
    "cancelled": "CANCELLED",
    "goes on": 3,
    "failed": "Spark could not fill: ValueError: this bucket has no bottom. "
    "The worker's log has more.",
    "empty": [],
    "stopped": ["CANCELLED", "nothing left"],
}
ON_A_SERVER: Final[dict[str, Any]] = {
    **_ANYWHERE,
    "changed": dict.fromkeys(_TABLES, _CHANGED),
    "wrong": dict.fromkeys(_WRONG, "told"),
    "format": [4, 12],
    "verified": True,
}
"""What the process says of Spark Connect where all is well."""

ON_A_CLUSTER: Final[dict[str, Any]] = {
    **_ANYWHERE,
    "changed": {"keyed": _CHANGED},
    "killed": [_ROWS, "nothing left"],
}
"""What it says of a cluster."""


def other_session(address: str, folder: Path) -> dict[str, Any]:
    """Run the process, and return what it found."""
    paths = os.pathsep.join([python_path(), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.session_child", address, str(folder)],
        env={**os.environ, "PYTHONPATH": paths, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=_PROJECT,
        capture_output=True,
        text=True,
        timeout=_BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _slowly(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        time.sleep(0.2)
        yield batch


def _broken(batches: Iterator[Any]) -> Iterator[Any]:
    raise ValueError("this bucket has no bottom")
    yield from batches


def _runs(session: WarmSession) -> dict[str, Any]:
    """Runs are counted, stopped, and told by the reason they fail for."""
    told: list[tuple[int, int | None]] = []
    frame = session.spark.range(0, 6, 1, 6).mapInArrow(_slowly, "id long")
    rows = session.run(
        lambda _: frame.count(), description="count", progress=lambda *c: told.append(c)
    )
    found: dict[str, Any] = {"counted": rows, "told": told[-1][1] is not None}
    threading.Timer(0.3, session.cancel).start()
    try:
        session.run(lambda _: frame.count(), description="count")
    except PaimonError as error:
        found["cancelled"] = error.kind
    found["goes on"] = session.run(lambda spark: spark.range(3).count(), description="count")
    try:
        session.run(
            lambda spark: spark.range(1).mapInArrow(_broken, "id long").count(), description="fill"
        )
    except PaimonError as error:
        found["failed"] = error.message
    return found


def _statements(sql: Statements, names: Collection[str]) -> dict[str, Any]:
    """Each kind of table is written and changed by each statement."""
    changed: dict[str, Any] = {}
    empty = []
    for name in names:
        sql.create(name, _COLUMNS, **_TABLES[name])
        empty += sql.rows(f"SELECT id FROM db.{name}")
        sql(
            f"INSERT INTO db.{name} VALUES (1, 'one', timestamp'1970-01-01 00:00'), "
            "(2, 'two', NULL), (3, 'three', timestamp_seconds(30))"
        )
        sql(f"UPDATE db.{name} SET name = 'two' WHERE id = 1; DELETE FROM db.{name} WHERE id = 2")
        sql(
            f"MERGE INTO db.{name} t USING (SELECT id + 1 AS id, 'four' AS name, "
            f"timestamp_seconds(60) AS at FROM db.{name}) s ON t.id = s.id AND t.id < 2 "
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s.id > 3 THEN INSERT *"
        )
        rows = sql.rows(f"SELECT id, name, unix_seconds(at) FROM db.{name} ORDER BY id")
        changed[name] = [list(row) for row in rows]
    return {"empty": empty, "changed": changed}


def _refused(sql: Statements, text: str) -> str:
    try:
        sql.refused(text)
    except (AssertionError, PaimonError) as error:
        return f"{type(error).__name__}: {error}"
    return "told"


def _format(bench: WriteBench) -> list[int]:
    """The format is written and read as it is in a notebook."""
    spark = bench.session.spark
    register(spark)
    bench.create("formatted", {"id": "BIGINT NOT NULL"}, **_KEYED, options={"bucket": "2"})
    where = {"warehouse": str(bench.folder), "table": "db.formatted"}
    spark.range(0, 12, 1, 2).write.format(FORMAT).mode("append").options(**where).save()
    read = spark.read.format(FORMAT).options(**where).load()
    return [read.where("id < 4").count(), read.count()]


def _is_verified(bench: WriteBench) -> bool:
    """A file whose rows are not those that were written is found."""
    table = bench.open("keyed")
    files = table.live_files(table.head())  # type: ignore[arg-type]
    listed = [
        {
            "path": table.data_paths().data_file("", each["bucket"], each["file_name"]),
            "size": each["file_size"],
            "row_count": each["row_count"] + 1,
        }
        for each in files.to_pylist()
    ]
    wrong = pa.Table.from_pylist(listed, schema=FILES_TO_VERIFY)
    found = verify_data_files(lambda: bench.session, bench.warehouse.file_io, wrong)
    return bool(listed) and found.num_rows == len(listed)


def _stopped(bench: WriteBench) -> list[str]:
    """A write that is cancelled on its way leaves no file and no entry of the journal."""
    table = bench.create("stopped", {"id": "BIGINT", "name": "STRING"})
    frame = bench.session.spark.range(0, 50_000_000, 1, 16).selectExpr(
        "id", "sha2(cast(id as string), 512) as name"
    )

    def stop(done: int, total: int | None) -> None:
        if total:
            bench.session.cancel()

    try:
        bench.insert("stopped", frame, progress=stop)
    except PaimonError as error:
        return [error.kind, _left(bench, table)]
    return ["not cancelled"]


def _killed(bench: WriteBench) -> list[Any]:
    """An executor is killed while its tasks write: others do their work, and nothing is left."""
    columns = {"id": "BIGINT NOT NULL", "name": "STRING"}
    table = bench.create("killed", columns, **_KEYED, options={"bucket": "16"})
    spark = bench.session.spark
    (row,) = spark.range(1).mapInArrow(_executor, "executor long").collect()
    when_files_come(Path(table.paths.table), lambda: os.kill(row[0], signal.SIGKILL))
    frame = spark.range(0, _ROWS, 1, 2).selectExpr("id", "sha2(cast(id as string), 256) as name")
    bench.insert("killed", frame)
    assert not Path(f"/proc/{row[0]}").exists()
    rows = read_table(spark, bench.warehouse.file_io, ReadState.as_it_is(table))
    return [rows.select("id").distinct().count(), _left(bench, table)]


def _executor(batches: Iterator[Any]) -> Iterator[Any]:
    # A worker is a child of a daemon, and that of the executor.
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    parent = int(re.search(r"PPid:\s*(\d+)", status)[1])  # type: ignore[index]
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"executor": [parent]})


def _left(bench: WriteBench, table: FileStoreTable) -> str:
    name = table.identifier.table
    files = bench.files(name) - bench.named_files(name)
    open_writes = Journal(bench.warehouse.store, table.paths).unfinished()
    return f"left {files or open_writes}" if files or open_writes else "nothing left"


def main(address: str, folder: str) -> None:
    """Run all parts, and print what they found."""
    is_remote = address.startswith("sc://")
    settings = (
        SparkSettings(remote=address)
        if is_remote
        else SparkSettings(master=address, memory="1g", cache=Path(folder) / "cache")
    )
    session = open_session(settings)
    try:
        warehouse = Path(folder) / "warehouse"
        bench, sql = WriteBench(folder=warehouse, session=session), Statements(session, warehouse)
        found = {**_runs(session), "stopped": _stopped(bench)}
        if is_remote:
            found |= _statements(sql, _TABLES)
            found |= {"wrong": {text: _refused(sql, text) for text in _WRONG}}
            found |= {"format": _format(bench), "verified": _is_verified(bench)}
            make_counter(bench, **_TABLES["keyed"])
            (Path(folder) / COUNTER_IS_THERE).touch()
            found |= {"counted up": count_up(bench, COUNTS)}
        else:
            found |= {**_statements(sql, ["keyed"]), "killed": _killed(bench)}
        print(json.dumps(found))
    finally:
        session.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
