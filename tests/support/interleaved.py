"""A store in which something happens right before its n-th write."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.storage.file_publisher import FilePublisher, Published


class Interleaving:
    """A publisher that calls somebody once, before the write of that number; 0 is the first.

    Attributes:
        writes: How many there were so far.
    """

    def __init__(self, inner: FilePublisher, number: int, happens: Callable[[], object]) -> None:
        self._inner = inner
        self._number = number
        self._happens = happens
        self.writes = 0

    def publish(self, path: str, data: bytes) -> Published:
        self._count()
        return self._inner.publish(path, data)

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        self._count()
        return self._inner.publish_in_order(files, when_named)

    def replace_hint(self, path: str, data: bytes) -> bool:
        return self._inner.replace_hint(path, data)

    def replace(self, path: str, data: bytes) -> bool:
        return self._inner.replace(path, data)

    def _count(self) -> None:
        self.writes += 1
        if self.writes == self._number + 1:
            self._happens()


def interleaved(
    store: CommitStore, number: int, happens: Callable[[], object]
) -> tuple[CommitStore, Interleaving]:
    """Return a store with such a publisher, and the publisher."""
    publisher = Interleaving(store.publisher, number, happens)
    return replace(store, publisher=publisher), publisher
