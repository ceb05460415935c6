"""What a store reads only in part never becomes a file of a branch for good."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from branch_console.errors import PaimonError
from tests.support.branch_bench import NOW, BranchBench
from tests.support.faulty_store import FaultyStore, What
from tests.support.lifecycle import metadata, run

T = TypeVar("T")

LATER = NOW + 120_000
# The second one is what the file that seems changed is compared with.
READS = range(3, 16)


@dataclass(kw_only=True)
class ShortReads(FaultyStore):
    """Reads two files in part, once something was removed.

    Attributes:
        first: How the path of the first one ends.
        number: Which read from that one on is the second one.
    """

    first: str
    number: int
    counted: int = 0

    def read(self, what: str, path: str, call: Callable[[], T]) -> tuple[T, What | None]:
        removes = any(change.startswith("remove /") for change in self.changes)
        if what != "read" or not removes:
            return super().read(what, path, call)
        if not self.counted and not path.endswith(self.first):
            return super().read(what, path, call)
        self.counted += 1
        return call(), What.SHORT if self.counted in (1, self.number) else None


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Dev has a commit, a schema and another commit that main lacks."""
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.branch("dev")
    go_on(bench, "dev")
    return bench


def go_on(bench: BranchBench, branch: str) -> None:
    bench.append(f"{branch}-2", branch=branch)
    bench.alter(branch, f"of_{branch}")
    bench.append(f"{branch}-3", branch=branch)


def check_all_whole(bench: BranchBench) -> None:
    for name, data in metadata(bench).items():
        if name.rpartition("/")[2].startswith(("schema-", "tag-", "snapshot-")):
            json.loads(data)


@pytest.mark.parametrize("number", READS)
def test_what_had_left_main_comes_back_whole_or_not_at_all(bench: BranchBench, number: int) -> None:
    go_on(bench, "main")
    before = bench.live_names()
    # Main's own schema seems changed by somebody, so what has left main already goes back.
    weather = ShortReads(inner=bench.store, first="/t/schema/schema-1", number=number)
    with pytest.raises(PaimonError):
        run(bench, "fast_forward", store=weather.store, branch="dev", force=True)
    check_all_whole(bench)
    run(bench, "recover", "recovery", now=LATER)
    check_all_whole(bench)
    assert bench.live_names("rescue-op") == before
