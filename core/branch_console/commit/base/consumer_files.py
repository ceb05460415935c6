"""Writing consumers: the places at which streaming readers read on.

Source: Paimon ConsumerManager.resetConsumer and deleteConsumer.
"""

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.table.file_store_table import FileStoreTable


def put_consumer(
    table: FileStoreTable, store: CommitStore, consumer_id: str, content: str | None
) -> None:
    """Write the file of a consumer over what is there, or remove it.

    A reader that is at work writes its own place again with its next checkpoint.

    Args:
        table: The table on the branch.
        store: Its store.
        consumer_id: The consumer.
        content: The file; None removes it, and one that is gone is no error.

    Raises:
        CommitConflict: The store did not say that the file was written.
    """
    path = table.paths.consumer(consumer_id)
    if content is None:
        store.remover.remove([path])
        return
    data = content.encode()
    _, found = publish_once(store, path, data)
    if found != data and not store.publisher.replace(path, data):
        raise CommitConflict(
            f"{path} could not be written: the store gave no clear answer. Look where consumer "
            f"{consumer_id!r} reads next, then try again.",
            kind=ErrorKind.STORE_UNREACHABLE,
            path=path,
        )
