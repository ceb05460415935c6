"""The commands that change branches, and what is known of an operation afterwards."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from branch_console.diff.fast_forward import ForwardDecision, Verdict, WayOut
from branch_console.diff.history_move import Arrivals, Removals
from branch_console.diff.rows.row_figure import FigureColumn, with_sign
from branch_console.errors import NotFound, PaimonError, Refused
from branch_console.format.receipt import Counts, Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.jobs.progress import JobState, JobView
from branch_console.operations.agreement import Agreement
from branch_console.operations.argument import Argument
from branch_console.operations.branch_requests import (
    CreateBranchRequest,
    FastForwardRequest,
    RecoverRequest,
)
from branch_console.procedures.call.consequence import Preview
from branch_console.procedures.call.permissions import Role
from branch_console.quality.findings import GATE_ERRORS, RuleFinding, findings_of
from branch_console.sql.call_result import CallResult, result_of
from branch_console_app.cli.arguments import (
    JsonOption,
    WarehouseOption,
    open_services,
)
from branch_console_app.cli.check import (
    OVERRIDE_HINT,
    findings_document,
    gate_document,
    print_findings,
    print_gate,
)
from branch_console_app.cli.count_rows import (
    counts_document,
    counts_of_forward,
    print_counts_of_forward,
)
from branch_console_app.cli.exit_codes import DONE, REFUSED, exit_code
from branch_console_app.cli.jobs import follow_job
from branch_console_app.cli.output import (
    NOT_READ,
    count,
    error_beside,
    error_object,
    fields_of,
    local_time,
    print_error,
    print_fields,
    print_json,
    print_line,
    print_note,
    print_rows,
    short_user,
)
from branch_console_app.cli.preview_text import (
    DryRunOption,
    print_preview,
    refusal_of,
)
from branch_console_app.cli.request_options import AskedRequest, takes
from branch_console_app.models.jobs.target_words import target_words
from branch_console_app.models.parts.wording import bare

if TYPE_CHECKING:
    from branch_console_app.services import Services

branches = typer.Typer()

OperationArgument = Annotated[
    str, typer.Argument(metavar="OPERATION_ID", help="Its id, which is also the id of its job.")
]
BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Print the job's id and do not wait for it.")
]

_SNAPSHOTS_LISTED: Final = 20


@branches.command("create-branch", help=CreateBranchRequest.__doc__)
@takes(CreateBranchRequest)
def create_branch(
    asked: AskedRequest[CreateBranchRequest],
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Create a branch; if no option names another, from the branch that the table names."""
    arguments, identifier = asked.arguments, asked.named_table
    if asked.request.from_branch is None and not identifier.is_main:
        arguments = replace(asked.request, from_branch=identifier.branch).encode()
    services = open_services(warehouse)
    if dry_run:
        preview = services.preview(asked.of.procedure, arguments)
        if as_json:
            print_json({"preview": preview.to_object()})
        else:
            print_preview(preview)
        return 0
    return run_call(services, asked.of.procedure, arguments, background=background, as_json=as_json)


