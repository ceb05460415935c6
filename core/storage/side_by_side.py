"""Questions that need not wait for each other: asked at once where the store is far away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from core.storage.file_io import FileReader

_T = TypeVar("_T")
_R = TypeVar("_R")

_AT_ONCE: Final = 16


def each(files: FileReader, call: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    """What a call returns for each item, in their order.

    Where the store is near one follows the other, as starting a thread takes longer than to ask.
    """
    if files.is_local or len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return list(pool.map(call, items))


def both(files: FileReader, one: Callable[[], _T], other: Callable[[], _R]) -> tuple[_T, _R]:
    """What two calls return; where the store is near the second one follows the first."""
    if files.is_local:
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(other)
        return one(), started.result()
