"""Answers that need not be worked out twice, kept by whoever owns the shelf."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Shelf(Generic[_K, _V]):
    """Keeps the answers that were used last; several threads may use it at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[_K, _V] = OrderedDict()
        self._changing = threading.Lock()

    def find(self, key: _K) -> _V | None:
        """Return the answer to a question, None if it is not kept."""
        with self._changing:
            answer = self._kept.get(key)
            if answer is not None:
                self._kept.move_to_end(key)
            return answer

    def put(self, key: _K, answer: _V) -> None:
        """Keep an answer, and forget the one used longest ago where there are too many."""
        with self._changing:
            self._kept[key] = answer
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