@branches.command("fast-forward", help=FastForwardRequest.__doc__)
@takes(FastForwardRequest)
def fast_forward(
    asked: AskedRequest[FastForwardRequest],
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Fast-forward a branch, or replace what it holds."""
    services, request, identifier = open_services(warehouse), asked.request, asked.named_table
    plan = services.preview_fast_forward(identifier, request.source, request.target)
    arguments = {**asked.arguments, **Agreement(plan_id=plan.id).encode()}
    force = request.force
    refusal: PaimonError | None = None
    preview: Preview | None = None
    if force and plan.can_replace:
        preview = services.preview(request.procedure, arguments)
        refusal = refusal_of(preview, asked.confirm, dry_run=dry_run)
    elif plan.verdict is Verdict.REFUSED:
        refusal = _refusal(plan)
    rules = services.rules(identifier) if plan.can_run or preview is not None else None
    is_counted = dry_run and (plan.can_run or preview is not None)
    counts = counts_of_forward(services, plan) if is_counted else None
    document = {**plan.to_object(), **counts_document(counts), **gate_document(rules)}
    if preview is not None:
        document["preview"] = preview.to_object()
    if not as_json:
        print_plan(plan, force=force)
        if is_counted:
            print_counts_of_forward(plan, counts)
        print_gate(rules)
    if dry_run or refusal is not None or plan.verdict is Verdict.UP_TO_DATE:
        if as_json:
            print_json({**document, **error_beside(refusal)})
        elif refusal is not None:
            print_error(refusal, as_json=False)
        return DONE if refusal is None else REFUSED
    return run_call(
        services,
        request.procedure,
        arguments,
        background=background,
        as_json=as_json,
        beside=document,
    )


@branches.command()
def receipt(
    operation_id: OperationArgument,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an operation did, and whether it can be undone."""
    services = open_services(warehouse)
    found = services.receipt(operation_id)
    chance = services.undo_chance(operation_id)
    if as_json:
        # It reads a statement, and brings the parser along.
        from branch_console_app.models.jobs.receipt_text import reason_of  # noqa: PLC0415

        document = {field.name: getattr(found, field.name) for field in fields_of(found)}
        document["reason"] = reason_of(found)
        print_json({**document, "undo": {"can_run": chance.obstacle is None, **asdict(chance)}})
    else:
        print_receipt(found)
        print_line(f"undo: {chance.obstacle or f'branch-console undo {operation_id}'}")


@branches.command(help=RecoverRequest.__doc__)
@takes(RecoverRequest)
def recover(
    asked: AskedRequest[RecoverRequest],
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Recover one table, or all."""
    return run_call(
        open_services(warehouse),
        RecoverRequest.procedure,
        asked.arguments,
        background=background,
        as_json=as_json,
    )


def run_call(
    services: Services,
    name: str,
    arguments: Mapping[str, Argument],
    *,
    background: bool,
    as_json: bool,
    beside: Mapping[str, object] | None = None,
    tell: Callable[[Receipt], Mapping[str, object]] = lambda _: {},
    after: Callable[[JobView], Mapping[str, object]] = lambda _: {},
    called: str | None = None,
) -> int:
    """Have a worker carry out a call, show its progress and its end; return the exit code.

    Args:
        services: The door to the core.
        name: The procedure.
        arguments: Its arguments.
        background: Whether to leave once the job is enqueued.
        as_json: Whether to print a document.
        beside: Other parts of the document.
        tell: Returns other parts of the document for a receipt.
        after: Returns the parts of the document that depend on how the job stands.
        called: The name behind `CALL sys.`, by which the call is answered; None of commands.
    """
    job_id = services.start(name, arguments)
    if background:
        if as_json:
            print_json({**(beside or {}), **after(services.job(job_id)), "operation_id": job_id})
        else:
            print_line(f"Job {job_id} is queued. Look at it: branch-console jobs show {job_id}")
        return 0
    try:
        job = follow_job(services, job_id)
    except KeyboardInterrupt:
        print_note(f"Job {job_id} goes on. Look at it: branch-console jobs show {job_id}")
        raise
    if job.state is not JobState.DONE:
        return _print_failure(services, job, beside or {}, after, as_json=as_json)
    # What moved no branch has no receipt in a ledger; the job tells what was done.
    done = services.receipt(job.receipt_id) if job.receipt_id else None
    result = None if called is None else result_of(called, done, job_id, job.message)
    if as_json:
        outcome: dict[str, object] = {
            "operation_id": job_id,
            "message": job.message,
            "receipt": done,
            **({} if result is None else {"result": result.to_objects()}),
        }
        found = {} if done is None else tell(done)
        stands = after(job)
        print_json({**(beside or {}), **stands, **found, **outcome})
        return 0
    if done is not None:
        print_receipt(done)
    else:
        print_line(job.message)
    if result is not None:
        print_result(result)
    return 0


def print_result(result: CallResult) -> None:
    """Print the rows with which a call in SQL is answered."""
    print_line()
    # Ids stand as they are typed again.
    cells = ([str(each) if type(each) is int else each for each in row] for row in result.rows)
    print_rows(result.columns, cells)


def print_receipt(found: Receipt) -> None:
    """Print what an operation did."""
    # It reads a statement, and brings the parser along.
    from branch_console_app.models.jobs.overridden_rules import OverriddenRules  # noqa: PLC0415
    from branch_console_app.models.jobs.receipt_text import notes_of, reason_of  # noqa: PLC0415

    overridden, reason = OverriddenRules.of_gate(found.gate), reason_of(found)
    rules = None if overridden is None else bare(overridden.mark)
    if overridden is not None and (why := overridden.reason_beside(reason)) is not None:
        rules = f"{rules}: {why}"
    counts = found.counts
    figures = (
        (counts.snapshots_added, "snapshot", "added"),
        (counts.snapshots_removed, "snapshot", "removed"),
        (counts.schemas_added, "schema", "added"),
        (counts.schemas_removed, "schema", "removed"),
        (counts.tags_added, "tag", "added"),
        (counts.tags_removed, "tag", "removed"),
        (counts.files_verified, "file", "verified"),
        (counts.files_shared, "file", "shared"),
        (counts.files_written, "file", "written"),
        (counts.files_removed, "file", "removed"),
    )
    print_fields(
        {
            "operation": found.operation_id,
            "statement": found.statement,
            "by": found.actor,
            "reason": reason,
            "quality rules": rules,
            "plan": found.plan_id or None,
            "started": local_time(found.started_millis),
            "finished": local_time(found.finished_millis),
            **{
                f"moved {move.branch}": f"{_id(move.before_id)} to {_id(move.after_id)}"
                for move in found.moves
            },
            "counts": ", ".join(
                f"{count(number, noun)} {verb}" for number, noun, verb in figures if number
            )
            or None,
            # A rewrite adds and removes many records; what is kept of it is the difference.
            "net records": with_sign(counts.records_added) if counts.records_added else None,
            "rows": rows_text(counts),
            "rescue branch": found.rescue_branch,
        }
    )
    for note in notes_of(found):
        print_line(note)


def rows_text(counts: Counts) -> str | None:
    """Write the rows of a branch before and after, None if nobody counted them."""
    from branch_console_app.models.jobs.receipt_text import changed_rows  # noqa: PLC0415 - SQL

    if counts.rows_before is None or counts.rows_after is None:
        return None
    changed = changed_rows(counts)
    said = "" if changed is None else f": {changed}"
    return f"{counts.rows_before:,} to {counts.rows_after:,}{said}"


def print_plan(plan: ForwardDecision, *, force: bool) -> None:
    """Print what a fast-forward would do."""
    print_fields(
        {
            "table": plan.table,
            "source": f"{plan.source} at {snapshot_text(plan.source_head)}",
            "target": f"{plan.target} at {snapshot_text(plan.target_head)}",
            "fork": snapshot_text(plan.fork),
            "verdict": "replace" if force and plan.can_replace else str(plan.verdict),
            "arrives": _sum(plan.arrives),
            "would remove": _sum(plan.would_remove),
        }
    )
    _print_snapshots("arrives", plan.arrives)
    _print_snapshots("would go", plan.would_remove)
    print_line()
    for tag in plan.would_remove.tags:
        print_line(f"would go: tag {tag.name} at snapshot {tag.snapshot.id}")
    for consumer, next_id in plan.would_remove.consumers:
        print_line(f"would be rewound: consumer {consumer}, which reads snapshot {next_id} next")
    for reason in plan.reasons:
        print_line(f"{reason.kind}: {reason.text}")
    # A refused fast-forward does not run, so notes on its result would mislead.
    for note in () if plan.verdict is Verdict.REFUSED and not force else plan.notes:
        print_line(note)
    if plan.ways_out and not force:
        print_line("ways out:")
        for way in plan.ways_out:
            print_line(f"  {_way_text(way, plan)}")


def _print_failure(
    services: Services,
    job: JobView,
    beside: Mapping[str, object],
    after: Callable[[JobView], Mapping[str, object]],
    *,
    as_json: bool,
) -> int:
    error = job.failure()
    judged: tuple[RuleFinding, ...] = ()
    if error.kind in GATE_ERRORS:
        with suppress(NotFound):  # where it was the rules that moved, nothing was judged
            judged = findings_of(services.answer(job.id).rows.to_pylist())
    failing = services.failing_rows(job.id) if judged else None
    queries = {} if failing is None else failing.queries
    if as_json:
        found = {"findings": findings_document(judged, queries)} if judged else {}
        print_json(
            {
                **beside,
                **after(job),
                **found,
                "operation_id": job.id,
                "error": error_object(error),
                "job": job,
            }
        )
    else:
        if judged:
            print_line()
            other = None if failing is None or failing.is_judged else failing.branch
            print_findings(judged, queries, other_branch=other)
        print_error(error, as_json=False)
        if judged and Role(services.settings.role).covers(Role.OPERATOR):
            print_note(OVERRIDE_HINT)
        if job.state is JobState.FAILED:
            print_note(target_words(job, "the target"))
    return exit_code(error)


def _refusal(plan: ForwardDecision) -> Refused:
    reason = plan.reasons[0]
    return Refused(
        f"Fast-forward refused; {plan.target!r} is unchanged. {reason.text}", kind=reason.kind
    )


def _print_snapshots(what: str, moved: Arrivals | Removals) -> None:
    if not moved.snapshots:
        return
    shown = moved.snapshots[:_SNAPSHOTS_LISTED]
    column = FigureColumn.of_changes(moved.changes[:_SNAPSHOTS_LISTED], with_sign)
    print_line()
    print_rows(
        (f">{what}", "identity", "kind", f">{column.title.lower()}", "time", "user"),
        (
            (
                str(snapshot.id),
                snapshot.identity.short,
                str(snapshot.commit_kind).lower(),
                cell,
                local_time(snapshot.time_millis),
                short_user(snapshot.commit_user),
            )
            for snapshot, cell in zip(shown, column.cells, strict=True)
        ),
        total=len(moved.snapshots),
    )


def _sum(moved: Arrivals | Removals) -> str:
    if moved.is_empty:
        return "nothing"
    consumers = moved.consumers if isinstance(moved, Removals) else ()
    figures: Iterable[tuple[int, str]] = (
        (len(moved.snapshots), "snapshot"),
        (len(moved.schema_ids), "schema"),
        (len(moved.tags), "tag"),
        (len(consumers), "consumer"),
    )
    parts = [count(number, noun) for number, noun in figures if number]
    return ", ".join([*parts, moved.figure.words(with_sign)])


def _way_text(way: WayOut, plan: ForwardDecision) -> str:
    match way:
        case WayOut.MERGE:
            return f"merge: branch-console merge {_merge_words(plan.source, plan.target, plan)}"
        case WayOut.UPDATE:
            update = _merge_words(plan.target, plan.source, plan)
            return f"update: branch-console merge {update}, then fast-forward"
        case WayOut.COMPARE:
            return f"compare: see how {plan.source} and {plan.target} differ"
        case WayOut.REPLACE:
            words = shlex.join(["--force", "--confirm", plan.target])
            return f"{words}: replace {plan.target}; a rescue branch keeps what it holds now"


def _merge_words(source: str, target: str, plan: ForwardDecision) -> str:
    return shlex.join([source, "--to", target, "--table", plan.table])


def snapshot_text(snapshot: Snapshot | None) -> str:
    """Write a snapshot by its id and its identity."""
    return NOT_READ if snapshot is None else f"{snapshot.id} ({snapshot.identity.short})"


def _id(snapshot_id: int | None) -> str:
    return "nothing" if snapshot_id is None else f"snapshot {snapshot_id}"
