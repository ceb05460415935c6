"""Questions that need not wait for each other: asked at once where the store is far away."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from threading import Thread
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from branch_console.storage.file_io import FileReader

_T = TypeVar("_T")
_R = TypeVar("_R")

_log = logging.getLogger(__name__)
_AT_ONCE: Final = 16
_MANY: Final = 32
_PATIENCE_SECONDS: Final = 1.0


def map_parallel(files: FileReader, call: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    """Return the results of a call for each item, in their order.

    Where the store is near one follows the other, as starting a thread takes longer than to ask.
    """
    if files.is_local or len(items) < 2:
        return [call(item) for item in items]
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return list(pool.map(_in_this_context(call), items))


def many_side_by_side(call: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
    """Return the results of a call for many items, in their order, run at once in any store.

    This is for changes, which may wait on a local disk too. While others write to the disk,
    removing one file takes a hundred times as long as usual, and removing sixteen at once as long
    as one.
    """
    if len(items) < _MANY:
        return [call(item) for item in items]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        shares = [items[start::_AT_ONCE] for start in range(_AT_ONCE)]
        found = list(pool.map(lambda share: [call(item) for item in share], shares))
    return [found[place % _AT_ONCE][place // _AT_ONCE] for place in range(len(items))]


def both(files: FileReader, one: Callable[[], _T], other: Callable[[], _R]) -> tuple[_T, _R]:
    """Return the results of two calls; near the store the second one follows the first."""
    if files.is_local:
        return one(), other()
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(copy_context().run, other)
        return one(), started.result()


class Asking(Protocol):
    """Asks, and hands out where the answer will be; it is there once the asking is over."""

    def __call__(self, call: Callable[[], _T]) -> Future[_T]:
        """The result of the call, or its error."""


@contextmanager
def asking(files: FileReader) -> Iterator[Asking]:
    """Ask what need not wait for each other; where the store is near one follows the other."""
    if files.is_local:
        yield _asked_at_once
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:

        def ask(call: Callable[[], _T]) -> Future[_T]:
            return pool.submit(copy_context().run, call)

        yield ask


def aside(call: Callable[[], _T]) -> Callable[[], _T | None]:
    """Ask for what is good to know and nobody depends on, such as help beside an error.

    Returns:
        What hands the result out: None if the call failed, or is not done a second later.
    """
    results: list[_T] = []

    def ask() -> None:
        try:
            results.append(call())
        except Exception:
            # Whatever went wrong here must not take the place of what is being told.
            _log.debug("What was asked aside cannot be told", exc_info=True)

    # A daemon, which unlike the threads of a pool does not keep a process from ending.
    asking = Thread(target=ask, daemon=True)
    asking.start()

    def result() -> _T | None:
        asking.join(_PATIENCE_SECONDS)
        return results[0] if results else None

    return result


def _in_this_context(call: Callable[[_T], _R]) -> Callable[[_T], _R]:
    """Return the call for other threads, in which context variables are as they are in this one."""
    context = copy_context()
    # Only one thread at a time can be in a context.
    return lambda item: context.copy().run(call, item)


def _asked_at_once(call: Callable[[], _T]) -> Future[_T]:
    answer: Future[_T] = Future()
    answer.set_result(call())
    return answer
