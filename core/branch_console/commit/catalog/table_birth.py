"""Making main of a table that branches alone have: it appears whole, with its history.

Tags and snapshots come first, which nobody reads without a schema. The schemas are prepared aside
and get their place in one rename, where the store has it; else the first schema comes last, so that
who reads meanwhile finds no table, or a schema that is missing, and never a table that looks empty.
"""

from collections.abc import Callable
from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import copy_files
from branch_console.commit.branch.history_copy import copied_files, copy_history
from branch_console.errors import CommitConflict, ErrorKind
from branch_console.format.journals.history import HistoryCopy
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.table.file_store_table import FileStoreTable


def give_main(
    table: FileStoreTable,
    store: CommitStore,
    copy: HistoryCopy,
    aside: str,
    before_schemas: Callable[[], None],
) -> None:
    """Give a table the main that a branch of it is, or finish what was cut off.

    Args:
        table: The table on any branch.
        store: The table's store.
        copy: The parts of the branch that main gets.
        aside: A folder that nobody reads, in which the schemas wait.
        before_schemas: What is done once the snapshots are there.

    Raises:
        CommitConflict: Somebody else has made main of the table.
        NotFound: The branch lost some of it.
    """
    main = table.on(copy.target)
    copy_history(table, store, replace(copy, schema_ids=()), lambda _done, _all: None)
    before_schemas()
    only_schemas = replace(copy, tags=(), snapshot_ids=())
    sources = copied_files(table.on(copy.source).paths, only_schemas)
    waiting = [f"{aside}/{path.rpartition('/')[2]}" for path in sources]
    copy_files(store, list(zip(sources, waiting, strict=True)))
    match store.mover.move(aside, main.paths.schema_dir):
        case MoveOutcome.DONE:
            return
        case MoveOutcome.TAKEN:
            raise CommitConflict(
                f"{main.paths.schema_dir} is there already, and was made by somebody else.",
                kind=ErrorKind.NAME_TAKEN,
                path=main.paths.schema_dir,
            )
        case MoveOutcome.UNSUPPORTED:
            pairs = list(zip(waiting, copied_files(main.paths, only_schemas), strict=True))
            copy_files(store, pairs[::-1])
            store.remover.discard(waiting)
