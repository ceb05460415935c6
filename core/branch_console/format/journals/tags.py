"""The journals of what is done to tags."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Either, Layout
from branch_console.format.journals.keys import needed, parts, perhaps
from branch_console.format.journals.terms import CALLBACKS, PLAN_ID, REASON, OperationJournal


@dataclass(frozen=True, slots=True, kw_only=True)
class TagJournal(OperationJournal):
    """A tag that is made, or moved.

    Attributes:
        content: Its file.
        replaces: The file that stands there before; None for a new tag.
    """

    tag: str
    content: str
    replaces: str | None = None
    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UntagJournal(OperationJournal):
    """A tag that is deleted, and its file."""

    tag: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFile:
    """A tag and its file."""

    tag: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UntagsJournal(OperationJournal):
    """Several tags that are deleted at once."""

    tags: tuple[TagFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsJournal(OperationJournal):
    """Several tags that come back at once."""

    tags: tuple[TagFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTagJournal(OperationJournal):
    """A tag that gets another name, and its file."""

    tag: str
    target_tag: str
    content: str


TAG: Final = (
    needed("tag", str),
    needed("content", str),
    perhaps("replaces", str),
    perhaps("snapshotId", int),
)
UNTAG: Final = (needed("tag", str), needed("content", str))
TAGS: Final = parts("tags", Layout(TagFile, *UNTAG))
RENAME_TAG: Final = (needed("tag", str), needed("targetTag", str), needed("content", str))

TAG_JOURNAL: Final = Codec(
    what="journal of a tag",
    reads={1: Layout(TagJournal, PLAN_ID, *TAG, CALLBACKS)},
)
# An earlier release, which deletes one tag at once, refuses a journal without that tag.
UNTAG_JOURNAL: Final[Codec[UntagJournal | UntagsJournal]] = Codec(
    what="journal of a tag that is deleted",
    reads={
        1: Either(
            "tag",
            having=Layout(UntagJournal, PLAN_ID, *UNTAG, REASON, CALLBACKS),
            lacking=Layout(UntagsJournal, PLAN_ID, TAGS, REASON, CALLBACKS),
        )
    },
)
RENAME_TAG_JOURNAL: Final = Codec(
    what="journal of a tag that is renamed",
    reads={1: Layout(RenameTagJournal, PLAN_ID, *RENAME_TAG, CALLBACKS)},
)
