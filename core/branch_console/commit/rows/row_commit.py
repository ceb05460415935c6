"""Files that writers of rows made, and the commit that makes a snapshot of them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from branch_console.commit.base.commit_message import CommitMessage
from branch_console.commit.base.commit_store import CommitStore
from branch_console.commit.base.message_codec import decode_messages, encode_messages
from branch_console.commit.snapshot.commit_identity import snapshots_after
from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.format.journals.intent import Intent
from branch_console.format.journals.rows import ReadAt, WriteStep
from branch_console.format.kept_elsewhere import WITHOUT_CALLBACKS_PROPERTY
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.table.file_store_table import FileStoreTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PreparedRows:
    """Files that tasks made of rows.

    Attributes:
        messages: Files that nothing refers to yet.
        row_count: Rows that were inserted, deleted or changed.
        expected_head: The only head on which these files are right; None if any will do.
        read_at: Where the rows were read that these were computed from: whoever wrote rows with
            their keys since is in conflict. None if they come from elsewhere.
        has_strays: Whether tasks may have run more than once, and left files that nobody names.
    """

    messages: tuple[CommitMessage, ...]
    row_count: int
    expected_head: SnapshotIdentity | None = None
    read_at: ReadAt | None = None
    has_strays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowCommit:
    """Files of one write, and how they become a snapshot.

    Attributes:
        messages: From the writers.
        overwrites: Whether partitions are replaced.
        partitions: The encoded partitions that an overwrite replaces, as
            `FileStoreCommit.overwrite` takes them.
        expected_head: The only head that this may stand on; None if any will do.
        read_at, has_strays: As for `PreparedRows`.
        summary: Figures of the write that are to be remembered.
        properties: The properties of the snapshot.
    """

    messages: tuple[CommitMessage, ...]
    overwrites: bool = False
    partitions: tuple[bytes, ...] | None = None
    expected_head: SnapshotIdentity | None = None
    read_at: ReadAt | None = None
    has_strays: bool = False
    summary: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def to_step(self, seen_id: int) -> WriteStep:
        """Return what the journal notes of it, with the head before the first try."""
        return WriteStep(
            messages=encode_messages(self.messages),
            overwrites=self.overwrites,
            partitions=self.partitions,
            expected_head=self.expected_head,
            read_at=self.read_at,
            summary=self.summary,
            properties=self.properties,
            seen_id=seen_id,
        )

    @classmethod
    def from_step(cls, step: WriteStep) -> "RowCommit":
        """Return the commit that the journal noted."""
        return cls(
            messages=decode_messages(step.messages),
            overwrites=step.overwrites,
            partitions=step.partitions,
            expected_head=step.expected_head,
            read_at=step.read_at,
            summary=step.summary,
            properties=step.properties,
        )


def has_landed(table: FileStoreTable, intent: Intent, seen_id: int) -> bool:
    """Whether a snapshot of the commit stands: its files may be gone since, by a compaction."""
    own = (intent.actor, _identifier_of(intent))
    behind = snapshots_after(table, seen_id)
    return any((each.commit_user, each.commit_identifier) == own for each in behind)


def _identifier_of(intent: Intent) -> int:
    digest = hashlib.sha256(intent.operation_id.encode()).digest()
    return int.from_bytes(digest[:7])


def land(
    table: FileStoreTable,
    store: CommitStore,
    intent: Intent,
    commit: RowCommit,
    clock: Callable[[], int],
    *,
    seen_id: int | None = None,
    since_id: int | None = None,
) -> Snapshot | None:
    """Publish a commit of rows, unless it has landed behind `seen_id` or `since_id`.

    Which of both: see `FileStoreCommit.commit`.
    """
    # The reason stands in the snapshot, and the journal of a write that is finished later holds it.
    publisher = FileStoreCommit(
        table, store, clock=clock, without_callbacks=WITHOUT_CALLBACKS_PROPERTY in commit.properties
    )
    identifier = _identifier_of(intent)
    if commit.overwrites:
        return publisher.overwrite(
            commit.messages,
            user=intent.actor,
            identifier=identifier,
            properties=commit.properties,
            partitions=commit.partitions,
            expected_head=commit.expected_head,
            seen_id=seen_id,
            since_id=since_id,
        )
    return publisher.commit(
        commit.messages,
        user=intent.actor,
        identifier=identifier,
        properties=commit.properties,
        expected_head=commit.expected_head,
        seen_id=seen_id,
        since_id=since_id,
        read_at=commit.read_at,
    )
