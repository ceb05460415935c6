"""The branches and tags of the catalog that read a table by one of its tags."""

from collections.abc import Collection

from branch_console.errors import ErrorKind
from branch_console.maintenance.references import CatalogReferences, unkept_names
from branch_console.procedures.call.consequence import Consequence, blocks
from branch_console.table.file_store_table import FileStoreTable


def catalog_readers(
    table: FileStoreTable, going: Collection[str], catalog: CatalogReferences
) -> tuple[str, ...]:
    """Return the branches and tags of the catalog that would lack a tag that keeps what they read.

    Args:
        table: The table on the branch of the tags.
        going: The tags that are about to go.
        catalog: The snapshots that the catalog refers to.
    """
    lost = unkept_names(table, catalog, going)
    if not lost:
        return ()
    kept = [each.snapshot.identity for each in table.tags.all() if each.name in going]
    return tuple(
        dict.fromkeys(
            named.owner for named in lost if any(named.identity.same_as(each) for each in kept)
        )
    )


def catalog_blocks(
    table: FileStoreTable, going: Collection[str], catalog: CatalogReferences, what: str
) -> tuple[Consequence, ...]:
    """Refuse to take tags by which a branch or a tag of the catalog reads.

    Args:
        table: The table on the branch of the tags.
        going: The tags.
        catalog: The snapshots that the catalog refers to.
        what: The refused action, such as `deleted`.
    """
    owners = catalog_readers(table, going, catalog)
    if not owners:
        return ()
    noun = "Tag" if len(going) == 1 else "Tags"
    shown, readers = (", ".join(map(repr, names)) for names in (sorted(going), owners))
    return (
        blocks(
            f"{noun} {shown} of {table.branch!r} cannot be {what}: catalog branch or tag {readers} "
            "reads there what only that keeps. Drop that one first, or write to the table on it, "
            "which gives it a branch of its own.",
            ErrorKind.FILES_IN_USE,
            owners,
        ),
    )
