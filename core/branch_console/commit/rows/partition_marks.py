"""The file by which a partition is marked as done, for whoever waits for it.

Source: Paimon SuccessFileMarkDoneAction, SuccessFile.
"""

from collections.abc import Sequence
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import CommitConflict, ErrorKind, StorageError
from branch_console.format.journals.partitions import PartitionMark
from branch_console.format.json_text import JsonObject, to_pretty_json

_NAME: Final = "_SUCCESS"
_CREATED: Final = "creationTime"
_MODIFIED: Final = "modificationTime"


def mark_path(table: str, folder: str) -> str:
    """Return the path of the mark of a partition, whose folder lies below the table."""
    return f"{table}/{folder.strip('/')}/{_NAME}"


def marked_at(millis: int, before: bytes | None) -> str:
    """Return a mark of a time; one that is there keeps the time at which it was made.

    Raises:
        FormatError: The file is no mark.
    """
    created = millis
    if before is not None:
        created = JsonObject.parse(before, "mark of a partition").get(_CREATED, int)
    return to_pretty_json({_CREATED: created, _MODIFIED: millis})


def put_marks(store: CommitStore, table: str, marks: Sequence[PartitionMark]) -> None:
    """Make, renew or remove marks; what is done already stays as it is.

    Raises:
        CommitConflict: A mark is another than the one that was planned on; none was changed.
        StorageError: The store did not let the outcome be known.
    """
    for mark in marks:
        path = mark_path(table, mark.folder)
        if store.files.find(path) not in (_bytes(mark.before), _bytes(mark.after)):
            raise CommitConflict(
                f"{path} was changed by somebody else in the meantime. No partition was marked; "
                "try again.",
                kind=ErrorKind.HEAD_MOVED,
                path=path,
            )
    for mark in marks:
        path, data = mark_path(table, mark.folder), _bytes(mark.after)
        if data is None:
            store.remover.remove([path])
        elif mark.before is None:
            publish_once(store, path, data)
        elif not store.publisher.replace(path, data) or store.files.read(path) != data:
            raise StorageError(f"{path} could not be written. Try again.", path=path)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
