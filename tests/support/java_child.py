"""The Java library in a process of its own: any version, beside whatever this process runs."""

import pickle
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.requirements import need_java_paimon

_BOUND_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One thing to read: a table by its name such as `db.t$branch_dev`, at its head or earlier."""

    table: str
    snapshot: int | None = None
    tag: str | None = None
    only_count: bool = False


Answer: TypeAlias = list[tuple[Any, ...]] | int | str


def read_with_java(version: str, warehouse: Path, reads: Iterable[Read]) -> dict[Read, Answer]:
    """The rows that Paimon of that version reads, or how many; where it raises, what it says."""
    need_java_paimon(version)
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.java_child", version, str(warehouse)],
        input=pickle.dumps(tuple(reads)),
        capture_output=True,
        cwd=Path(__file__).parents[2],
        timeout=_BOUND_SECONDS,
        check=False,
    )
    if run.returncode:
        raise AssertionError(run.stderr.decode()[-4000:])
    found: dict[Read, Answer] = pickle.loads(run.stdout)
    return found


def main() -> None:
    """Answer on standard output what is asked on standard input, both pickled."""
    from tests.support.java_paimon import JavaPaimon  # noqa: PLC0415 - starts no JVM in the parent

    version, warehouse = sys.argv[1:]
    java = JavaPaimon(warehouse, version)
    answers: dict[Read, Answer] = {}
    for read in pickle.loads(sys.stdin.buffer.read()):
        table = java.table(read.table)
        try:
            if read.only_count:
                answers[read] = _count(table.load(_place(read)))
            else:
                answers[read] = table.rows(snapshot=read.snapshot, tag=read.tag)
        except Exception as error:  # Java's exceptions are classes of JPype
            answers[read] = str(error)
    sys.stdout.buffer.write(pickle.dumps(answers))


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
