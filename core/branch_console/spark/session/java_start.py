"""Starting Spark's Java: what it prints meanwhile is no part of an answer, unless it fails.

Java warns of its own modules at each start, on the stderr of whoever asked for rows.
"""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_log = logging.getLogger(__name__)
_STDERR: Final = 2
_LAST_WORDS_SECONDS: Final = 1.0


class PrintedLines:
    """The stderr of a process: its lines are kept at first, and passed on once that is said.

    Attributes:
        write_end: The file descriptor to give to the process; close it here afterwards.
    """

    def __init__(self) -> None:
        read_end, self.write_end = os.pipe()
        self._kept: list[bytes] | None = []
        self._lock = threading.Lock()
        self._reading = threading.Thread(target=self._read, args=(read_end,), daemon=True)
        self._reading.start()

    def pass_on(self, *, kept: bool) -> None:
        """Pass on what is printed from now on, and what was `kept` or else only log that."""
        with self._lock:
            for line in self._kept or ():
                if kept:
                    _print(line)
                else:
                    _log.debug("Java: %s", line.decode(errors="replace").rstrip())
            self._kept = None
        if kept:
            self._reading.join(_LAST_WORDS_SECONDS)

    def _read(self, read_end: int) -> None:
        with os.fdopen(read_end, "rb") as source:
            for line in source:
                with self._lock:
                    if self._kept is None:
                        _print(line)
                    else:
                        self._kept.append(line)


@contextmanager
def java_started(conf: Mapping[str, str]) -> Iterator[None]:
    """Start the Java of Spark if none runs in this process.

    What it prints before the block is over is passed on only if the start or the block fails.
    """
    if SparkContext._gateway is not None:
        yield
        return
    printed = PrintedLines()
    try:
        try:
            pairs = SparkConf().setAll(list(conf.items()))
            # What Java prints is no answer: our own output may be a document.
            streams = dict.fromkeys(("stdout", "stderr"), printed.write_end)
            gateway = launch_gateway(pairs, streams)  # type: ignore[no-untyped-call]
        finally:
            os.close(printed.write_end)
        SparkContext._ensure_initialized(gateway=gateway)
        yield
    except BaseException:
        printed.pass_on(kept=True)
        raise
    printed.pass_on(kept=False)


def _print(line: bytes) -> None:
    # Not by sys.stderr, whose lock a thread must not hold while the process ends.
    with suppress(OSError):
        os.write(_STDERR, line)
