"""The Java library in a process of its own: any version, beside whatever this process runs."""

import pickle
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.requirements import need_java_paimon

_BOUND_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One thing to read: a table by its name such as `db.t$branch_dev`, at its head or earlier."""

    table: str
    snapshot: int | None = None
    tag: str | None = None


def read_with_java(
    version: str, warehouse: Path, reads: Iterable[Read]
) -> dict[Read, list[tuple[Any, ...]] | str]:
    """The rows that Paimon of that version reads; where it raises, what it says."""
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
    found: dict[Read, list[tuple[Any, ...]] | str] = pickle.loads(run.stdout)
    return found


def main() -> None:
    """Answer on standard output what is asked on standard input, both pickled."""
    from tests.support.java_paimon import JavaPaimon  # noqa: PLC0415 - starts no JVM in the parent

    version, warehouse = sys.argv[1:]
    java = JavaPaimon(warehouse, version)
    answers: dict[Read, list[tuple[Any, ...]] | str] = {}
    for read in pickle.loads(sys.stdin.buffer.read()):
        try:
            answers[read] = java.table(read.table).rows(snapshot=read.snapshot, tag=read.tag)
        except Exception as error:  # Java's exceptions are classes of JPype
            answers[read] = str(error)
    sys.stdout.buffer.write(pickle.dumps(answers))


if __name__ == "__main__":
    # Pickled classes must come from the module by its name, not from __main__.
    from tests.support.java_child import main as named_main

    named_main()
