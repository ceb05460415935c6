"""The Java library in a process of its own: any version, beside whatever this process runs."""

import atexit
import functools
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.requirements import need_java_paimon

_BOUND_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One thing to read: a table by its name such as `db.t$branch_dev`, at its head or earlier.

    `partition` is the key and the value of the one partition to read, None for all.
    """

    table: str
    snapshot: int | None = None
    tag: str | None = None
    partition: tuple[str, str] | None = None
    only_count: bool = False


Answer: TypeAlias = list[tuple[Any, ...]] | int | str


class JavaChild:
    """Paimon of one version, which reads what it is asked for until it is closed."""

    def __init__(self, version: str) -> None:
        need_java_paimon(version)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.java_child", version],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd=Path(__file__).parents[2],
            # Whoever takes times for those of their own zone is found out.
            env={**os.environ, "TZ": "America/New_York"},
        )

    def read(self, warehouse: Path, reads: Iterable[Read]) -> dict[Read, Answer]:
        """As `read_with_java`, for the version of this child."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump((str(warehouse), tuple(reads)), self._process.stdin)
            self._process.stdin.flush()
            found: dict[Read, Answer] = pickle.load(self._process.stdout)
        except (EOFError, OSError) as error:
            self._said.seek(0)
            raise AssertionError(self._said.read().decode()[-4000:]) from error
        return found

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_BOUND_SECONDS)
        finally:
            self._process.kill()
            self._said.close()


def read_with_java(version: str, warehouse: Path, reads: Iterable[Read]) -> dict[Read, Answer]:
    """The rows that Paimon of that version reads, or how many; where it raises, what it says."""
    return _child(version).read(warehouse, reads)


@functools.cache
def _child(version: str) -> JavaChild:
    # A JVM takes seconds to start: one of a version serves all tests of a process.
    child = JavaChild(version)
    atexit.register(child.close)
    return child


def main() -> None:
    """Answer on standard output what is asked on standard input, each pickled, until that ends."""
    from tests.support.java_paimon import JavaPaimon  # noqa: PLC0415 - starts no JVM in the parent

    version = sys.argv[1]
    while True:
        try:
            warehouse, reads = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        java = JavaPaimon(warehouse, version)
        answers = {read: _answer(java, read) for read in reads}
        sys.stdout.buffer.write(pickle.dumps(answers))
        sys.stdout.buffer.flush()


def _answer(java: Any, read: Read) -> Answer:
    try:
        table = java.table(read.table)
        if read.only_count:
            return _count(table.load(_place(read)))
        rows: list[tuple[Any, ...]] = table.rows(
            snapshot=read.snapshot,
            tag=read.tag,
            partition=None if read.partition is None else dict([read.partition]),
        )
    except Exception as error:  # Java's exceptions are classes of JPype
        return str(error)
    return rows


def _place(read: Read) -> dict[str, str]:
    wanted = {"scan.snapshot-id": read.snapshot, "scan.tag-name": read.tag}
    return {key: str(value) for key, value in wanted.items() if value is not None}


def _count(table: Any) -> int:
    from tests.support.java_vm import java_class  # noqa: PLC0415 - needs the JVM of the child

    builder = table.newReadBuilder()
    found = builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator()
    # A stream of Java's goes through the rows without a call from here for each.
    spliterator = java_class("java.util.Spliterators").spliteratorUnknownSize(found, 0)
    count = java_class("java.util.stream.StreamSupport").stream(spliterator, False).count()
    found.close()
    return int(count)


if __name__ == "__main__":
    # Pickled classes must come from the module by its name, not from __main__.
    from tests.support.java_child import main as named_main

    named_main()
