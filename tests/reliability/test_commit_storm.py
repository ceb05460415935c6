"""R4: many processes commit to one table at once, and every commit stands once (C01-C03)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.commit.commit_store import CommitStore
from core.commit.schema_commit import create_table, new_schema
from core.format.identifier import Identifier
from core.storage.file_io import FileIO
from core.storage.table_paths import TablePaths
from core.table.file_store_table import FileStoreTable
from tests.support.commit_tables import COLUMNS
from tests.support.requirements import need_s3_server
from tests.support.s3_server import S3Server, running_s3_server
from tests.support.storm import Task, check_history, run_storm

_TABLE = "db.db/t"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3_server(need_s3_server(), tmp_path_factory.mktemp("s3") / "server") as running:
        yield running


def make_table(task: Task) -> None:
    file_io = FileIO.for_url(task.url, task.options)
    keys = ["pt"] if task.partitioned else []
    schema = new_schema(COLUMNS, partition_keys=keys)
    paths = TablePaths(table=f"{file_io.root}/{task.table}")
    create_table(CommitStore.of(file_io), paths, schema)


def open_table(task: Task) -> FileStoreTable:
    file_io = FileIO.for_url(task.url, task.options)
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


@pytest.mark.parametrize(("queues", "commits"), [(True, 200), (False, 50)])
def test_of_eight_processes_no_commit_is_lost_doubled_or_failed(
    tmp_path: Path, seed: int, examples: Callable[[int], int], queues: bool, commits: int
) -> None:
    # Without the queue only the publish itself keeps them apart.
    task = Task(
        url=str(tmp_path),
        table=_TABLE,
        number=0,
        commits=examples(commits),
        seed=seed,
        queues=queues,
    )
    storm(task, processes=8)


def test_on_an_object_store_neither(
    server: S3Server, seed: int, examples: Callable[[int], int]
) -> None:
    task = Task(
        url=f"{server.make_bucket('storm')}/wh",
        table=_TABLE,
        number=0,
        commits=examples(25),
        seed=seed,
        options=server.options,
    )
    storm(task, processes=8)
