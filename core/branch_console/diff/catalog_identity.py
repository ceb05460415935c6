"""Recognition of the objects in main's folders, from recorded facts and one listing; pure.

The path alone never decides: a table that was dropped and created again under its name is another
table, and one that another engine renamed is still the same.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from branch_console.format.catalog.catalog_version import (
    DatabaseChange,
    TableChange,
    TableHead,
)
from branch_console.format.catalog.database_file import DatabaseFile
from branch_console.format.catalog.sighting import SightedDatabase, SightedTable, Sighting

T = TypeVar("T")

_ID_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedMain:
    """Main as the folders show it, each object under the id that it has.

    Attributes:
        databases: By id, as main has them now.
        tables: By id, as the databases.
        changed_databases: What differs from what was known, for the next version; None: dropped.
        changed_tables: As the databases.
        unclear: Known tables, by id, of which several folders may be the one; with the reason.
        left_out: Tables that cannot be branched, by name, with the reason.
    """

    databases: Mapping[str, DatabaseChange]
    tables: Mapping[str, TableChange]
    changed_databases: Mapping[str, DatabaseChange | None]
    changed_tables: Mapping[str, TableChange | None]
    unclear: Mapping[str, str]
    left_out: Mapping[str, str]

    @property
    def is_as_known(self) -> bool:
        """Whether nothing differs from what was known."""
        return not self.changed_databases and not self.changed_tables


def recognise(
    databases: Mapping[str, DatabaseChange], tables: Mapping[str, TableChange], sighting: Sighting
) -> RecognisedMain:
    """Say of each folder which known object it is, or that it is a new one.

    Args:
        databases: The databases of main that were known, by id.
        tables: The tables of main that were known, by id.
        sighting: The current state of the folders.
    """
    visible = [each for each in sighting.databases if _is_on_main(each, sighting)]
    found_databases = _recognise_databases(databases, visible)
    ids = {database.name: key for key, database in found_databases.items()}
    places, unclear = _recognise_tables(tables, sighting.tables)
    found = {
        key: TableChange(
            database=ids[table.database],
            name=table.name,
            folder=table.folder,
            birth=table.birth,
            schema=table.schema,
            head=table.head,
        )
        for key, table in places.items()
    }
    # Nobody dropped a table that only cannot be read.
    broken = (
        key for key, table in tables.items() if _name_of(table.folder or "") in sighting.left_out
    )
    kept = {key: tables[key] for key in (*unclear, *broken) if key not in found}
    return RecognisedMain(
        databases=found_databases,
        tables={**found, **kept},
        changed_databases=_changed_databases(databases, found_databases),
        changed_tables=_changed_tables(tables, {**found, **kept}),
        unclear=unclear,
        left_out=sighting.left_out,
    )


def _is_on_main(database: SightedDatabase, sighting: Sighting) -> bool:
    """Whether main shows a database: one of a branch is hidden until main has a table in it."""
    if database.file is None or database.file.is_on_main:
        return True
    return any(table.database == database.name for table in sighting.tables)


def _recognise_databases(
    known: Mapping[str, DatabaseChange], sighted: Iterable[SightedDatabase]
) -> dict[str, DatabaseChange]:
    found: dict[str, DatabaseChange] = {}
    by_name = {database.name: key for key, database in known.items()}
    for database in sorted(sighted, key=lambda each: each.file is None):
        if database.file is not None:
            key = database.file.id
        else:
            # Only a database that had no file before either is known by its name.
            key = by_name.get(database.name, "")
            if key not in known or known[key].has_file or key in found:
                key = _free_id("d", (database.name,), (*known, *found))
        found[key] = DatabaseChange(
            name=database.name,
            properties=_properties(database.file),
            has_file=None if database.file is None else True,
        )
    return found


def _properties(file: DatabaseFile | None) -> dict[str, str | None]:
    return {} if file is None else dict(file.properties)


def _recognise_tables(
    known: Mapping[str, TableChange], sighted: Iterable[SightedTable]
) -> tuple[dict[str, SightedTable], dict[str, str]]:
    """Return the folder of each object, and the known objects of which that is unclear."""
    left = {each.folder: each for each in sighted}
    twins: dict[str, list[TableChange]] = {}
    for table in known.values():
        twins.setdefault(table.birth or "", []).append(table)
    misplaced = {
        each.folder for each in left.values() if _is_twin(each, twins.get(each.birth, ()), left)
    }
    found: dict[str, SightedTable] = {}
    missing: dict[str, list[str]] = {}
    for key, table in known.items():
        there = left.get(table.folder or "")
        is_it = there is not None and there.birth == table.birth
        if there is not None and is_it and there.folder not in misplaced:
            found[key] = left.pop(there.folder)
        else:
            missing.setdefault(table.birth or "", []).append(key)
    born: dict[str, list[SightedTable]] = {}
    for each in left.values():
        born.setdefault(each.birth, []).append(each)
    unclear: dict[str, str] = {}
    for birth, keys in missing.items():
        candidates = born.get(birth, [])
        if not candidates:
            continue  # dropped
        pairs = _pairs(keys, candidates, known)
        if pairs is None:
            folders = ", ".join(sorted(each.folder for each in candidates))
            reason = f"{folders} may be it: they began with the same schema file."
            unclear.update(dict.fromkeys(keys, reason))
            # Whichever of them it is, none of them is a new table.
            pairs = {}
            for each in candidates:
                del left[each.folder]
        for key, each in pairs.items():
            found[key] = left.pop(each.folder)
    for folder, each in sorted(left.items()):
        found[_free_id("t", (each.birth, folder), (*found, *unclear))] = each
    return found, unclear


def _is_twin(
    candidate: SightedTable, twins: Sequence[TableChange], sighted: Mapping[str, SightedTable]
) -> bool:
    """Whether another table that was made at the same time has come to the folder of a known one.

    The folder then holds the noted head of a table that has left its own folder. That it does not
    hold the head of the one that was there proves nothing alone, as that may have expired.
    """

    def is_at_home(table: TableChange) -> bool:
        home = sighted.get(table.folder or "")
        return home is not None and _held(home, table) is not None

    noted = [each for each in twins if each.folder == candidate.folder]
    if not noted or is_at_home(noted[0]):
        return False
    others = (each for each in twins if each.folder != candidate.folder)
    return any(_held(candidate, each) is not None and not is_at_home(each) for each in others)


def _pairs(
    keys: list[str], candidates: list[SightedTable], known: Mapping[str, TableChange]
) -> dict[str, SightedTable] | None:
    """Say which of some folders is which of some tables; None if that cannot be told.

    A folder is the table whose noted head it holds. One that holds several is the table with the
    newest of them: the others have that head in common with it.
    """
    if len(keys) == len(candidates) == 1:
        return {keys[0]: candidates[0]}
    pairs: dict[str, SightedTable] = {}
    for candidate in candidates:
        held = {key: head for key in keys if (head := _held(candidate, known[key])) is not None}
        newest = max((head.id for head in held.values()), default=None)
        found = [key for key, head in held.items() if head.id == newest]
        if len(found) > 1 or (found and found[0] in pairs):
            return None
        pairs.update(dict.fromkeys(found, candidate))
    return None if any(known[key].head is None for key in keys) else pairs


def _held(candidate: SightedTable, table: TableChange) -> TableHead | None:
    """The noted head of a table, if a folder holds that snapshot."""
    head = table.head
    if head is None:
        return None
    is_held = any(identity.same_as(head.identity) for identity in candidate.identities)
    return head if is_held else None


def _changed_databases(
    before: Mapping[str, DatabaseChange], after: Mapping[str, DatabaseChange]
) -> dict[str, DatabaseChange | None]:
    changed: dict[str, DatabaseChange | None] = dict.fromkeys(before.keys() - after.keys())
    for key, database in after.items():
        known = before.get(key)
        if known is None:
            changed[key] = database
        elif known != database:
            unset = dict.fromkeys(known.properties.keys() - database.properties.keys())
            properties = {
                name: value
                for name, value in database.properties.items()
                if known.properties.get(name) != value
            }
            name = None if known.name == database.name else database.name
            has_file = None if known.has_file == database.has_file else database.has_file
            changed[key] = DatabaseChange(
                name=name, properties={**properties, **unset}, has_file=has_file
            )
    return changed


def _changed_tables(
    before: Mapping[str, TableChange], after: Mapping[str, TableChange]
) -> dict[str, TableChange | None]:
    changed: dict[str, TableChange | None] = dict.fromkeys(before.keys() - after.keys())
    for key, table in after.items():
        known = before.get(key)
        if known is None:
            changed[key] = table
        elif known.then(table) != known:
            changed[key] = TableChange(
                database=_other(known.database, table.database),
                name=_other(known.name, table.name),
                folder=_other(known.folder, table.folder),
                schema=_other(known.schema, table.schema),
                head=_other(known.head, table.head),
            )
    return changed


def _other(before: T | None, after: T | None) -> T | None:
    return None if before == after else after


def _name_of(folder: str) -> str:
    """The name that main gives the table of a folder such as `air.db/flights`."""
    database, _, name = folder.rpartition("/")
    return f"{database.removesuffix('.db')}.{name}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:_ID_DIGITS]


def _free_id(prefix: str, parts: tuple[str, ...], taken: Iterable[str]) -> str:
    """Return an id that two consoles find alike, and that no living object has."""
    known = frozenset(taken)
    first = f"{prefix}-{_digest(*parts)}"
    number, key = 1, first
    while key in known:
        number += 1
        key = f"{first}-{number}"
    return key
