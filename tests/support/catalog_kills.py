"""A catalog merge that is cut off, taken up and woken again, on copies of one warehouse."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from branch_console.commit.base.commit_queue import NoQueue
from branch_console.commit.journal import Journal
from branch_console.commit.snapshot import file_store_commit
from branch_console.errors import PaimonError
from branch_console.format.receipt import Receipt
from branch_console.storage.system_lock import Hold
from tests.reliability.worlds import copy_world
from tests.support.branch_bench import store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_rows import KEYED, PLAIN, SeenCatalog, put, seen_on
from tests.support.faulty_store import At, FaultyStore, Killed, When

MERGE: Final = "MERGE BRANCH dev TO main"
OPERATION: Final = "it"


def spring_cleaning(root: Path) -> CatalogBench:
    """Two databases, and a branch that changes four tables and properties, and makes a table.

    Of the tables one has no key, one has one, one is renamed into the other database with rows of
    its own, and one is dropped; main went on with one of them.
    """
    sql = CatalogBench(root=root)
    sql("CREATE DATABASE air WITH DBPROPERTIES (a = '0'); CREATE DATABASE lab")
    for name, columns in (("flights", PLAIN), ("planes", KEYED), ("old", PLAIN), ("gone", PLAIN)):
        sql.now += 1  # tables that were made at once are told apart by more than their births
        sql(f"CREATE TABLE air.{name} {columns}")
        put(sql, f"air.{name}", (1, "a"), (2, "b"))
    sql("CREATE BRANCH dev ON CATALOG")
    put(sql, "air.flights", (3, "dev"), branch="dev")
    put(sql, "air.planes", (2, "dev"), (3, "dev"), branch="dev")
    put(sql, "air.old", (3, "dev"), branch="dev")
    sql(f"USE BRANCH dev; CREATE TABLE lab.routes {PLAIN}")
    put(sql, "lab.routes", (1, "new"), branch="dev")
    sql("USE BRANCH dev; DROP TABLE air.gone; ALTER TABLE air.old RENAME TO lab.legs")
    sql("USE BRANCH dev; ALTER DATABASE air SET DBPROPERTIES (a = '1')")
    sql("USE BRANCH dev; ALTER DATABASE lab SET DBPROPERTIES (b = '1')")
    put(sql, "air.flights", (4, "main"))
    return sql


Judge: TypeAlias = Callable[[Path], object]
"""Reads all of main with a reader that is not ours."""


@dataclass(kw_only=True)
class MergeKills:
    """A statement that is killed on copies of a warehouse.

    Attributes:
        origin: The warehouse, which stays as it is.
        text: The statement.
        judge: Another reader, which is asked of each end, too.
        old: What main shows before it.
        new: What main shows after it.
        judged: What the other reader shows before it and after it.
        changes: The changes of a run that nobody disturbs.
        read: How often the other reader was asked.
    """

    origin: Path
    text: str = MERGE
    judge: Judge | None = None
    judged: Mapping[bool, object] = field(init=False)
    read: int = field(init=False, default=0)
    old: SeenCatalog = field(init=False)
    new: SeenCatalog = field(init=False)
    dev: SeenCatalog = field(init=False)
    changes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        clean = self.copy("clean")
        self.old, self.dev = seen_on(clean), seen_on(clean, "dev")
        judged_old = self._ask(clean)
        counter = FaultyStore(inner=store_of(clean.root))
        self.run(clean, counter)
        self.new, self.changes = seen_on(clean), counter.changes
        assert self.new != self.old
        self.judged = {False: judged_old, True: self._ask(clean)}

    @property
    def decides(self) -> int:
        """The change that is the commit point."""
        version = "/versions/main/version-"
        return max(at for at, each in enumerate(self.changes, start=1) if version in each)

    @property
    def begins(self) -> list[int]:
        """The changes by which operations of tables begin, before the commit point."""
        return [
            number
            for number, each in enumerate(self.changes, start=1)
            if "/branch-lineage/intent-" in each and number < self.decides
        ]

    def copy(self, name: str) -> CatalogBench:
        """A copy of the warehouse, in place of an earlier one of that name."""
        root = self.origin.parent / name
        shutil.rmtree(root, ignore_errors=True)
        return CatalogBench(root=copy_world(self.origin, root))

    def run(self, world: CatalogBench, faulty: FaultyStore) -> Receipt:
        """Run the statement through a store."""
        bench = CatalogBench(root=world.root, store=faulty.store, now=world.now)
        return bench.run(self.text, operation_id=OPERATION)

    def killed(self, name: str, number: int, when: When) -> CatalogBench:
        """A copy on which the statement was killed at one of its changes."""
        world = self.copy(name)
        with pytest.raises(Killed):
            self.run(world, killing(world, number, when))
        return world

    def check(self, world: CatalogBench, where: object) -> bool:
        """See that all or nothing is there, and that nobody changed the branch; return which."""
        seen = seen_on(world)
        assert seen in (self.old, self.new), where
        assert seen_on(world, "dev") == self.dev, where
        is_new = seen == self.new
        assert self._ask(world) == self.judged[is_new], where
        return is_new

    def check_again(self, world: CatalogBench, where: object) -> None:
        """See that recovery has nothing to do any more, and that the statement can be run."""
        assert world.recover().notes == ("Nothing was cut off.",), where
        world.run(self.text)
        assert seen_on(world) == self.new, where
        assert self._ask(world) == self.judged[True], where

    def _ask(self, world: CatalogBench) -> object:
        """What the other reader shows; None where there is none."""
        if self.judge is None:
            return None
        self.read += 1
        return self.judge(world.root)


def killing(world: CatalogBench, number: int, when: When) -> FaultyStore:
    """A store that dies at a change."""
    return FaultyStore(inner=store_of(world.root), fault=At(call=number, when=when))


def recover_with(world: CatalogBench, faulty: FaultyStore) -> Receipt:
    """Recover through a store, as a process that begins now."""
    bench = CatalogBench(root=world.root, store=faulty.store, now=world.now)
    return bench.recover()


def outcome(work: Callable[[], Receipt]) -> Receipt | PaimonError:
    """What somebody is told: the receipt or the error."""
    try:
        return work()
    except PaimonError as error:
        return error


@contextmanager
def machines_apart(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have nobody know of the locks of others, as on machines that share a store and no more."""

    def at_once(*_: object, **__: object) -> AbstractContextManager[Hold]:
        return nullcontext(Hold.AT_ONCE)

    with patch.context() as apart:
        apart.setattr(Journal, "hold", at_once)
        apart.setattr(file_store_commit, "queue_of", lambda _: NoQueue())
        yield


def spread(count: int, wanted: int) -> list[int]:
    """That many numbers from 1 to `count`, as far from each other as they can be."""
    if wanted >= count:
        return list(range(1, count + 1))
    return sorted({1 + (number * (count - 1)) // max(1, wanted - 1) for number in range(wanted)})
