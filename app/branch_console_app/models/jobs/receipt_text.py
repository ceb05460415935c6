"""A receipt in words: the counts that are not zero, and the whole as Markdown to take away."""

from datetime import tzinfo

from branch_console.diff.rows.row_figure import changed_words
from branch_console.errors import InvalidInput, PaimonError
from branch_console.format.journals.written import override_note
from branch_console.format.receipt import Counts, HeadMove, Receipt
from branch_console.format.snapshot import SnapshotIdentity
from branch_console.jobs.progress import JobState, JobView
from branch_console.operations.undo_request import UndoRequest
from branch_console.procedures.call.call import AGAIN, ProcedureCall
from branch_console.sql.parser import parse_statements
from branch_console.sql.statement import Statement
from branch_console_app.models.jobs.job_titles import title_of_call
from branch_console_app.models.jobs.overridden_rules import OverriddenRules
from branch_console_app.models.parts.wording import (
    code,
    day_and_time,
    duration,
    full_count,
    moment,
    plain,
    short_id,
    size,
)

_LABELS = {
    "snapshots_added": "Snapshots added",
    "snapshots_removed": "Snapshots removed",
    "schemas_added": "Schemas added",
    "schemas_removed": "Schemas removed",
    "tags_added": "Tags added",
    "tags_removed": "Tags removed",
    "files_verified": "Data files checked",
    "files_shared": "Data files shared by branches",
    "files_written": "Data files written",
    "files_removed": "Files removed",
}
_REVERT = "sys.revert("


def receipt_title(receipt: Receipt, undone: Receipt | None = None) -> str:
    """Say in Markdown what an operation did: ``Merge `fix-delays` into `main` ``.

    Args:
        receipt: The receipt of the operation.
        undone: The receipt of the operation that it undid; None if it is no undo, or that receipt
            is gone.
    """
    call = call_of_receipt(receipt)
    if call is None:
        # A later release wrote a statement that this one cannot read.
        return f"Receipt {short_id(receipt.operation_id)}"
    if undone is not None:
        return f"Undo “{receipt_title(undone)}”"
    return title_of_call(call.procedure, call.arguments)


def reason_of(receipt: Receipt) -> str | None:
    """Return the reason that somebody gave for an operation; None if nobody gave one."""
    call = call_of_receipt(receipt)
    if call is None:
        return None
    try:
        return ProcedureCall(
            name=call.procedure, arguments=call.arguments, actor=receipt.actor,
            operation_id=receipt.operation_id,
        ).reason  # fmt: skip
    except InvalidInput:
        return None  # as in `undone_operation`


def notes_of(receipt: Receipt) -> tuple[str, ...]:
    """Return the notes of a receipt, without the one that repeats who overrode the rules."""
    overridden = OverriddenRules.of_gate(receipt.gate)
    if overridden is None:
        return receipt.notes
    repeated = override_note(overridden.actor, overridden.reason)
    return tuple(each for each in receipt.notes if each != repeated)


def undone_operation(receipt: Receipt) -> str | None:
    """Return the id of the operation that an operation undid; None if it was no undo."""
    call = call_of_receipt(receipt)
    if call is None or call.procedure != UndoRequest.procedure:
        return None
    try:
        return UndoRequest.decode(call.procedure, call.arguments).operation
    except InvalidInput:
        return None  # a later release wrote arguments that this one does not know


def call_of_receipt(receipt: Receipt) -> Statement | None:
    """Return what an operation ran; None if a later release wrote it in words of its own."""
    try:
        (call,) = parse_statements(receipt.statement)
    except (PaimonError, ValueError):
        return None
    return call


def truth_words(receipt: Receipt, undo: Receipt | None, zone: tzinfo | None) -> str:
    """Say in a sentence what has become of an operation, as Markdown.

    Args:
        receipt: The receipt of the operation.
        undo: The receipt of the undo; None if the operation was not undone.
        zone: The time zone of the person.
    """
    last = receipt if undo is None else undo
    when = f"{plain(last.actor)} on {day_and_time(last.finished_millis, zone)}"
    if undo is None:
        return f"Done by {when}."
    after = [move.after_id for move in undo.moves if move.is_one_snapshot]
    if _REVERT in undo.statement and after:
        return f"Reverted in snapshot {after[0]} by {when}."
    return f"Undone by {when}."


def job_of(receipt: Receipt) -> str:
    """Return the job of an operation, which may have tried it under ids of its own."""
    return receipt.operation_id.partition(AGAIN)[0]


