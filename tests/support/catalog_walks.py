"""Random statements on the names of main and of two catalog branches, beside dictionaries.

A table is known by its one column, which nothing else has: names may change, be swapped, be dropped
and be given away again, and each branch must still have the tables that its dictionary has.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeAlias

from branch_console.errors import AlreadyExists, ErrorKind, NotFound, PaimonError, Refused
from branch_console.format.identifier import Identifier
from tests.support.catalog_bench import CatalogBench

Name: TypeAlias = tuple[str, str]

BRANCHES: Final = ("main", "dev", "test")
_DATABASES: Final = {"d1": ("air", "sky"), "d2": ("shop", "store"), "d3": ("lab", "field")}
_COMING_AND_GOING: Final = "d3"
_NAMES: Final = (*((each, table) for each in ("d1", "d2") for table in ("a", "b")), ("d3", "a"))


@dataclass
class CatalogWalk:
    """One walk: what each branch should have, and the statements that were run.

    Attributes:
        tables: Of each branch, the column of the table by its database and name.
        databases: Of each branch, the present name of each database.
    """

    sql: CatalogBench
    rng: Random
    tables: dict[str, dict[Name, str]] = field(default_factory=dict)
    databases: dict[str, dict[str, str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    made: int = 0

    def begin(self) -> None:
        """Make two databases, two tables and two branches, one of them lazy."""
        self.tables["main"] = {}
        self.databases["main"] = {key: _DATABASES[key][0] for key in ("d1", "d2")}
        for name in self.databases["main"].values():
            self._run("main", f"CREATE DATABASE {name}")
        for name in _NAMES[:2]:
            self._create("main", name, name)
        for branch, how in (("dev", " LAZY"), ("test", "")):
            self._run("main", f"CREATE BRANCH {branch} ON CATALOG{how}")
            self.tables[branch] = dict(self.tables["main"])
            self.databases[branch] = dict(self.databases["main"])

    def step(self) -> str:
        """Run statements of one kind on one branch, allowed or not; return the branch."""
        branch = self.rng.choice(BRANCHES)
        acts = (
            self._create, self._drop, self._rename, self._swap, self._rename_database,
            self._create_database, self._drop_database,
        )  # fmt: skip
        self.rng.choice(acts)(branch, *self.rng.sample(_NAMES, 2))
        return branch

    def check(self) -> None:
        """Compare what each branch lists with its dictionary."""
        warehouse = self.sql.warehouse(read_only=True)
        for branch in BRANCHES:
            seen = warehouse.catalog if branch == "main" else warehouse.on(branch)
            names = self.databases[branch]
            assert sorted(seen.databases()) == sorted(names.values()), (branch, self.said)
            found = {
                (key, name): self._column(seen.open(Identifier(database=database, table=name)))
                for key, database in names.items()
                for name in seen.table_names(database)
            }
            assert found == self.tables[branch], (branch, self.said)

    @staticmethod
    def _column(table: object) -> str:
        (column,) = table.schema().fields  # type: ignore[attr-defined]
        return str(column.name)

    def _create(self, branch: str, name: Name, _: Name) -> None:
        self.made += 1
        column = f"c{self.made}"
        error: type[Exception] | None = None
        if name[0] not in self.databases[branch]:
            error = NotFound
        elif name in self.tables[branch]:
            error = AlreadyExists
        text = f"CREATE TABLE {self._spelled(branch, name)} ({column} INT)"
        if self._run(branch, text, fails_by=error):
            self.tables[branch][name] = column

    def _drop(self, branch: str, name: Name, _: Name) -> None:
        is_there = name in self.tables[branch]
        text = f"DROP TABLE {self._spelled(branch, name)}"
        if self._run(branch, text, fails_by=None if is_there else NotFound):
            del self.tables[branch][name]

    def _rename(self, branch: str, source: Name, target: Name) -> None:
        """Give a table another name, in its database or in the other one."""
        tables = self.tables[branch]
        error: type[Exception] | None = None
        if source not in tables or target[0] not in self.databases[branch]:
            error = NotFound
        elif target in tables:
            error = AlreadyExists
        text = f"ALTER TABLE {self._spelled(branch, source)} RENAME TO "
        if self._run(branch, text + self._spelled(branch, target), fails_by=error):
            tables[target] = tables.pop(source)

    def _swap(self, branch: str, one: Name, other: Name) -> None:
        tables = self.tables[branch]
        if one not in tables or other not in tables:
            return
        for source, target in ((one, ("d1", "x")), (other, one), (("d1", "x"), other)):
            self._rename(branch, source, target)

    def _rename_database(self, branch: str, name: Name, _: Name) -> None:
        key = name[0]
        before = self.databases[branch].get(key)
        if before is None:
            return
        (after,) = (each for each in _DATABASES[key] if each != before)
        if self._run(branch, f"ALTER DATABASE {before} RENAME TO {after}"):
            self.databases[branch][key] = after

    def _create_database(self, branch: str, _: Name, __: Name) -> None:
        databases, name = self.databases[branch], self.rng.choice(_DATABASES[_COMING_AND_GOING])
        error = AlreadyExists if name in databases.values() else None
        if error is None and _COMING_AND_GOING in databases:
            return
        if self._run(branch, f"CREATE DATABASE {name}", fails_by=error):
            databases[_COMING_AND_GOING] = name

    def _drop_database(self, branch: str, _: Name, __: Name) -> None:
        name = self.databases[branch].get(_COMING_AND_GOING)
        error = NotFound if name is None else None
        name = name or _DATABASES[_COMING_AND_GOING][0]
        if self._run(branch, f"DROP DATABASE {name} CASCADE", fails_by=error):
            del self.databases[branch][_COMING_AND_GOING]
            for each in [each for each in self.tables[branch] if each[0] == _COMING_AND_GOING]:
                del self.tables[branch][each]

    def _spelled(self, branch: str, name: Name) -> str:
        database = self.databases[branch].get(name[0], _DATABASES[name[0]][0])
        return f"{database}.{name[1]}"

    def _run(self, branch: str, text: str, *, fails_by: type[Exception] | None = None) -> bool:
        """Run a statement that must fail or must not; return whether it was done."""
        self.said.append(f"{branch}: {text}")
        try:
            self.sql.run(f"USE BRANCH `{branch}`; {text}")
        except PaimonError as error:
            failed: PaimonError | None = error
        else:
            failed = None
        if branch == "main" and isinstance(failed, Refused):
            # A folder cannot move onto one in which a branch keeps what main dropped.
            assert failed.kind is ErrorKind.NAME_TAKEN, (failed, self.said)
            return False
        assert isinstance(failed, fails_by or type(None)), (failed, self.said)
        return failed is None
