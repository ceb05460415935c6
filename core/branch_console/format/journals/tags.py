"""The journals of what is done to tags."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import needed, perhaps
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


TAG: Final = (
    needed("tag", str),
    needed("content", str),
    perhaps("replaces", str),
    perhaps("snapshotId", int),
)
UNTAG: Final = (needed("tag", str), needed("content", str))

TAG_JOURNAL: Final = Codec(
    what="journal of a tag",
    reads={1: Layout(TagJournal, PLAN_ID, *TAG, CALLBACKS)},
)
UNTAG_JOURNAL: Final = Codec(
    what="journal of a tag that is deleted",
    reads={1: Layout(UntagJournal, PLAN_ID, *UNTAG, REASON, CALLBACKS)},
)
