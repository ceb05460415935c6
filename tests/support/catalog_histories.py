"""Random histories of main and two catalog branches on disk, beside a model of dictionaries."""

import copy
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Final

from branch_console.errors import ErrorKind, PaimonError, Refused
from branch_console.format.receipt import Receipt
from branch_console.merge.catalog.catalog_plan import CatalogMergePlan
from branch_console.procedures.catalog.states import state_of_branch
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from tests.support.branch_bench import marks, store_of
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_history_model import (
    MAIN,
    HistoryModel,
    ModelDatabase,
    ModelState,
    ModelTable,
)
from tests.support.catalog_rows import SeenCatalog, put, seen_on
from tests.support.faulty_store import At, FaultyStore, Killed, When

BRANCHES: Final = (MAIN, "dev", "test")
_DATABASES: Final = ("air", "lab", "sky")
_NAMES: Final = ("a", "b", "c", "d")
_KEYS: Final = ("x", "y")
_MOST_DATABASES: Final = 2
_LONGEST: Final = 30


@dataclass(kw_only=True)
class CatalogHistory:
    """One history: what was said, and what each branch should hold.

    Attributes:
        did: How often each kind of thing was done.
    """

    sql: CatalogBench
    rng: Random
    model: HistoryModel = field(default_factory=HistoryModel)
    said: list[str] = field(default_factory=list)
    did: Counter[str] = field(default_factory=Counter)
    made: int = 0
    asked: int = 0

    def begin(self, known: dict[tuple[int, ...], "CatalogHistory"] | None = None) -> None:
        """Make two databases, two tables with rows, and two branches of them.

        Args:
            known: Histories that began before, by the databases of their tables: one that begins
                alike has a copy of what they made, and stands where they did. New ones are added.
        """
        homes = tuple(self.rng.choice((1, 2)) for _ in _NAMES[:2])
        found = None if known is None else known.get(homes)
        if found is not None:
            self._begin_as(found)
            return
        self.model.begin()
        for name in _DATABASES[:2]:
            self._create_database(MAIN, name)
        for home, name in zip(homes, _NAMES[:2], strict=True):
            self._create_in(MAIN, home, name)
        for branch in BRANCHES[1:]:
            self._say(MAIN, f"CREATE BRANCH {branch} ON CATALOG")
            self.model.fork(branch)
        if known is not None:
            root = self.sql.root.with_name(f"begun {homes}")
            known[homes] = CatalogHistory(sql=CatalogBench(root=root), rng=self.rng)
            known[homes]._begin_as(self)

    def _begin_as(self, other: "CatalogHistory") -> None:
        """Stand where another history stands."""
        shutil.copytree(other.sql.root, self.sql.root, copy_function=shutil.copyfile)
        self.sql.now, self.made = other.sql.now, other.made
        self.model, self.said, self.did = copy.deepcopy((other.model, other.said, other.did))

    def step(self) -> None:
        """Do one thing at random; a merge compares its target with the model."""
        branch, name = self.rng.choice(BRANCHES), self.rng.choice(_NAMES)
        acts: dict[Callable[[], object], int] = {
            partial(self._create, branch, name): 3,
            partial(self._write, branch): 6,
            partial(self._drop, branch): 2,
            partial(self._rename, branch, name): 4,
            partial(self._swap, branch): 2,
            partial(self._create_database, branch, self.rng.choice(_DATABASES)): 1,
            partial(self._rename_database, branch, self.rng.choice(_DATABASES)): 1,
            partial(self._drop_database, branch): 1,
            partial(self._set, branch): 2,
            self._merge: 9,
        }
        self.rng.choices(list(acts), list(acts.values()))[0]()

    def check(self, *branches: str) -> None:
        """Compare what branches show with the model, all of them where none is named."""
        for branch in branches or BRANCHES:
            assert seen_on(self.sql, branch) == shown(self.model.state(branch)), (
                branch,
                self.said,
            )

    # --- statements --------------------------------------------------------------------------

    def _create(self, branch: str, name: str) -> None:
        state = self.model.state(branch)
        home = self._pick(state.databases)
        if home is not None and not self._is_taken(state, home, name):
            self._create_in(branch, home, name)

    def _create_in(self, branch: str, home: int, name: str) -> None:
        state = self.model.state(branch)
        self.made += 1
        self.sql.now += 1
        table = ModelTable(home=home, name=name)
        text = f"CREATE TABLE {self._name(state, table)} (c{self.made} INT)"
        key = self.made
        if self._change(branch, text, replace(state, tables={**state.tables, key: table})):
            # Two histories of a table that was empty where they part share no snapshot.
            self._write_to(branch, key)

    def _write(self, branch: str) -> None:
        state = self.model.state(branch)
        key = self._pick(state.tables)
        if key is not None:
            self._write_to(branch, key)

    def _write_to(self, branch: str, key: int) -> None:
        self.made += 1
        state = self.model.state(branch)
        table = state.tables[key]
        self.said.append(f"{branch}: {self.made} into {self._name(state, table)}")
        self._put(branch, self._name(state, table), self.made)
        written = replace(table, rows=table.rows | {self.made})
        self.model.change(branch, replace(state, tables={**state.tables, key: written}))
        self.did["write"] += 1

    def _drop(self, branch: str) -> None:
        state = self.model.state(branch)
        key = self._pick(state.tables)
        if key is None:
            return
        tables = {each: found for each, found in state.tables.items() if each != key}
        text = f"DROP TABLE {self._name(state, state.tables[key])}"
        self._change(branch, text, replace(state, tables=tables))

    def _rename(self, branch: str, name: str) -> None:
        """Give a table another name, in its database or in the other one."""
        state = self.model.state(branch)
        key, home = self._pick(state.tables), self._pick(state.databases)
        if key is None or home is None or self._is_taken(state, home, name):
            return
        self._move(branch, key, home, name)

    def _swap(self, branch: str) -> None:
        state = self.model.state(branch)
        one, other = self._pick(state.tables), self._pick(state.tables)
        if one is None or other is None or one == other:
            return
        here, there = state.tables[one], state.tables[other]
        if self._move(branch, one, here.home, "between") and self._move(
            branch, other, here.home, here.name
        ):
            self._move(branch, one, there.home, there.name)

    def _move(self, branch: str, key: int, home: int, name: str) -> bool:
        state = self.model.state(branch)
        moved = replace(state.tables[key], home=home, name=name)
        before, after = (self._name(state, each) for each in (state.tables[key], moved))
        new = replace(state, tables={**state.tables, key: moved})
        return self._change(branch, f"ALTER TABLE {before} RENAME TO {after}", new)

    def _create_database(self, branch: str, name: str) -> None:
        state = self.model.state(branch)
        if len(state.databases) >= _MOST_DATABASES or self._has_database(state, name):
            return
        self.made += 1
        databases = {**state.databases, self.made: ModelDatabase(name=name)}
        self._change(branch, f"CREATE DATABASE {name}", replace(state, databases=databases))

    def _rename_database(self, branch: str, name: str) -> None:
        state = self.model.state(branch)
        key = self._pick(state.databases)
        if key is None or self._has_database(state, name):
            return
        before = state.databases[key]
        databases = {**state.databases, key: replace(before, name=name)}
        text = f"ALTER DATABASE {before.name} RENAME TO {name}"
        self._change(branch, text, replace(state, databases=databases))

    def _drop_database(self, branch: str) -> None:
        state = self.model.state(branch)
        key = self._pick(state.databases)
        if key is None:
            return
        gone = state.inside(state.databases[key].name)
        self._change(
            branch,
            f"DROP DATABASE {state.databases[key].name} CASCADE",
            ModelState(
                databases={e: found for e, found in state.databases.items() if e not in gone},
                tables={e: found for e, found in state.tables.items() if e not in gone},
            ),
        )

    def _set(self, branch: str) -> None:
        state = self.model.state(branch)
        key = self._pick(state.databases)
        if key is None:
            return
        database, name = state.databases[key], self.rng.choice(_KEYS)
        properties = dict(database.properties)
        if name in properties and self.rng.random() < 1 / 3:
            del properties[name]
            text = f"ALTER DATABASE {database.name} UNSET DBPROPERTIES ({name})"
        else:
            self.made += 1
            properties[name] = str(self.made)
            text = f"ALTER DATABASE {database.name} SET DBPROPERTIES ({name} = '{self.made}')"
        databases = {**state.databases, key: replace(database, properties=properties)}
        self._change(branch, text, replace(state, databases=databases))

    # --- merges ------------------------------------------------------------------------------

    def _merge(self) -> None:
        """Merge one branch into another: the whole or a database, cut off or not."""
        source, target = self.rng.sample(BRANCHES, 2)
        database, covers = None, None
        if self.rng.random() < 1 / 4:
            found = self._pick(self.model.state(source).databases)
            if found is not None:
                database = self.model.state(source).databases[found].name
                covers = self._inside(source, target, found)
        part = "" if database is None else f" ON DATABASE {database}"
        text = f"MERGE BRANCH {source} TO {target}{part}"
        new = self.model.merged(source, target, covers)
        before = marks(self.sql.root)
        kill = At(
            call=self.rng.randint(1, _LONGEST), when=self.rng.choice((When.BEFORE, When.AFTER))
        )
        is_cut_off = self.rng.random() < 1 / 3
        self.said.append(f"{target}: {text}" + (f", cut off at {kill}" if is_cut_off else ""))
        plan = None if is_cut_off else self._previewed(source, target, database)
        try:
            receipt = self._merge_cut_off(text, kill) if is_cut_off else self.sql.run(text)
        except PaimonError as error:
            is_plain = covers is None and self.model.is_plain(source, target)
            self._see_refused(error, is_plain=is_plain)
            self._see_refusal_previewed(plan, error)
            if error.kind is ErrorKind.CONFLICTS_OPEN and not is_cut_off:
                assert marks(self.sql.root) == before, self.said
            else:
                self.check(target)
            return
        is_idle = receipt is not None and "Nothing was changed." in receipt.notes
        if is_idle:
            self.did["up to date"] += 1
            assert marks(self.sql.root) == before, self.said
        # Where no file is another one, the target shows what it did, and so would another merge.
        as_before = shown(self.model.state(target))
        seen = as_before if is_idle else seen_on(self.sql, target)
        if receipt is None:
            self.did["cut off"] += 1
            if seen == as_before:
                return
        elif plan is not None:
            self._see_as_previewed(plan, receipt, target)
        assert new.is_consistent(), self.said
        self.did["merged"] += 1
        self.model.take(source, target, new, covers)
        assert seen == shown(new), (target, self.said)
        if not is_idle:
            self._merge_again(text)

    def _previewed(self, source: str, target: str, database: str | None) -> CatalogMergePlan | None:
        """Ask what each fourth merge would do."""
        self.asked += 1
        if self.asked % 4:
            return None
        spec = CatalogMergeSpec(source=source, target=target, database=database)
        return preview_catalog_merge(self.sql.warehouse(read_only=True), spec)

    def _see_refusal_previewed(self, plan: CatalogMergePlan | None, error: PaimonError) -> None:
        """See that the preview of what is refused was no promise."""
        assert plan is None or not plan.can_run, (error, self.said)

    def _see_as_previewed(self, plan: CatalogMergePlan, receipt: Receipt, target: str) -> None:
        """See that a run is that of its preview, and came to what that said."""
        assert receipt.plan_id == plan.id, self.said
        found = state_of_branch(self.sql.warehouse(read_only=True), target)
        shown, planned = (
            {key: state.name_of(key) for key in (*state.databases, *state.tables)}
            for state in (found, plan.result)
        )
        assert shown == planned, self.said
        self.did["as previewed"] += 1

    def _see_refused(self, error: PaimonError, *, is_plain: bool) -> None:
        """See that nothing plain is refused, and nothing for other reasons than these."""
        # A folder cannot move onto one in which a branch keeps what main dropped, and two tables
        # that began in one folder under one name are not taken apart by a copy.
        is_taken = error.kind in (ErrorKind.NAME_TAKEN, ErrorKind.UNSUPPORTED)
        assert is_taken or error.kind is ErrorKind.CONFLICTS_OPEN, (error, self.said)
        assert is_taken or not is_plain, (error, self.said)
        self.did["refused"] += 1

    def _merge_cut_off(self, text: str, kill: At) -> Receipt | None:
        """Kill a merge, and recover it; the receipt where it came to its end before."""
        faulty = FaultyStore(inner=store_of(self.sql.root), fault=kill)
        bench = CatalogBench(root=self.sql.root, store=faulty.store, now=self.sql.now)
        try:
            return bench.run(text)
        except Killed:
            self.sql.recover()
        return None

    def _merge_again(self, text: str) -> None:
        """See that the same merge brings nothing more, and writes nothing."""
        before = marks(self.sql.root)
        again = self.sql.run(text)
        assert "Nothing was changed." in again.notes, (again.notes, self.said)
        assert marks(self.sql.root) == before, self.said

    def _inside(self, source: str, target: str, database: int) -> frozenset[int]:
        """What a merge of one database is about: the tables that are in it on either side.

        The base tells it of one that a side has no more.
        """
        inside = {database}
        for key in range(self.made + 1):
            states = [self.model.state(source), self.model.state(target)]
            if not all(key in each.tables for each in states):
                states += self.model.bases(source, target, key)
            found = (each.tables.get(key) for each in states)
            if any(each is not None and each.home == database for each in found):
                inside.add(key)
        return frozenset(inside)

    # --- parts -------------------------------------------------------------------------------

    def _change(self, branch: str, text: str, state: ModelState) -> bool:
        """Run a statement; return whether it was done."""
        try:
            self._say(branch, text)
        except Refused as error:
            if branch == MAIN and error.kind is ErrorKind.NAME_TAKEN:
                return False
            raise
        self.model.change(branch, state)
        self.did["changed"] += 1
        return True

    def _say(self, branch: str, text: str) -> None:
        self.said.append(f"{branch}: {text}")
        self.sql.run(f"USE BRANCH `{branch}`; {text}")

    def _put(self, branch: str, name: str, value: int) -> None:
        put(self.sql, name, (value,), branch=branch)

    def _pick(self, found: Mapping[int, object]) -> int | None:
        return self.rng.choice(sorted(found)) if found else None

    @staticmethod
    def _name(state: ModelState, table: ModelTable) -> str:
        return f"{state.databases[table.home].name}.{table.name}"

    @staticmethod
    def _is_taken(state: ModelState, home: int, name: str) -> bool:
        return any((each.home, each.name) == (home, name) for each in state.tables.values())

    @staticmethod
    def _has_database(state: ModelState, name: str) -> bool:
        return any(each.name == name for each in state.databases.values())


def shown(state: ModelState) -> SeenCatalog:
    """What a person sees of a state: a table has one column, which is called by its number."""
    return SeenCatalog(
        databases={each.name: dict(each.properties) for each in state.databases.values()},
        tables={
            f"{state.databases[each.home].name}.{each.name}": (
                (f"c{key}",),
                tuple(sorted(((row,) for row in each.rows), key=repr)),
            )
            for key, each in state.tables.items()
        },
    )
