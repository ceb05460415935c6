"""The facts that health rules need besides histories: fences, hints, options.

Only names and options are read, but manifests too if another engine fast-forwarded a branch. The
commits that it dropped are in no snapshot, so only their manifest lists show them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.commit.base.fences import FenceState, fence_state
from branch_console.diff.branch_trace import BranchTrace
from branch_console.diff.health.facts import TAG_CREATION
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.lineage_event import LineageEvent, LineageKind, born
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.history_check import find_lost_commits

_LIST_PREFIX: Final = "manifest-list-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchecked:
    """A file that could not be read, so that rules about it did not run.

    Attributes:
        branch: The branch of the file; None if it belongs to the ledger.
    """

    branch: str | None
    error: PaimonError


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchGuards:
    """The protection of a branch's snapshots, and the snapshots that other engines do not see.

    Attributes:
        kept_by: The option that keeps its writers from expiring snapshots.
        tag_option: The option by which its writers make tags.
        below_earliest: Ids of snapshots below the hint EARLIEST.
    """

    fence: FenceState
    kept_by: str | None
    tag_option: str | None
    below_earliest: tuple[int, ...]


def read_guards(
    table: FileStoreTable, schema: TableSchema, snapshots: Iterable[Snapshot]
) -> BranchGuards:
    """Read what keeps the snapshots of a branch.

    Args:
        table: The table on the branch.
        schema: The branch's newest schema.
        snapshots: The snapshots that the branch lists.

    Raises:
        StorageError: The store did not answer.
    """
    fence, earliest = table.reader.both(
        lambda: fence_state(table, schema), table.snapshots.find_earliest_hint
    )
    ids = [each.id for each in snapshots]
    # Paimon trusts the hint where it names a snapshot that is there [HintFileUtils.findEarliest].
    is_trusted = earliest in ids
    creation = schema.options.get(TAG_CREATION, "none").strip().lower()
    return BranchGuards(
        fence=fence,
        kept_by=schema.retention_option,
        tag_option=None if creation == "none" else f"{TAG_CREATION}={creation}",
        below_earliest=tuple(each for each in ids if is_trusted and each < (earliest or 0)),
    )


def began_empty(table: FileStoreTable, trace: BranchTrace, events: Iterable[LineageEvent]) -> bool:
    """Whether a branch was made without a snapshot.

    The ledger tells it of ours. Of another engine's the first schema tells it: it is copied when
    the branch is made, which is before the first snapshot only if the branch began with none.

    Args:
        table: The table on the branch.
        trace: Its snapshots and tags.
        events: The ledger under the names of today.
    """
    event = born(events, trace.branch)
    if event is not None:
        return event.kind is LineageKind.CREATED
    first = trace.snapshots[0] if trace.snapshots else None
    if first is None or any(tag.snapshot.identity.same_as(first.identity) for tag in trace.tags):
        return False
    made = [each.modified_millis for each in table.reader.files.list(table.paths.schema_dir)]
    return bool(made) and min(made) <= first.time_millis


def older_lists(table: FileStoreTable, traces: Mapping[str, BranchTrace]) -> tuple[str, ...]:
    """List the manifest lists that no branch names and that are older than main's first snapshot.

    Args:
        table: The table on any branch.
        traces: The branches that can be read.
    """
    main = traces.get(MAIN_BRANCH)
    if main is None or not main.snapshots:
        return ()
    named = {
        name
        for trace in traces.values()
        for snapshot in (*trace.snapshots, *(tag.snapshot for tag in trace.tags))
        for name in (
            snapshot.base_manifest_list,
            snapshot.delta_manifest_list,
            snapshot.changelog_manifest_list,
        )
    }
    first_millis = main.snapshots[0].time_millis
    return tuple(
        status.name
        for status in table.reader.files.list(table.paths.manifest_dir)
        if status.name.startswith(_LIST_PREFIX)
        and status.name not in named
        and status.modified_millis < first_millis
    )


def lost_commits(main: FileStoreTable, snapshot: Snapshot) -> tuple[str, ...]:
    """List the files that tell of commits in no snapshot, older than the file of a snapshot.

    Args:
        main: The table on main.
        snapshot: A snapshot of main, copied there by a fast-forward.

    Raises:
        FormatError: A manifest of main is missing or broken.
    """
    status = main.reader.files.status(main.paths.snapshot(snapshot.id))
    if status is None:
        return ()
    found = find_lost_commits(main, made_before_millis=status.modified_millis)
    traces = (lost.trace for lost in found.commits)
    return tuple(each for each in traces if each.startswith(main.paths.manifest_dir))
