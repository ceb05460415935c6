"""The requests of tags."""

from dataclasses import dataclass
from typing import Final

from branch_console.operations.agreement import COMMITTED
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request, SqlProcedure
from branch_console.operations.shared_arguments import reason_argument, table_argument

_RETAINED: Final = (
    "How long the tag is kept: '7 d' or P7D is seven days, '12 h' or PT12H twelve hours; where "
    "left out, option tag.default-time-retained, or for ever."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRequest(Request):
    """What all requests for a tag have: the table, the name and how long it is kept."""

    table: str = table_argument(with_branch=True)
    tag: str = argument("The name of the tag.", cli="NAME")
    time_retained: str | None = argument(_RETAINED, default=None, cli="--time-retained DURATION")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTagRequest(
    TaggingRequest,
    procedure="create_tag",
    job=("Create a tag", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="create_tag", order=("table", "tag", "snapshot", "time_retained")),),
):
    """Name a snapshot, for ever or for a time."""

    snapshot: int | None = argument(
        "The snapshot to name; the head where left out.",
        default=None,
        sql=("snapshot", "snapshot_id"),
        cli="--snapshot ID",
    )
    replace: bool = argument(
        "Where there is such a tag, move it or change how long it is kept.", default=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceTagRequest(
    TaggingRequest,
    procedure="replace_tag",
    job=("Replace a tag", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="replace_tag", order=("table", "tag", "snapshot", "time_retained")),),
    command=Unserved(why="create-tag --replace does it."),
):
    """Give a tag that is there another snapshot, or another time for which it is kept."""

    snapshot: int | None = argument(
        "The snapshot to name; the head where left out.",
        default=None,
        sql=("snapshot", "snapshot_id"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTagRequest(
    Request,
    procedure="rename_tag",
    job=("Rename a tag", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="rename_tag", order=("table", "tag", "target_tag")),),
):
    """Give a tag another name; it names the same snapshot, for as long as before."""

    table: str = table_argument(with_branch=True)
    tag: str = argument("The name of the tag.", sql=("tag", "tagName"), cli="NAME")
    target_tag: str = argument(
        "The new name of the tag.", sql=("target_tag", "targetTagName"), cli="NEW_NAME"
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
    """Delete tags that no branch stands on."""

    table: str = table_argument(with_branch=True)
    tag: str = argument(
        "The name of the tag, or the names of several with commas between them.", cli="NAME"
    )
    reason: str | None = reason_argument()
