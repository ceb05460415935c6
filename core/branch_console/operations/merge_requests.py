"""The requests that bring changes of one history to another: merge, pick, revert."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from branch_console.operations.agreement import MERGED
from branch_console.operations.argument import Unserved, WrittenAs, argument
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.request import Request, SqlProcedure
from branch_console.operations.shared_arguments import (
    policy_argument,
    reason_argument,
    strict_argument,
    table_argument,
    target_argument,
)

_ONE_SNAPSHOT: Final = MappingProxyType(
    dict.fromkeys(
        ("strict", "scope", "isolation", "plan_again", "wait"),
        "The command brings one snapshot as it was, and prints one preview of it.",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergingRequest(Request):
    """The arguments of all merges: the table, the branch that changes, and the merge rules."""

    table: str = table_argument()
    target: str | None = target_argument()
    strict: bool = strict_argument()
    scope: InsertScope = argument(
        "Check added rows for conflicts in the whole table (default), or partition: only in "
        "partitions that the source changed.",
        default=InsertScope.TABLE,
    )
    isolation: Isolation = argument(
        "serializable (default): rows that the target added can conflict; snapshot: they never do.",
        default=Isolation.SERIALIZABLE,
    )
    policy: str | None = policy_argument()
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest(
    MergingRequest,
    procedure="merge_branch",
    job=("Merge a branch", "of"),
    terms=MERGED,
    sql=(SqlProcedure(name="merge_branch", order=("table", "source_branch", "target_branch")),),
    command="merge",
):
    """Merge one branch into another. Neither loses a commit.

    For example: branch-console merge fix-delays --table air.flights --preview
    """

    table: str = argument(
        "The table, as database.table.", cli="--table -t TABLE", written=WrittenAs.TABLE
    )
    source: str = argument(
        "Source branch.", json="branch", sql=("branch", "source_branch"), cli="SOURCE"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunRequest(
    MergeRequest,
    procedure="dry_run_merge",
    job=("Dry run of a merge", "of"),
    terms=MERGED,
    sql=Unserved(why="MERGE BRANCH … DRY RUN asks for it."),
    command=Unserved(why="merge --dry-run asks for it."),
):
    """Do all that a merge does but publish, and keep what was staged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRowsRequest(
    MergeRequest,
    procedure="compare_rows",
    job=("Compare rows to merge", "of"),
    terms=MERGED,
    sql=Unserved(why="Its answer is a page of conflicts, not rows."),
    command=Unserved(why="conflicts asks for it, and shows its answer."),
):
    """Compare the rows that both sides of a merge changed."""

    policy: str | None = argument(
        "A YAML file that settles conflicts of rows.",
        default=None,
        cli="--policy FILE",
        cli_help="Show what this YAML file makes of them.",
        written=WrittenAs.FILE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CherryPickRequest(
    MergingRequest,
    procedure="cherry_pick",
    job=("Pick a snapshot", "of"),
    terms=MERGED,
    sql=(
        SqlProcedure(
            name="cherry_pick",
            order=(
                "table", "branch", "target", "snapshot", "reason", "override_gate",
                "without_callbacks",
            ),
        ),
    ),
    not_in_command=_ONE_SNAPSHOT,
):  # fmt: skip
    """Bring what one snapshot of a branch did to another branch."""

    source: str = argument(
        "The branch that has it.", json="branch", sql=("branch", "source_branch"), cli="SOURCE"
    )
    snapshot: int = argument("The id of the snapshot on SOURCE.", cli="SNAPSHOT")


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertRequest(
    MergingRequest,
    procedure="revert",
    job=("Revert a snapshot", "of"),
    terms=MERGED,
    sql=(
        SqlProcedure(
            name="revert",
            order=(
                "table", "snapshot", "operation", "reason", "override_gate", "without_callbacks",
            ),
        ),
    ),
    not_in_command=_ONE_SNAPSHOT,
):  # fmt: skip
    """Take back what one snapshot did, by a new snapshot; what came later stays."""

    table: str = table_argument(with_branch=True)
    target: str | None = argument(
        "The target branch, where the table does not name it.",
        default=None,
        sql=("target", "target_branch"),
        cli=Unserved(why="TABLE and --branch name it."),
    )
    # A revert takes back just the rows of one snapshot: no predicate could hit what came later.
    isolation: Isolation = argument(
        "serializable: rows that the target added can conflict; snapshot (default): they never do.",
        default=Isolation.SNAPSHOT,
    )
    operation: str | None = argument(
        "The operation to take back; or name a snapshot.", default=None, cli="OPERATION"
    )
    snapshot: int | None = argument(
        "The snapshot to take back, whichever engine made it, in place of OPERATION.",
        default=None,
        cli="--snapshot ID",
    )
