"""The requests of tags."""

from dataclasses import dataclass
from typing import Final

from branch_console.operations.agreement import COMMITTED
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request, ResultColumn, SqlProcedure
from branch_console.operations.shared_arguments import (
    grace_argument,
    grace_millis_of,
    reason_argument,
    table_argument,
    time_millis_of,
)

_IN_SQL: Final = "A statement asks for it: branch-console sql \"CALL sys.{}('db.t', …)\"."
_GRACE: Final = (
    "How long undo can bring the tags back before their files go: '10 min' where left out; '0 s' "
    "removes them at once."
)
_UNCHANGED: Final = "No tag was changed."
_NAMED: Final = tuple(
    ResultColumn(name=each) for each in ("tagName", "snapshot", "commit_time", "watermark")
)
_RETAINED: Final = (
    "How long the tag is kept: '7 d' or P7D is seven days, '12 h' or PT12H twelve hours; where "
    "left out, option tag.default-time-retained, or for ever."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRequest(Request):
    """The arguments of all requests for a tag: the table, the name and the retention time."""

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
class TagFromTimestampRequest(
    TaggingRequest,
    procedure="create_tag_from_timestamp",
    job=("Create a tag at a time", "of"),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="create_tag_from_timestamp",
            order=("table", "tag", "timestamp", "time_retained"),
            answers=_NAMED,
        ),
    ),
    command=Unserved(why=_IN_SQL.format("create_tag_from_timestamp")),
):
    """Name the first snapshot that was committed at or after a time."""

    timestamp: int = argument("The time, in milliseconds since 1970.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFromWatermarkRequest(
    TaggingRequest,
    procedure="create_tag_from_watermark",
    job=("Create a tag at a watermark", "of"),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="create_tag_from_watermark",
            order=("table", "tag", "watermark", "time_retained"),
            answers=_NAMED,
        ),
    ),
    command=Unserved(why=_IN_SQL.format("create_tag_from_watermark")),
):
    """Name the first snapshot whose watermark had reached a value."""

    watermark: int = argument("The watermark, in milliseconds since 1970.")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireTagsRequest(
    Request,
    procedure="expire_tags",
    job=("Expire tags", "of"),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="expire_tags",
            order=("table", "older_than"),
            answers=(ResultColumn(name="expired_tags", nothing="No expired tags."),),
            can_be_dry=True,
        ),
    ),
    command="expire-tags",
):
    """Take the tags of a branch that are past their time; what stands on a tag keeps it.

    For example: branch-console expire-tags air.flights --dry-run
    """

    table: str = table_argument(with_branch=True)
    older_than: str | None = argument(
        "Take all tags that were made before this time, also those that last for ever, in the zone "
        "of this machine: 2026-01-31 12:00:00; where left out, only those past their own time.",
        default=None,
        cli="--older-than TIME",
    )
    grace: str | None = grace_argument(_GRACE)
    reason: str | None = reason_argument()

    def older_than_millis(self) -> int | None:
        """Return the time in milliseconds, None where none is said; raises InvalidInput."""
        return time_millis_of(self.procedure, "older_than", self.older_than, _UNCHANGED)

    def grace_millis(self) -> int:
        """Return how long undo can bring tags back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, _UNCHANGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerTagsRequest(
    Request,
    procedure="trigger_tag_automatic_creation",
    job=("Create tags", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="trigger_tag_automatic_creation", order=("table",), can_be_dry=True),),
    command=Unserved(why=_IN_SQL.format("trigger_tag_automatic_creation")),
):
    """Make the tags that options of a branch ask for, and take those that they let go."""

    table: str = table_argument(with_branch=True)
    grace: str | None = grace_argument(_GRACE)
    reason: str | None = reason_argument()

    def grace_millis(self) -> int:
        """Return how long undo can bring tags back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, _UNCHANGED)
