"""The requests about maintenance policies: setting one, and doing what it says."""

from dataclasses import dataclass

from branch_console.operations.argument import Unserved, WrittenAs, argument
from branch_console.operations.request import Request
from branch_console.operations.shared_arguments import table_argument


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPolicyRequest(
    Request,
    procedure="set_policy",
    job=("Set the maintenance policy", "of"),
    sql=Unserved(why="A policy is a file: branch-console policy set FILE."),
    command="policy set",
):
    """Set when branches are stale, what follows, and what runs by itself.

    For example: branch-console policy set maintenance.yaml --table air.flights
    """

    policy: str = argument(
        "A YAML file: the rules for stale branches, and the schedules.",
        cli="FILE",
        written=WrittenAs.FILE,
    )
    table: str | None = argument(
        "The table that it is for; all tables without a policy of their own if left out.",
        default=None,
        cli="--table TABLE",
        written=WrittenAs.TABLE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyPolicyRequest(
    Request,
    procedure="apply_policy",
    job=("Look after stale branches", "of"),
    sql=Unserved(why="A policy is no object of SQL: branch-console policy apply TABLE."),
    command="policy apply",
):
    """Warn of, archive and drop the stale branches of a table, as its maintenance policy says.

    For example: branch-console policy apply air.flights --dry-run
    """

    table: str = table_argument()
    report_only: bool = argument(
        "Report each branch with its next step and the date, and change nothing.",
        default=False,
        cli="--dry-run",
    )
