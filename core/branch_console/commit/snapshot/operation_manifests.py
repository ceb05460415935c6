"""Manifests of an operation: their names contain its id, by which lost ones are found again.

A try that dies before its snapshot leaves the manifests that it wrote, and whoever ends the
operation writes its own. All of them have one beginning of their names in common.
"""

import hashlib
import logging
import re
import uuid
from collections.abc import Callable
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import PaimonError
from branch_console.format.snapshot import Snapshot
from branch_console.table.file_store_table import FileStoreTable

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

_log = logging.getLogger(__name__)


def uuids_of(operation_id: str) -> Callable[[], str]:
    """Draw names for the metadata files of an operation: a part of its own, the rest at random."""
    prefix = _prefix(operation_id)
    return lambda: prefix + str(uuid.uuid4())[len(prefix) :]


def remove_lost_manifests(
    table: FileStoreTable, store: CommitStore, operation_id: str, landed: Snapshot | None
) -> None:
    """Remove the manifests of tries of an operation that came to nothing.

    Args:
        table: The table on the branch that the operation commits to.
        store: Its store.
        operation_id: The id of an operation that makes one commit and whose outcome is known.
        landed: Its snapshot; None if it can have none any more.
    """
    folder, prefix = table.paths.manifest("").rstrip("/"), _prefix(operation_id)
    try:
        kept = set() if landed is None else _uuids_in(table, landed)
        found = [
            name
            for name in store.files.names(folder)
            if (held := _UUID.search(name)) and held[0].startswith(prefix) and held[0] not in kept
        ]
        store.remover.discard([f"{folder}/{name}" for name in found])
    except PaimonError as error:
        _log.warning("manifests of lost tries of %s stay: %s", operation_id, error)


def _uuids_in(table: FileStoreTable, landed: Snapshot) -> set[str]:
    """The names that a snapshot needs, each of which stands for all that were written with it."""
    names = [
        *(landed.base_manifest_list, landed.delta_manifest_list),
        *filter(None, (landed.changelog_manifest_list, landed.index_manifest)),
        *table.manifests(landed)["file_name"].to_pylist(),
    ]
    return {held[0] for name in names if (held := _UUID.search(name))}


def _prefix(operation_id: str) -> str:
    digest = hashlib.sha256(operation_id.encode()).hexdigest()
    # The version of the UUID stays where it is.
    return f"{digest[:8]}-{digest[8:12]}-4{digest[12:15]}-"
