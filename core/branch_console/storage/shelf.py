"""Answers that need not be worked out twice, kept by whoever owns the shelf."""

import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Shelf(Generic[_K, _V]):
    """Keeps the answers that were put last; several threads may use it at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[_K, _V] = {}
        self._changing = threading.Lock()

    def find(self, key: _K) -> _V | None:
        """Return the answer to a question, None where it is not kept."""
        return self._kept.get(key)

    def put(self, key: _K, answer: _V) -> None:
        """Keep an answer, and forget the oldest where there are too many."""
        with self._changing:
            self._kept[key] = answer
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
