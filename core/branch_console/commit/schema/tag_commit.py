"""Tags: a tag file is made once, and replaced only if that is asked for."""

from collections.abc import Mapping
from datetime import datetime

from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.metadata_copy import publish_once
from branch_console.errors import (
    AlreadyExists,
    CommitConflict,
    ErrorKind,
    InvalidInput,
    StorageError,
)
from branch_console.format.json_text import JsonObject, to_pretty_json
from branch_console.format.snapshot import Snapshot
from branch_console.format.tag import Tag
from branch_console.table.file_store_table import FileStoreTable

# Paimon's extra fields of a tag that expires by itself.
_RETENTION_KEYS = ("tagCreateTime", "tagTimeRetained")
_MAX_NAME_LENGTH = 200


def create_tag(table: FileStoreTable, store: CommitStore, name: str, at: Snapshot) -> Tag:
    """Name a snapshot of the table's branch, for good.

    Raises:
        InvalidInput: The name cannot be that of a tag.
        AlreadyExists: The name stands for another snapshot.
    """
    check_tag_name(name)
    made, data = publish_once(store, table.paths.tag(name), snapshot_bytes(table, at))
    found = Tag.from_json(name, data)
    if not made and not found.snapshot.identity.same_as(at.identity):
        raise AlreadyExists(
            f"Branch {table.branch!r} has a tag {name!r} already: it names snapshot "
            f"{found.snapshot.id}. Choose another name.",
            tag=name,
            snapshot_id=found.snapshot.id,
        )
    return found


def put_tag(
    table: FileStoreTable, store: CommitStore, name: str, data: bytes, *, replaces: bytes | None
) -> None:
    """Make a tag, or give one another meaning; what is done already stays as it is.

    A tag that moves is written over in one step: it must never be missing, as expiry could then
    delete what it keeps.

    Args:
        table: The table on the branch of the tag.
        store: The table's store.
        name: The tag.
        data: The bytes of the tag's file.
        replaces: The bytes that are written over; None for a new tag.

    Raises:
        CommitConflict: The tag has other bytes than both.
        StorageError: The store did not let the outcome be known.
    """
    path = table.paths.tag(name)
    if replaces is None:
        made, found = publish_once(store, path, data)
        if not made and found != data:
            raise _moved(table, name)
        return
    found = store.files.find(path) or b""
    if found == data:
        return
    # What a torn write left says nothing, so it belongs to this operation.
    if found not in (b"", replaces):
        raise _moved(table, name)
    if not store.publisher.replace(path, data) or store.files.read(path) != data:
        raise StorageError(f"{path} could not be written. Try again.", path=path)


def remove_tag(table: FileStoreTable, store: CommitStore, name: str, data: bytes) -> None:
    """Remove a tag that has these bytes; one that is gone is no error.

    Raises:
        CommitConflict: It has other bytes.
    """
    path = table.paths.tag(name)
    found = store.files.find(path)
    if found is None:
        return
    if found != data:
        raise _moved(table, name)
    store.remover.remove([path])


def put_tags(table: FileStoreTable, store: CommitStore, tags: Mapping[str, bytes]) -> None:
    """Make new tags, all of them or none; those that are there with these bytes stay.

    Raises:
        CommitConflict: A name stands for another snapshot.
    """
    _check_tags(table, store, tags)
    made: dict[str, bytes] = {}
    try:
        for name, data in tags.items():
            put_tag(table, store, name, data, replaces=None)
            made[name] = data
    except CommitConflict:
        for name, data in made.items():
            remove_tag(table, store, name, data)
        raise


def remove_tags(table: FileStoreTable, store: CommitStore, tags: Mapping[str, bytes]) -> None:
    """Remove tags that have these bytes, all of them or none; one that is gone is no error.

    Raises:
        CommitConflict: One has other bytes.
    """
    _check_tags(table, store, tags)
    gone: dict[str, bytes] = {}
    try:
        for name, data in tags.items():
            remove_tag(table, store, name, data)
            gone[name] = data
    except CommitConflict:
        for name, data in gone.items():
            put_tag(table, store, name, data, replaces=None)
        raise


