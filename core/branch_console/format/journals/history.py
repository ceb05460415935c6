"""The journals of what moves the history of a branch: copied to it, cut back, or taken back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout, Ways
from branch_console.format.journals.keys import (
    choice,
    constant,
    derived,
    identity,
    identity_map,
    inlined,
    needed,
    needed_identity,
    numbers,
    perhaps,
    since,
    some_parts,
    texts,
    values,
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
    UNDOES,
    VERIFIED,
    OperationJournal,
)
from branch_console.format.json_text import JsonObject
from branch_console.format.lineage_event import LineageKind
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class InheritedSnapshot:
    """A snapshot of a branch's history that lies on a branch which it was made from."""

    branch: str
    id: int
    identity: SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCopy:
    """Metadata of one branch that goes to another, and what has to leave before it.

    Attributes:
        inherited: The snapshots that are read from other branches than the source.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryJournal(OperationJournal):
    """A history that is moved: by a fast-forward, a replacement, a cut, or an undo of these.

    Attributes:
        copy: The files that are copied, and those that are removed.
        sharing: The measures for files that both branches share.
        event: The kind of its event; None if it follows from removed snapshots.
        expired_tag: The tag that a snapshot is made again from, which has expired.
        schema_id_after: The newest schema that the branch has afterwards.
        tags_before: What tags of the branch name before the schemas come that they are read by.
        records: Records of the data files that come; None if they do not tell rows.
    """

    copy: HistoryCopy
    sharing: JournalledSharing = NO_SHARING
    event: LineageKind | None = None
    expired_tag: str | None = None
    schema_id_after: int | None = None
    tags_before: Mapping[str, SnapshotIdentity | None] | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackJournal(OperationJournal):
    """An earlier state that becomes a new snapshot.

    Attributes:
        snapshot_id: The snapshot that is gone back to.
        then: Its identity.
        tag: The tag that keeps it, where it was named by one.
        pin: The tag that keeps its files.
        pin_made: The tag that keeps the files of the snapshot that is made; None if an earlier
            release wrote the journal.
        expected_head: The head on which this was decided.
    """

    snapshot_id: int
    then: SnapshotIdentity | None
    tag: str | None = None
    pin: str
    pin_made: str | None = None
    expected_head: SnapshotIdentity | None = None
    expected_head_id: int | None = None
    sharing: JournalledSharing = NO_SHARING


def _records(raw: JsonObject, key: str) -> int | None:
    found = raw.find(key, int)
    # An earlier release called them rows.
    return raw.find("rows", int) if found is None else found


def _tells_rescue(journal: HistoryJournal) -> list[str]:
    rescue = journal.copy.rescue_branch
    return [] if rescue is None else [rescue]


_INHERITED: Final = Layout(
    InheritedSnapshot, needed("branch", str), needed("id", int), needed_identity("identity")
)
COPY: Final = Layout(
    HistoryCopy,
    needed("source", str),
    needed("target", str),
    identity("expectedHead"),
    perhaps("expectedHeadId", int),
    identity("newHead"),
    perhaps("newHeadId", int),
    numbers("schemaIds"),
    texts("tags"),
    numbers("snapshotIds"),
    some_parts("inherited", _INHERITED),
    numbers("removeSnapshotIds"),
    numbers("removeSchemaIds"),
    texts("removeTags"),
    perhaps("rescueBranch", str),
)
_COPY: Final = inlined("copy", COPY)
_MAKES: Final = derived("makes", _tells_rescue)
_EVENT: Final = choice("event", LineageKind)
RECORDS: Final = values("records", _records, lambda value: value)
_SCHEMA_AFTER: Final = perhaps("schemaIdAfter", int)
_TAGS_BEFORE: Final = identity_map("tagsBefore")

FORWARD: Final = (
    _COPY,
    SHARING,
    _MAKES,
    _SCHEMA_AFTER,
    _TAGS_BEFORE,
)
"""The journal of a fast-forward, in whichever procedure."""

FORWARD_JOURNAL: Final = Codec(
    what="journal of a fast-forward",
    reads={
        1: Layout(
            HistoryJournal,
            *FORWARD,
            PLAN_ID,
            REASON,
            RECORDS,
            ROWS_COUNTED,
            ROWS_CHANGED,
            NOTES,
            CALLBACKS,
            GATE,
            since("filesVerified", int, default=0),
        )
    },
)
REPLACE_JOURNAL: Final = Codec(
    what="journal of a replacement",
    reads={
        1: Layout(
            HistoryJournal,
            _COPY,
            SHARING,
            _MAKES,
            PLAN_ID,
            REASON,
            RECORDS,
            ROWS_COUNTED,
            NOTES,
            _SCHEMA_AFTER,
            CALLBACKS,
            VERIFIED,
        )
    },
)
_CUT: Final = Layout(
    HistoryJournal,
    constant("way", "cut"),
    _COPY,
    _MAKES,
    _EVENT,
    perhaps("expiredTag", str),
    NOTES,
    SHARING,
    PLAN_ID,
    REASON,
    CALLBACKS,
    VERIFIED,
)
_RESTORE: Final = Layout(
    RollbackJournal,
    constant("way", "restore"),
    needed("snapshotId", int),
    identity("then"),
    perhaps("tag", str),
    needed("pin", str),
    perhaps("pinMade", str),
    identity("expectedHead"),
    perhaps("expectedHeadId", int),
    SHARING,
    PLAN_ID,
    REASON,
    CALLBACKS,
    VERIFIED,
)
ROLLBACK_JOURNAL: Final[Codec[HistoryJournal | RollbackJournal]] = Codec(
    what="journal of a rollback",
    reads={1: Ways({"cut": _CUT, "restore": _RESTORE}, default="restore")},
)
WAY_BACK: Final = Layout(
    HistoryJournal,
    _COPY,
    constant("way", "history"),
    _MAKES,
    _EVENT,
    NOTES,
    PLAN_ID,
    REASON,
    UNDOES,
    CALLBACKS,
)
"""The journal of an undo that moves a history back."""
