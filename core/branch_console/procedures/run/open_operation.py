"""The common parts of every procedure that changes something: journal, event, receipt."""

import hashlib
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Self, TypeVar

from branch_console.commit.journal import Journal
from branch_console.errors import CommitConflict, ErrorKind, NotFound, Refused, StorageError
from branch_console.format.identifier import Identifier
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.intent import End, Ending, Intent
from branch_console.format.lineage_event import LineageEvent
from branch_console.format.receipt import Receipt
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.all_tables import all_tables
from branch_console.storage.system_lock import Hold
from branch_console.table.file_store_table import FileStoreTable

FRESH_MILLIS: Final = 60_000
"""An operation younger than this may still be at work."""
_LONGEST_WAIT_SECONDS: Final = 60.0

J = TypeVar("J")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenOperation:
    """One operation with a journal, from its intent to its end.

    Attributes:
        is_resumed: Whether an earlier try may have left files.
        is_held: Whether the caller has locked the operation already.
        progress: Called with the units done and all units.
    """

    warehouse: Warehouse
    journal: Journal
    intent: Intent
    is_resumed: bool = False
    is_held: bool = False
    progress: Progress = lambda _done, _total: None

    @property
    def subject(self) -> str:
        """The object that it changes, for people."""
        return "the catalog"

    def read(self, codec: Codec[J]) -> J:
        """Return what the operation set out to do; raises FormatError, which names the file."""
        return self.journal.decode(self.intent, codec)

    @property
    def commit_identifier(self) -> int:
        """A number that no other commit of the actor has, the same one for a repeated try."""
        digest = hashlib.sha256(self.intent.operation_id.encode()).digest()
        return int.from_bytes(digest[:7])

    @contextmanager
    def held(self) -> Iterator[Self]:
        """Be the only one on this machine that carries the operation out, and say where it ends.

        Yields:
            The operation as it stands by then: somebody else may have been at work on it.

        Raises:
            Refused: Another process is at work on it, for longer than is waited for.
            StorageError: The store failed in the middle; recovery goes on from there.
        """
        try:
            with self._held() as held:
                yield held
        except StorageError as error:
            # "Nothing was changed" is true of the failed call alone, not of the operation.
            cause = error.__cause__
            reason = cause if isinstance(cause, OSError) else error.message.rstrip(".")
            raise StorageError(
                f"{self.intent.procedure} of {self.subject} was cut off: "
                f"{reason}. Some or all of it may be done. Once that is mended, run: "
                "branch-console recover.",
                kind=error.kind,
                **{**error.facts, "operation_id": self.intent.operation_id},
            ) from error

    @contextmanager
    def resumed(self) -> Iterator[Self | None]:
        """Hold an operation that was cut off; None if somebody is at work or it has ended."""
        operation_id, journal = self.intent.operation_id, self.journal
        with journal.hold(operation_id, longest_wait_seconds=0) as hold:
            if hold is Hold.NOT or journal.end_of(operation_id) is not None:
                yield None
                return
            yield replace(self, is_resumed=True, is_held=True)

    @contextmanager
    def _held(self) -> Iterator[Self]:
        if self.is_held:
            yield self
            return
        operation_id, waits = self.intent.operation_id, _LONGEST_WAIT_SECONDS
        with self.journal.hold(operation_id, longest_wait_seconds=waits) as hold:
            if hold is Hold.NOT:
                raise Refused(
                    f"Operation {operation_id} is at work in another process. Nothing was changed "
                    "by this one. Wait for the other, or end it if it hangs, then try again.",
                    kind=ErrorKind.BRANCH_IN_USE,
                    operation_id=operation_id,
                )
            others = hold is Hold.WAITED or self._may_be_taken_up()
            yield replace(self, is_resumed=self.is_resumed or others, is_held=True)

    def _may_be_taken_up(self) -> bool:
        """Whether recovery may have been at work on it, as one that stood still looks cut off."""
        if self.warehouse.clock() - self.intent.time_millis > FRESH_MILLIS // 2:
            return True
        # A clock that is ahead takes up what is young. A store far away is not asked for that.
        is_near = self.warehouse.store.files.is_local
        return is_near and self.journal.end_of(self.intent.operation_id) is not None

    def end_unless_stopped(self) -> End | None:
        """Return the end of an operation that is done, None while it is open.

        Raises:
            CommitConflict: It was stopped or taken back.
        """
        ended = self.journal.end_of(self.intent.operation_id)
        if ended is not None and ended.ending is not Ending.DONE:
            raise CommitConflict(
                ended.message or f"Operation {self.intent.operation_id} was taken back.",
                kind=ErrorKind.HEAD_MOVED,
            )
        return ended

    def receipt(self) -> Receipt | None:
        """Return the receipt where the operation is done."""
        event = self.journal.find_event(self.intent)
        return None if event is None else event.receipt

    def end(self, ending: Ending, message: str | None = None) -> End:
        """Write the end, or return the one that was written before."""
        end = End(ending=ending, time_millis=self.warehouse.clock(), message=message)
        return self.journal.finish(self.intent.operation_id, end)

    def complete(self, *events: LineageEvent) -> Receipt:
        """Record the events, the last of which carries the receipt, and write the end."""
        end = End(ending=Ending.DONE, time_millis=self.warehouse.clock())
        self.journal.conclude(self.intent.operation_id, events, end)
        receipt = self.receipt()
        if receipt is None:
            raise StorageError(
                f"Operation {self.intent.operation_id} is done, but the store does not show its "
                "receipt. Look at the jobs, or at the ledger, before you run it again.",
                operation_id=self.intent.operation_id,
            )
        return receipt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operation(OpenOperation):
    """One operation on one table."""

    table: FileStoreTable

    @property
    def subject(self) -> str:
        """The table that it changes."""
        return self.table.identifier.table_name

    @classmethod
    def find(
        cls, warehouse: Warehouse, table: FileStoreTable, operation_id: str
    ) -> "Operation | None":
        """Return the operation where it has begun already."""
        journal = Journal(warehouse.store, table.paths)
        intent = journal.find(operation_id)
        if intent is None:
            return None
        return cls(
            warehouse=warehouse, table=table, journal=journal, intent=intent, is_resumed=True
        )

    @classmethod
    def begin(
        cls,
        warehouse: Warehouse,
        table: FileStoreTable,
        call: ProcedureCall,
        *,
        branch: str,
        codec: Codec[J],
        journal: J,
        catalog_operation: str | None = None,
    ) -> "Operation":
        """Write the intent; an operation that has begun goes on with the plan it began with."""
        ledger = Journal(warehouse.store, table.paths)
        plan = codec.encode(journal)
        intent = begin_intent(
            warehouse, ledger, call, branch=branch, plan=plan, catalog_operation=catalog_operation
        )
        return cls(warehouse=warehouse, table=table, journal=ledger, intent=intent)


