"""The request by which decoupled changelogs leave a branch."""

from dataclasses import dataclass
from typing import Final

from branch_console.operations.agreement import PREVIEWED
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request, ResultColumn, SqlProcedure
from branch_console.operations.shared_arguments import (
    grace_argument,
    grace_millis_of,
    reason_argument,
    table_argument,
    time_millis_of,
)

_UNCHANGED: Final = "No changelog expired."


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireChangelogsRequest(
    Request,
    procedure="expire_changelogs",
    job=("Expire changelogs", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(
            name="expire_changelogs",
            order=("table", "retain_max", "retain_min", "older_than", "max_deletes", "delete_all"),
            answers=(ResultColumn(name="result", nothing="0"),),
            can_be_dry=True,
        ),
    ),
    command=Unserved(
        why="A statement asks for it: branch-console sql \"CALL sys.expire_changelogs('db.t')\"."
    ),
    confirmed_by=("confirm",),
):
    """Take decoupled changelogs from a branch: those that outlived their snapshots."""

    table: str = table_argument(with_branch=True)
    retain_max: int | None = argument(
        "The most snapshots whose changes stay; where left out, option changelog.num-retained.max.",
        default=None,
        least=1,
    )
    retain_min: int | None = argument(
        "The fewest snapshots whose changes stay; where left out, option "
        "changelog.num-retained.min.",
        default=None,
        least=1,
    )
    older_than: str | None = argument(
        "Take only changelogs of commits before this time, in the zone of this machine: 2026-01-31 "
        "12:00:00; where left out, option changelog.time-retained.",
        default=None,
    )
    max_deletes: int | None = argument(
        "The most changelogs that go at once; where left out, option snapshot.expire.limit.",
        default=None,
        least=1,
    )
    delete_all: bool = argument(
        "Take all of them, whoever may read them next; confirm it with the name of the branch.",
        default=False,
    )
    grace: str | None = grace_argument(
        "How long undo can bring the changelogs back before their files go: '10 min' where left "
        "out; '0 s' removes them at once."
    )
    reason: str | None = reason_argument()

    def older_than_millis(self) -> int | None:
        """Return the time in milliseconds, None where none is said; raises InvalidInput."""
        return time_millis_of(self.procedure, "older_than", self.older_than, _UNCHANGED)

    def grace_millis(self) -> int:
        """Return how long undo can bring changelogs back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, _UNCHANGED)
