"""Counts what planning reads: heads, sides, forward plans, opened tables, listed folders."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from branch_console.catalog.filesystem_catalog import FilesystemCatalog
from branch_console.diff.fast_forward import plan_forward_move
from branch_console.procedures.history.merge_heads import find_merge_heads
from branch_console.procedures.merge.sides import read_reverse_sides, read_sides
from branch_console.storage.file_io import LocalFileIO
from tests.support.branch_bench import BranchBench

_LISTS = ("list", "names", "folder_names")


@dataclass(slots=True)
class ReadCounts:
    """How often each was read.

    Attributes:
        heads: Where two heads stand to each other.
        sides: The files of both sides since then.
        forwards: Plans to take over a history.
        opens: Tables that a catalog was asked for.
        listings: Folders whose names were asked for.
    """

    heads: int = 0
    sides: int = 0
    forwards: int = 0
    opens: int = 0
    listings: int = 0

    @property
    def all(self) -> tuple[int, int, int, int, int]:
        """All of them in that order."""
        return (self.heads, self.sides, self.forwards, self.opens, self.listings)


def branched(root: Path, *, diverged: bool) -> BranchBench:
    """A table without a key, and a branch that went on; both did where they diverged."""
    bench = BranchBench(root, options={"write-only": "true"})
    for number in range(3):
        bench.append(f"base-{number}")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    if diverged:
        bench.append("ours")
    return bench


@contextmanager
def read_counts() -> Iterator[ReadCounts]:
    """Count what the block reads of tables on this machine."""
    counts = ReadCounts()
    with pytest.MonkeyPatch.context() as patched:
        for name, functions in (
            ("heads", (find_merge_heads,)),
            ("sides", (read_sides, read_reverse_sides)),
            ("forwards", (plan_forward_move,)),
        ):
            for each in functions:
                _replace(patched, each, _counting(counts, name, each))
        patched.setattr(
            FilesystemCatalog, "find", _counting(counts, "opens", FilesystemCatalog.find)
        )
        for name in _LISTS:
            real = getattr(LocalFileIO, name)
            patched.setattr(LocalFileIO, name, _counting(counts, "listings", real))
        yield counts


def _counting(counts: ReadCounts, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **named: Any) -> Any:
        setattr(counts, name, getattr(counts, name) + 1)
        return real(*arguments, **named)

    return counted


def _replace(patched: pytest.MonkeyPatch, real: object, by: object) -> None:
    """Put a function in place of another one wherever that was imported by its name."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is real and module.__name__ != __name__:
                patched.setattr(module, name, by)
