"""R4: many processes commit to one table at once, and every commit stands once (C01-C03)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tests.support.plain_store  # noqa: F401 - its scheme
from branch_console.commit.schema.schema_commit import create_table, new_schema
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.format.values.binary_row import encode_row
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.history_check import find_lost_commits
from tests.support.commit_tables import COLUMNS
from tests.support.examples import Examples
from tests.support.requirements import need_java_paimon, need_pypaimon
from tests.support.store_servers import StoreServer
from tests.support.storm import Task, check_history, run_storm

_TABLE = "db.db/t"


# Who does not queue loses many tries, and each doubles the wait for the next.
_PATIENT = {"commit.max-retries": "1000", "commit.max-retry-wait": "100 ms"}


def make_table(task: Task) -> None:
    options = {} if task.queues else _PATIENT
    if task.partitioned:
        # Others do not queue, and they, too, are to leave all snapshots where they are.
        options = {"write-only": "true", "snapshot.num-retained.min": "100000", **_PATIENT}
    warehouse = Warehouse.open(task.url, store_options=task.options)
    warehouse.check_writable()
    keys = ["pt"] if task.partitioned else []
    schema = new_schema(COLUMNS, partition_keys=keys, options=options)
    paths = TablePaths(table=f"{warehouse.file_io.root}/{task.table}")
    create_table(warehouse.store, paths, schema)


def open_table(task: Task) -> FileStoreTable:
    file_io = Warehouse.open(task.url, store_options=task.options, read_only=True).file_io
    path = f"{file_io.root}/{task.table}"
    return FileStoreTable.open(file_io, path, Identifier(database="db", table="t"))


def storm(task: Task, processes: int) -> None:
    """Run the task in that many processes, and check every commit."""
    make_table(task)
    tasks = [replace(task, number=each, seed=task.seed + each) for each in range(processes)]
    over = run_storm(tasks)
    print(over.describe())
    assert over.failed == []
    table = open_table(task)
    check_history(table, over.told)
    head = table.head()
    assert head is not None
    names = table.live_files(head)["file_name"].to_pylist()
    assert sorted(names) == sorted(
        f"data-{each.number}-{number}.parquet" for each in tasks for number in range(each.commits)
    )


@pytest.mark.parametrize(
    ("queues", "commits"),
    [(True, {"full": 50, "quick": 10, "long": 20_000}), (False, {"full": 15, "long": 1_500})],
    ids=["queue", "publish"],
)
def test_of_many_processes_no_commit_is_lost_doubled_or_failed(
    tmp_path: Path, seed: int, examples: Examples, queues: bool, commits: dict[str, int]
) -> None:
    # Without the queue only the publish itself keeps them apart.
    task = Task(
        url=str(tmp_path),
        table=_TABLE,
        number=0,
        commits=examples(**commits),
        seed=seed,
        queues=queues,
    )
    storm(task, processes=4 if examples.depth == "quick" else 8)


@pytest.mark.depth("full")
def test_on_a_store_that_overwrites_neither_under_claims(
    tmp_path: Path, seed: int, examples: Examples
) -> None:
    task = Task(
        url=f"plain://{tmp_path}/wh",
        table=_TABLE,
        number=0,
        commits=examples(25, long=5_000),
        seed=seed,
        queues=False,
        options={"claims": f"sqlite:///{tmp_path}/claims.sqlite"},
    )
    storm(task, processes=4)


@pytest.mark.depth("full")
@pytest.mark.parametrize(
    ("kind", "processes", "commits", "at_night"),
    [
        ("s3", 6, 10, 20_000),
        pytest.param("gcs", 3, 6, 1_500, marks=pytest.mark.depth("long")),
        pytest.param("azure", 3, 10, 1_500, marks=pytest.mark.depth("long")),
        pytest.param("hdfs", 2, 5, 500, marks=pytest.mark.depth("long")),
    ],
)
def test_on_an_object_store_neither(
    store_server: Callable[[str], StoreServer],
    seed: int,
    examples: Examples,
    kind: str,
    processes: int,
    commits: int,
    at_night: int,
) -> None:
    server = store_server(kind)
    task = Task(
        url=f"{server.make_bucket('storm')}/wh",
        table=_TABLE,
        number=0,
        commits=examples(commits, long=at_night),
        seed=seed,
        options=server.options,
    )
    storm(task, processes)


@pytest.mark.depth("full")
def test_beside_writers_that_rename_ours_lose_nothing_and_theirs_are_found(
    tmp_path: Path, seed: int, examples: Examples
) -> None:
    # They look whether a name is free and then rename: what came in between is replaced.
    need_java_paimon("1.4.2")
    ours = Task(
        url=str(tmp_path),
        table=_TABLE,
        number=0,
        commits=examples(8, long=5_000),
        seed=seed,
        partitioned=True,
    )
    make_table(ours)
    tasks = [replace(ours, number=each, seed=seed + each) for each in range(4)]
    pypaimon = replace(ours, writer="storm_pypaimon", python=str(need_pypaimon()))
    tasks += [replace(pypaimon, number=each, seed=seed + each) for each in (4, 5)]
    tasks += [replace(ours, writer="storm_java", number=each) for each in (6, 7)]
    over = run_storm(tasks)
    print(over.describe())
    own = [each for each in over.told if each.user in {task.user for task in tasks[:4]}]
    assert [each.error for each in own if each.error] == []

    table = open_table(ours)
    head = table.head()
    assert head is not None
    assert [each.id for each in table.snapshots.all()] == list(range(1, head.id + 1))
    live = table.live_files(head)
    held = {partition: rows_of(live, partition) for partition in range(8)}
    assert [held[number] for number in range(4)] == [ours.commits] * 4

    lost = find_lost_commits(table, made_before_millis=2**62).commits
    found = without_live([each.files for each in lost], live)
    for task in tasks[4:]:
        told = [each for each in over.told if each.user == task.user and each.error is None]
        missing = len(told) - held[task.number]
        print(f"{task.writer} {task.number}: {len(told)} told that they stand, {missing} lost")
        assert rows_of(found, task.number) >= missing
    assert rows_of(found, 0) == rows_of(found, 1) == rows_of(found, 2) == rows_of(found, 3) == 0


def rows_of(files: pa.Table, partition: int) -> int:
    """How many files are of the partition; each holds a commit."""
    return int(pc.sum(pc.equal(files["partition"], encode_row([partition], [INT]))).as_py() or 0)


def without_live(tables: Sequence[pa.Table], live: pa.Table) -> pa.Table:
    """Each file once that is in the tables and not live."""
    files = pa.concat_tables([live.slice(0, 0), *tables])
    gone = files.filter(pc.invert(pc.is_in(files["identity"], value_set=live["identity"])))
    names = gone["identity"].to_pylist()
    return gone.take([names.index(each) for each in sorted(set(names))])
