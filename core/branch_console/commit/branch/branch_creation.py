"""A new branch: made, finished after it was cut off, or taken back.

It gets its schemas and its fence, then its tag, then its snapshot: it has a head only once all of
that is there.
"""

from collections.abc import Sequence

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.fences import FENCE
from branch_console.commit.base.metadata_copy import is_whole, publish_files, read_files
from branch_console.commit.branch.branch_folder import (
    FolderOwner,
    folder_owner,
    remove_folder,
    whole_files_below,
)
from branch_console.commit.schema.tag_commit import without_retention
from branch_console.commit.snapshot.publish_check import write_hints
from branch_console.errors import CommitConflict, ErrorKind, FormatError, NotFound
from branch_console.format.journals.branches import BranchCreation
from branch_console.format.snapshot import Snapshot
from branch_console.storage.parallel_io import map_parallel
from branch_console.storage.table_paths import FENCE_ID
from branch_console.table.file_store_table import FileStoreTable


def make_branch(
    table: FileStoreTable,
    store: CommitStore,
    creation: BranchCreation,
    *,
    has_base_tag: bool = False,
) -> None:
    """Make a branch, or finish one that was cut off: the base tag first, the snapshot last.

    Args:
        table: The table on any branch.
        store: Gets the branch.
        creation: The parts of the new branch.
        has_base_tag: Whether the source has the base tag already.

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
    if creation.is_fenced:
        files.append((branch.paths.consumer(FENCE_ID), FENCE))
    commits = commit_files(branch, creation)
    if base is None or creation.base_tag is None or creation.snapshot_id is None:
        publish_files(store, [*files, *commits.items()], together=len(files))
        _write_hints(branch, store, creation)
        return
    # In one go: the intent is durable, so what a power cut leaves of them is known to be cut off.
    tags = [] if has_base_tag else [(source.paths.tag(creation.base_tag), base)]
    ahead = [
        *tags,
        *files,
        (branch.paths.tag(creation.base_tag), base),
    ]
    head = (branch.paths.snapshot(creation.snapshot_id), base)
    publish_files(store, [*ahead, head, *commits.items()], together=len(ahead))
    _write_hints(branch, store, creation)


def commit_files(branch: FileStoreTable, creation: BranchCreation) -> dict[str, bytes]:
    """Return the files of the snapshots that a new branch goes on with, by their paths."""
    return {
        branch.paths.snapshot(Snapshot.from_json(each).id): each.encode()
        for each in creation.commits
    }


def _write_hints(branch: FileStoreTable, store: CommitStore, creation: BranchCreation) -> None:
    made = [Snapshot.from_json(each).id for each in creation.commits]
    ids = made if creation.snapshot_id is None else [creation.snapshot_id, *made]
    if ids:
        write_hints(store, branch.paths, ids[-1], ids[0])


def put_base_tags(
    store: CommitStore, creations: Sequence[tuple[FileStoreTable, BranchCreation]]
) -> None:
    """Make the base tags of branches that are made later, on a local disk with one wait for it.

    Raises:
        NotFound: A fork is gone from its source.
        CommitConflict: A tag names another snapshot.
    """
    tags = [
        (source.paths.tag(creation.base_tag), _fork_bytes(source, creation))
        for table, creation in creations
        if creation.base_tag is not None
        for source in (table.on(creation.source),)
    ]
    publish_files(store, tags, together=len(tags))


def unmake_branch(table: FileStoreTable, store: CommitStore, creation: BranchCreation) -> bool:
    """Take back what `make_branch` has made of the branch so far, the head first.

    The base tag on the source stays, as others may stand on it.

    Returns:
        False if others made a branch of that name, or have gone on with it: it stays untouched.
    """
    if whose_branch(table, store, creation) is not FolderOwner.OURS:
        return False
    paths = table.on(creation.branch).paths
    commits = commit_files(table.on(creation.branch), creation)
    doomed = [paths.latest_hint, paths.earliest_hint, *reversed(commits)]
    if creation.snapshot_id is not None:
        doomed.append(paths.snapshot(creation.snapshot_id))
    if creation.base_tag is not None:
        doomed.append(paths.tag(creation.base_tag))
    if creation.is_fenced:
        doomed.append(paths.consumer(FENCE_ID))
    doomed += [paths.schema(each) for each in reversed(creation.schema_ids)]
    store.remover.remove(doomed)
    remove_folder(store, paths.root)
    return True


def whose_branch(
    table: FileStoreTable, store: CommitStore, creation: BranchCreation
) -> FolderOwner:
    """Look whether what has the name of a new branch is that branch, as far as it is made.

    A folder with nothing but schemas of the source counts as ours: where other software made an
    empty branch, no file tells.
    """
    source, paths = table.on(creation.source).paths, table.on(creation.branch).paths
    names = whole_files_below(store.files, paths.root)
    if not names:
        return FolderOwner.OURS
    schemas = {paths.schema(each): source.schema(each) for each in creation.schema_ids}
    fences = [paths.consumer(FENCE_ID)] if creation.is_fenced else []
    forks: list[str] = []
    commits = commit_files(table.on(creation.branch), creation)
    if creation.base_tag is not None and creation.snapshot_id is not None:
        forks = [paths.tag(creation.base_tag), paths.snapshot(creation.snapshot_id)]

    def is_ours(path: str) -> bool:
        found = store.files.find(path) or b""
        if path in fences:
            # Whoever fences a branch writes the same file: it tells nothing.
            return True
        if path in commits:
            return not is_whole(found) or found == commits[path]
        if path not in schemas:
            return not is_whole(found) or names_fork(found, creation)
        wanted = store.files.find(schemas[path])
        return not is_whole(found) or wanted is None or found == wanted

    forks += commits
    made = (*schemas, *fences, *forks)
    known = [path for path in made if path.removeprefix(f"{paths.root}/") in names]
    judged = zip(known, map_parallel(store.files, is_ours, known), strict=True)
    return folder_owner(
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
        text = "has expired before the branch was made. Choose a newer one."
    else:
        text = (
            f"is another one now: somebody took back what it was, and went on. Branch "
            f"{creation.branch!r} was not made; look at {source.branch!r}, then make it again."
        )
    raise NotFound(
        f"Snapshot {creation.snapshot_id} of branch {source.branch!r} {text}",
        kind=ErrorKind.SNAPSHOT_NOT_FOUND,
        snapshot_id=creation.snapshot_id,
    )


def _is_fork(snapshot: Snapshot, creation: BranchCreation) -> bool:
    return creation.fork is None or snapshot.identity.same_as(creation.fork)
