"""The request that takes an operation back."""

from dataclasses import dataclass

from branch_console.operations.agreement import COMMITTED
from branch_console.operations.argument import WrittenAs, argument
from branch_console.operations.request import Request, SqlProcedure
from branch_console.operations.shared_arguments import reason_argument


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest(
    Request,
    procedure="undo",
    job=("Undo an operation", "on"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="undo", order=("table", "operation")),),
):
    """Take an operation back, while nothing builds on what it did."""

    table: str | None = argument(
        "The table that it changed; none for an operation on a database.",
        default=None,
        cli="--table TABLE",
        cli_help="The table that it changed; looked for where left out.",
        written=WrittenAs.TABLE,
    )
    operation: str = argument("Its id, which is also the id of its job.", cli="OPERATION_ID")
    reason: str | None = reason_argument()
