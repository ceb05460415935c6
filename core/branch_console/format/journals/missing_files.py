"""The journal of data files that a branch names, and that are not there."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import identity, perhaps, texts
from branch_console.format.journals.rows import WRITE_MESSAGES, WriteMessage
from branch_console.format.journals.terms import CALLBACKS, PLAN_ID, REASON, OperationJournal
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFilesJournal(OperationJournal):
    """Files that a branch names no longer, in a new snapshot.

    Attributes:
        messages: The entries that go, bucket by bucket.
        paths: The expected paths of the files, for the answer.
        expected_head: The head on which this was decided.
    """

    messages: tuple[WriteMessage, ...]
    paths: tuple[str, ...]
    expected_head: SnapshotIdentity | None = None
    expected_head_id: int | None = None


MISSING_FILES_JOURNAL: Final = Codec(
    what="journal of data files that are missing",
    reads={
        1: Layout(
            MissingFilesJournal,
            PLAN_ID,
            REASON,
            WRITE_MESSAGES,
            texts("paths"),
            identity("expectedHead"),
            perhaps("expectedHeadId", int),
            CALLBACKS,
        )
    },
)
