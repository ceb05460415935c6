"""A process that commits to one table as often as it is told, with a pause before each publish.

Says `ready`, starts at the first line of input, then tells of every commit in a line of JSON.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import tests.support.plain_store  # noqa: F401 - its scheme
from branch_console.commit.base.commit_queue import CommitQueue, NoQueue
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import PaimonError
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.format.values.binary_row import encode_row
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.storage.file_publisher import FilePublisher, Published
from branch_console.table.file_store_table import FileStoreTable
from tests.support.commit_tables import data_files, message
from tests.support.storm import Task


class HesitatingPublisher:
    """Waits a random time before each snapshot, so that others get between look and publish."""

    def __init__(self, inner: FilePublisher, millis: float, rng: random.Random) -> None:
        self._inner = inner
        self._millis = millis
        self._rng = rng

    def publish(self, path: str, data: bytes) -> Published:
        return self.publish_in_order([(path, data)])[0]

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        if any("/snapshot/snapshot-" in path for path, _ in files):
            time.sleep(self._rng.uniform(0, self._millis) / 1000)
        return self._inner.publish_in_order(files, when_named)

    def replace_hint(self, path: str, data: bytes) -> bool:
        return self._inner.replace_hint(path, data)

    def replace(self, path: str, data: bytes) -> bool:
        return self._inner.replace(path, data)


def main() -> None:
    """Carry out the task of the first argument."""
    task = Task.from_json(sys.argv[1])
    warehouse = Warehouse.open(task.url, store_options=task.options)
    warehouse.check_writable()
    rng = random.Random(task.seed)
    hesitating = HesitatingPublisher(warehouse.store.publisher, task.pause_millis, rng)
    store = replace(warehouse.store, publisher=hesitating)
    path = f"{warehouse.file_io.root}/{task.table}"
    table = FileStoreTable.open(store.files, path, Identifier(database="db", table="t"))
    queue: CommitQueue | None = None if task.queues else NoQueue()
    commit = FileStoreCommit(table, store, queue=queue, jitter=rng.random)
    _say("ready")
    sys.stdin.readline()
    for identifier in range(task.commits):
        _say(json.dumps(_tell(commit, task, identifier)))


def _tell(commit: FileStoreCommit, task: Task, identifier: int) -> dict[str, object]:
    partition = encode_row([task.number], [INT]) if task.partitioned else encode_row([], [])
    files = data_files([f"{task.number}-{identifier}"], partition=partition, total_buckets=-1)
    began = time.perf_counter()
    snapshot, error = None, None
    try:
        snapshot = commit.commit(
            [message(partition, new_files=files)], user=task.user, identifier=identifier
        )
    except PaimonError as failure:
        error = f"{failure.kind}: {failure.message}"
    return {
        "identifier": identifier,
        "snapshot_id": snapshot and snapshot.id,
        "uuid": snapshot and snapshot.uuid,
        "millis": (time.perf_counter() - began) * 1000,
        "error": error,
    }


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
