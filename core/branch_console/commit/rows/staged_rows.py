"""Rows that a merge writes before anything is published, so that none of their files is lost.

Before the first file the journal learns the id that all names of these files hold. Then one step
says whose they are: the operation's that publishes them, whose own entry names them from there on,
or of who swept them, as their run was cut off or let go of them. Whoever is second knows it. A dry
run that is kept names its files itself.
"""

import uuid
from collections.abc import Callable, Collection
from typing import Final

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.this_process import this_process
from branch_console.commit.journal import Journal
from branch_console.commit.rows.row_write import is_at_work as is_process_at_work
from branch_console.commit.rows.write_files import files_of_write
from branch_console.errors import NotFound
from branch_console.format.journals.intent import Intent
from branch_console.format.journals.rows import STAGED_ROWS_JOURNAL, StagedRowsJournal
from branch_console.table.file_store_table import FileStoreTable

PROCEDURE: Final = "stage_rows"
"""The name in the journal of all rows that wait for an operation to publish them."""

_OWNER: Final = "owner"
_RELEASED: Final = "let-go"
# No operation is called so: an id has no such sign.
_SWEEPER: Final = b"(swept)"


class StagedRows:
    """Files of rows that nothing names yet, from their journal entry to whoever takes them.

    Attributes:
        id: Their id in the journal, which the name of every file contains.
    """

    def __init__(self, table: FileStoreTable, store: CommitStore, staged_id: str) -> None:
        self._table = table
        self._store = store
        self._journal = Journal(store, table.paths)
        self.id = staged_id

    @classmethod
    def begin(
        cls,
        table: FileStoreTable,
        store: CommitStore,
        *,
        operation_id: str,
        actor: str,
        statement: str,
        clock: Callable[[], int],
        staged_id: str | None = None,
    ) -> "StagedRows":
        """Write the journal entry that comes before the first file.

        Args:
            table: The table on the branch that the rows are for.
            store: Its store.
            operation_id: The operation that will publish them.
            actor: The person who asked for it.
            statement: The statement.
            clock: Milliseconds since the epoch.
            staged_id: The id of files that are there already and whose entry was removed.
        """
        staged = cls(table, store, staged_id or f"rows-{uuid.uuid4().hex}")
        now_millis = clock()
        staged._journal.begin(
            Intent(
                operation_id=staged.id,
                procedure=PROCEDURE,
                actor=actor,
                branch=table.branch,
                statement=statement,
                time_millis=now_millis,
                event_millis=now_millis,
                plan=STAGED_ROWS_JOURNAL.encode(
                    StagedRowsJournal(operation_id=operation_id, writer=this_process())
                ),
            )
        )
        return staged

    def take(self, operation_id: str) -> bool:
        """Make the files an operation's, that is about to begin; False if they were swept."""
        owner = operation_id.encode()
        is_ours = self._journal.mark(self.id, _OWNER, owner) == owner
        # Who sweeps them removes the entry before the step.
        if is_ours and self._journal.find(self.id) is None:
            self._journal.forget_step(self.id, _OWNER)
            return False
        return is_ours

    def release(self) -> None:
        """Tell that their run is over; it may be taken up again until they are swept."""
        if self._journal.find(self.id) is not None:
            self._journal.mark(self.id, _RELEASED)

    def discard_unclaimed(self, names_of: Callable[[Intent | None], Collection[str]]) -> bool:
        """Remove the files, unless an operation that has begun or a kept dry run names them.

        Args:
            names_of: The names of the files that come with the rows of an operation, or without
                one of the dry runs that are kept. The operation may have begun with the rows of
                another run, where this one was cut off before it could.
        """
        owner = self._journal.mark(self.id, _OWNER, _SWEEPER)
        begun = None if owner == _SWEEPER else self._journal.find(owner.decode())
        if any(self.id in name for name in names_of(begun)):
            self.forget()
            return False
        self.remove()
        self.forget()
        return True

    def remove(self) -> None:
        """Remove the files that exist; no snapshot names them."""
        self._store.remover.discard(list(files_of_write(self._table, self._store, self.id)))

    def is_for(self, operation_id: str) -> bool:
        """Whether they wait for this operation, or for none."""
        intent = self._journal.find(self.id)
        return intent is None or operation_of(self._journal, intent) == operation_id

    def forget(self) -> None:
        """Forget files that somebody else names from here on, or that are gone."""
        self._journal.remove_intent(self.id, (_OWNER, _RELEASED))


def operation_of(journal: Journal, intent: Intent) -> str:
    """Return the operation that was to publish the rows of an entry; raises FormatError."""
    return journal.decode(intent, STAGED_ROWS_JOURNAL).operation_id


def is_at_work(journal: Journal, intent: Intent, now_millis: int) -> bool:
    """Whether the run that stages the rows of an entry may still need them."""
    if journal.has_reached(intent.operation_id, _RELEASED):
        return False
    return is_process_at_work(journal, intent, now_millis)


def recovered_rows(
    table: FileStoreTable,
    store: CommitStore,
    intent: Intent,
    names_of: Callable[[Intent | None], Collection[str]],
) -> str:
    """Remove the files of a run that is over, and say what became of them."""
    try:
        on_branch = table.on(intent.branch)
    except NotFound:
        # The branch was dropped: files of a table lie in the same places on every branch.
        on_branch = table
    operation_id = operation_of(Journal(store, table.paths), intent)
    if StagedRows(on_branch, store, intent.operation_id).discard_unclaimed(names_of):
        return "The run was over before anything was published; the rows it wrote are removed."
    return f"Operation {operation_id} has them, or its dry run is kept."
