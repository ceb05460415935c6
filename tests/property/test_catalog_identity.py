"""Ids of tables survive what other engines do to folders: a model knows which table is which."""

from dataclasses import dataclass, replace
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from branch_console.diff.catalog_identity import RecognisedMain, recognise
from branch_console.format.catalog.catalog_version import (
    CatalogCheckpoint,
    CatalogVersion,
    TableHead,
    VersionKind,
)
from branch_console.format.catalog.sighting import SightedDatabase, SightedTable, Sighting
from branch_console.format.snapshot import SnapshotIdentity

DATABASES = ("air", "lab")
NAMES = ("a", "b", "c", "d")
ACTS = ("rename", "drop", "create", "commit", "twins", "swap")


@dataclass(frozen=True)
class Table:
    """A table of the model: `who` it is, and what its folder shows of that."""

    who: int
    birth: str
    commits: int = 0


class Folders:
    """Folders that another engine changes, each with the table that is in it."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.tables: dict[str, Table] = {}
        self.count = 0

    def act(self, act: str) -> None:
        there, free = list(self.tables), self._free()
        if act == "create" and free:
            self._create(self.rng.choice(free), f"birth-{self.count}")
        elif act == "twins" and len(free) > 1:
            # Two tables that were made at once begin with the same bytes, and get a commit.
            birth = f"birth-{self.count}"
            for folder in self.rng.sample(free, 2):
                self._create(folder, birth)
                self._commit(folder)
        elif act == "drop" and there:
            del self.tables[self.rng.choice(there)]
        elif act == "rename" and there and free:
            folder = self.rng.choice(there)
            self.tables[self.rng.choice(free)] = self.tables.pop(folder)
        elif act == "swap" and len(there) > 1:
            one, other = self.rng.sample(there, 2)
            self.tables[one], self.tables[other] = self.tables[other], self.tables[one]
        elif act == "commit" and there:
            self._commit(self.rng.choice(there))

    def sighting(self) -> Sighting:
        return Sighting(
            databases=tuple(SightedDatabase(name=name, file=None) for name in DATABASES),
            tables=tuple(self._sighted(*item) for item in sorted(self.tables.items())),
        )

    def _sighted(self, folder: str, table: Table) -> SightedTable:
        database, name = folder.split(".db/")
        identities = tuple(_identity(table.who, number + 1) for number in range(table.commits))
        head = TableHead(id=table.commits, identity=identities[-1]) if identities else None
        return SightedTable(
            database=database, name=name, folder=folder, birth=table.birth, schema=0,
            head=head, identities=identities,
        )  # fmt: skip

    def _create(self, folder: str, birth: str) -> None:
        self.tables[folder] = Table(self.count, birth)
        self.count += 1

    def _commit(self, folder: str) -> None:
        table = self.tables[folder]
        self.tables[folder] = replace(table, commits=table.commits + 1)

    def _free(self) -> list[str]:
        every = [f"{database}.db/{name}" for database in DATABASES for name in NAMES]
        return [folder for folder in every if folder not in self.tables]


def _identity(who: int, number: int) -> SnapshotIdentity:
    return SnapshotIdentity(uuid=f"{who}-{number}", manifest_lists=("", ""))


@given(
    seed=st.integers(0, 2**32),
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.booleans()), max_size=25),
)
@example(seed=347863065, acts=[("twins", True), ("rename", False), ("rename", True)])
@example(seed=194377, acts=[("twins", True), *[("rename", False)] * 3, ("drop", True)])
def test_a_table_keeps_its_id_and_no_other_gets_it(seed: int, acts: list[tuple[str, bool]]) -> None:
    folders, ids, known = Folders(Random(seed)), dict[int, str](), _noted()
    for act, is_noted in acts:
        folders.act(act)
        found = recognise(known.databases, known.tables, folders.sighting())  # type: ignore[arg-type]
        assert not found.unclear
        by_folder = {table.folder: key for key, table in found.tables.items()}
        assert by_folder.keys() == folders.tables.keys()
        if is_noted:
            # What one look shows is what the ledger has, once it is noted.
            known = known.then(_version(known, found))
            assert {k: v for k, v in known.tables.items() if v is not None} == found.tables
            again = recognise(known.databases, found.tables, folders.sighting())  # type: ignore[arg-type]
            assert again.is_as_known
            known = replace(known, tables=found.tables)
            for folder, table in folders.tables.items():
                assert ids.setdefault(table.who, by_folder[folder]) == by_folder[folder]
            assert len(set(ids.values())) == len(ids)
        for folder, table in folders.tables.items():
            if table.who in ids:
                assert by_folder[folder] == ids[table.who]


def _noted() -> CatalogCheckpoint:
    return CatalogCheckpoint(branch="main", number=0)


def _version(known: CatalogCheckpoint, found: RecognisedMain) -> CatalogVersion:
    return CatalogVersion(
        branch="main",
        number=known.number + 1,
        kind=VersionKind.SIGHTED,
        operation="note",
        actor="ann",
        time_millis=0,
        databases=found.changed_databases,
        tables=found.changed_tables,
    )
