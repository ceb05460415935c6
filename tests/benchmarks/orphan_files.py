"""B22: orphan files among a million that lie in a table, found by ours and by both Paimon Javas.

Each looks alone, and removes nothing: Java is told to do nothing with what it found. Ours looks
once more at the same files in a bucket, whose server is on this machine and takes of its cores.
Then ours removes them from the disk, which notes them durably and looks at all branches again.
"""

import json
import os
import statistics
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.benchmarks.commit_figures import JAVA, find_contestants
from tests.benchmarks.contest import (
    OURS,
    Contestant,
    Result,
    Target,
    at_least,
    at_most,
    hold,
)
from tests.benchmarks.prepared import PreparedTable, prepared
from tests.benchmarks.synthetic import FULL_MANIFESTS, PARTITIONS, make_table, open_table
from tests.support.requirements import need_s3_server
from tests.support.store_servers import running_s3_server

FIND: Final = "find"
REMOVE: Final = "remove"
SECONDS: Final = 30.0
S3_SECONDS: Final = 60.0
DISK: Final = "disk"
S3: Final = "S3"
_BUCKET: Final = "contest"
_CHILD: Final = "tests.benchmarks.child_orphans"
# Long before any time that a contestant asks for.
_OLD_SECONDS: Final = 1_600_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A table of so many files, and so many more that nothing names."""

    files: int
    orphans: int
    manifests: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is done about the orphan files of a table, and where it lies."""

    question: str
    content: Content
    place: str = DISK

    @property
    def facts(self) -> Mapping[str, int | str]:
        """What tells the case from others."""
        asked = self.question if self.place == DISK else f"{self.question} on {self.place}"
        return {"question": asked, "files": self.content.files, "orphans": self.content.orphans}


def _cases(content: Content) -> list[Case]:
    return [
        Case(question=FIND, content=content),
        Case(question=FIND, content=content, place=S3),
        # The last one, as what is removed is removed once.
        Case(question=REMOVE, content=content),
    ]


CASES: Final = {
    "tiny": _cases(Content(files=200, orphans=10, manifests=4)),
    "small": _cases(Content(files=100_000, orphans=1_000, manifests=100)),
    "full": _cases(Content(files=1_000_000, orphans=10_000)),
}


def run(scale: str, rounds: int, folder: Path) -> Iterator[Result]:
    """Run all cases of a scale; see `live_files.run`."""
    for case in CASES[scale]:
        table = _prepared(folder, case.content)
        if case.question == REMOVE:
            table.forget()
        result = _hold(case, table.warehouse, 1 if case.question == REMOVE else rounds)
        yield replace(result, targets=tuple(_targets(case, result)) if scale == "full" else ())


def prepare(scale: str, folder: Path) -> None:
    """Make the tables of a scale for a later run."""
    for case in CASES[scale]:
        _prepared(folder, case.content)


def _prepared(folder: Path, content: Content) -> PreparedTable:
    def make(warehouse: Path) -> int:
        make_warehouse(warehouse, content)
        return content.orphans

    return prepared(folder, content, make)


def _hold(case: Case, warehouse: Path, rounds: int) -> Result:
    expected = {"orphans": case.content.orphans}
    if case.place == S3:
        with in_bucket(warehouse) as contestant:
            samples, wrong = hold([contestant], warehouse, rounds, expected)
        return Result(benchmark="B22", case=case.facts, samples=samples, wrong=wrong)
    names = (OURS, *JAVA) if case.question == FIND else (OURS,)
    contestants, absent = find_contestants(_CHILD, case.question, names=names)
    samples, wrong = hold(contestants, warehouse, rounds, expected)
    return Result(benchmark="B22", case=case.facts, samples=samples, wrong=wrong, absent=absent)


@contextmanager
def in_bucket(warehouse: Path) -> Iterator[Contestant]:
    """Have a server offer a warehouse in a bucket; yields ours, who looks for orphan files there.

    Its buckets are folders: a million files are moved there and back, and not sent.
    """
    folder = Path(tempfile.mkdtemp(dir=warehouse.parent)) / "server"
    with running_s3_server(need_s3_server(), folder) as server:
        url = f"{server.make_bucket(_BUCKET)}/warehouse"
        place = warehouse.rename(server.folder / _BUCKET / "warehouse")
        command = [sys.executable, "-m", _CHILD, url, OURS, FIND, json.dumps(server.options)]
        try:
            yield Contestant(name=OURS, command=lambda _: command)
        finally:
            place.rename(warehouse)


def make_warehouse(folder: Path, content: Content) -> None:
    """Write a table with all its data files, which are empty, and files that nothing names."""
    make_table(folder, content.files, content.manifests, FULL_MANIFESTS)
    table = open_table(folder)
    head = table.head()
    assert head is not None
    entries = table.scan.read(table.paths, table.manifests(head))
    origin = Path(table.paths.table)
    names = dict.fromkeys(entries["file_name"].to_pylist())
    orphans = (
        f"data-{uuid.UUID(int=(1 << 100) + number)}-0.parquet" for number in range(content.orphans)
    )
    buckets = [origin / f"pt={number}" / "bucket-0" for number in range(PARTITIONS)]
    for bucket in buckets:
        bucket.mkdir(parents=True)
    # Where a file lies nobody asks: it is known by its name.
    for number, name in enumerate((*names, *orphans)):
        path = f"{buckets[number % PARTITIONS]}/{name}"
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.utime(path, (_OLD_SECONDS, _OLD_SECONDS))


def _targets(case: Case, result: Result) -> Iterator[Target]:
    cold = statistics.median(result.cold(OURS))
    seconds = S3_SECONDS if case.place == S3 else SECONDS
    yield at_most(f"{case.facts['question']} within {seconds:g} s", cold, seconds)
    if case.question == FIND and case.place == DISK:
        for name in JAVA:
            ratios = result.ratios(name, "cold")
            middle = statistics.median(ratios) if ratios else None
            yield at_least(f"faster than {name}, cold", middle, 1.0)
