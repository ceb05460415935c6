"""Reading histories that are in no snapshot any more, and making snapshots of them again."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.diff.history_move import count, id_range
from branch_console.diff.lost_history import (
    LostHistory,
    UnnamedList,
    find_lost_histories,
)
from branch_console.errors import ErrorKind, FormatError, NotFound, Refused
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.manifest_entry import FileKind
from branch_console.format.options import ROW_TRACKING_ENABLED
from branch_console.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.history_check import LIST_PREFIX, lists_of_snapshot, snapshots_anywhere

_INDEX_PREFIX = "index-manifest-"
_USER = "branch-console"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSnapshot:
    """A snapshot with the branch that lists it."""

    branch: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class LostHistories:
    """The histories that are in no snapshot.

    Attributes:
        found: The oldest tip first.
        hidden_by: Index manifests that no snapshot names: which rows they hide is not known, so no
            history can be read rightly. Empty if there are none.
    """

    found: tuple[LostHistory[ListedSnapshot], ...]
    hidden_by: tuple[str, ...]


def read_lost_histories(table: FileStoreTable) -> LostHistories:
    """Look for histories in the manifest lists that nothing names.

    What of them cannot be read is left out.

    Args:
        table: The table on any branch.

    Raises:
        FormatError: A snapshot, tag or changelog cannot be read, so what is named is not known.
    """
    kept = []
    for branch, state in snapshots_anywhere(table):
        if state.error is not None:
            raise state.error
        if state.value is not None:
            kept.append(ListedSnapshot(branch=branch, snapshot=state.value))
    named = {name for each in kept for name in lists_of_snapshot(each.snapshot)}
    listed = table.reader.files.list(table.paths.manifest_dir)
    lost = [each for each in listed if each.name.startswith(LIST_PREFIX) and each.name not in named]
    indexes = {each.snapshot.index_manifest for each in kept}
    hidden_by = tuple(
        each.name
        for each in listed
        if each.name.startswith(_INDEX_PREFIX) and each.name not in indexes
    )
    if not lost:
        return LostHistories(found=(), hidden_by=hidden_by)
    entries = cache(lambda name: _entries(table, name))
    manifests = {manifest for name in named for manifest in _manifest_names(table, name)}
    unnamed = []
    for each in lost:
        try:
            names = _manifest_names(table, each.name)
            unnamed.append(
                UnnamedList(
                    name=each.name,
                    modified_millis=each.modified_millis,
                    manifests=names,
                    entries=entries(each.name),
                    is_new=not names <= manifests,
                )
            )
        except FormatError:
            continue  # half a list is the end of a commit that was never made
    states = dict(_states(table, entries))
    return LostHistories(found=find_lost_histories(unnamed, states), hidden_by=hidden_by)


def get_lost_history(table: FileStoreTable, tip: str) -> LostHistory[ListedSnapshot]:
    """Return the history of a tip.

    Raises:
        NotFound: No history that is in no snapshot ends with this list.
        Refused: What its rows are cannot be told.
    """
    read = read_lost_histories(table)
    found = next((each for each in read.found if each.tip == tip), None)
    if found is None:
        raise NotFound(
            f"{table.identifier.table_name} has no lost history that ends with {tip!r}: a snapshot "
            "names it, or it cannot be read. branch-console doctor names those that there are.",
            kind=ErrorKind.FILE_NOT_FOUND,
            path=table.paths.manifest(tip),
        )
    if read.hidden_by:
        raise Refused(
            f"{count(len(read.hidden_by), 'index manifest')} of {table.identifier.table_name} "
            f"{'is' if len(read.hidden_by) == 1 else 'are'} in no snapshot, such as "
            f"{read.hidden_by[0]}. Nothing tells which rows of {tip} it hides, so no branch was "
            "made. branch-console lost-commits names the data files.",
            kind=ErrorKind.UNSUPPORTED,
            path=table.paths.manifest(read.hidden_by[0]),
        )
    return found


def snapshots_of(
    table: FileStoreTable, history: LostHistory[ListedSnapshot]
) -> tuple[Snapshot, ...]:
    """Make the snapshots of a history again, with ids that go on from what it follows.

    Raises:
        NotFound: A schema of its files is gone.
    """
    fork = None if history.follows is None else history.follows.snapshot
    schema, made = table.schema(), []
    for number, pair in enumerate(history.commits, 1 if fork is None else fork.id + 1):
        base, delta = (
            table.scan.read_list(table.paths, each.name) for each in (pair.base, pair.delta)
        )
        entries = table.read_manifests(pa.concat_tables([base, delta]))
        change = table.read_manifests(delta)
        has_deletes = pc.any(pc.equal(change["kind"], int(FileKind.DELETE))).as_py() or False
        schema_ids = {*entries["schema_id"].unique().to_pylist(), *delta["schema_id"].to_pylist()}
        _check_schemas(table, schema_ids)
        made.append(
            Snapshot(
                id=number,
                schema_id=max((*schema_ids, 0 if fork is None else fork.schema_id)),
                base_manifest_list=pair.base.name,
                delta_manifest_list=pair.delta.name,
                index_manifest=None if fork is None else fork.index_manifest,
                commit_user=_USER,
                commit_identifier=BATCH_COMMIT_IDENTIFIER,
                # Nothing tells an overwrite from a compaction: merges take it for the former.
                commit_kind=CommitKind.OVERWRITE if has_deletes else CommitKind.APPEND,
                time_millis=pair.delta.modified_millis,
                total_record_count=_records(entries),
                delta_record_count=_records(change),
                next_row_id=_next_row_id(entries)
                if schema.options.read(ROW_TRACKING_ENABLED)
                else None,
            )
        )
    return tuple(made)


def commits_sentence(snapshots: tuple[Snapshot, ...]) -> str:
    """Say what a branch gets of a lost history."""
    last = snapshots[-1]
    return (
        f"It goes on with {count(len(snapshots), 'commit')} that "
        f"{'is' if len(snapshots) == 1 else 'are'} in no snapshot, as snapshot "
        f"{id_range([each.id for each in snapshots])}: {last.total_record_count or 0:,} records."
    )


def _check_schemas(table: FileStoreTable, schema_ids: set[int]) -> None:
    missing = sorted(schema_ids - set(table.schemas.ids()))
    if missing:
        raise NotFound(
            f"Files of the lost history were written with schema {missing[0]}, and "
            f"{table.paths.schema(missing[0])} is missing. Restore it from a copy, then try again. "
            "No branch was made.",
            kind=ErrorKind.SCHEMA_NOT_FOUND,
            path=table.paths.schema(missing[0]),
            schema_id=missing[0],
        )


def _states(
    table: FileStoreTable, entries: Callable[[str], Mapping[str, int]]
) -> Iterator[tuple[frozenset[str], ListedSnapshot]]:
    """Yield the states a lost commit may have been built on: all branches' snapshots, main last."""
    for branch in (*table.branches.names(), MAIN_BRANCH):
        for snapshot in table.on_listed(branch).snapshots.all():
            total: Counter[str] = Counter(dict(entries(snapshot.base_manifest_list)))
            total.update(entries(snapshot.delta_manifest_list))
            files = frozenset(name for name, number in total.items() if number)
            yield files, ListedSnapshot(branch=branch, snapshot=snapshot)


def _entries(table: FileStoreTable, name: str) -> Mapping[str, int]:
    """How often each file is added in the manifests of a list, less how often it is deleted."""
    read = table.read_manifests(table.scan.read_list(table.paths, name))
    total: Counter[str] = Counter()
    for identity, kind in zip(read["identity"].to_pylist(), read["kind"].to_pylist(), strict=True):
        total[identity] += 1 if kind == FileKind.ADD else -1
    return total


def _manifest_names(table: FileStoreTable, name: str) -> frozenset[str]:
    return frozenset(table.scan.read_list(table.paths, name)["file_name"].to_pylist())


def _records(entries: pa.Table) -> int:
    added = pc.equal(entries["kind"], int(FileKind.ADD))
    signed = pc.if_else(added, entries["row_count"], pc.negate(entries["row_count"]))
    return pc.sum(signed).as_py() or 0


def _next_row_id(entries: pa.Table) -> int:
    ends = pc.add(entries["first_row_id"], entries["row_count"])
    return pc.max(ends).as_py() or 0
