"""A commit of which something happens right before its snapshot is published."""

from collections.abc import Callable

from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.storage.file_publisher import FilePublisher, Published, in_order
from tests.support.commit_tables import CommitBench


class Meddler:
    """A publisher that does something to the first publishes of a snapshot."""

    def __init__(
        self, inner: FilePublisher, answers: list[Callable[[str, bytes], Published]]
    ) -> None:
        self.inner = inner
        self.answers = answers

    def publish(self, path: str, data: bytes) -> Published:
        if "/snapshot/snapshot-" in path and self.answers:
            return self.answers.pop(0)(path, data)
        return self.inner.publish(path, data)

    def publish_in_order(
        self, files: list[tuple[str, bytes]], _when_named: object = None
    ) -> list[Published]:
        return in_order(self.publish, files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        return self.inner.replace_hint(path, data)

    def replace(self, path: str, data: bytes) -> bool:
        return self.inner.replace(path, data)


def meddled(
    bench: CommitBench, *answers: Callable[[str, bytes], Published], branch: str = "main"
) -> FileStoreCommit:
    """Who commits to a branch; each answer stands for one publish of a snapshot."""
    store = CommitStore(
        files=bench.store.files,
        publisher=Meddler(bench.store.publisher, list(answers)),
        remover=bench.store.remover,
        mover=bench.store.mover,
    )
    return FileStoreCommit(bench.table(branch), store, sleep=lambda _: None, queue=NoQueue())
