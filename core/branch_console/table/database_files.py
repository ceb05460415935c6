"""The files in which a database has its id and its properties; the highest number holds."""

from branch_console.errors import FormatError
from branch_console.format.catalog.database_file import DatabaseFile, NumberedDatabaseFile
from branch_console.storage.catalog_paths import (
    DATABASE_PREFIX,
    OWN_FOLDER,
    CatalogPaths,
    number_in,
)
from branch_console.storage.file_io import FileReader


def find_database_file(
    files: FileReader, paths: CatalogPaths, folder: str
) -> NumberedDatabaseFile | None:
    """Return the file of a database that holds, None if another engine made the database.

    Args:
        files: Reads the store.
        paths: The paths of the warehouse.
        folder: The folder of the database.

    Raises:
        FormatError: The file cannot be decoded; the message names it.
    """
    names = files.names(f"{folder}/{OWN_FOLDER}")
    number = max((number_in(name, DATABASE_PREFIX) or 0 for name in names), default=0)
    if number == 0:
        return None
    path = paths.database_file(folder, number)
    try:
        content = DatabaseFile.from_json(files.read(path))
    except FormatError as error:
        raise FormatError(
            f"{path} is broken: {error.message} Put the file back from a copy; without one, remove "
            "it, so that the file before it holds.",
            kind=error.kind,
            **{**error.facts, "path": path},
        ) from error
    return NumberedDatabaseFile(number=number, content=content)