def begin_intent(
    warehouse: Warehouse,
    journal: Journal,
    call: ProcedureCall,
    *,
    branch: str,
    plan: Mapping[str, object],
    event_millis: int = 0,
    catalog_operation: str | None = None,
) -> Intent:
    """Write the intent of a call, or return the one that it wrote before.

    Args:
        warehouse: The warehouse.
        journal: Where the intent is written.
        call: Who does what.
        branch: The branch that changes.
        plan: JSON values: all that is needed to finish or to roll back.
        event_millis: The least time of the event.
        catalog_operation: The operation of the catalog that it is a part of.
    """
    now_millis = warehouse.clock()
    return journal.begin(
        Intent(
            operation_id=call.operation_id,
            procedure=call.name,
            actor=call.actor,
            branch=branch,
            statement=call.statement,
            time_millis=now_millis,
            event_millis=journal.time_for_event(max(now_millis, event_millis)),
            plan=plan,
            host=platform.node(),
            catalog_operation=catalog_operation,
        )
    )


def find_receipt(table: FileStoreTable, operation_id: str) -> Receipt | None:
    """Return the receipt of an operation on this table, from its ledger."""
    for event in table.ledger.events():
        if event.operation_id == operation_id and event.receipt is not None:
            return event.receipt
    return None


def table_of_operation(warehouse: Warehouse, operation_id: str) -> Identifier:
    """Return the table that an operation changed, from the journals of all tables.

    One that a branch of the catalog alone has is named as it is there: `air$branch_dev.routes`.

    Raises:
        NotFound: No journal knows it.
    """
    for name, table in all_tables(warehouse):
        if Journal(warehouse.store, table.paths).find(operation_id) is not None:
            return name
    raise NotFound(
        f"No table of this warehouse has an operation {operation_id!r}. Look at the history of "
        "the table, or name the table.",
        kind=ErrorKind.OPERATION_NOT_FOUND,
        operation_id=operation_id,
    )
