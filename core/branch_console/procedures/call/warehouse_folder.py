"""Saying what a path is that somebody took for a warehouse."""

from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.procedures.call.warehouse import Warehouse

_DATABASE_SUFFIX = ".db"
_NAMES_SHOWN = 5


def check_is_warehouse(warehouse: Warehouse) -> None:
    """Refuse a path that holds no databases; an empty folder is an empty warehouse.

    Raises:
        NotFound: There is nothing at the path.
        InvalidInput: It is a file, a database, a table, or a folder of other things.
    """
    files, root = warehouse.file_io, warehouse.file_io.root
    place = files.status(root)
    if place is None:
        raise NotFound(
            f"There is no warehouse at {warehouse.url}: nothing is stored there. Check the path, "
            "or build the demo: branch-console demo.",
            path=warehouse.url,
        )
    if not place.is_directory:
        raise _no_warehouse(warehouse, "it is a file. Give the folder that holds the databases")
    names = [each.name for each in files.list(root) if each.is_directory]
    if any(name.endswith(_DATABASE_SUFFIX) for name in names):
        return
    parent, _, own_name = root.rpartition("/")
    if "schema" in names or ("branch" in names and "snapshot" in names):
        above = parent.rpartition("/")[0]
        raise _no_warehouse(
            warehouse, f"it is the folder of a table. Open {_shown(warehouse, above)}"
        )
    if own_name.endswith(_DATABASE_SUFFIX):
        where = _shown(warehouse, parent)
        raise _no_warehouse(warehouse, f"it is the folder of a database. Open {where}")
    if found := [each.name for each in files.list(root)]:
        shown = ", ".join(repr(name) for name in found[:_NAMES_SHOWN])
        more = f" and {len(found) - _NAMES_SHOWN:,} more" if len(found) > _NAMES_SHOWN else ""
        raise _no_warehouse(
            warehouse,
            f"it holds {shown}{more}, but no database, which is a folder NAME.db. Give the folder "
            "that holds the databases",
        )


def _shown(warehouse: Warehouse, path: str) -> str:
    return path if warehouse.file_io.is_local else warehouse.file_io.url(path)


def _no_warehouse(warehouse: Warehouse, what: str) -> InvalidInput:
    return InvalidInput(
        f"{warehouse.url} is no warehouse: {what}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        path=warehouse.url,
    )
