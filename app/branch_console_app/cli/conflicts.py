"""The command that lists the rows which both sides of a merge changed."""

from typing import Annotated, Final

import typer

from branch_console.errors import Refused
from branch_console.operations.merge_requests import CompareRowsRequest
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, open_services
from branch_console_app.cli.jobs import finish_job
from branch_console_app.cli.merge import one_table
from branch_console_app.cli.output import count, print_json, print_line
from branch_console_app.cli.request_options import AskedRequest, takes

conflicts = typer.Typer()

_LISTED: Final = 50
_OPEN: Final = 1


@conflicts.command("conflicts")
@takes(CompareRowsRequest, only=("source", "table", "target", "policy"))
def list_conflicts(
    asked: AskedRequest[CompareRowsRequest],
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Conflicts to list, 0 for all.")
    ] = _LISTED,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the row conflicts of a merge and how each is settled.

    Rows are compared by a worker, once for two heads and a policy; nothing is changed.
    """
    # What reads plans takes longer to load than the other commands to run.
    from branch_console.merge.plan import blocks_of, conflicts_of, waits_for_rows  # noqa: PLC0415

    services = open_services(warehouse)
    identifier, arguments = one_table(asked.table), asked.arguments
    plan = services.preview_merge(arguments).plan
    if stopped := blocks_of(plan):
        texts = " ".join(each.text for each in stopped)
        raise Refused(
            f"{plan.source!r} cannot be merged into {plan.target!r}. {texts} Nothing was changed.",
            kind=stopped[0].kind,
        )
    found = services.row_conflicts(identifier, plan.id)
    if found is None and waits_for_rows(plan):
        finish_job(services, CompareRowsRequest.procedure, arguments)
        found = services.row_conflicts(identifier, plan.id)
    # Only who asks for rows waits for what holds them.
    from branch_console_app.cli.conflict_text import conflicts_document, print_conflicts  # noqa: PLC0415

    if as_json:
        print_json(conflicts_document(plan, found, limit))
    else:
        print_conflicts(found, limit)
    others = conflicts_of(plan)
    if others and not as_json:
        print_line(
            f"{count(len(others), 'conflict')} of files or schemas: branch-console merge "
            f"{plan.source} --table {plan.table} --to {plan.target} --preview"
        )
    is_open = found is not None and found["take"].null_count
    return _OPEN if others or is_open else 0
