"""Tags: a tag file is made once, and never in place of another."""

from core.commit.commit_store import CommitStore
from core.commit.metadata_copy import publish_once
from core.errors import AlreadyExists, ErrorKind, InvalidInput
from core.format.json_text import JsonObject, to_pretty_json
from core.format.snapshot import Snapshot
from core.format.tag import Tag
from core.table.file_store_table import FileStoreTable

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


def snapshot_bytes(table: FileStoreTable, snapshot: Snapshot) -> bytes:
    """Return the file of a snapshot as its writer left it, from a tag where it has expired."""
    files = table.reader.files
    path = table.paths.snapshot(snapshot.id)
    if files.exists(path):
        data = files.read(path)
        if Snapshot.from_json(data).identity.same_as(snapshot.identity):
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
