"""States of the catalog in memory, written in a line or two."""

from collections.abc import Mapping

from branch_console.diff.catalog_state import CatalogState, Content, DatabaseState, TableState
from branch_console.diff.three_way import ThreeWay
from branch_console.format.snapshot import SnapshotIdentity


def database(object_id: str, name: str, **properties: str) -> DatabaseState:
    return DatabaseState(id=object_id, name=name, properties=properties)


def head(number: int) -> SnapshotIdentity | None:
    """The identity of a made-up snapshot; 0 is no snapshot."""
    name = f"snapshot {number}"
    return SnapshotIdentity(uuid=name, manifest_lists=(name, name)) if number else None


def table(
    object_id: str, place: str, at: int = 1, *, schema: int = 0, content: Content = Content.MADE
) -> TableState:
    """A table in a database, as `d.flights` where `d` is the id of that."""
    home, _, name = place.partition(".")
    return TableState(
        id=object_id,
        database=home,
        name=name,
        folder=f"{home}.db/{object_id}",
        birth=f"birth of {object_id}",
        head=head(at),
        schema=schema,
        content=content,
    )


def catalog(
    *objects: DatabaseState | TableState,
    version: str = "main@1",
    members: frozenset[str] | None = None,
    left_out: Mapping[str, str] | None = None,
    unclear: Mapping[str, str] | None = None,
) -> CatalogState:
    return CatalogState(
        version=version,
        databases={each.id: each for each in objects if isinstance(each, DatabaseState)},
        tables={each.id: each for each in objects if isinstance(each, TableState)},
        members=members,
        left_out=left_out or {},
        unclear=unclear or {},
    )


def three(base: CatalogState, ours: CatalogState, theirs: CatalogState) -> ThreeWay[CatalogState]:
    return ThreeWay(base=base, ours=ours, theirs=theirs)
