"""Databases on main: a file of properties is added, a folder moves; each step may repeat."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import CommitConflict, ErrorKind, NotAllowed
from branch_console.format.catalog.database_file import DatabaseFile, NumberedDatabaseFile
from branch_console.storage.catalog_paths import CatalogPaths
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.table.database_files import find_database_file


def publish_database_file(
    store: CommitStore, paths: CatalogPaths, folder: str, file: NumberedDatabaseFile
) -> None:
    """Add a file to a database, which makes the database if there is none.

    Raises:
        CommitConflict: The number is taken: somebody else changed the database first.
    """
    path, data = paths.database_file(folder, file.number), file.content.to_json().encode()
    _, found = publish_once(store, path, data)
    if found == data and file.number > 1:
        before = paths.database_file(folder, file.number - 1)
        if not store.files.exists(before):
            # Its folder was moved away just now: this one holds nothing but our file.
            store.remover.remove([path])
            store.remover.remove_empty_directories([path.rpartition("/")[0], folder])
            found = b""
    if found != data:
        raise _changed_meanwhile(file.content.name, path)


def make_hidden_database(store: CommitStore, paths: CatalogPaths, file: DatabaseFile) -> None:
    """Make the folder of a database that main does not show, unless a folder has its name.

    Folders are shared: whoever has one of that name may keep it.
    """
    folder = paths.database(file.name)
    if not store.files.exists(folder):
        publish_once(store, paths.database_file(folder, 1), file.to_json().encode())


def move_database(
    store: CommitStore,
    paths: CatalogPaths,
    from_folder: str,
    to_folder: str,
    file: NumberedDatabaseFile,
) -> bool:
    """Move the folder of a database, unless an earlier try has.

    Only its id tells whose a folder is, for names are used again: a database that another engine
    made gets its first file now.

    Args:
        store: The store.
        paths: The paths of the warehouse.
        from_folder: The current folder of the database.
        to_folder: The new folder of the database.
        file: The file of the database at the time of the plan.

    Returns:
        Whether it is at its new place: False if the store cannot rename folders.

    Raises:
        CommitConflict: The database is gone, or its new place is taken; nothing was moved.
    """
    database_id = file.content.id
    if holds_database(store, paths, to_folder, database_id):
        return True
    if file.number == 0 and store.files.exists(from_folder):
        publish_database_file(store, paths, from_folder, replace(file, number=1))
    if not holds_database(store, paths, from_folder, database_id):
        raise CommitConflict(
            f"{from_folder} holds another database by now, or none. Nothing was changed; look at "
            "the databases, then run it again.",
            kind=ErrorKind.HEAD_MOVED,
            path=from_folder,
        )
    match store.mover.move(from_folder, to_folder):
        case MoveOutcome.DONE:
            return True
        case MoveOutcome.TAKEN:
            raise CommitConflict(
                f"Something has the name {to_folder} by now. Nothing was changed; choose another "
                "name.",
                kind=ErrorKind.NAME_TAKEN,
                path=to_folder,
            )
        case MoveOutcome.UNSUPPORTED:
            return False


def rename_database(
    store: CommitStore,
    paths: CatalogPaths,
    from_folder: str,
    to_folder: str,
    new_name: str,
    file: NumberedDatabaseFile,
) -> None:
    """Move the folder of a database to another place, and add a file that says the new name.

    Raises:
        CommitConflict: As `move_database` does.
        NotAllowed: The store cannot rename folders.
    """
    if not move_database(store, paths, from_folder, to_folder, file):
        raise _cannot_move(from_folder)
    change_database(store, paths, to_folder, file, lambda found: replace(found, name=new_name))


def change_database(
    store: CommitStore,
    paths: CatalogPaths,
    folder: str,
    file: NumberedDatabaseFile,
    change: Callable[[DatabaseFile], DatabaseFile],
) -> None:
    """Add a file with new facts on a database, after any that others add meanwhile.

    Args:
        store: The store.
        paths: The paths of the warehouse.
        folder: The folder of the database; of another database nothing is changed.
        file: The file of the database at the time of the plan.
        change: The change; nothing is written where it changes nothing.
    """
    while True:
        found = find_database_file(store.files, paths, folder)
        if found is None and file.number == 0:
            found = file
        if found is None or found.content.id != file.content.id:
            return
        changed = change(found.content)
        if changed == found.content:
            return
        path = paths.database_file(folder, found.number + 1)
        publish_once(store, path, changed.to_json().encode())


def set_database_properties(
    store: CommitStore,
    paths: CatalogPaths,
    folder: str,
    file: NumberedDatabaseFile,
    properties: Mapping[str, str],
) -> None:
    """Add a file with all properties of a database, unless an earlier try has.

    Args:
        store: The store.
        paths: The paths of the warehouse.
        folder: The current folder of the database.
        file: The file of the database at the time of the plan.
        properties: Those that it gets in place of the ones that were known.

    Raises:
        CommitConflict: It is another database by now, or somebody changed its properties.
    """
    while not had_properties(store, paths, folder, file, properties):
        found = find_database_file(store.files, paths, folder) or file
        is_same = found.content.id == file.content.id
        if not is_same or found.content.properties != file.content.properties:
            raise _changed_meanwhile(file.content.name, folder)
        changed = replace(found.content, properties=properties)
        path = paths.database_file(folder, found.number + 1)
        publish_once(store, path, changed.to_json().encode())


def had_properties(
    store: CommitStore,
    paths: CatalogPaths,
    folder: str,
    file: NumberedDatabaseFile,
    properties: Mapping[str, str],
) -> bool:
    """Whether a database got properties since it was looked at, also if others followed."""
    newest = find_database_file(store.files, paths, folder)
    if newest is None or newest.content.id != file.content.id:
        return False
    numbers = range(file.number + 1, newest.number + 1)
    data = store.files.read_many([paths.database_file(folder, each) for each in numbers])
    return any(DatabaseFile.from_json(each).properties == properties for each in data)


def holds_database(store: CommitStore, paths: CatalogPaths, folder: str, database_id: str) -> bool:
    """Whether a folder is that of a database, by the id in its newest file."""
    found = find_database_file(store.files, paths, folder)
    return found is not None and found.content.id == database_id


def _changed_meanwhile(name: str, path: str) -> CommitConflict:
    return CommitConflict(
        f"Database {name!r} was changed by somebody else in the meantime. Nothing was changed by "
        "this operation; look at the database, then run it again.",
        kind=ErrorKind.HEAD_MOVED,
        path=path,
    )


def _cannot_move(folder: str) -> NotAllowed:
    return NotAllowed(
        f"{folder} was not moved: this store cannot give a folder another name in one step. "
        "Nothing was changed.",
        kind=ErrorKind.UNSUPPORTED,
        path=folder,
    )
