"""Schemas that files of a branch were written with, and that the branch does not have.

Releases before 1.0 copied only the newest schema to a new branch, and a person can delete the file
of one. Files name the schema by which they are decoded, so without it nobody reads them.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa

from branch_console.errors import ErrorKind, NotFound
from branch_console.format.snapshot import Snapshot
from branch_console.table.file_store_table import FileStoreTable


def check_schemas(table: FileStoreTable, files: pa.Table, known: Collection[int]) -> None:
    """Refuse to read files whose schema is missing.

    Args:
        table: The table on a branch.
        files: The files, with the column `schema_id` of MANIFEST_ENTRY.
        known: Ids of the schemas of the branch.

    Raises:
        NotFound: A schema is missing; the error names it and its path.
    """
    missing = sorted(_used(files) - set(known))
    if missing:
        path = table.paths.schema(missing[0])
        raise NotFound(
            f"{table.identifier} has files that were written with schema {missing[0]}, and branch "
            f"{table.branch!r} has no such schema: {path} is missing. branch-console repair-branch "
            "brings it back where main has it.",
            kind=ErrorKind.SCHEMA_NOT_FOUND,
            path=path,
            schema_id=missing[0],
            branch=table.branch,
        )


def missing_schemas(
    table: FileStoreTable, newest: int, snapshots: Iterable[Snapshot]
) -> tuple[int, ...]:
    """The schemas that a branch needs and does not have, rising.

    Manifests are read only if an id below the newest is missing: engines leave no gap.

    Args:
        table: The table on a branch.
        newest: The id of its newest schema.
        snapshots: The readable snapshots of the branch.

    Raises:
        FormatError: A manifest is missing or broken.
    """
    absent = set(range(newest)).difference(table.schemas.ids()) if newest else set()
    if not absent:
        return ()
    listed = list(snapshots)
    needed = {each.schema_id for each in listed}
    for snapshot in listed:
        needed |= _used(table.read_manifests(table.manifests(snapshot)))
    return tuple(sorted(absent & needed))


def _used(files: pa.Table) -> set[int]:
    return set(files["schema_id"].unique().to_pylist())
