"""Expiring snapshots: names leave a branch, and after a grace the files that nothing needs go."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import pyarrow as pa

from branch_console.diff.expiry.dry_run import (
    SAMPLE_SIZE,
    DueSnapshot,
    ExpiryDryRun,
    due_snapshots,
)
from branch_console.diff.expiry.retention import Expiry, HoldKind, SnapshotHold, plan_expiry
from branch_console.diff.expiry.storage_cost import FileAmount
from branch_console.diff.history_move import id_range
from branch_console.errors import CommitConflict, ErrorKind, FormatError, InvalidInput, NotFound
from branch_console.format.identifier import MAIN_BRANCH, RESCUE_PREFIX
from branch_console.format.journals.expiry import (
    EXPIRE_JOURNAL,
    BranchRetirement,
    ExpireJournal,
    RetiredSnapshot,
)
from branch_console.format.lineage_event import LineageKind
from branch_console.format.receipt import AnswerRow, Counts, Expected, Receipt
from branch_console.format.scan_options import moment_text
from branch_console.format.snapshot import Snapshot
from branch_console.maintenance.references import (
    CatalogReferences,
    Reference,
    ReferenceKind,
    broken_branch,
    has_changelog_files,
    list_references,
)
from branch_console.maintenance.retire import bring_back, forget_retired, retire
from branch_console.operations.maintenance_requests import ExpireSnapshotsRequest
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
from branch_console.procedures.maintenance.grace_words import (
    NO_UNDO_OF_FILES,
    amount_words,
    minutes,
    removal_notes,
)
from branch_console.procedures.maintenance.holds import find_holds
from branch_console.procedures.maintenance.limits import retention_of
from branch_console.procedures.maintenance.maintenance_turn import (
    PlannedTurn,
    claim_maintenance,
    end_turn,
    give_up_turn,
    obstacles,
    planned_turn,
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
    until_undo_ends,
)
from branch_console.procedures.run.open_operation import Operation
from branch_console.procedures.run.procedure import Procedure, table_of
from branch_console.procedures.run.receipts import receipt_of
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.missing_branch import no_branch

_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchExpiry:
    """The expiry of one branch, and the facts it was decided on."""

    table: FileStoreTable
    expiry: Expiry
    snapshots: Mapping[int, Snapshot]
    keeps_changelogs: bool

    @property
    def ids(self) -> list[int]:
        """The ids that expire; ids below the hint EARLIEST, which others skip, may have gaps."""
        return [each for each in self.snapshots if each < self.expiry.end_id]

    @property
    def retirement(self) -> BranchRetirement:
        """The snapshots that leave the branch; there must be at least one."""
        return BranchRetirement(
            branch=self.table.branch,
            snapshots=tuple(self._named(each) for each in self.ids),
            successor=self._named(min(self.snapshots.keys() - self.ids)),
            keeps_changelogs=self.keeps_changelogs,
        )

    def _named(self, snapshot_id: int) -> RetiredSnapshot:
        found = self.snapshots[snapshot_id]
        return RetiredSnapshot(id=found.id, delta_manifest_list=found.delta_manifest_list)


def plan_expire(warehouse: Warehouse, call: ProcedureCall) -> PlannedTurn:
    """Decide which snapshots expire, and which files nothing needs then.

    Raises:
        InvalidInput: A limit contradicts another, or no branch has such a name.
        NotFound: There is no such table or branch.
        FormatError: A reference of the table cannot be read, so nothing may go.
    """
    asked, table = call.request(ExpireSnapshotsRequest), table_of(warehouse, call)
    now, grace = warehouse.clock(), asked.grace_millis()
    catalog = warehouse.catalog_references
    asked_for = _branches(table, asked.branches)
    plans = _plan_branches(asked_for, asked, catalog, now)
    going = [each for each in plans if each.expiry.count]
    due = due_releases(warehouse, table, now)
    try:
        references = list_references(table, expiries=due) if going or due else ()
        found = _files_that_go(warehouse, table, references, going, due)
    except FormatError as error:
        raise until_undo_ends(warehouse, table, error) from error
    files = found.files
    consequences = (
        *_consequences(table, plans, going, due, files, grace),
        *found.left_as_orphans,
    )
    hindrances = obstacles(warehouse, table, call) if going or due else ()
    preview = Preview(
        procedure=call.name,
        title=f"Expire snapshots of {table.identifier.table_name}",
        plan_id=plan_digest(
            call,
            [_facts(each.retirement) for each in going],
            due,
            files.num_rows,
            size_of(files),
            [each.text for each in consequences],
        ),
        consequences=(*hindrances, *consequences),
        typed_name=None,
        role=Role.OPERATOR,
        undo=_undo_text(going, grace),
        holds=tuple(hold.on(each.table.branch) for each in plans for hold in each.expiry.holds),
        expected=Expected(counts=Counts(snapshots_removed=sum(len(each.ids) for each in going))),
    )
    journal = ExpireJournal(
        plan_id=preview.plan_id,
        reason=asked.reason,
        retirements=tuple(each.retirement for each in going),
        releases=due,
        grace_millis=grace,
    )
    return planned_turn(
        call,
        table,
        preview,
        journal if going or due else None,
        now_millis=now,
        dry_run=_dry_run(plans, files, due, grace, _skipped(table, asked, plans, asked_for)),
    )


def list_due(warehouse: Warehouse, call: ProcedureCall) -> tuple[DueSnapshot, ...]:
    """Return the snapshots that are due on the branches that can be read.

    No expiry takes them while one branch cannot be read; a person still sees what waits.

    Raises:
        InvalidInput: A limit contradicts another, or no branch has such a name.
        NotFound: There is no such table or branch.
    """
    asked, table = call.request(ExpireSnapshotsRequest), table_of(warehouse, call)
    found: list[DueSnapshot] = []
    for branch in _branches(table, asked.branches):
        with suppress(FormatError, NotFound):
            # Holds ask of all branches, of which one cannot be read.
            plan = plan_branch_expiry(
                branch, asked, warehouse.catalog_references, warehouse.clock(), heeds_holds=False
            )
            if plan is not None:
                found += due_snapshots(branch.branch, plan.snapshots, plan.expiry)
    return tuple(found)


def finish_expire(
    operation: Operation, journal: ExpireJournal, answer: tuple[AnswerRow, ...] = ()
) -> Receipt:
    """Take the names, then remove the files whose grace is over.

    Args:
        operation: The operation that takes them.
        journal: The journal with the names and the time for which they can be restored.
        answer: The rows that answer the call, where counts do not.

    Raises:
        CommitConflict: Another expiry is at work, or a branch was rewritten in the meantime.
        FormatError: The files that the table needs are not known any more; no file was removed.
    """
    operation_id, store = operation.intent.operation_id, operation.warehouse.store
    claim_maintenance(operation)
    try:
        for each in journal.retirements:
            retire(operation.table.on_listed(each.branch), store, operation_id, each)
    except CommitConflict:
        _put_back(operation, journal)
        give_up_turn(operation)
        raise
    # Whatever fails from here on keeps the claim until recovery: files may be gone by then, so
    # that no undo may bring back what an earlier expiry took.
    own = () if journal.grace_millis or not journal.retirements else (operation_id,)
    released = release(operation, (*journal.releases, *own))
    receipt = receipt_of(
        operation,
        counts=Counts(
            snapshots_removed=_count(journal.retirements),
            tags_removed=released.tags,
            files_removed=released.files,
            bytes_removed=released.size,
        ),
        notes=(*map(_note, journal.retirements), *_notes(journal, released)),
        answer=answer,
    )
    kind = LineageKind.EXPIRED if journal.retirements else LineageKind.RELEASED
    return end_turn(operation, kind, receipt)


def _put_back(operation: Operation, journal: ExpireJournal) -> None:
    """Give the branches back what was taken before one of them turned out to be rewritten."""
    table, store = operation.table, operation.warehouse.store
    operation_id = operation.intent.operation_id
    for retirement in journal.retirements:
        # Of a branch that another history has taken the names stay retired, and their files.
        with suppress(CommitConflict):
            bring_back(table.on_listed(retirement.branch), store, operation_id, retirement)
            forget_retired(table, store, operation_id, (retirement.branch,))


EXPIRE_SNAPSHOTS = Procedure(
    name="expire_snapshots",
    what="expire snapshots",
    doing="Expiring snapshots.",
    plan=plan_expire,
    codec=EXPIRE_JOURNAL,
    finish=finish_expire,
)


def _branches(table: FileStoreTable, pattern: str | None) -> tuple[FileStoreTable, ...]:
    if pattern is None:
        if table.branch != MAIN_BRANCH and not table.branches.exists(table.branch):
            raise no_branch(table, table.branch)
        return (table,)
    names = [MAIN_BRANCH, *table.branches.names()]
    if pattern == _ALL:
        chosen = [name for name in names if not name.startswith(RESCUE_PREFIX)]
    else:
        chosen = [name for name in names if fnmatchcase(name, pattern)]
    if not chosen:
        raise InvalidInput(
            f"No branch of {table.identifier.table_name} has a name like {pattern!r}. Nothing "
            "expired.",
            kind=ErrorKind.INVALID_NAME,
            branches=pattern,
        )
    return tuple(table.on_listed(name) for name in chosen)


def _plan_branches(
    branches: Sequence[FileStoreTable],
    asked: ExpireSnapshotsRequest,
    catalog: CatalogReferences,
    now_millis: int,
) -> list[BranchExpiry]:
    """Decide which snapshots of some branches expire together, those without any left out.

    A rescue branch keeps the snapshot that a merge would start from as long as the other branch has
    that snapshot too; the other branch does not keep it for the rescue branch. So rescue branches
    come last, when it is known what the others lose. Otherwise the next expiry would find more.
    """
    found = list[BranchExpiry]()
    rescues = [each for each in branches if each.branch.startswith(RESCUE_PREFIX)]
    for each in branches:
        if each not in rescues and (plan := _plan_or_name(each, asked, catalog, now_millis)):
            found.append(plan)
    gone = [each.table.paths.snapshot(number) for each in found for number in each.ids]
    for each in rescues:
        with each.listing_once(without=gone) as rescue:
            plan = _plan_or_name(rescue, asked, catalog, now_millis)
        if plan is not None:
            found.append(replace(plan, table=each))
    return found


def _plan_or_name(
    branch: FileStoreTable,
    asked: ExpireSnapshotsRequest,
    catalog: CatalogReferences,
    now_millis: int,
) -> BranchExpiry | None:
    """Decide which snapshots of a branch expire; an error says which branch is broken."""
    try:
        return plan_branch_expiry(branch, asked, catalog, now_millis)
    except (FormatError, NotFound) as error:
        raise broken_branch(branch, branch.branch, error) from error


def plan_branch_expiry(
    table: FileStoreTable,
    asked: ExpireSnapshotsRequest,
    catalog: CatalogReferences,
    now_millis: int,
    *,
    heeds_holds: bool = True,
) -> BranchExpiry | None:
    """Decide which snapshots of one branch expire; None if it has none.

    Args:
        table: The table on the branch.
        asked: The limits; what they leave out the options of the branch say.
        catalog: The snapshots that branches and tags of the catalog refer to.
        now_millis: The time.
        heeds_holds: Whether to look for what keeps a snapshot that is due.

    Raises:
        InvalidInput: A limit contradicts another, or is none.
    """
    snapshots = {each.id: each for each in table.snapshots.all()}
    # A branch that is being made, or was made by half, may have no schema yet.
    if not snapshots and table.schemas.find_latest() is None:
        return None
    options = table.schema().options.merged(asked.option_pairs())
    retention = retention_of(asked, options, now_millis)
    if not snapshots:
        return None
    times = {number: each.time_millis for number, each in snapshots.items()}
    expiry = plan_expiry(times, retention)
    # To look for merge bases takes longer than all the rest: most branches have nothing to take.
    if expiry.count and heeds_holds:
        holds = find_holds(table, options, catalog, now_millis=now_millis)
        expiry = plan_expiry(times, retention, holds)
    return BranchExpiry(
        table=table,
        expiry=expiry,
        snapshots=snapshots,
        keeps_changelogs=retention.is_changelog_kept,
    )


def _files_that_go(
    warehouse: Warehouse,
    table: FileStoreTable,
    references: Sequence[Reference],
    plans: Sequence[BranchExpiry],
    due: Sequence[str],
) -> FilesToRelease:
    """The files that nothing needs once the names are gone, be it now or after a grace."""
    taken = {(each.table.branch, str(number)) for each in plans for number in each.ids}
    released = going_references(warehouse, table, references, due)
    going: list[Reference] = []
    kept: list[Reference] = []
    for reference in references:
        is_taken = reference.kind is ReferenceKind.SNAPSHOT and (
            (reference.branch, reference.name) in taken
        )
        is_released = reference_key(reference) in released
        (going if is_taken or is_released else kept).append(reference)
    for plan in plans:
        if plan.keeps_changelogs:
            has_files = has_changelog_files(plan.table)
            kept += [
                Reference(
                    kind=ReferenceKind.CHANGELOG,
                    branch=plan.table.branch,
                    name=str(number),
                    snapshot=plan.snapshots[number],
                    has_changelog_files=has_files,
                )
                for number in plan.ids
            ]
    return find_files_to_release(warehouse, table, going, kept)


def _skipped(
    table: FileStoreTable,
    asked: ExpireSnapshotsRequest,
    plans: Sequence[BranchExpiry],
    asked_for: Sequence[FileStoreTable],
) -> tuple[str, ...]:
    """The branches that are passed over: rescue branches, and those without a snapshot."""
    planned = {each.table.branch for each in plans}
    names = {each.branch for each in asked_for} - planned
    if asked.branches == _ALL:
        names |= {each for each in table.branches.names() if each.startswith(RESCUE_PREFIX)}
    return tuple(sorted(names))


def _dry_run(
    plans: Sequence[BranchExpiry],
    files: pa.Table,
    due: tuple[str, ...],
    grace_millis: int,
    skipped: tuple[str, ...],
) -> ExpiryDryRun:
    found = tuple(
        snapshot
        for plan in plans
        for snapshot in due_snapshots(plan.table.branch, plan.snapshots, plan.expiry)
    )
    return ExpiryDryRun(
        due=found,
        kept_count=sum(len(each.snapshots) for each in plans) - len(found),
        released=FileAmount(file_count=files.num_rows, byte_count=size_of(files)),
        earlier=due,
        grace_millis=grace_millis,
        sample=tuple(files["path"].slice(0, SAMPLE_SIZE).to_pylist()),
        skipped=skipped,
    )


def _consequences(
    table: FileStoreTable,
    plans: Sequence[BranchExpiry],
    going: Sequence[BranchExpiry],
    due: Sequence[str],
    files: pa.Table,
    grace_millis: int,
) -> tuple[Consequence, ...]:
    consequences = [loses(_goes(each)) for each in going]
    if not going:
        names = ", ".join(repr(each.table.branch) for each in plans) or repr(table.branch)
        consequences.append(keeps(f"No snapshot of {names} is due to expire."))
    for plan in plans:
        consequences += [keeps(_held(plan, each)) for each in plan.expiry.holds]
    if going or due:
        when = f" after {minutes(grace_millis)}" if grace_millis else ""
        text = amount_words(files)
        if going and when:
            consequences.append(
                loses(
                    f"{text} are needed by no branch, tag or changelog then. They go with the "
                    f"first expiry of the table{when}."
                )
            )
        else:
            consequences.append(loses(f"{text} are needed by no branch, tag or changelog, and go."))
    if due:
        consequences.append(
            loses("Undo does not bring back any more what earlier operations took.", tuple(due))
        )
    return tuple(consequences)


def _goes(plan: BranchExpiry) -> str:
    ids = plan.ids
    first, last = plan.snapshots[ids[0]], plan.snapshots[ids[-1]]
    text = (
        f"Snapshots {id_range(ids)} of {plan.table.branch!r} expire: {len(ids):,}, committed from "
        f"{moment_text(first.time_millis)} to {moment_text(last.time_millis)}."
        if len(ids) > 1
        else f"Snapshot {ids[0]} of {plan.table.branch!r} expires, committed at "
        f"{moment_text(first.time_millis)}."
    )
    return f"{text} Their changelogs stay." if plan.keeps_changelogs else text


def _held(plan: BranchExpiry, hold: SnapshotHold) -> str:
    stays = f"Snapshot {hold.since_id} of {plan.table.branch!r} and later ones stay"
    match hold.kind:
        case HoldKind.CONSUMER:
            return f"{stays}: consumer {hold.owner!r} reads {hold.since_id} next."
        case HoldKind.MERGE_BASE:
            return f"{stays}: a merge with branch {hold.owner!r} starts from there."
        case HoldKind.UNDO:
            until = moment_text(hold.until_millis or 0)
            return f"{stays} until {until}: operation {hold.owner} can be undone."
        case HoldKind.CATALOG:
            return (
                f"{stays}: catalog branch or tag {hold.owner!r} reads snapshot {hold.since_id}, "
                "and no tag keeps it."
            )
        case HoldKind.READ:
            return f"{stays}: operation {hold.owner} reads snapshot {hold.since_id} now."
        case _:
            return f"{stays}: {hold.kind} {hold.owner} needs it."


def _undo_text(going: Sequence[BranchExpiry], grace_millis: int) -> str:
    if not going:
        return NOTHING_TO_UNDO
    if not grace_millis:
        return NO_UNDO_OF_FILES
    return (
        f"Undo brings the snapshots back for {minutes(grace_millis)} at least; "
        "after that, the next expiry of the table removes their files."
    )


def _notes(journal: ExpireJournal, released: Released) -> tuple[str, ...]:
    notes = []
    if journal.retirements and journal.grace_millis:
        notes.append(
            "Their files go with the first expiry of the table after "
            f"{minutes(journal.grace_millis)}."
        )
    was_due = bool(journal.releases) or not journal.grace_millis
    return (*notes, *removal_notes(released, was_due=was_due))


def _note(retirement: BranchRetirement) -> str:
    ids = [each.id for each in retirement.snapshots]
    verb = "expired" if len(ids) > 1 else "has expired"
    noun = "Snapshots" if len(ids) > 1 else "Snapshot"
    return f"{noun} {id_range(ids)} of {retirement.branch!r} {verb}."


def _count(retirements: Sequence[BranchRetirement]) -> int:
    return sum(len(each.snapshots) for each in retirements)


def _facts(retirement: BranchRetirement) -> Sequence[object]:
    return [
        retirement.branch,
        [(each.id, each.delta_manifest_list) for each in retirement.snapshots],
        retirement.keeps_changelogs,
    ]
