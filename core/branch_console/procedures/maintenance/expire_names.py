"""The common part of expiries of tags and changelogs: names go first, and later their files."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from branch_console.commit.schema.tag_commit import put_tags
from branch_console.diff.history_move import count
from branch_console.errors import CommitConflict
from branch_console.format.journals.expiry import RetiredSnapshot
from branch_console.format.journals.names import NamesJournal
from branch_console.format.journals.tags import TagFile
from branch_console.format.kept_elsewhere import Act
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import AnswerRow, Counts, Expected, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.maintenance.references import Reference, ReferenceKind, list_references
from branch_console.maintenance.retire import retire_names
from branch_console.procedures.branch.tags import tag_text
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.consequence import (
    NOTHING_TO_UNDO,
    Consequence,
    Preview,
    loses,
    plan_digest,
)
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.grace_words import (
    NO_UNDO_OF_FILES,
    amount_words,
    minutes,
    removal_notes,
)
from branch_console.procedures.maintenance.maintenance_turn import (
    claim_maintenance,
    give_up_turn,
    obstacles,
)
from branch_console.procedures.maintenance.release_files import (
    FilesToRelease,
    Released,
    due_releases,
    find_files_to_release,
    going_references,
    reference_key,
    release,
    size_of,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import PlannedOperation
from branch_console.procedures.run.receipts import event_of, receipt_of, receipt_without_change
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingNames:
    """The names that leave a branch, and the tags that it gets.

    Attributes:
        tags: Names of tags that are removed.
        changelogs: Decoupled changelogs that are removed, by rising id.
        made: New tags with the bytes of their files.
        takes_all: Whether no changelog stays.
    """

    tags: tuple[str, ...] = ()
    changelogs: tuple[Snapshot, ...] = ()
    made: Mapping[str, bytes] = field(default_factory=dict)
    takes_all: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing leaves, and nothing comes."""
        return not (self.tags or self.changelogs or self.made)


def planned_names(
    warehouse: Warehouse,
    call: ProcedureCall,
    table: FileStoreTable,
    leaving: LeavingNames,
    effects: Sequence[Consequence],
    *,
    title: str,
    grace_millis: int,
    reason: str | None,
    typed_name: str | None = None,
) -> PlannedOperation:
    """Return the plan of names that leave a branch.

    Args:
        warehouse: Tells the time, and holds the journal.
        call: The call.
        table: The table on the branch.
        leaving: The names that are removed.
        effects: The consequences, without those for files.
        title: The title of the plan.
        grace_millis: How long undo can bring the names back.
        reason: Why, in the words of who asked.
        typed_name: The name that a person types to confirm.

    Raises:
        FormatError: A reference of the table cannot be read, so nothing may go.
    """
    now = warehouse.clock()
    takes = bool(leaving.tags or leaving.changelogs)
    due = due_releases(warehouse, table, now)
    found = _files_that_go(warehouse, table, leaving, due)
    files = found.files
    consequences = (
        *effects,
        *_file_consequences(files, due, grace_millis if takes else 0, takes=takes),
        *found.left_as_orphans,
    )
    preview = Preview(
        procedure=call.name,
        title=title,
        plan_id=plan_digest(
            call, due, files.num_rows, size_of(files), [each.text for each in consequences]
        ),
        consequences=(
            *(obstacles(warehouse, table, call) if takes or due else ()),
            *consequences,
        ),
        typed_name=typed_name if takes else None,
        role=Role.OPERATOR if takes or due else Role.EDITOR,
        undo=_undo_text(leaving, grace_millis),
        expected=_expected(call.name, leaving),
    )
    nothing = receipt_without_change(
        call,
        preview.plan_id,
        tuple(each.text for each in consequences),
        started_millis=now,
        finished_millis=now,
    )
    return PlannedOperation(
        preview=preview,
        act=Act.TAG if leaving.tags or leaving.made else None,
        table=table,
        branch=table.branch,
        journal=NamesJournal(
            plan_id=preview.plan_id,
            reason=reason,
            tags=tuple(TagFile(tag=name, content=tag_text(table, name)) for name in leaving.tags),
            changelogs=tuple(
                RetiredSnapshot(id=each.id, delta_manifest_list=each.delta_manifest_list)
                for each in leaving.changelogs
            ),
            made=tuple(
                TagFile(tag=name, content=data.decode()) for name, data in leaving.made.items()
            ),
            releases=due,
            grace_millis=grace_millis,
            takes_all=leaving.takes_all,
        ),
        earlier_receipt=nothing if leaving.is_empty and not due else None,
    )


