"""The requests by which files leave a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.options import parse_duration
from branch_console.operations.agreement import COMMITTED, PREVIEWED
from branch_console.operations.argument import argument
from branch_console.operations.request import Request, ResultColumn, SqlProcedure
from branch_console.operations.shared_arguments import (
    grace_millis_of,
    option_pairs,
    reason_argument,
    table_argument,
)

_UNCHANGED: Final = "Nothing expired, and no file was removed."
MOST_KEPT: Final = "retain_max"
FEWEST_KEPT: Final = "retain_min"
OLDER_THAN: Final = "older_than"
"""The names of the limits of an expiry, for a form that shows the help text of each."""

EARLIEST_BEFORE: Final = "previous_earliest_snapshot_id"
EARLIEST_AFTER: Final = "current_earliest_snapshot_id"
"""The columns that tell where the history of a branch began, and where it begins now."""

UNEXISTING_FILE: Final = "fileName"
"""The column that tells where a file should lie."""

_NOT_SORTED: Final = "the entries of manifests stay in the order of their commits"
_HOUR_MILLIS: Final = 3_600_000
_DAY_MILLIS: Final = 24 * _HOUR_MILLIS
_TRASH_KEEP_MILLIS: Final = 7 * _DAY_MILLIS


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSnapshotsRequest(
    Request,
    procedure="expire_snapshots",
    job=("Expire snapshots", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(
            name="expire_snapshots",
            order=("table", "retain_max", "retain_min", "older_than", "max_deletes", "options"),
            answers=(ResultColumn(name="deleted_snapshots_count", tells="snapshots_removed"),),
            can_be_dry=True,
        ),
    ),
    command="expire",
):
    """Take old snapshots from a branch, and remove files that no branch or tag needs any more.

    For example: branch-console expire air.flights --retain-max 10 --dry-run
    """

    table: str = table_argument(with_branch=True)
    retain_max: int | None = argument(
        "The most snapshots that stay; where left out, option snapshot.num-retained.max.",
        default=None,
        cli="--retain-max COUNT",
        least=1,
    )
    retain_min: int | None = argument(
        "The fewest snapshots that stay; where left out, option snapshot.num-retained.min.",
        default=None,
        cli="--retain-min COUNT",
        least=1,
    )
    older_than: str | None = argument(
        "Take only snapshots that were followed by another one before this time, in the zone of "
        "this machine: 2026-01-31 12:00:00; where left out, option snapshot.time-retained.",
        default=None,
        cli="--older-than TIME",
    )
    max_deletes: int | None = argument(
        "The most snapshots that go at once; where left out, option snapshot.expire.limit.",
        default=None,
        cli="--max-deletes COUNT",
        least=1,
    )
    options: str | None = argument(
        "Options of the table for this run: 'snapshot.expire.limit=100,consumer.changelog-only="
        "true'.",
        default=None,
        cli="--options OPTIONS",
    )
    branches: str | None = argument(
        "Expire several branches at once: 'all', or a pattern such as 'tmp-*'.",
        default=None,
        cli="--branches PATTERN",
    )
    grace: str | None = argument(
        "How long undo can bring the snapshots back before their files go: '10 min' where left "
        "out; '0 s' removes them at once.",
        default=None,
        cli="--grace DURATION",
    )
    reason: str | None = reason_argument()

    def older_than_millis(self) -> int | None:
        """Return the time in milliseconds, None where none is said; raises InvalidInput."""
        if self.older_than is None:
            return None
        return _millis_of(self, "older_than", self.older_than)

    def grace_millis(self) -> int:
        """Return how long undo can bring names back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, _UNCHANGED)

    def option_pairs(self) -> Mapping[str, str]:
        """Return the options of this run by their keys; raises InvalidInput."""
        return option_pairs(self.procedure, self.options, _UNCHANGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOrphanFilesRequest(
    Request,
    procedure="remove_orphan_files",
    job=("Remove orphan files", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(
            name="remove_orphan_files",
            order=("table", "older_than", "dry_run", "parallelism", "mode"),
            answers=(
                ResultColumn(name="deletedFileCount", tells="files_removed"),
                ResultColumn(name="deletedFileTotalLenInBytes", tells="bytes_removed"),
            ),
            can_be_dry=True,
        ),
    ),
    command="orphans",
):
    """Remove files that no snapshot, tag or changelog of any branch names.

    For example: branch-console orphans air.flights --dry-run
    """

    table: str = table_argument()
    older_than: str | None = argument(
        "Look only at files that were written before this time, in the zone of this machine: "
        "2026-01-31 12:00:00, an hour ago at the latest; where left out, a day ago.",
        default=None,
        cli="--older-than TIME",
    )
    grace: str | None = argument(
        "How long undo can keep the files before they go: '10 min' where left out; '0 s' lets "
        "them go at once.",
        default=None,
        cli="--grace DURATION",
    )
    trash_keep: str | None = argument(
        "How long files that go wait in the trash of the table, from where undo brings them back: "
        "'7 d' where left out; '0 s' removes them for good. Object stores have no trash.",
        default=None,
        cli="--trash-keep DURATION",
    )
    reason: str | None = reason_argument()

    def older_than_millis(self, now_millis: int) -> int:
        """Return the time in milliseconds; raises InvalidInput where it is none, or too near."""
        if self.older_than is None:
            return now_millis - _DAY_MILLIS
        found = _millis_of(self, "older_than", self.older_than)
        if found > now_millis - _HOUR_MILLIS:
            raise _refusal(
                self,
                "older_than",
                f"is {self.older_than!r}, less than an hour ago: what a commit at work has written "
                "is named by nothing yet. Say an earlier time.",
            )
        return found

    def grace_millis(self) -> int:
        """Return how long undo can keep the files, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, _UNCHANGED)

    def trash_keep_millis(self) -> int:
        """Return how long files wait in the trash, in milliseconds; raises InvalidInput."""
        return _duration_millis(self, "trash_keep", self.trash_keep, _TRASH_KEEP_MILLIS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveUnexistingFilesRequest(
    Request,
    procedure="remove_unexisting_files",
    job=("Remove unexisting files", "of"),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="remove_unexisting_files",
            order=("table", "dry_run", "parallelism"),
            answers=(ResultColumn(name=UNEXISTING_FILE),),
            refuses=(("parallelism", "folders are listed as many at once as the store bears"),),
            can_be_dry=True,
        ),
    ),
    confirmed_by=("confirm",),
):
    """Let a branch name data files no longer that are gone, so that it can be read again.

    For example: branch-console remove-unexisting-files air.flights --dry-run
    """

    table: str = table_argument(with_branch=True)
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactManifestRequest(
    Request,
    procedure="compact_manifest",
    job=("Compact the manifests", "of"),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="compact_manifest",
            order=(
                "table", "options", "dry_run", "manifest_sort_enabled",
                "manifest_sort_partition_field", "manifest_sort_max_rewrite_size",
            ),
            refuses=(
                ("options", "the sizes of manifests are options of the table. Set them there"),
                ("manifest_sort_enabled", _NOT_SORTED),
                ("manifest_sort_partition_field", _NOT_SORTED),
                ("manifest_sort_max_rewrite_size", _NOT_SORTED),
            ),
            can_be_dry=True,
        ),
    ),
):  # fmt: skip
    """Merge the manifests of a branch into few, so that readers open less; no row changes.

    For example: branch-console compact-manifest air.flights --dry-run
    """

    table: str = table_argument(with_branch=True)
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairEarliestSnapshotRequest(
    Request,
    procedure="repair_earliest_snapshot",
    job=("Repair the earliest snapshot", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(
            name="repair_earliest_snapshot",
            order=("table", "snapshot_id"),
            answers=(
                ResultColumn(name=EARLIEST_BEFORE),
                ResultColumn(name=EARLIEST_AFTER),
            ),
            can_be_dry=True,
        ),
    ),
):
    """Begin the history of a branch behind a gap: what stands before it, no history shows.

    For example: branch-console repair-earliest-snapshot air.flights 12 --dry-run
    """

    table: str = table_argument(with_branch=True)
    snapshot: int = argument(
        "The first snapshot behind the gap.",
        cli="SNAPSHOT",
        least=1,
        sql=("snapshot", "snapshot_id"),
    )
    grace: str | None = argument(
        "How long undo can bring back what stands before it: '10 min' where left out; '0 s' "
        "removes its files at once.",
        default=None,
        cli="--grace DURATION",
    )
    reason: str | None = reason_argument()

    def grace_millis(self) -> int:
        """Return how long undo can bring names back, in milliseconds; raises InvalidInput."""
        return grace_millis_of(self.procedure, self.grace, _UNCHANGED)


def _millis_of(asked: Request, argument: str, text: str) -> int:
    try:
        # Without a zone a time is one of this machine, as in Paimon.
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        sentence = f"is {text!r}, which is no time. Write it as '2026-01-31 12:00:00'."
        raise _refusal(asked, argument, sentence) from error


def _duration_millis(asked: Request, argument: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    try:
        return parse_duration(text)
    except ValueError as error:
        sentence = f"is {text!r}: {error}. Write it as '10 min'."
        raise _refusal(asked, argument, sentence) from error


def _refusal(asked: Request, argument: str, text: str) -> InvalidInput:
    return InvalidInput(
        f"The argument {argument!r} of {asked.procedure} {text} {_UNCHANGED}",
        kind=ErrorKind.INVALID_ARGUMENT,
        argument=argument,
    )
