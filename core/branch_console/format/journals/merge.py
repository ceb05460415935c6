"""The journals of merges, picks and reverts: a new snapshot, or the history of the source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from branch_console.format.journals.codec import Codec, Layout, Ways
from branch_console.format.journals.history import FORWARD, RECORDS, HistoryJournal
from branch_console.format.journals.keys import (
    constant,
    counted,
    identity,
    identity_map,
    needed,
    needed_identity,
    number_map,
    perhaps,
    since,
    text_map,
    texts,
)
from branch_console.format.journals.sharing import NO_SHARING, SHARING, JournalledSharing
from branch_console.format.journals.terms import (
    CALLBACKS,
    GATE,
    NOTES,
    PLAN_ID,
    REASON,
    ROWS_CHANGED,
    ROWS_COUNTED,
    VERIFIED,
    OperationJournal,
)
from branch_console.format.journals.written import ROWS, WrittenBucket
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeJournal(OperationJournal):
    """A three-way merge, as it was decided.

    Attributes:
        source: The branch that it comes from.
        snapshot_id: The snapshot that is picked or turned around; None for a whole branch.
        reverts: The operation that is turned around, where one was named.
        ours, theirs, base: The snapshots that were compared.
        scope, isolation, kinds: The rules, by the words of the merge.
        moves: Tells the files of one decision from those of another.
        shares: Whether the target names the files of the source; else they are copied.
        schemas: The schemas that come, as JSON text.
        id_map: The target's schema by the source's, of those that files were written with.
        field_ids: The target's field by the source's.
        tags_before: What tags of the target name before the schemas come that they are read by.
        row_messages: The files of rows that were written; None if none had to be.
        row_notes: Sentences for the receipt about them.
    """

    source: str
    target: str
    snapshot_id: int | None = None
    reverts: str | None = None
    ours: SnapshotIdentity | None
    ours_id: int
    theirs: SnapshotIdentity | None
    theirs_id: int
    base: SnapshotIdentity | None = None
    strict: bool
    scope: str
    isolation: str
    policy: str
    kinds: Mapping[str, str]
    moves: str
    shares: bool
    files_shared: int = 0
    files_to_copy: int = 0
    bytes_to_copy: int = 0
    schemas: tuple[str, ...] = ()
    schema_id_after: int = 0
    source_schema_id: int
    id_map: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    field_ids: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    sharing: JournalledSharing = NO_SHARING
    tags_before: Mapping[str, SnapshotIdentity | None] | None = None
    row_messages: tuple[WrittenBucket, ...] | None = None
    row_notes: tuple[str, ...] | None = None


AnyMergeJournal: TypeAlias = MergeJournal | HistoryJournal
"""A merge makes a snapshot, or takes over the history of its source."""


_THREE_WAY: Final = Layout(
    MergeJournal,
    PLAN_ID,
    needed("source", str),
    needed("target", str),
    perhaps("snapshotId", int),
    perhaps("reverts", str),
    constant("way", "three-way"),
    needed_identity("ours"),
    needed("oursId", int),
    needed_identity("theirs"),
    needed("theirsId", int),
    identity("base"),
    needed("strict", bool),
    needed("scope", str),
    needed("isolation", str),
    needed("policy", str),
    text_map("kinds"),
    needed("moves", str),
    needed("shares", bool),
    since("filesShared", int, default=0),
    counted("filesToCopy"),
    since("bytesToCopy", int, default=0),
    texts("schemas"),
    since("schemaIdAfter", int, default=0),
    needed("sourceSchemaId", int),
    number_map("idMap"),
    number_map("fieldIds"),
    NOTES,
    SHARING,
    identity_map("tagsBefore"),
    REASON,
    CALLBACKS,
    GATE,
    ROWS_COUNTED,
    *ROWS,
    VERIFIED,
)
_FORWARD: Final = Layout(
    HistoryJournal,
    PLAN_ID,
    *FORWARD,
    RECORDS,
    ROWS_COUNTED,
    ROWS_CHANGED,
    NOTES,
    constant("way", "fast-forward"),
    REASON,
    CALLBACKS,
    GATE,
    VERIFIED,
)
MERGE_JOURNAL: Final[Codec[AnyMergeJournal]] = Codec(
    what="journal of a merge",
    reads={1: Ways({"three-way": _THREE_WAY, "fast-forward": _FORWARD}, default="three-way")},
)
