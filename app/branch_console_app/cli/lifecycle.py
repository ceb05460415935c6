"""The commands of the lifecycle: each tells its consequences first, and can stop there."""

from collections.abc import Callable, Mapping
from typing import Final

import typer

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.operations.agreement import Agreement
from branch_console.operations.argument import Argument
from branch_console.operations.branch_requests import (
    ArchiveBranchRequest,
    DropBranchRequest,
    FenceBranchRequest,
    PinBranchRequest,
    ProtectBranchRequest,
    PurgeFilesRequest,
    ReleaseBranchRequest,
    RenameBranchRequest,
    RepairBranchRequest,
    ReplaceMainRequest,
    RollbackRequest,
    WarnBranchRequest,
)
from branch_console.operations.consumer_requests import (
    ClearConsumersRequest,
    ResetConsumerRequest,
)
from branch_console.operations.maintenance_requests import (
    CompactManifestRequest,
    ExpireSnapshotsRequest,
    RemoveOrphanFilesRequest,
    RemoveUnexistingFilesRequest,
    RepairEarliestSnapshotRequest,
)
from branch_console.operations.partition_requests import ExpirePartitionsRequest
from branch_console.operations.request import Request
from branch_console.operations.tag_requests import (
    CreateTagRequest,
    DeleteTagRequest,
    ExpireTagsRequest,
    RenameTagRequest,
)
from branch_console.operations.undo_request import UndoRequest
from branch_console.sql.call_result import expected_of
from branch_console_app.cli.arguments import JsonOption, WarehouseOption, open_services
from branch_console_app.cli.branches import BackgroundOption, print_result, run_call
from branch_console_app.cli.output import error_beside, print_error, print_json
from branch_console_app.cli.preview_text import (
    DryRunOption,
    confirm_words,
    print_preview,
    refusal_of,
)
from branch_console_app.cli.request_options import AskedRequest, takes

lifecycle = typer.Typer()

_REFUSED: Final = 1
_LINE_BY_LINE: Final = frozenset(
    {ExpireSnapshotsRequest.procedure, RemoveOrphanFilesRequest.procedure}
)
"""The procedures whose dry run shows its plan line by line, too."""


def add_previewed(commands: typer.Typer, request: type[Request]) -> None:
    """Add the command of a request: it tells the consequences first, and can stop there.

    Its words, options and help are those of the request; of `catalog create` the group is there.
    """

    @takes(request)
    def run(
        asked: AskedRequest[Request],
        dry_run: DryRunOption = False,
        background: BackgroundOption = False,
        warehouse: WarehouseOption = None,
        as_json: JsonOption = False,
    ) -> int:
        return run_previewed(
            warehouse,
            request.procedure,
            asked.arguments,
            confirm=asked.confirm,
            dry_run=dry_run,
            background=background,
            as_json=as_json,
        )

    assert isinstance(request.command, str)
    *_, name = request.command.split()
    commands.command(name, help=request.__doc__)(run)


for _request in (
    RenameBranchRequest,
    ProtectBranchRequest,
    ArchiveBranchRequest,
    WarnBranchRequest,
    DropBranchRequest,
    ReleaseBranchRequest,
    ReplaceMainRequest,
    RollbackRequest,
    CreateTagRequest,
    RenameTagRequest,
    DeleteTagRequest,
    PinBranchRequest,
    RepairBranchRequest,
    FenceBranchRequest,
    ExpireSnapshotsRequest,
    RemoveOrphanFilesRequest,
    RemoveUnexistingFilesRequest,
    ResetConsumerRequest,
    ClearConsumersRequest,
    RepairEarliestSnapshotRequest,
    PurgeFilesRequest,
    CompactManifestRequest,
    ExpireTagsRequest,
    ExpirePartitionsRequest,
):
    add_previewed(lifecycle, _request)


@lifecycle.command(help=UndoRequest.__doc__)
@takes(UndoRequest)
def undo(
    asked: AskedRequest[UndoRequest],
    dry_run: DryRunOption = False,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Undo an operation; if no table is named, on the one that it changed."""
    arguments = asked.arguments
    if asked.table is None:
        found = open_services(warehouse).find_table_of_operation(asked.request.operation)
        arguments = {**arguments, "table": None if found is None else found.full_name}
    return run_previewed(
        warehouse,
        UndoRequest.procedure,
        arguments,
        dry_run=dry_run,
        background=background,
        as_json=as_json,
    )


def run_previewed(
    warehouse: str | None,
    name: str,
    arguments: Mapping[str, Argument],
    *,
    dry_run: bool,
    background: bool,
    as_json: bool,
    confirm: str | None = None,
    words: Callable[[str], str] = confirm_words,
    called: str | None = None,
) -> int:
    """Show the consequences, and run unless only they were asked for or something blocks it.

    `called` is the name behind `CALL sys.`, as for `run_call`.
    """
    services = open_services(warehouse)
    beside: dict[str, object] = {}
    if dry_run and as_json and name in _LINE_BY_LINE:
        lines = services.dry_run(name, arguments)
        table = Identifier.parse(str(arguments["table"])).on_branch(MAIN_BRANCH)
        preview, beside["plan"] = lines.preview, lines.to_object(table.full_name)
    else:
        preview = services.preview(name, arguments)
    refusal = refusal_of(preview, confirm, dry_run=dry_run, words=words)
    beside["preview"] = preview.to_object()
    if not as_json:
        print_preview(preview)
    if dry_run or refusal is not None:
        result = None
        if refusal is None and called is not None and preview.expected is not None:
            result = expected_of(called, preview.expected)
        if as_json:
            answer = {} if result is None else {"result": result.to_objects()}
            print_json({**beside, **answer, **error_beside(refusal)})
        elif result is not None:
            print_result(result)
        if refusal is None:
            return 0
        if not as_json:
            print_error(refusal, as_json=False)
        return _REFUSED
    return run_call(
        services,
        name,
        {**arguments, **Agreement(plan_id=preview.plan_id).encode()},
        background=background,
        as_json=as_json,
        beside=beside,
        called=called,
    )