def rename_tag(
    table: FileStoreTable, store: CommitStore, name: str, new_name: str, data: bytes
) -> None:
    """Give a tag that has these bytes another name; what is done already stays as it is.

    It is never missing under both names, as expiry could then delete what it keeps.

    Raises:
        CommitConflict: It has other bytes or is gone, or another tag has the new name.
    """
    files, paths = store.files, table.paths
    if files.find(paths.tag(name)) is None and files.find(paths.tag(new_name)) != data:
        raise _moved(table, name)
    put_tag(table, store, new_name, data, replaces=None)
    try:
        remove_tag(table, store, name, data)
    except CommitConflict:
        remove_tag(table, store, new_name, data)
        raise


def snapshot_bytes(table: FileStoreTable, snapshot: Snapshot) -> bytes:
    """Return the file of a snapshot as its writer left it, from a tag where it has expired."""
    files = table.reader.files
    data = files.find(table.paths.snapshot(snapshot.id))
    if data is not None and Snapshot.from_json(data).identity.same_as(snapshot.identity):
        return data
    for tag in table.tags.all():
        if tag.snapshot.identity.same_as(snapshot.identity):
            return without_retention(files.read(table.paths.tag(tag.name)))
    return snapshot.to_json().encode()


def without_retention(data: bytes) -> bytes:
    """Return a tag file as the snapshot it names; keys unknown to us stay."""
    raw = JsonObject.parse(data, "tag file")
    if not any(key in raw.values for key in _RETENTION_KEYS):
        return data
    kept = {key: value for key, value in raw.values.items() if key not in _RETENTION_KEYS}
    return to_pretty_json(kept).encode()


def with_retention(data: bytes, made: datetime, seconds: float) -> bytes:
    """Return the file of a snapshot as a tag that expires by itself; unknown keys stay.

    Args:
        data: The snapshot's bytes.
        made: When the tag is made, on the writer's wall clock.
        seconds: How long it lasts.
    """
    raw = JsonObject.parse(without_retention(data), "snapshot file")
    tag = Tag(
        name="",
        snapshot=Snapshot.from_object(raw),
        create_time=made,
        time_retained_seconds=seconds,
    )
    added = JsonObject.parse(tag.to_json(), "tag file").values
    own = {key: added[key] for key in _RETENTION_KEYS}
    return to_pretty_json({**raw.values, **own}).encode()


def check_tag_name(name: str) -> None:
    """Refuse a name that no new tag may have.

    Raises:
        InvalidInput: The name is blank, only digits, too long, or holds a separator.
    """
    if not name.strip() or name.isdigit() or len(name) > _MAX_NAME_LENGTH:
        raise InvalidInput(
            f"{name!r} cannot name a tag: it must not be blank, only digits, or longer than "
            f"{_MAX_NAME_LENGTH} characters.",
            kind=ErrorKind.INVALID_NAME,
            tag=name,
        )
    if any(character in name for character in "/\\$\0") or name.startswith("."):
        raise InvalidInput(
            f"{name!r} cannot name a tag: it must not hold '/', '\\' or '$' or start with a dot.",
            kind=ErrorKind.INVALID_NAME,
            tag=name,
        )


def _moved(table: FileStoreTable, name: str) -> CommitConflict:
    return CommitConflict(
        f"Tag {name!r} of branch {table.branch!r} was changed by somebody else in the meantime. "
        "It stays as it is; look at it, then plan again.",
        kind=ErrorKind.HEAD_MOVED,
        tag=name,
    )


def _check_tags(table: FileStoreTable, store: CommitStore, tags: Mapping[str, bytes]) -> None:
    for name, data in tags.items():
        if store.files.find(table.paths.tag(name)) not in (None, data):
            raise _moved(table, name)
