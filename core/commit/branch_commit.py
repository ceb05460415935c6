"""Changes of branches: create one, copy one's history onto another, take a state back.

Order is what keeps a crash harmless. A new branch gets its schemas, then its tags, then its
snapshots: it has a head only once all of that is there. A fast-forward copies in the same order,
so that whatever it reached is a shorter fast-forward.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from core.commit.branch_folder import Whose, remove_folder, whole_files_below, whose_folder
from core.commit.commit_store import CommitStore
from core.commit.metadata_copy import (
    copy_files,
    is_whole,
    publish_files,
    publish_once,
    read_files,
)
from core.commit.tag_commit import without_retention
from core.errors import CommitConflict, ErrorKind, FormatError, NotFound
from core.format.json_text import JsonObject, without_nulls
from core.format.receipt import identity_from, identity_to
from core.format.snapshot import Snapshot, SnapshotIdentity
from core.storage.side_by_side import both, each
from core.storage.table_paths import TablePaths
from core.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCreation:
    """What a new branch is made of.

    Attributes:
        source: The branch it comes from.
        base_tag: The permanent tag that keeps the fork readable; None for an empty branch.
        snapshot_id: The fork; None for an empty branch.
        from_tag: The tag of the source that names the fork, where its snapshot may have expired.
        schema_ids: Schemas of the source that come along.
        fork: Which snapshot `snapshot_id` was when this was decided; None where an earlier release
            wrote the journal.
    """

    branch: str
    source: str
    schema_ids: tuple[int, ...]
    base_tag: str | None = None
    snapshot_id: int | None = None
    from_tag: str | None = None
    fork: SnapshotIdentity | None = None

    def to_object(self) -> dict[str, object]:
        """Return JSON values for the journal."""
        return without_nulls(
            {
                "branch": self.branch,
                "source": self.source,
                "schemaIds": list(self.schema_ids),
                "baseTag": self.base_tag,
                "snapshotId": self.snapshot_id,
                "fromTag": self.from_tag,
                "fork": identity_to(self.fork),
            }
        )

    @classmethod
    def from_object(cls, values: Mapping[str, object]) -> "BranchCreation":
        """Read what `to_object` wrote; raises FormatError."""
        raw = JsonObject(values, "journal of a new branch")
        return cls(
            branch=raw.get("branch", str),
            source=raw.get("source", str),
            schema_ids=tuple(raw.get("schemaIds", list)),
            base_tag=raw.find("baseTag", str),
            snapshot_id=raw.find("snapshotId", int),
            from_tag=raw.find("fromTag", str),
            fork=identity_from(raw.find("fork", dict), raw.what),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedSnapshot:
    """A snapshot of a branch's history that lies on a branch which it was made from."""

    branch: str
    id: int
    identity: SnapshotIdentity

    def to_object(self) -> dict[str, object]:
        """Return JSON values for the journal."""
        return {"branch": self.branch, "id": self.id, "identity": identity_to(self.identity)}

    @classmethod
    def from_object(cls, raw: JsonObject) -> "InheritedSnapshot":
        """Read what `to_object` wrote; raises FormatError."""
        identity = identity_from(raw.get("identity", dict), raw.what)
        assert identity is not None
        return cls(branch=raw.get("branch", str), id=raw.get("id", int), identity=identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCopy:
    """Metadata of one branch that goes to another, and what has to leave before it.

    Attributes:
        inherited: Which of the snapshots are read from other branches than the source.
        expected_head: The target's head on which this was decided; None for an empty target.
        remove_snapshot_ids: Falls from the head down; empty for a fast-forward.
        rescue_branch: Keeps the target's whole state before anything leaves.
    """

    source: str
    target: str
    expected_head: SnapshotIdentity | None
    expected_head_id: int | None
    new_head: SnapshotIdentity | None
    new_head_id: int | None
    schema_ids: tuple[int, ...]
    tags: tuple[str, ...]
    snapshot_ids: tuple[int, ...]
    inherited: tuple[InheritedSnapshot, ...] = ()
    remove_snapshot_ids: tuple[int, ...] = ()
    remove_schema_ids: tuple[int, ...] = ()
    remove_tags: tuple[str, ...] = ()
    rescue_branch: str | None = None

    def to_object(self) -> dict[str, object]:
        """Return JSON values for the journal."""
        return without_nulls(
            {
                "source": self.source,
                "target": self.target,
                "expectedHead": identity_to(self.expected_head),
                "expectedHeadId": self.expected_head_id,
                "newHead": identity_to(self.new_head),
                "newHeadId": self.new_head_id,
                "schemaIds": list(self.schema_ids),
                "tags": list(self.tags),
                "snapshotIds": list(self.snapshot_ids),
                "inherited": [each.to_object() for each in self.inherited] or None,
                "removeSnapshotIds": list(self.remove_snapshot_ids),
                "removeSchemaIds": list(self.remove_schema_ids),
                "removeTags": list(self.remove_tags),
                "rescueBranch": self.rescue_branch,
            }
        )

    @classmethod
    def from_object(cls, values: Mapping[str, object]) -> "HistoryCopy":
        """Read what `to_object` wrote; raises FormatError."""
        raw = JsonObject(values, "journal of a fast-forward")
        return cls(
            source=raw.get("source", str),
            target=raw.get("target", str),
            expected_head=identity_from(raw.find("expectedHead", dict), raw.what),
            expected_head_id=raw.find("expectedHeadId", int),
            new_head=identity_from(raw.find("newHead", dict), raw.what),
            new_head_id=raw.find("newHeadId", int),
            schema_ids=_numbers(raw, "schemaIds"),
            tags=raw.texts("tags"),
            snapshot_ids=_numbers(raw, "snapshotIds"),
            inherited=tuple(
                InheritedSnapshot.from_object(each)
                for each in (raw.objects("inherited") if raw.find("inherited", list) else ())
            ),
            remove_snapshot_ids=_numbers(raw, "removeSnapshotIds"),
            remove_schema_ids=_numbers(raw, "removeSchemaIds"),
            remove_tags=raw.texts("removeTags"),
            rescue_branch=raw.find("rescueBranch", str),
        )


def make_branch(table: FileStoreTable, store: CommitStore, creation: BranchCreation) -> None:
    """Make a branch, or finish one that was cut off: the base tag first, the snapshot last.

    Raises:
        NotFound: The fork is gone from the source, or is another snapshot, and no tag keeps it.
        CommitConflict: Other files stand where those of the branch belong.
    """
    source, branch = table.on(creation.source), table.on(creation.branch)
    base = None if creation.base_tag is None else _fork_bytes(source, creation)
    schemas = read_files(store, [source.paths.schema(each) for each in creation.schema_ids])
    files = [
        (branch.paths.schema(schema_id), data)
        for schema_id, data in zip(creation.schema_ids, schemas, strict=True)
    ]
    if base is None or creation.base_tag is None or creation.snapshot_id is None:
        publish_files(store, files, together=len(files))
        return
    # In one go: the intent is durable, so what a power cut leaves of them is known to be cut off.
    ahead = [
        (source.paths.tag(creation.base_tag), base),
        *files,
        (branch.paths.tag(creation.base_tag), base),
    ]
    head = (branch.paths.snapshot(creation.snapshot_id), base)
    publish_files(store, [*ahead, head], together=len(ahead))
    write_hints(store, branch.paths, creation.snapshot_id, creation.snapshot_id)


def unmake_branch(table: FileStoreTable, store: CommitStore, creation: BranchCreation) -> bool:
    """Take back what `make_branch` has made of the branch so far, the head first.

    The base tag on the source stays, as others may stand on it.

    Returns:
        False where others made a branch of that name, or have gone on with it: it stays untouched.
    """
    if whose_branch(table, store, creation) is not Whose.OURS:
        return False
    paths = table.on(creation.branch).paths
    doomed = [paths.latest_hint, paths.earliest_hint]
    if creation.snapshot_id is not None:
        doomed.append(paths.snapshot(creation.snapshot_id))
    if creation.base_tag is not None:
        doomed.append(paths.tag(creation.base_tag))
    doomed += [paths.schema(each) for each in reversed(creation.schema_ids)]
    store.remover.remove(doomed)
    remove_folder(store, paths.root)
    return True


def whose_branch(table: FileStoreTable, store: CommitStore, creation: BranchCreation) -> Whose:
    """Look whether what has the name of a new branch is that branch, as far as it is made.

    A folder with nothing but schemas of the source counts as ours: where other software made an
    empty branch, no file tells.
    """
    source, paths = table.on(creation.source).paths, table.on(creation.branch).paths
    names = whole_files_below(store.files, paths.root)
    if not names:
        return Whose.OURS
    schemas = {paths.schema(each): source.schema(each) for each in creation.schema_ids}
    forks = []
    if creation.base_tag is not None and creation.snapshot_id is not None:
        forks = [paths.tag(creation.base_tag), paths.snapshot(creation.snapshot_id)]

    def is_ours(path: str) -> bool:
        found = store.files.find(path) or b""
        if path not in schemas:
            return not is_whole(found) or names_fork(found, creation)
        wanted = store.files.find(schemas[path])
        return not is_whole(found) or wanted is None or found == wanted

    known = [path for path in (*schemas, *forks) if path.removeprefix(f"{paths.root}/") in names]
    judged = zip(known, each(store.files, is_ours, known), strict=True)
    return whose_folder(
        names,
        {path.removeprefix(f"{paths.root}/"): ours for path, ours in judged},
        [path.removeprefix(f"{paths.root}/") for path in forks],
    )


def names_fork(data: bytes, creation: BranchCreation) -> bool:
    """Whether the file of a snapshot or a tag names the fork, as far as the journal can tell."""
    try:
        return creation.fork is None or _is_fork(Snapshot.from_json(data), creation)
    except FormatError:
        return False


def copy_history(
    table: FileStoreTable,
    store: CommitStore,
    copy: HistoryCopy,
    progress: Callable[[int, int | None], None],
) -> int:
    """Copy schemas, tags and then snapshots in rising order, and write the hints.

    Args:
        table: The table on any branch.
        store: The table's store.
        copy: What goes where; what is there already stays as it is.
        progress: Told files done and all files.

    Returns:
        The number of bytes in the copies.

    Raises:
        CommitConflict: The target moved; what was copied before is a shorter fast-forward.
        NotFound: The source lost some of it; as above.
    """
    check_inherited(table, store, copy)
    target = table.on(copy.target).paths
    pairs = list(zip(source_files(table, copy), copied_files(target, copy), strict=True))
    earliest = table.on(copy.target).snapshots.earliest_id()
    ahead = len(pairs) - len(copy.snapshot_ids)
    written = copy_files(store, pairs, lambda done: progress(done, len(pairs)), together=ahead)
    if copy.new_head_id is not None:
        ids = [each for each in (earliest, *copy.snapshot_ids) if each is not None]
        write_hints(store, target, copy.new_head_id, min(ids, default=copy.new_head_id))
    return written


def copied_files(paths: TablePaths, copy: HistoryCopy) -> list[str]:
    """Where the files of a copy lie on a branch, in the order in which they are copied."""
    return [
        *(paths.schema(each) for each in copy.schema_ids),
        *(paths.tag(each) for each in copy.tags),
        *(paths.snapshot(each) for each in copy.snapshot_ids),
    ]


def source_files(table: FileStoreTable, copy: HistoryCopy) -> list[str]:
    """Where the files of a copy are read, in the order in which they are copied."""
    files = copied_files(table.on(copy.source).paths, copy)
    ahead = len(files) - len(copy.snapshot_ids)
    return [*files[:ahead], *source_snapshots(table, copy).values()]


def source_snapshots(table: FileStoreTable, copy: HistoryCopy) -> dict[int, str]:
    """Where each snapshot of a copy is read, by its id, in the order of the copy."""
    lies_on = {each.id: table.on(each.branch).paths for each in copy.inherited}
    source = table.on(copy.source).paths
    return {each: lies_on.get(each, source).snapshot(each) for each in copy.snapshot_ids}


def check_inherited(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> None:
    """See that what lies on other branches than the source is still what it was.

    Whether the source moved is told by its head; of a branch that it was made from no head tells.

    Raises:
        NotFound: It is gone from there, or another snapshot has its number.
    """

    def check(wanted: InheritedSnapshot) -> None:
        data = store.files.find(table.on(wanted.branch).paths.snapshot(wanted.id))
        found = None if data is None else Snapshot.from_json(data)
        if found is None or not found.identity.same_as(wanted.identity):
            raise NotFound(
                f"Snapshot {wanted.id} of branch {wanted.branch!r}, on which {copy.source!r} "
                "builds, is gone or is another one now.",
                kind=ErrorKind.SNAPSHOT_NOT_FOUND,
                snapshot_id=wanted.id,
                branch=wanted.branch,
            )

    each(store.files, check, copy.inherited)


def remove_history(
    table: FileStoreTable, store: CommitStore, copy: HistoryCopy, rescue: FileStoreTable
) -> None:
    """Take from the target what a rescue branch keeps: snapshots from the head down, then the rest.

    Raises:
        CommitConflict: The target got something that the rescue branch does not keep. What had left
            is back, as far as nobody else took its place.
    """
    target = table.on(copy.target)
    paths = target.paths
    # A LATEST hint that points past the head misleads Paimon; without hints it lists.
    doomed = [paths.latest_hint]
    if copy.new_head_id is None:
        doomed.append(paths.earliest_hint)
    store.remover.remove(doomed)
    try:
        for snapshot_id in sorted(copy.remove_snapshot_ids, reverse=True):
            _check_newest(target, snapshot_id)
            remove_kept(store, paths.snapshot(snapshot_id), rescue.paths.snapshot(snapshot_id))
        # A commit from here on may name a schema that is about to leave.
        first = min(copy.remove_snapshot_ids, default=None)
        newest = copy.expected_head_id or 0 if first is None else first - 1
        for tag in copy.remove_tags:
            _check_newest(target, newest)
            remove_kept(store, paths.tag(tag), rescue.paths.tag(tag))
        for schema_id in sorted(copy.remove_schema_ids, reverse=True):
            _check_newest(target, newest)
            remove_kept(store, paths.schema(schema_id), rescue.paths.schema(schema_id))
        # A commit on a head that was just about to leave would stand behind a hole.
        _check_newest(target, newest)
    except CommitConflict:
        put_back(target, store, copy, rescue)
        raise


def _check_newest(target: FileStoreTable, expected: int) -> None:
    newest = target.snapshots.latest_id()
    if newest is not None and newest > expected:
        raise CommitConflict(
            f"Branch {target.branch!r} got snapshot {newest} in the meantime.",
            kind=ErrorKind.HEAD_MOVED,
            branch=target.branch,
        )


def put_back(
    target: FileStoreTable, store: CommitStore, copy: HistoryCopy, rescue: FileStoreTable
) -> bool:
    """Give the target back what has left it, up to where somebody else went on.

    What expired on the target meanwhile stays away: a snapshot behind a hole could not be read.

    Returns:
        Whether all of it is back.
    """
    earliest = target.snapshots.earliest_id() or 0
    back = replace(
        copy,
        schema_ids=tuple(sorted(copy.remove_schema_ids)),
        tags=copy.remove_tags,
        snapshot_ids=tuple(sorted(each for each in copy.remove_snapshot_ids if each > earliest)),
    )
    pairs = zip(copied_files(rescue.paths, back), copied_files(target.paths, back), strict=True)
    is_back = all(_is_put(store, path, kept) for kept, path in pairs)
    ids = target.snapshots.ids()
    if ids:
        write_hints(store, target.paths, ids[-1], ids[0])
    return is_back


def _is_put(store: CommitStore, path: str, kept: str) -> bool:
    """Copy a file to where it was; whether it is there then, and nothing else.

    What is read only in part is not copied: nobody would ever replace it.
    """
    data = store.files.find(kept)
    if data is None or not is_whole(data):
        return False
    return publish_once(store, path, data)[1] == data


def check_head(target: FileStoreTable, expected: SnapshotIdentity | None) -> Snapshot | None:
    """Compare the head of a branch with the one a decision was made on.

    Raises:
        CommitConflict: It is another one.
    """
    head = target.head()
    if not is_at(head, expected):
        raise CommitConflict(
            f"{moved_text(target.branch, head)} Nothing was changed; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            branch=target.branch,
        )
    return head


def is_at(head: Snapshot | None, expected: SnapshotIdentity | None) -> bool:
    """Whether the head of a branch is the one a decision was made on."""
    if head is None or expected is None:
        return head is None and expected is None
    return head.identity.same_as(expected)


def moved_text(branch: str, head: Snapshot | None) -> str:
    """Say where a branch is that has moved."""
    where = "has no snapshot" if head is None else f"is at snapshot {head.id}"
    return f"Branch {branch!r} moved: it {where} now."


def remove_kept(store: CommitStore, path: str, kept: str) -> None:
    """Remove a file that another branch keeps byte for byte; one that is gone is no error."""
    files = store.files
    found, copy = both(files, lambda: files.find(path), lambda: files.find(kept))
    if found is None:
        return
    if copy != found:
        raise CommitConflict(
            f"{path} is not what {kept} keeps: somebody else changed it. It stays; plan again.",
            kind=ErrorKind.HEAD_MOVED,
            path=path,
        )
    store.remover.remove([path])


def write_hints(store: CommitStore, paths: TablePaths, latest: int, earliest: int) -> None:
    """Write both hints; a missing or wrong one costs readers a listing, no more."""
    hint = store.publisher.replace_hint
    both(
        store.files,
        lambda: hint(paths.earliest_hint, str(earliest).encode()),
        lambda: hint(paths.latest_hint, str(latest).encode()),
    )


def _fork_bytes(source: FileStoreTable, creation: BranchCreation) -> bytes:
    """Return the snapshot of the fork as bytes, from the surest place that still has it."""
    files = source.reader.files
    for name in (creation.base_tag, creation.from_tag):
        found = None if name is None else files.find(source.paths.tag(name))
        if found is not None and names_fork(found, creation):
            return without_retention(found)
        if name == creation.base_tag and found is not None and is_whole(found):
            raise CommitConflict(
                f"Tag {name!r} of branch {source.branch!r} names another snapshot by now, so "
                f"branch {creation.branch!r} cannot stand on it. Make the branch again.",
                kind=ErrorKind.NAME_TAKEN,
                tag=name,
            )
    assert creation.snapshot_id is not None
    # From the store itself: a snapshot read before may be another one by now.
    data = files.find(source.paths.snapshot(creation.snapshot_id))
    if data is not None and _is_fork(Snapshot.from_json(data), creation):
        return data
    if data is None:
        told = "has expired before the branch was made. Choose a newer one."
    else:
        told = (
            f"is another one now: somebody took back what it was, and went on. Branch "
            f"{creation.branch!r} was not made; look at {source.branch!r}, then make it again."
        )
    raise NotFound(
        f"Snapshot {creation.snapshot_id} of branch {source.branch!r} {told}",
        kind=ErrorKind.SNAPSHOT_NOT_FOUND,
        snapshot_id=creation.snapshot_id,
    )


def _is_fork(snapshot: Snapshot, creation: BranchCreation) -> bool:
    return creation.fork is None or snapshot.identity.same_as(creation.fork)


def _numbers(raw: JsonObject, key: str) -> tuple[int, ...]:
    values: list[Any] = raw.find(key, list) or []
    return tuple(int(value) for value in values)