def finish_names(operation: Operation, journal: NamesJournal) -> Receipt:
    """Make tags, take names, then remove the files whose grace is over.

    Raises:
        CommitConflict: Another operation is at work on files of the table, or a tag has the name
            of one that was to be made; nothing was changed.
        FormatError: The files that the table needs are not known any more; no file was removed.
    """
    table, store = operation.table.on(operation.intent.branch), operation.warehouse.store
    operation_id = operation.intent.operation_id
    claim_maintenance(operation)
    try:
        put_tags(table, store, {each.tag: each.content.encode() for each in journal.made})
    except CommitConflict:
        give_up_turn(operation)
        raise
    tags, changelogs = retire_names(
        table,
        store,
        operation_id,
        {each.tag: each.content.encode() for each in journal.tags},
        journal.changelogs,
    )
    # Whatever fails from here on keeps the claim until recovery: files may be gone by then.
    own = (operation_id,) if (tags or changelogs) and not journal.grace_millis else ()
    released = release(operation, (*journal.releases, *own))
    receipt = receipt_of(
        operation,
        counts=Counts(
            tags_added=len(journal.made),
            tags_removed=len(tags),
            files_removed=released.files,
            bytes_removed=released.size,
        ),
        notes=tuple(_notes(table, journal, tags, changelogs, released)),
        answer=tuple(
            _answer(operation.intent.procedure, tags, changelogs, takes_all=journal.takes_all)
        ),
    )
    tag = journal.made[0].tag if len(journal.made) == 1 else None
    done = operation.complete(event_of(operation, _kind(journal), receipt, tag=tag))
    give_up_turn(operation)
    return done


def _kind(journal: NamesJournal) -> LineageKind:
    if journal.made:
        return LineageKind.TAGGED
    return LineageKind.EXPIRED if journal.tags or journal.changelogs else LineageKind.RELEASED


def _files_that_go(
    warehouse: Warehouse, table: FileStoreTable, leaving: LeavingNames, due: Collection[str]
) -> FilesToRelease:
    """The files that nothing needs once the names are gone, be it now or after a grace."""
    takes = bool(leaving.tags or leaving.changelogs)
    references = list_references(table, expiries=due) if takes or due else ()
    released = going_references(warehouse, table, references, due)
    taken = {
        *((ReferenceKind.TAG, name) for name in leaving.tags),
        *((ReferenceKind.CHANGELOG, str(each.id)) for each in leaving.changelogs),
    }
    going: list[Reference] = []
    kept: list[Reference] = []
    for reference in references:
        is_own = reference.branch == table.branch and reference.expiry is None
        is_taken = is_own and (reference.kind, reference.name) in taken
        (going if is_taken or reference_key(reference) in released else kept).append(reference)
    return find_files_to_release(warehouse, table, going, kept)


def _file_consequences(
    files: pa.Table, due: Sequence[str], grace_millis: int, *, takes: bool
) -> Iterator[Consequence]:
    if not takes and not due:
        return
    text = amount_words(files)
    if grace_millis:
        yield loses(
            f"{text} are needed by no branch, tag or changelog then. They go with the first expiry "
            f"of the table after {minutes(grace_millis)}."
        )
    else:
        yield loses(f"{text} are needed by no branch, tag or changelog, and go.")
    if due:
        yield loses("Undo does not bring back any more what earlier operations took.", tuple(due))


def _notes(
    table: FileStoreTable,
    journal: NamesJournal,
    tags: Sequence[str],
    changelogs: Sequence[int],
    released: Released,
) -> Iterator[str]:
    for each in journal.made:
        yield f"Tag {each.tag!r} of {table.branch!r} was made."
    for name in tags:
        yield f"Tag {name!r} of {table.branch!r} has expired."
    changed = [each.tag for each in journal.tags if each.tag not in tags]
    if changed:
        yield f"Tags that were changed meanwhile stay: {', '.join(map(repr, changed))}."
    if changelogs:
        yield f"{count(len(changelogs), 'changelog')} of {table.branch!r} have expired."
    if (tags or changelogs) and journal.grace_millis:
        yield (
            "Their files go with the first expiry of the table after "
            f"{minutes(journal.grace_millis)}."
        )
    is_at_once = bool(tags or changelogs) and not journal.grace_millis
    yield from removal_notes(released, was_due=bool(journal.releases) or is_at_once)


def _expected(procedure: str, leaving: LeavingNames) -> Expected | None:
    """Return the result of a run; None for a procedure that makes tags, whose result is `done`."""
    if procedure not in ("expire_tags", "expire_changelogs"):
        return None
    # That all changelogs are gone is no answer of a dry run: it counts them.
    answer = _answer(procedure, leaving.tags, leaving.changelogs, takes_all=False)
    return Expected(answer=tuple(answer))


def _answer(
    procedure: str, tags: Sequence[str], changelogs: Sequence[object], *, takes_all: bool
) -> Iterator[AnswerRow]:
    match procedure:
        case "expire_tags":
            yield from ({"expired_tags": name} for name in tags)
        case "expire_changelogs" if takes_all:
            yield {"result": "Delete all separated changelogs success."}
        case "expire_changelogs":
            yield {"result": str(len(changelogs))}


def _undo_text(leaving: LeavingNames, grace_millis: int) -> str:
    if leaving.is_empty:
        return NOTHING_TO_UNDO
    if not (leaving.tags or leaving.changelogs):
        return "Undo removes the tags again."
    if not grace_millis:
        return NO_UNDO_OF_FILES
    return (
        f"Undo brings all back for {minutes(grace_millis)} at least; after that, the next expiry "
        "of the table removes the files."
    )
