"""The requests of a branch's life: create, rename, protect, drop, move, pin, fence, repair."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.identifier import MAIN_BRANCH
from branch_console.operations.agreement import COMMITTED, JUDGED, PREVIEWED
from branch_console.operations.argument import Unserved, WrittenAs, argument
from branch_console.operations.request import Request, ResultColumn, SqlProcedure, Tells
from branch_console.operations.shared_arguments import (
    branch_argument,
    grace_argument,
    grace_millis_of,
    reason_argument,
    table_argument,
)

ROLLED_BACK_TO: Final = "rolled_back_snapshot_id"
"""The column that tells which snapshot a new one holds again."""

_MOVED_HEAD: Final = (
    ResultColumn(name="previous_snapshot_id", tells=Tells.BEFORE),
    ResultColumn(name="current_snapshot_id", tells=Tells.AFTER),
)
_OF_ANY_ROLLBACK: Final = ("reason", "without_callbacks")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateBranchRequest(
    Request,
    procedure="create_branch",
    job=("Create a branch", "of"),
    terms=PREVIEWED,
    sql=(SqlProcedure(name="create_branch", order=("table", "branch", "tag", "ignoreifexists")),),
):
    """Create a branch from the head of main, or from what an option names.

    For example: branch-console create-branch air.flights fix --from-tag 2013-q1
    """

    table: str = table_argument()
    branch: str = argument("The name of the new branch.", cli="NAME")
    tag: str | None = argument("Begin at this tag.", default=None, cli="--from-tag TAG")
    snapshot: int | None = argument(
        "Begin at this snapshot.", default=None, cli="--from-snapshot ID"
    )
    from_branch: str | None = argument(
        "Begin on this branch, at its head or what else is named; where left out, on that of "
        "TABLE.",
        default=None,
        cli="--from-branch BRANCH",
    )
    timestamp: int | None = argument(
        "Begin at the last snapshot up to this time: 2026-01-31T12:00 in the zone of this machine, "
        "or with another zone 2026-01-31T12:00+01:00.",
        default=None,
        cli="--at TIME",
        written=WrittenAs.TIME,
    )
    empty: bool = argument("Begin with the schema and no rows.", default=False)
    lost: str | None = argument(
        "Bring commits back that are in no snapshot, by the newest manifest list of them: doctor "
        "names it.",
        default=None,
        cli="--from-lost LIST",
    )
    reason: str | None = reason_argument()
    owner: str | None = argument("Who answers for the branch.", default=None)
    fence: bool = argument(
        "Keep other engines from expiring the branch, where that removes files which other "
        "branches read.",
        default=True,
        cli="--no-fence",
        cli_help="Let other engines expire the branch, also where that removes files which other "
        "branches read.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DropBranchRequest(
    Request,
    procedure="drop_branch",
    job=("Drop a branch", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(name="delete_branch", order=("table", "branch"), can_be_dry=True),
        SqlProcedure(name="drop_branch", can_be_dry=True),
    ),
    confirmed_by=("confirm", "branch"),
):
    """Drop a branch; a rescue branch keeps it, so that it can be brought back."""

    table: str = table_argument()
    branch: str = branch_argument()
    reason: str | None = reason_argument()
    reclaim: bool = argument(
        "Remove the files that only the branch needs, too, after a grace; no rescue branch stays.",
        default=False,
    )
    grace: str | None = grace_argument(
        "With reclaim, how long undo can bring the branch back before its files go: '10 min' where "
        "left out; '0 s' removes them at once."
    )

    def grace_millis(self) -> int:
        """Return how long undo can bring the branch back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, "No branch was dropped.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBranchRequest(
    Request,
    procedure="release_branch",
    job=("Release a branch", "of"),
    terms=PREVIEWED,
    sql=(SqlProcedure(name="release_branch", can_be_dry=True),),
    command="release",
    confirmed_by=("confirm", "branch"),
):
    """Remove a rescue branch, and the files that it alone needs.

    For example: branch-console release air.flights rescue-0a1b --dry-run
    """

    table: str = table_argument()
    branch: str = branch_argument("The rescue branch, as branch-console branches lists it.")
    grace: str | None = grace_argument()
    reason: str | None = reason_argument()

    def grace_millis(self) -> int:
        """Return how long undo can bring the branch back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, "No branch was released.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameBranchRequest(
    Request,
    procedure="rename_branch",
    job=("Rename a branch", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="rename_branch", order=("table", "from_branch", "to_branch")),),
):
    """Give a branch another name; owner, protection, fork and history follow it."""

    table: str = table_argument()
    branch: str = branch_argument(sql=("branch", "from_branch"))
    to: str = argument("The new name.", cli="NAME", sql=("to", "to_branch"))
    update_options: bool = argument("Change the options that name the branch, too.", default=False)
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectBranchRequest(
    Request, procedure="protect_branch", job=("Change protection", "of"), terms=PREVIEWED
):
    """Keep branches from being dropped or renamed, and let only approvers move them."""

    table: str = table_argument()
    branch: str = branch_argument("A name, or a pattern such as 'release-*'.")
    protected: bool = argument(
        "Protect it, or take the protection back.",
        default=True,
        cli="--remove",
        cli_help="Take the protection back.",
    )
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveBranchRequest(
    Request, procedure="archive_branch", job=("Archive a branch", "of"), terms=COMMITTED
):
    """Keep a branch as it is: a tag names its head, and Branch Console commits no more to it."""

    table: str = table_argument()
    branch: str = branch_argument()
    archived: bool = argument(
        "Archive it, or take it out of the archive.",
        default=True,
        cli="--remove",
        cli_help="Take it out of the archive; its tag stays.",
    )
    reason: str | None = reason_argument()


_BY_POLICY: Final = Unserved(why="A maintenance policy warns: see apply_policy.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WarnBranchRequest(
    Request,
    procedure="warn_branch",
    job=("Warn of a stale branch", "of"),
    terms=PREVIEWED,
    sql=_BY_POLICY,
):
    """Note in the ledger that a branch is stale, as a maintenance policy does by itself."""

    table: str = table_argument()
    branch: str = branch_argument()
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class PinBranchRequest(
    Request, procedure="pin_branch", job=("Pin a branch", "of"), terms=PREVIEWED
):
    """Keep what a branch began at from expiring, by a tag on main."""

    table: str = table_argument()
    branch: str = branch_argument()
    twin: bool = argument(
        "Where that tag stands, make a second one, so that either may go.", default=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBranchRequest(
    Request,
    procedure="fence_branch",
    job=("Fence a branch", "of"),
    terms=PREVIEWED,
    command="fence",
):
    """Keep other engines from expiring snapshots of a branch, by a consumer that reads nothing."""

    table: str = table_argument()
    branch: str = branch_argument("The branch; main may be one, too.")
    fenced: bool = argument(
        "Make the fence, or take it away.",
        default=True,
        cli="--remove",
        cli_help="Take the fence away.",
    )
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairBranchRequest(
    Request, procedure="repair_branch", job=("Repair a branch", "of"), terms=PREVIEWED
):
    """Copy schemas from main that a branch needs and does not have."""

    table: str = table_argument()
    branch: str = branch_argument()
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceMainRequest(
    Request,
    procedure="replace_main",
    job=("Replace main", "of"),
    terms=COMMITTED,
    confirmed_by=("confirm",),
):
    """Make main the history of a branch; a rescue branch keeps what main was."""

    table: str = table_argument()
    branch: str = branch_argument()
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeFilesRequest(
    Request,
    procedure="purge_files",
    job=("Purge the files", "of"),
    terms=COMMITTED,
    sql=(SqlProcedure(name="purge_files", order=("table",), can_be_dry=True),),
    confirmed_by=("confirm",),
):
    """Empty a table that has no branch, tag or reader; a rescue branch keeps what main was.

    For example: branch-console purge-files air.weather --dry-run
    """

    table: str = table_argument()
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForwardRequest(
    Request,
    procedure="fast_forward",
    job=("Fast-forward a branch", "of"),
    terms=JUDGED,
    sql=(SqlProcedure(name="fast_forward", order=("table", "branch")),),
    confirmed_by=("confirm", "target"),
):
    """Move a branch to the head of another one that holds all of it."""

    table: str = table_argument()
    source: str = argument("Source branch.", json="branch", cli="SOURCE")
    target: str = argument("The branch that moves.", default=MAIN_BRANCH, cli="--to TARGET")
    force: bool = argument("Replace a target that moved; a rescue branch keeps it.", default=False)
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest(
    Request,
    procedure="rollback",
    job=("Roll back", ""),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="rollback",
            order=("table", "version", "snapshot", "tag"),
            either=(("version", ("snapshot", "tag")),),
            answers=_MOVED_HEAD,
        ),
        SqlProcedure(
            name="rollback_to",
            order=("table", "tag", "snapshot_id"),
            takes=("table", "tag", "snapshot", "snapshot_id", "cut", *_OF_ANY_ROLLBACK),
            answers=_MOVED_HEAD,
        ),
        SqlProcedure(
            name="rollback_to_as_latest",
            order=("table", "tag", "snapshot_id"),
            takes=("table", "tag", "snapshot", "snapshot_id", *_OF_ANY_ROLLBACK),
            answers=(_MOVED_HEAD[0], ResultColumn(name=ROLLED_BACK_TO), _MOVED_HEAD[1]),
        ),
        SqlProcedure(
            name="rollback_to_timestamp",
            order=("table", "timestamp"),
            takes=("table", "timestamp", "cut", *_OF_ANY_ROLLBACK),
            answers=_MOVED_HEAD,
        ),
        SqlProcedure(
            name="rollback_to_watermark",
            order=("table", "watermark"),
            takes=("table", "watermark", "cut", *_OF_ANY_ROLLBACK),
            answers=_MOVED_HEAD,
        ),
    ),
    confirmed_by=("confirm",),
):
    """Go back to an earlier snapshot, tag or time, by a new snapshot that holds what it held.

    For example: branch-console rollback air.weather --snapshot 2 --dry-run
    """

    table: str = table_argument(with_branch=True)
    snapshot: int | None = argument(
        "Go back to this snapshot.",
        default=None,
        cli="--snapshot ID",
        sql=("snapshot", "snapshot_id"),
    )
    tag: str | None = argument("Go back to this tag.", default=None, cli="--tag TAG")
    timestamp: int | None = argument(
        "Go back to the last snapshot up to this time: 2026-01-31T12:00 in the zone of this "
        "machine, or with another zone 2026-01-31T12:00+01:00.",
        default=None,
        cli="--at TIME",
        written=WrittenAs.TIME,
    )
    watermark: int | None = argument(
        "Go back to the last snapshot whose watermark is at or before this one, in milliseconds.",
        default=None,
        cli="--watermark MILLIS",
    )
    cut: bool = argument("Move the history back instead of adding a snapshot.", default=False)
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverRequest(
    Request,
    procedure="recover",
    job=("Recover", ""),
    sql=Unserved(why="It is about a machine that stopped, not about what a table holds."),
):
    """Finish or take back operations that were cut off."""

    table: str | None = argument(
        "All tables if left out.", default=None, cli="TABLE", written=WrittenAs.TABLE
    )
    partial: str | None = argument(
        "End this merge of the catalog, which waits half taken back, as it is.",
        default=None,
        cli="--partial OPERATION",
    )
