"""A store in which something happens right before its n-th write."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.storage.file_publisher import FilePublisher, Published


class Interleaving:
    """A publisher that calls somebody once, before the write of that number; 0 is the first.

    It also tells somebody the path of each file before that is written.

    Attributes:
        writes: How many there were so far.
    """

    def __init__(
        self,
        inner: FilePublisher,
        number: int,
        happens: Callable[[], object],
        before_write: Callable[[str], object],
    ) -> None:
        self._inner = inner
        self._number = number
        self._happens = happens
        self._before_write = before_write
        self.writes = 0

    def publish(self, path: str, data: bytes) -> Published:
        self._count(path)
        return self._inner.publish(path, data)

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        self._count(*(path for path, _ in files))
        return self._inner.publish_in_order(files, when_named)

    def replace_hint(self, path: str, data: bytes) -> bool:
        return self._inner.replace_hint(path, data)

    def replace(self, path: str, data: bytes) -> bool:
        return self._inner.replace(path, data)

    def _count(self, *paths: str) -> None:
        self.writes += 1
        for each in paths:
            self._before_write(each)
        if self.writes == self._number + 1:
            self._happens()


def interleaved(
    store: CommitStore,
    number: int,
    happens: Callable[[], object],
    before_write: Callable[[str], object] = lambda _: None,
) -> tuple[CommitStore, Interleaving]:
    """Return a store with such a publisher, and the publisher."""
    publisher = Interleaving(store.publisher, number, happens, before_write)
    return replace(store, publisher=publisher), publisher
