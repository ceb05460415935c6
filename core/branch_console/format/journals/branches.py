"""The journals of what is done to whole branches."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.errors import FormatError
from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.expiry import MAINTENANCE_CLAIM
from branch_console.format.journals.keys import (
    derived,
    identity,
    inlined,
    needed,
    numbers,
    part,
    parts,
    perhaps,
    since,
    some_parts,
    some_texts,
    texts,
    values,
)
from branch_console.format.journals.terms import (
    CALLBACKS,
    PLAN_ID,
    REASON,
    OperationJournal,
)
from branch_console.format.json_text import JsonObject
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCreation:
    """The origin of a new branch.

    Attributes:
        source: The branch it comes from.
        base_tag: The permanent tag that keeps the fork readable; None for an empty branch.
        snapshot_id: The fork; None for an empty branch.
        from_tag: The tag of the source that names the fork, where its snapshot may have expired.
        is_fenced: Whether the branch gets a fence; no earlier release made one.
        schema_ids: Schemas of the source that come along.
        fork: Which snapshot `snapshot_id` was when this was decided; None if an earlier release
            wrote the journal.
        commits: The files of the snapshots that follow it, where they are in no branch: a history
            that was lost comes back with them.
    """

    branch: str
    source: str
    schema_ids: tuple[int, ...]
    base_tag: str | None = None
    snapshot_id: int | None = None
    from_tag: str | None = None
    fork: SnapshotIdentity | None = None
    is_fenced: bool = False
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMove:
    """A branch that gets another name.

    Attributes:
        head: Its head when this was decided; None if it has none, or none that can be decoded.
        head_id: The number of its newest snapshot.
    """

    source: str
    target: str
    head: SnapshotIdentity | None
    head_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionUse:
    """An option of a branch's newest schema that names another branch."""

    branch: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateBranchJournal(OperationJournal):
    """A new branch, and who owns it."""

    creation: BranchCreation
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTag:
    """A tag, by the branch that holds it."""

    branch: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRelease:
    """How the files of a branch leave the table with it.

    Attributes:
        tags: What was made to keep files for the branch, and goes with its files.
        grace_millis: How long the branch is kept for undo; 0 lets its files go at once.
    """

    tags: tuple[BranchTag, ...] = ()
    grace_millis: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DropBranchJournal(OperationJournal):
    """A branch that moves out of the way.

    Attributes:
        base_tag: The tag that keeps its fork.
        parent: The branch that it was made from.
        lost: Sentences on objects that only the branch has.
        release: How its files leave; None if a rescue branch keeps them.
    """

    move: BranchMove
    base_tag: str | None = None
    parent: str | None = None
    lost: tuple[str, ...] = ()
    release: BranchRelease | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameBranchJournal(OperationJournal):
    """A branch that gets another name, and the options that follow."""

    move: BranchMove
    options: tuple[OptionUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectBranchJournal(OperationJournal):
    """Whether a rule protects, and the branches that it covered when it was made."""

    protected: bool = False
    covered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveBranchJournal(OperationJournal):
    """Whether a branch is archived, and the tag that keeps its head.

    Attributes:
        tag: The tag; None for a branch without a snapshot, or one that leaves the archive.
        content: The file of the tag.
    """

    archived: bool = False
    tag: str | None = None
    content: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBranchJournal(OperationJournal):
    """Whether a fence is made, or taken away."""

    fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PinBranchJournal(OperationJournal):
    """The tag on main that keeps what a branch began at.

    Attributes:
        base_tag: The tag that the ledger names; None if an earlier release wrote the journal.
        content: The file of the tag.
    """

    tag: str
    content: str
    snapshot_id: int = 0
    base_tag: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFile:
    """The file that belongs in the place of one that was cut off.

    Attributes:
        path: The path of the file.
        source: Where the same file lies whole, in words.
        content: The content of that one.
    """

    path: str
    source: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairBranchJournal(OperationJournal):
    """The files that a branch gets.

    Attributes:
        schemas: The ids of schemas that come from main.
        whole: Whole files that replace the ones that were cut off.
    """

    schemas: tuple[int, ...]
    whole: tuple[WholeFile, ...] = ()


def _uses(raw: JsonObject, key: str) -> tuple[OptionUse, ...]:
    found = raw.find(key, list) or []
    if not all(_is_pair(each) for each in found):
        raise FormatError(f"The {raw.what} has something other than pairs of texts in {key!r}.")
    return tuple(OptionUse(branch=branch, key=name) for branch, name in found)


def _is_pair(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == len(("branch", "key"))
        and all(isinstance(each, str) for each in value)
    )


def _pairs(uses: Iterable[OptionUse]) -> list[list[str]]:
    return [[each.branch, each.key] for each in uses]


CREATION: Final = Layout(
    BranchCreation,
    needed("branch", str),
    needed("source", str),
    numbers("schemaIds"),
    perhaps("baseTag", str),
    perhaps("snapshotId", int),
    perhaps("fromTag", str),
    identity("fork"),
    since("isFenced", bool, default=False),
    some_texts("commits"),
)
MOVE: Final = Layout(
    BranchMove,
    needed("source", str),
    needed("target", str),
    identity("head"),
    perhaps("headId", int),
)
OPTIONS: Final = values("options", _uses, _pairs)
MAKES_TARGET: Final = derived("makes", lambda journal: [journal.move.target])
FENCED: Final = since("fenced", bool, default=False)

CREATE_JOURNAL: Final = Codec(
    what="journal of a new branch",
    reads={
        1: Layout(
            CreateBranchJournal,
            inlined("creation", CREATION),
            derived("makes", lambda journal: [journal.creation.branch]),
            derived("claims", lambda journal: journal.creation.branch),
            perhaps("owner", str),
            REASON,
        )
    },
)
RELEASE: Final = Layout(
    BranchRelease,
    parts("tags", Layout(BranchTag, needed("branch", str), needed("name", str))),
    since("graceMillis", int, default=0),
)
_LEAVING: Final = (
    PLAN_ID,
    REASON,
    perhaps("baseTag", str),
    perhaps("parent", str),
    texts("lost"),
    part("release", RELEASE),
)
DROP_JOURNAL: Final = Codec(
    what="journal of a branch that is dropped",
    reads={
        1: Layout(
            DropBranchJournal,
            inlined("move", MOVE),
            # A branch whose names are retired is none for anybody.
            derived("makes", lambda journal: None if journal.release else [journal.move.target]),
            derived("claims", lambda journal: MAINTENANCE_CLAIM if journal.release else None),
            *_LEAVING,
        )
    },
)
RELEASE_JOURNAL: Final = Codec(
    what="journal of a branch that is released",
    reads={
        1: Layout(
            DropBranchJournal,
            inlined("move", MOVE),
            derived("claims", lambda _: MAINTENANCE_CLAIM),
            *_LEAVING,
        )
    },
)
RENAME_JOURNAL: Final = Codec(
    what="journal of a branch that is renamed",
    reads={
        1: Layout(
            RenameBranchJournal,
            inlined("move", MOVE),
            MAKES_TARGET,
            derived("claims", lambda journal: journal.move.target),
            PLAN_ID,
            REASON,
            OPTIONS,
            CALLBACKS,
        )
    },
)
PROTECT_JOURNAL: Final = Codec(
    what="journal of a protection",
    reads={
        1: Layout(
            ProtectBranchJournal,
            PLAN_ID,
            since("protected", bool, default=False),
            texts("covered"),
            REASON,
        )
    },
)
ARCHIVE_JOURNAL: Final = Codec(
    what="journal of a branch that is archived",
    reads={
        1: Layout(
            ArchiveBranchJournal,
            PLAN_ID,
            since("archived", bool, default=False),
            perhaps("tag", str),
            since("content", str, default=""),
            REASON,
            CALLBACKS,
        )
    },
)
WARN_JOURNAL: Final = Codec(
    what="journal of a warning",
    reads={1: Layout(OperationJournal, PLAN_ID, REASON)},
)
FENCE_JOURNAL: Final = Codec(
    what="journal of a fence",
    reads={1: Layout(FenceBranchJournal, PLAN_ID, FENCED, REASON)},
)
PIN_JOURNAL: Final = Codec(
    what="journal of a pin",
    reads={
        1: Layout(
            PinBranchJournal,
            PLAN_ID,
            needed("tag", str),
            perhaps("baseTag", str),
            needed("content", str),
            since("snapshotId", int, default=0),
        )
    },
)
REPAIR_JOURNAL: Final = Codec(
    what="journal of a repair",
    reads={
        1: Layout(
            RepairBranchJournal,
            PLAN_ID,
            numbers("schemas"),
            some_parts(
                "whole",
                Layout(
                    WholeFile,
                    needed("path", str),
                    needed("source", str),
                    needed("content", str),
                ),
            ),
            REASON,
        )
    },
)
