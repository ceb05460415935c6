"""The final databases and names of the objects of a merged catalog.

Places are checked when every object has its place, so an object that this merge drops, moves or
renames blocks no other. An object whose place is taken keeps the target's place, or is left out.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Final

from branch_console.diff.catalog_state import CatalogState, DatabaseState, TableState
from branch_console.diff.three_way import ThreeWay
from branch_console.merge.catalog.object_findings import ObjectFindings
from branch_console.merge.conflict import ConflictKind, Take

_EITHER: Final = (Take.OURS, Take.THEIRS)
_ASIDE: Final = (Take.OURS, Take.RENAME)


def settle_places(
    states: ThreeWay[CatalogState],
    databases: dict[str, DatabaseState],
    tables: dict[str, TableState],
    found: ObjectFindings,
    *,
    fold: Callable[[str], str],
) -> None:
    """Have each table in a database that is there, and each name given once.

    Args:
        states: The states that the merge is decided on.
        databases: The databases of the target after the merge, by id; changed in place.
        tables: Likewise.
        found: Collects conflicts and settled ones.
        fold: Gives what two names share that are one name to the store.
    """
    places = _Places(states, databases, tables, found, fold)
    # Each round puts an object back to where the target has it, or takes a database along.
    while places.settle_databases() or places.settle_homes() or places.settle_tables():
        pass


class _Places:
    def __init__(
        self,
        states: ThreeWay[CatalogState],
        databases: dict[str, DatabaseState],
        tables: dict[str, TableState],
        found: ObjectFindings,
        fold: Callable[[str], str],
    ) -> None:
        self._ours = states.ours
        self._theirs = states.theirs
        self._databases = databases
        self._tables = tables
        self._found = found
        self._fold = fold
        self._left_out: set[str] = set()
        self._renamed: set[str] = set()

    def settle_databases(self) -> bool:
        """Put away one database whose name is occupied; False if every name is free."""
        places = {each.id: ("", self._fold(each.name)) for each in self._databases.values()}
        arriving = {
            object_id
            for object_id, state in self._databases.items()
            if object_id not in self._ours.databases
            or state.name != self._ours.databases[object_id].name
        }
        clash = _find_clash(places, arriving)
        if clash is None:
            return False
        object_id, holder = clash
        new_name = self._settle_name(object_id, f"database {self._databases[holder].name!r}")
        ours = self._ours.databases.get(object_id)
        if new_name is None and ours is None:
            self._left_out.add(object_id)
            del self._databases[object_id]
        else:
            name = ours.name if new_name is None and ours is not None else str(new_name)
            self._databases[object_id] = replace(self._databases[object_id], name=name)
        return True

    def settle_tables(self) -> bool:
        """Put away one table whose name is occupied; False if every name is free."""
        places = {each.id: self._place(each.database, each.name) for each in self._tables.values()}
        homes = {each.name: each.id for each in self._ours.databases.values()}
        for full_name in self._ours.left_out:
            home, _, name = full_name.partition(".")
            places[full_name] = self._place(homes.get(home, home), name)
        clash = _find_clash(places, {each for each in self._tables if self._is_arriving(each)})
        if clash is None:
            return False
        object_id, holder = clash
        held_by = self._tables.get(holder)
        name = holder if held_by is None else held_by.name
        new_name = self._settle_name(
            object_id, f"table {name!r}", folder=self._find_shared_folder(object_id)
        )
        if new_name is None:
            self._put_back(object_id)
        else:
            self._tables[object_id] = replace(self._tables[object_id], name=new_name)
        return True

    def settle_homes(self) -> bool:
        """Settle one table whose database is not there; False if every table has one."""
        homeless = [each for each in self._tables.values() if each.database not in self._databases]
        if not homeless:
            return False
        table = min(homeless, key=attrgetter("id"))
        if not self._is_arriving(table.id):
            self._settle_not_empty(table.database)
        elif table.database in self._left_out:
            self._put_back(table.id)
            self._found.report(table.id, "It stays out with its database.")
        else:
            self._settle_gone(table)
        return True

    def _settle_gone(self, table: TableState) -> None:
        """Decide on a table that comes into a database which the target lacks."""
        database = self._theirs.databases.get(table.database)
        takes = (Take.OURS,) if database is None else _EITHER
        kind = ConflictKind.DATABASE_GONE
        choice = self._found.settle(kind, table.id, "table/database", takes)
        if choice is None or choice.take is Take.OURS or database is None:
            self._put_back(table.id)
        else:
            self._databases[database.id] = database

    def _settle_not_empty(self, database_id: str) -> None:
        """Decide on a database that the source dropped and that holds tables of the target."""
        inside = [
            each.id
            for each in self._tables.values()
            if each.database == database_id and not self._is_arriving(each.id)
        ]
        names = ", ".join(sorted(self._ours.name_of(each) or each for each in inside))
        choice = self._found.settle(
            ConflictKind.DATABASE_NOT_EMPTY,
            database_id,
            "database/drop.create",
            _EITHER,
            words=ThreeWay(
                base=self._found.name(database_id), ours=f"holds {names}", theirs="dropped"
            ),
        )
        if choice is None or choice.take is Take.OURS:
            self._databases[database_id] = self._ours.databases[database_id]
            return
        self._found.report(database_id, f"Tables that the source never saw go with it: {names}.")
        for each in inside:
            del self._tables[each]

    def _settle_name(self, object_id: str, holder: str, folder: str | None = None) -> str | None:
        """Return the name that an object gets instead of an occupied one; None if it has none.

        Another name may be occupied as well, which is a conflict that no second name settles.
        Another name is also another folder, which a table cannot get alone that shares its `folder`
        with one of the target.
        """
        is_again = object_id in self._renamed
        choice = self._found.settle(
            ConflictKind.NAME_OCCUPIED,
            object_id,
            "name",
            (Take.OURS,) if is_again or folder is not None else _ASIDE,
            words=ThreeWay(
                base=self._found.name_at_base(object_id),
                ours=f"another {holder} has the name",
                theirs=self._found.name(object_id),
            ),
            advice="" if folder is None else _no_other_name(folder),
        )
        if choice is None or choice.new_name is None:
            return None
        self._renamed.add(object_id)
        return choice.new_name

    def _find_shared_folder(self, table_id: str) -> str | None:
        """Return the folder of a new table, if a table of the target lies in it, too."""
        if table_id in self._ours.tables or table_id not in self._theirs.tables:
            return None
        folder = self._theirs.tables[table_id].folder
        is_shared = any(each.folder == folder for each in self._ours.tables.values())
        return folder if is_shared else None

    def _put_back(self, table_id: str) -> None:
        """Leave a table where the target has it, or out."""
        ours = self._ours.tables.get(table_id)
        if ours is None:
            del self._tables[table_id]
        else:
            now = self._tables[table_id]
            self._tables[table_id] = replace(now, database=ours.database, name=ours.name)

    def _is_arriving(self, table_id: str) -> bool:
        """Whether a table comes to a place that it does not have on the target."""
        ours, now = self._ours.tables.get(table_id), self._tables[table_id]
        return ours is None or (ours.database, ours.name) != (now.database, now.name)

    def _place(self, database_id: str, name: str) -> tuple[str, str]:
        return database_id, self._fold(name)


def _no_other_name(folder: str) -> str:
    """Say why a table comes under no other name, and how its rows come all the same."""
    return (
        "'ours' leaves the target as it is. The table cannot come under another name, as both lie "
        f"in the folder {folder}. On the source, create a table under another name, copy the rows "
        "to it, and drop this one."
    )


def _find_clash(
    places: Mapping[str, tuple[str, str]], arriving: Collection[str]
) -> tuple[str, str] | None:
    """Return an arriving object whose place another one has, and that other one."""
    # Who is there already comes first, so that whoever arrives finds the place taken.
    holders: dict[tuple[str, str], str] = {}
    for object_id in sorted(places, key=lambda each: (each in arriving, each)):
        holder = holders.setdefault(places[object_id], object_id)
        if holder != object_id:
            return object_id, holder
    return None
