"""Fences: consumers that read nothing, and keep other engines from expiring a branch.

Paimon's expiry stops before the lowest consumer of the branch that it looks at, so a consumer whose
next snapshot is the first one keeps all of them.
Source: Paimon ConsumerManager.minNextSnapshot and ExpireSnapshotsImpl.expire.
"""

from dataclasses import dataclass
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import CommitConflict, ErrorKind, FormatError
from branch_console.format.table_schema import TableSchema
from branch_console.storage.table_paths import FENCE_ID
from branch_console.table.consumer_manager import Consumer
from branch_console.table.file_store_table import FileStoreTable

FIRST_SNAPSHOT_ID: Final = 1
FENCE: Final = Consumer(id=FENCE_ID, next_snapshot_id=FIRST_SNAPSHOT_ID).to_json().encode()
"""The content of a fence, as Paimon writes a consumer that has read nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceState:
    """Whether a branch has a fence, and whether other engines heed it.

    Attributes:
        is_there: Whether the file of the fence is there, whatever it holds.
        holds_all: Whether that file keeps all snapshots; one that was reset keeps later ones only.
        obstacles: Options of the branch by which other engines expire in spite of a fence.
    """

    is_there: bool
    holds_all: bool
    obstacles: tuple[str, ...]

    @property
    def is_effective(self) -> bool:
        """Whether no other engine that heeds the branch's options expires a snapshot of it."""
        return self.holds_all and not self.obstacles


def fence_state(table: FileStoreTable, schema: TableSchema | None = None) -> FenceState:
    """Look at the fence of a branch.

    Args:
        table: The table on the branch.
        schema: Its newest schema; None reads it.

    Raises:
        NotFound: The branch has no schema, so nothing tells whether a fence holds.
        FormatError: Its newest schema cannot be decoded.
    """
    data = table.reader.files.find(table.paths.consumer(FENCE_ID))
    return FenceState(
        is_there=data is not None,
        holds_all=data is not None and _keeps_all(data),
        obstacles=(schema or table.schema()).fence_obstacles,
    )


def put_fence(table: FileStoreTable, store: CommitStore) -> bool:
    """Fence a branch; return whether this call made or mended the fence.

    Raises:
        CommitConflict: Somebody else keeps writing another consumer under the name of the fence.
        StorageError: The store did not let the outcome be known.
    """
    path = table.paths.consumer(FENCE_ID)
    made, found = publish_once(store, path, FENCE)
    if made or _keeps_all(found):
        return made
    # Reset to a later snapshot, or torn: a fence is nobody's place in a stream.
    if store.publisher.replace(path, FENCE) and _keeps_all(store.files.read(path)):
        return True
    raise CommitConflict(
        f"{path} was changed by somebody else in the meantime. Branch {table.branch!r} is not "
        "fenced; try again.",
        kind=ErrorKind.HEAD_MOVED,
        path=path,
    )


def remove_fence(table: FileStoreTable, store: CommitStore) -> None:
    """Remove the fence of a branch; one that is gone is no error."""
    store.remover.remove([table.paths.consumer(FENCE_ID)])


def _keeps_all(data: bytes) -> bool:
    try:
        return Consumer.from_json(FENCE_ID, data).next_snapshot_id <= FIRST_SNAPSHOT_ID
    except FormatError:
        return False
