"""The choice of the publisher for a store."""

from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import (
    ExclusiveCreatePublisher,
    FilePublisher,
    RefusingPublisher,
    RenamePublisher,
)
from branch_console.storage.local_publisher import LocalPublisher


def publisher_for(file_io: FileIO) -> FilePublisher:
    """The publisher that suits the store; one that refuses if none is safe."""
    if file_io.is_local:
        return LocalPublisher(file_io)
    if file_io.creates_exclusively:
        return ExclusiveCreatePublisher(file_io)
    if file_io.renames_exclusively:
        return RenamePublisher(file_io)
    is_hdfs = file_io.scheme in ("hdfs", "viewfs")
    return RefusingPublisher(
        f"no way is known to create a file on {file_io.scheme}:// without overwriting another. "
        + ("Open it as webhdfs://, or give" if is_hdfs else "Give")
        + " the store option claims=URL of a database that all writers share."
    )
