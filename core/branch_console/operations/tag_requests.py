"""The requests of tags."""

from dataclasses import dataclass

from branch_console.operations.agreement import COMMITTED
from branch_console.operations.argument import argument
from branch_console.operations.request import Request, SqlProcedure
from branch_console.operations.shared_arguments import reason_argument, table_argument


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTagRequest(
    Request,
    procedure="create_tag",
    job=("Create a tag", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="create_tag", order=("table", "tag", "snapshot", "time_retained")),),
):
    """Name a snapshot, for ever or for a time."""

    table: str = table_argument(with_branch=True)
    tag: str = argument("The name of the tag.", cli="NAME")
    snapshot: int | None = argument(
        "The snapshot to name; the head where left out.", default=None, cli="--snapshot ID"
    )
    replace: bool = argument(
        "Where there is such a tag, move it or change how long it is kept.", default=False
    )
    time_retained: str | None = argument(
        "How long the tag is kept: P7D is seven days, PT12H twelve hours; for ever where left out.",
        default=None,
        cli="--time-retained DURATION",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTagRequest(
    Request,
    procedure="delete_tag",
    job=("Delete a tag", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="delete_tag", order=("table", "tag")),),
    confirmed_by=("confirm", "tag"),
):
    """Delete a tag that no branch stands on."""

    table: str = table_argument(with_branch=True)
    tag: str = argument("The name of the tag.", cli="NAME")
    reason: str | None = reason_argument()
