"""Whole copies of schemas, snapshots and base tags that were cut off.

A new branch copies files of its parent, and a tag copies a snapshot. A copy counts only if
something else proves that it is the same file: two branches can use one id for different files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from branch_console.commit.base.metadata_copy import is_whole
from branch_console.commit.schema.base_tags import fork_bytes
from branch_console.commit.schema.tag_commit import without_retention
from branch_console.errors import FormatError, NotFound, Refused
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.branches import WholeFile
from branch_console.format.lineage_event import (
    LineageEvent,
    base_tag_of,
    born,
    forks_of_base_tags,
)
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.procedures.history.dependents import has_tag_of
from branch_console.procedures.history.share_pins import SHARE_PIN_PREFIX
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console.table.branch_manager import is_openable
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.versioned_files import FileState

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _TornFile:
    """A file that is cut off, and the bytes that are left of it."""

    name: str
    path: str
    rest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A snapshot of the wanted id, and the branch that lists it; None if it is of a tag."""

    snapshot: Snapshot
    content: bytes
    listed_by: str | None
    tagged_by: str | None
    tag: str | None


class WholeCopies:
    """Looks for whole copies in one table; each file is read once."""

    def __init__(self, table: FileStoreTable) -> None:
        self._table = table
        names = filter(is_openable, table.branches.names())
        self._branches: Sequence[str] = (MAIN_BRANCH, *names)
        self._snapshots = cache(self._read_snapshots)
        self._schemas = cache(self._read_schemas)
        self._tags = cache(self._read_tags)
        self._events = cache(self._read_events)

    def of_branch(self, branch: str) -> tuple[WholeFile, ...]:
        """Return the files of a branch that are cut off and of which a copy is found.

        Raises:
            StorageError: The store did not answer.
        """
        snapshots = tuple(self._of_snapshots(branch))
        listed = (
            *_values(self._snapshots(branch)),
            *(Snapshot.from_json(each.content) for each in snapshots),
        )
        return (*self._of_schemas(branch, listed), *snapshots, *self._of_tags(branch))

    def _of_schemas(self, branch: str, listed: Sequence[Snapshot]) -> Iterator[WholeFile]:
        for torn in self._torn(self._schemas(branch)):
            for other in self._others(branch):
                state = _named(self._schemas(other), torn.name)
                if state is None or state.value is None:
                    continue
                content = self._table.reader.files.read(state.path)
                if content.startswith(torn.rest) and self._have_same_schema(
                    branch, listed, other, int(torn.name)
                ):
                    yield _whole_file(torn, f"schema {torn.name} of {other!r}", content)
                    break

    def _have_same_schema(
        self, branch: str, listed: Sequence[Snapshot], other: str, schema_id: int
    ) -> bool:
        """Whether a schema of one id is the same on both: a later one is, or a snapshot is."""
        schemas, theirs = _by_id(self._schemas(branch)), _by_id(self._schemas(other))
        if any(
            number > schema_id and theirs.get(number) == each for number, each in schemas.items()
        ):
            return True
        there = self._snapshots(other)
        return any(each.schema_id >= schema_id and _holds(there, each) for each in listed)

    def _of_snapshots(self, branch: str) -> Iterator[WholeFile]:
        for torn in self._torn(self._snapshots(branch)):
            for found in self._candidates(int(torn.name)):
                if found.content.startswith(torn.rest) and self._is_same(branch, torn, found):
                    where = f"a tag of {found.tagged_by!r}"
                    if found.listed_by is not None:
                        where = f"branch {found.listed_by!r}"
                    yield _whole_file(torn, f"snapshot {torn.name} of {where}", found.content)
                    break

    def _candidates(self, snapshot_id: int) -> Iterator[_Candidate]:
        files = self._table.reader.files
        for name in self._branches:
            for state in self._snapshots(name):
                if state.value is not None and state.value.id == snapshot_id:
                    yield _Candidate(
                        snapshot=state.value,
                        content=files.read(state.path),
                        listed_by=name,
                        tagged_by=None,
                        tag=None,
                    )
        for name in self._branches:
            for tag in self._tags(name):
                if tag.value is not None and tag.value.snapshot.id == snapshot_id:
                    yield _Candidate(
                        snapshot=tag.value.snapshot,
                        content=without_retention(files.read(tag.path)),
                        listed_by=None,
                        tagged_by=name,
                        tag=tag.name,
                    )

    def _is_same(self, branch: str, torn: _TornFile, found: _Candidate) -> bool:
        """Whether the snapshot that was cut off is the one that was found."""
        identity = found.snapshot.identity
        if all(f'"{name}"'.encode() in torn.rest for name in identity.manifest_lists):
            return True
        own = _values(self._snapshots(branch))
        later = [each for each in own if each.id > found.snapshot.id]
        if found.listed_by is not None and any(
            _holds(self._snapshots(found.listed_by), each) for each in later
        ):
            return True
        after = next((each for each in later if each.id == found.snapshot.id + 1), None)
        if after is not None:
            # A cut may have given the id again: what was made on top knows better than any tag.
            return self._builds_on(after, found.snapshot)
        return self._began_at(branch, found.snapshot) or self._is_of_own_tag(branch, found)

    def _builds_on(self, later: Snapshot, earlier: Snapshot) -> bool:
        """Whether a commit was made on top of a state: it begins with the manifests of that.

        A state that added no manifest has those of the one before it, on every branch.
        """
        scan, paths = self._table.scan, self._table.paths
        try:
            base = scan.read_list(paths, later.base_manifest_list)["file_name"].to_pylist()
            before = scan.manifests(paths, earlier)["file_name"].to_pylist()
            added = scan.read_list(paths, earlier.delta_manifest_list).num_rows
        except FormatError:
            return False
        return added > 0 and set(base) == set(before)

    def _began_at(self, branch: str, snapshot: Snapshot) -> bool:
        """Whether a branch began at a snapshot, and that is not given again since.

        The ledger knows nothing of a branch that other software dropped and made again: what it
        records counts only if the branch holds its base tag still.
        """
        event = born(self._events() or (), branch)
        fork = None if event is None else event.after
        if event is None or fork is None or not fork.same_as(snapshot.identity):
            return False
        if any(int(each.name) < snapshot.id for each in self._snapshots(branch)):
            return False
        return has_tag_of(self._table.on_listed(branch), event.base_tag, fork)

    def _is_of_own_tag(self, branch: str, found: _Candidate) -> bool:
        """Whether a tag of the branch alone tells: somebody tagged it there, and no other has it.

        A tag that keeps files for another branch stays on this one where history is cut before it,
        so that the id of its snapshot may be given again.
        """
        events = self._events()
        if found.tag is None or found.tagged_by != branch or events is None:
            return False
        if found.tag.startswith((BASE_TAG_PREFIX, SHARE_PIN_PREFIX)):
            return False
        if found.tag in forks_of_base_tags(events):
            return False
        return not self._is_elsewhere(branch, found.snapshot.identity)

    def _is_elsewhere(self, branch: str, identity: SnapshotIdentity) -> bool:
        """Whether another branch lists a snapshot, so that a tag on it tells nothing of this."""
        return any(
            each.identity.same_as(identity)
            for other in self._others(branch)
            for each in _values(self._snapshots(other))
        )

    def _of_tags(self, branch: str) -> Iterator[WholeFile]:
        torn = {each.name: each for each in self._torn(self._tags(branch))}
        if not torn:
            return
        events = self._events() or ()
        for name in self._branches:
            base_tag, event = base_tag_of(events, name), born(events, name)
            if base_tag not in torn or event is None or event.after is None:
                continue
            places = (name, event.source_branch or MAIN_BRANCH, MAIN_BRANCH)
            try:
                content = fork_bytes(self._table, name, event.after, places)
            except NotFound:
                continue
            if content.startswith(torn[base_tag].rest):
                yield _whole_file(torn[base_tag], f"the snapshot that {name!r} began at", content)

    def _torn(self, states: Iterable[FileState[T]]) -> Iterator[_TornFile]:
        """Yield what is no JSON: what another release wrote, or holds another id, is whole."""
        for state in states:
            if not isinstance(state.error, FormatError):
                continue
            found = self._table.reader.files.find(state.path)
            if found is not None and not is_whole(found):
                # A power cut may leave as many zeros as the file was long.
                rest = found.rstrip(b"\0")
                yield _TornFile(name=state.name, path=state.path, rest=rest)

    def _others(self, branch: str) -> Iterator[str]:
        return (each for each in self._branches if each != branch)

    def _read_snapshots(self, branch: str) -> tuple[FileState[Snapshot], ...]:
        return self._table.on_listed(branch).snapshots.states()

    def _read_schemas(self, branch: str) -> tuple[FileState[TableSchema], ...]:
        return self._table.on_listed(branch).schemas.states()

    def _read_tags(self, branch: str) -> tuple[FileState[Tag], ...]:
        return self._table.on_listed(branch).tags.states()

    def _read_events(self) -> tuple[LineageEvent, ...] | None:
        """Return the ledger; None if an event of it is broken, so that it proves nothing."""
        try:
            return self._table.ledger.whole()
        except Refused:
            return None


def _whole_file(torn: _TornFile, source: str, content: bytes) -> WholeFile:
    return WholeFile(path=torn.path, source=source, content=content.decode())


def _named(states: Iterable[FileState[T]], name: str) -> FileState[T] | None:
    return next((each for each in states if each.name == name), None)


def _values(states: Iterable[FileState[T]]) -> Iterator[T]:
    return (each.value for each in states if each.value is not None)


def _by_id(states: Iterable[FileState[TableSchema]]) -> dict[int, TableSchema]:
    return {each.id: each for each in _values(states)}


def _holds(states: Iterable[FileState[Snapshot]], snapshot: Snapshot) -> bool:
    return any(
        each.id == snapshot.id and each.identity.same_as(snapshot.identity)
        for each in _values(states)
    )