def count_pairs(counts: Counts) -> list[tuple[str, str]]:
    """Return label and figure of each count that is not zero."""
    pairs = [
        (label, full_count(number))
        for name, label in _LABELS.items()
        if (number := getattr(counts, name))
    ]
    if counts.records_added:
        # A rewrite adds and removes many records; what is kept of it is the difference.
        plus = "+" if counts.records_added > 0 else ""
        pairs.append(("Net records", f"{plus}{full_count(counts.records_added)}"))
    if counts.rows_before is not None and counts.rows_after is not None:
        rows = f"{full_count(counts.rows_before)} → {full_count(counts.rows_after)}"
        if counts.rows_before == counts.rows_after:
            rows = f"{full_count(counts.rows_after)} before and after"
        pairs.append(("Rows", rows))
    changed = changed_rows(counts)
    if changed is not None:
        pairs.append(("Changed rows", changed))
    if counts.bytes_written:
        pairs.append(("Bytes written", size(counts.bytes_written)))
    return pairs


def changed_rows(counts: Counts) -> str | None:
    """Say how many rows an operation added, removed and changed; None if nobody counted them."""
    added, removed, changed = counts.rows_inserted, counts.rows_removed, counts.rows_changed
    if added is None or removed is None or changed is None:
        return None
    return changed_words(added, removed, changed)


def head_words(snapshot_id: int | None, identity: SnapshotIdentity | None) -> str:
    """Write a head: its id for people, its identity for certainty."""
    if snapshot_id is None or identity is None:
        return "no commit"
    return f"snapshot {snapshot_id} {code(identity.short)}"


def move_words(move: HeadMove) -> str:
    """Write a branch's move in one line of Markdown."""
    before = head_words(move.before_id, move.before)
    return f"{code(move.branch)}: {before} → {head_words(move.after_id, move.after)}"


def time_pairs(receipt: Receipt, job: JobView | None, zone: tzinfo | None) -> list[tuple[str, str]]:
    """Return label and text of when an operation ran, and how long its job ran.

    The times are those of the receipt, which the command line and the JSON give too: a merge
    compares and stages rows before, which only its job knows.

    Args:
        receipt: The receipt of the operation.
        job: The job that ran it; None if it is not known.
        zone: The time zone of the person.
    """
    pairs = [
        ("Started", moment(receipt.started_millis, zone)),
        ("Finished", moment(receipt.finished_millis, zone)),
    ]
    if job is None or job.finished_millis is None or job.state is not JobState.DONE:
        return pairs
    # One that began after its operation was cut off, and lay still until it was taken up again.
    if job.started_millis > receipt.started_millis:
        return pairs
    ran = duration(job.finished_millis - job.started_millis)
    return [("Job ran for", f"{ran}, preparation included"), *pairs]


def receipt_markdown(receipt: Receipt, job: JobView | None, zone: tzinfo | None) -> str:
    """Write the whole receipt as a Markdown document; arguments as of `time_pairs`."""
    lines = [
        f"# {receipt_title(receipt)}",
        "",
        f"- Receipt of operation: {code(receipt.operation_id)}",
        f"- Statement: {code(receipt.statement)}",
        f"- By: {plain(receipt.actor)}",
        *(f"- {label}: {text}" for label, text in time_pairs(receipt, job, zone)),
        f"- Plan: {code(receipt.plan_id)}",
    ]
    reason = reason_of(receipt)
    if reason is not None:
        lines.append(f"- Reason: {plain(reason)}")
    overridden = OverriddenRules.of_gate(receipt.gate)
    if overridden is not None:
        why = overridden.reason_beside(reason)
        by = f"{overridden.mark} by {plain(overridden.actor)}"
        lines.append(f"- Quality rules: {by}{'' if why is None else f': {plain(why)}'}")
    if receipt.rescue_branch:
        lines.append(f"- Rescue branch: {code(receipt.rescue_branch)}")
    if receipt.moves:
        lines += [
            "",
            "## Newest snapshot before and after",
            "",
            *(f"- {move_words(move)}" for move in receipt.moves),
        ]
    pairs = count_pairs(receipt.counts)
    if pairs:
        lines += ["", "## Counts", "", *(f"- {label}: {figure}" for label, figure in pairs)]
    notes = notes_of(receipt)
    if notes:
        lines += ["", "## Notes", "", *(f"- {plain(note)}" for note in notes)]
    return "\n".join([*lines, ""])
