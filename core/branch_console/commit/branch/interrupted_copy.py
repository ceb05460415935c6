"""Files that an interrupted copy of a history left on its target."""

from collections.abc import Collection

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once, read_files
from branch_console.commit.branch.history_copy import copied_files, source_snapshots
from branch_console.errors import FormatError
from branch_console.format.journals.history import HistoryCopy
from branch_console.storage.parallel_io import map_parallel
from branch_console.table.file_store_table import FileStoreTable


def has_begun(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> bool:
    """Whether a snapshot of the copy is on the target, not only others of the same numbers.

    Any of them tells, as a power cut may have lost the first. Where the source has lost one
    meanwhile, any of its number counts.
    """
    target, find = table.on(copy.target), store.files.find
    sources = source_snapshots(table, copy)
    for snapshot_id in sorted(set(sources) & set(target.snapshots.ids())):
        found = find(target.paths.snapshot(snapshot_id))
        if found is not None and find(sources[snapshot_id]) in (None, found):
            return True
    return False


def is_complete(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> bool:
    """Whether the target holds all that was to come, so that the source is needed no more."""
    target = table.on(copy.target)
    if copy.new_head_id is not None and copy.new_head is not None:
        head = target.snapshots.find(copy.new_head_id)
        if head is None or not head.identity.same_as(copy.new_head):
            return False
    return all(map_parallel(store.files, store.files.exists, copied_files(target.paths, copy)))


def is_partial(table: FileStoreTable, store: CommitStore, copy: HistoryCopy) -> bool:
    """Whether something is where the copy goes, other than what the target had there before."""
    find, there = store.files.find, copied_files(table.on(copy.target).paths, copy)
    found = map_parallel(store.files, find, there)
    if copy.rescue_branch is None:
        return any(data is not None for data in found)
    # A way back that was cut off may have put some of the old files there.
    old = map_parallel(store.files, find, copied_files(table.on(copy.rescue_branch).paths, copy))
    return any(data is not None and data != kept for data, kept in zip(found, old, strict=True))


def take_back_ahead(
    table: FileStoreTable, store: CommitStore, copy: HistoryCopy
) -> tuple[int, ...]:
    """Take the tags and schemas from the target that came ahead of snapshots that never will.

    Only what is the source's byte for byte goes: the copy names nothing that the target had before.

    Returns:
        The schemas that stay, as something on the target is read by them or stands on them.
    """
    source, target = table.on(copy.source).paths, table.on(copy.target)
    paths, find = target.paths, store.files.find

    def came(there: str, here: str) -> bool:
        data = find(here)
        return data is not None and data == find(there)

    tags = [name for name in copy.tags if came(source.tag(name), paths.tag(name))]
    store.remover.remove([paths.tag(name) for name in tags])
    ours = [each for each in copy.schema_ids if came(source.schema(each), paths.schema(each))]
    leaving = schemas_to_take_back(ours, target.schemas.ids(), _schemas_in_use(target, copy))
    contents = read_files(store, [source.schema(each) for each in leaving])
    kept = dict(zip(leaving, contents, strict=True))
    store.remover.remove([paths.schema(each) for each in leaving])
    # A commit may have come just before they left.
    used = _schemas_in_use(target, copy)
    back = {each for each in leaving if used is None or each in used}
    for schema_id in sorted(back):
        publish_once(store, paths.schema(schema_id), kept[schema_id])
    return tuple(each for each in ours if each in back or each not in leaving)


def schemas_to_take_back(
    ours: Collection[int], present: Collection[int], used: Collection[int] | None
) -> tuple[int, ...]:
    """Choose the schemas that may leave a branch, newest first.

    Args:
        ours: The schemas that were added.
        present: All of the branch: one that another one stands on stays.
        used: The schemas that snapshots and tags need; None if that is not known.
    """
    leaving: list[int] = []
    for schema_id in sorted(present, reverse=True):
        if used is None or schema_id in used or schema_id not in ours:
            break
        leaving.append(schema_id)
    return tuple(leaving)


def _schemas_in_use(target: FileStoreTable, copy: HistoryCopy) -> set[int] | None:
    """The schemas that the target is read by; None if some of what came since has expired."""
    try:
        snapshots, tags = target.snapshots.all(), target.tags.all()
    except FormatError:
        return None
    if snapshots and snapshots[0].id > (copy.expected_head_id or 0) + 1:
        return None
    return {each.schema_id for each in (*snapshots, *(tag.snapshot for tag in tags))}
