"""The commands about maintenance policies: the fate of stale branches, and what runs by itself."""

from __future__ import annotations

from typing import Annotated

import typer

from branch_console.errors import ErrorKind, NotFound
from branch_console.operations.policy_requests import ApplyPolicyRequest, SetPolicyRequest
from branch_console_app.cli.arguments import (
    JsonOption,
    TableArgument,
    WarehouseOption,
    named_table,
    open_services,
)
from branch_console_app.cli.branches import BackgroundOption, run_call
from branch_console_app.cli.output import (
    local_time,
    print_json,
    print_line,
    print_rows,
    size,
)
from branch_console_app.cli.request_options import AskedRequest, takes

policy = typer.Typer(help="What becomes of stale branches, and what runs by itself.")


@policy.command("show")
def show_policy(
    table: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="The policy of the warehouse if left out."),
    ] = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the maintenance policy that holds for a table."""
    wanted = None if table is None else named_table(table)
    kept = open_services(warehouse).policy(wanted)
    if kept is None:
        raise NotFound(
            "There is no maintenance policy. Set one: branch-console policy set FILE.",
            kind=ErrorKind.FILE_NOT_FOUND,
        )
    if as_json:
        print_json({"policy_of": kept.table, "version": kept.version, "policy": kept.text})
    else:
        for line in kept.text.splitlines():
            print_line(line)


@policy.command("report")
def report(
    table: TableArgument, warehouse: WarehouseOption = None, as_json: JsonOption = False
) -> None:
    """Report the next step of each branch of a table, and what runs by itself next."""
    found = open_services(warehouse).policy_report(named_table(table))
    if as_json:
        print_json(found)
        return
    print_rows(
        ("branch", "rule", ">days old", ">ahead", "next step", "from", ">alone", "why"),
        (
            (
                each.branch,
                each.rule,
                each.age_days,
                each.ahead,
                None if each.step is None else str(each.step),
                local_time(each.due_millis),
                size(each.exclusive_bytes),
                each.reason,
            )
            for each in found.branches
        ),
    )
    if found.schedules:
        print_line()
        print_rows(
            ("by itself", "cron", "zone", "next", "how"),
            (
                (str(each.task), each.cron, each.zone, local_time(each.next_millis), each.how)
                for each in found.schedules
            ),
        )


@policy.command("set", help=SetPolicyRequest.__doc__)
@takes(SetPolicyRequest)
def set_policy(
    asked: AskedRequest[SetPolicyRequest],
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Set a policy; what cannot be read is told before a job is started."""
    services = open_services(warehouse)
    services.read_policy(asked.request.policy)
    return run_call(
        services,
        SetPolicyRequest.procedure,
        asked.arguments,
        background=background,
        as_json=as_json,
    )


@policy.command("apply", help=ApplyPolicyRequest.__doc__)
@takes(ApplyPolicyRequest)
def apply_policy(
    asked: AskedRequest[ApplyPolicyRequest],
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Do what a policy says about the branches of a table."""
    return run_call(
        open_services(warehouse),
        ApplyPolicyRequest.procedure,
        asked.arguments,
        background=background,
        as_json=as_json,
    )
