"""Removing orphan files: what nothing names is noted, and goes after a grace.

They may be what a commit that failed left, what only a dropped branch held, or what an expiry that
was cut off did not come to. Until they go undo lets go of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from branch_console.diff.expiry.dry_run import CleaningDryRun
from branch_console.diff.history_move import count
from branch_console.format.journals.expiry import (
    CLEANING,
    CLEANING_JOURNAL,
    CleaningJournal,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import Counts, Expected, Receipt
from branch_console.format.scan_options import moment_text
from branch_console.maintenance.named_files import RELEASED_FILES
from branch_console.maintenance.release import find_release_list, list_release
from branch_console.maintenance.trash import Trash, has_trash
from branch_console.operations.maintenance_requests import RemoveOrphanFilesRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    keeps,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.grace_words import NO_UNDO_OF_FILES, minutes
from branch_console.procedures.maintenance.maintenance_turn import (
    PlannedTurn,
    claim_maintenance,
    end_turn,
    obstacles,
    planned_turn,
)
from branch_console.procedures.maintenance.orphan_files import (
    Orphans,
    find_orphans,
    full_trash,
    release_orphans,
    waiting_cleanings,
    without_waiting,
)
from branch_console.procedures.maintenance.release_files import REMOVED, Released, size_of
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import Procedure, table_of
from branch_console.procedures.run.receipts import receipt_of

_DAY_MILLIS: Final = 86_400_000
_MOST_NAMED: Final = 20


def plan_cleaning(warehouse: Warehouse, call: ProcedureCall) -> PlannedTurn:
    """Decide which files of a table are orphans.

    Raises:
        InvalidInput: The time is none, or too near.
        NotFound: There is no such table.
        FormatError: The files that the table needs are not known, so nothing may be removed.
    """
    asked, table = call.request(RemoveOrphanFilesRequest), table_of(warehouse, call)
    now, grace = warehouse.clock(), asked.grace_millis()
    before = asked.older_than_millis(now)
    waiting = waiting_cleanings(warehouse, table)
    due = tuple(each for each, (since, _) in waiting.items() if now >= since)
    keep = asked.trash_keep_millis() if has_trash(warehouse.store) else 0
    empties = full_trash(warehouse, table, now)
    earlier = [files for _, files in waiting.values()]
    found = find_orphans(warehouse, table, before, call.operation_id)
    orphans = without_waiting(found.files, earlier)
    going = pa.concat_tables([orphans, *(waiting[each][1] for each in due)]).combine_chunks()
    consequences = _consequences(found, orphans, going, _Terms(due, empties, before, grace, keep))
    is_due = bool(going.num_rows or empties)
    preview = Preview(
        procedure=call.name,
        title=f"Remove orphan files of {table.identifier.table_name}",
        plan_id=plan_digest(call, sorted(going["path"].to_pylist()), due, empties),
        consequences=(*obstacles(warehouse, table, call), *consequences)
        if is_due
        else consequences,
        typed_name=None,
        role=Role.OPERATOR,
        undo=_undo_text(orphans, going, grace, keep),
        expected=Expected(
            counts=Counts(files_removed=going.num_rows, bytes_removed=size_of(going))
        ),
    )
    journal = CleaningJournal(
        plan_id=preview.plan_id,
        reason=asked.reason,
        older_than_millis=before,
        releases=due,
        grace_millis=grace,
        empties=empties,
        trash_keep_millis=keep,
    )
    return planned_turn(
        call,
        table,
        preview,
        journal if is_due else None,
        now_millis=now,
        dry_run=CleaningDryRun(
            orphans=orphans,
            earlier=going.slice(orphans.num_rows),
            unknown=found.unknown,
            grace_millis=grace,
        ),
    )


def finish_cleaning(operation: Operation, journal: CleaningJournal) -> Receipt:
    """Note the orphans, then remove those whose grace is over.

    Raises:
        CommitConflict: Another operation removes files of the table, or brings names back.
        FormatError: The files that the table needs are not known any more; no file was removed.
    """
    operation_id = operation.intent.operation_id
    claim_maintenance(operation)
    noted = _note_orphans(operation, journal)
    own = () if journal.grace_millis else (operation_id,)
    trash = _trash_of(operation, operation_id) if journal.trash_keep_millis else None
    released = release_orphans(operation, (*journal.releases, *own), trash)
    emptied = sum(_trash_of(operation, each).empty() for each in journal.empties)
    receipt = receipt_of(
        operation,
        counts=Counts(files_removed=released.files, bytes_removed=released.size),
        notes=tuple(_notes(journal, noted, released, emptied)),
    )
    return end_turn(operation, LineageKind.CLEANED, receipt)


REMOVE_ORPHAN_FILES = Procedure(
    name=CLEANING,
    what="remove orphan files",
    doing="Removing orphan files.",
    plan=plan_cleaning,
    codec=CLEANING_JOURNAL,
    finish=finish_cleaning,
)


def _trash_of(operation: Operation, cleaning: str) -> Trash:
    """Return the trash of a cleaning."""
    return Trash(table=operation.table, store=operation.warehouse.store, operation_id=cleaning)


def _note_orphans(operation: Operation, journal: CleaningJournal) -> pa.Table:
    """Note durably what goes; what an earlier try noted stands."""
    warehouse, table = operation.warehouse, operation.table
    operation_id = operation.intent.operation_id
    noted = find_release_list(table, warehouse.store, operation_id)
    if noted is not None:
        return noted
    if operation.journal.has_reached(operation_id, REMOVED):
        return RELEASED_FILES.empty_table()  # an earlier try removed them, and forgot the list
    found = find_orphans(warehouse, table, journal.older_than_millis, operation_id).files
    waiting = [files for _, files in waiting_cleanings(warehouse, table).values()]
    fresh = without_waiting(found, waiting)
    if not fresh.num_rows:
        return fresh
    return list_release(table, warehouse.store, operation_id, fresh)


@dataclass(frozen=True, slots=True)
class _Terms:
    """The files to remove and earlier cleanings that are over; times in milliseconds."""

    due: Sequence[str]
    empties: Sequence[str]
    before: int
    grace: int
    keep: int


def _consequences(
    found: Orphans, orphans: pa.Table, going: pa.Table, terms: _Terms
) -> tuple[Consequence, ...]:
    consequences = []
    if orphans.num_rows:
        paths = orphans["path"].to_pylist()
        when = f"with the first cleaning after {minutes(terms.grace)}" if terms.grace else "now"
        consequences.append(
            loses(
                f"{count(len(paths), 'file')} with {size_of(orphans):,} bytes, written before "
                f"{moment_text(terms.before)}, are named by no snapshot, tag or changelog of any "
                f"branch. They go {when}.",
                tuple(paths[:_MOST_NAMED]),
            )
        )
    if terms.due:
        earlier = going.num_rows - orphans.num_rows
        consequences.append(
            loses(
                f"{count(earlier, 'file')} that earlier cleanings noted go now.", tuple(terms.due)
            )
        )
    if terms.keep and (terms.due or (orphans.num_rows and not terms.grace)):
        consequences.append(
            keeps(
                f"What goes waits in the trash of the table for {_days(terms.keep)}; it takes as "
                "much space until then."
            )
        )
    if terms.empties:
        consequences.append(
            loses(
                "What earlier cleanings put into the trash goes for good: it has waited there for "
                "as long as they said.",
                tuple(terms.empties),
            )
        )
    if not consequences:
        consequences.append(keeps("No file is an orphan: all that may go is named, or too young."))
    if found.unknown:
        consequences.append(
            keeps(
                f"{count(len(found.unknown), 'file')} stay that nothing names either: Paimon gives "
                "no file such a name there.",
                found.unknown[:_MOST_NAMED],
            )
        )
    return tuple(consequences)


def _notes(
    journal: CleaningJournal, noted: pa.Table, released: Released, emptied: int
) -> Iterator[str]:
    if journal.grace_millis and noted.num_rows:
        yield (
            f"{count(noted.num_rows, 'orphan file')} with {size_of(noted):,} bytes go with the "
            f"first cleaning of the table after {minutes(journal.grace_millis)}."
        )
    if released.waits_for is not None:
        yield (
            f"No file was removed: operation {released.waits_for} is open and may need some. They "
            "go with the next cleaning."
        )
    elif journal.releases or not journal.grace_millis:
        text = f"{count(released.files, 'file')} with {released.size:,} bytes were removed"
        if journal.trash_keep_millis and released.files:
            text += f", and wait in the trash for {_days(journal.trash_keep_millis)}"
        yield f"{text}."
        if released.gone:
            yield f"{count(released.gone, 'file')} had gone already, or are named by now."
    if journal.empties:
        yield f"{count(emptied, 'file')} went from the trash for good."


def _undo_text(orphans: pa.Table, going: pa.Table, grace_millis: int, keep_millis: int) -> str:
    if not going.num_rows:
        return NOTHING_TO_UNDO
    if keep_millis and (not grace_millis or going.num_rows > orphans.num_rows):
        return f"Undo brings the files back from the trash, for {_days(keep_millis)} at least."
    if not orphans.num_rows:
        return NOTHING_TO_UNDO
    if not grace_millis:
        return NO_UNDO_OF_FILES
    return f"Undo keeps the files: for {minutes(grace_millis)} at least, until the next cleaning."


def _days(millis: int) -> str:
    return count(millis // _DAY_MILLIS, "day") if millis >= _DAY_MILLIS else minutes(millis)
