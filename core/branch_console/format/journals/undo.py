"""The journals of undo operations, one for each way to undo."""

from dataclasses import dataclass
from typing import Final, TypeAlias

from branch_console.format.journals.branches import (
    FENCED,
    MAKES_TARGET,
    MOVE,
    OPTIONS,
    BranchMove,
    FenceBranchJournal,
    OptionUse,
    RenameBranchJournal,
)
from branch_console.format.journals.codec import Codec, Layout, Ways
from branch_console.format.journals.consumers import CONSUMER_CHANGES, ConsumersJournal
from branch_console.format.journals.expiry import UNCLEAN, UNEXPIRE, UncleanJournal, UnexpireJournal
from branch_console.format.journals.history import WAY_BACK, HistoryJournal
from branch_console.format.journals.keys import constant, inlined, perhaps
from branch_console.format.journals.names import NAMES_BACK, NamesBackJournal
from branch_console.format.journals.partitions import UNMARK, MarkDoneJournal
from branch_console.format.journals.tags import (
    RENAME_TAG,
    TAG,
    TAGS,
    UNTAG,
    RenameTagJournal,
    TagJournal,
    TagsJournal,
    UntagJournal,
)
from branch_console.format.journals.terms import (
    CALLBACKS,
    PLAN_ID,
    REASON,
    UNDOES,
    OperationJournal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreBranchJournal(OperationJournal):
    """A rescue branch that becomes the dropped branch again, and the options that follow.

    Attributes:
        retired_by: The operation that has the names of the branch if no rescue branch has them.
    """

    move: BranchMove
    options: tuple[OptionUse, ...] = ()
    retired_by: str | None = None


UndoJournal: TypeAlias = (
    RestoreBranchJournal
    | RenameBranchJournal
    | HistoryJournal
    | TagJournal
    | UntagJournal
    | TagsJournal
    | RenameTagJournal
    | MarkDoneJournal
    | NamesBackJournal
    | FenceBranchJournal
    | UnexpireJournal
    | UncleanJournal
    | ConsumersJournal
)
"""How an operation is taken back: by what another procedure does, but for a restored branch."""

# A rescue branch is named after the operation, which a preview has none of.
_NAMED_AFTER_OPERATION: Final = ("rescueBranch", "makes")
_MOVED: Final = inlined("move", MOVE)
_END: Final = (PLAN_ID, REASON, UNDOES, CALLBACKS)

UNDO_JOURNAL: Final[Codec[UndoJournal]] = Codec(
    what="journal of an undo",
    reads={
        1: Ways(
            {
                "restore": Layout(
                    RestoreBranchJournal,
                    _MOVED,
                    constant("way", "restore"),
                    MAKES_TARGET,
                    OPTIONS,
                    perhaps("retiredBy", str),
                    *_END,
                ),
                "rename": Layout(
                    RenameBranchJournal,
                    _MOVED,
                    constant("way", "rename"),
                    MAKES_TARGET,
                    OPTIONS,
                    *_END,
                ),
                "history": WAY_BACK,
                "tag": Layout(TagJournal, constant("way", "tag"), *TAG, *_END),
                "delete tag": Layout(UntagJournal, constant("way", "delete tag"), *UNTAG, *_END),
                "tags": Layout(TagsJournal, constant("way", "tags"), TAGS, *_END),
                "rename tag": Layout(
                    RenameTagJournal, constant("way", "rename tag"), *RENAME_TAG, *_END
                ),
                "consumers": Layout(
                    ConsumersJournal,
                    constant("way", "consumers"),
                    CONSUMER_CHANGES,
                    PLAN_ID,
                    REASON,
                    UNDOES,
                ),
                "names": Layout(NamesBackJournal, constant("way", "names"), *NAMES_BACK),
                "marks": Layout(MarkDoneJournal, constant("way", "marks"), *UNMARK),
                "unclean": Layout(UncleanJournal, constant("way", "unclean"), *UNCLEAN),
                "unexpire": Layout(UnexpireJournal, constant("way", "unexpire"), *UNEXPIRE),
                "fence": Layout(
                    FenceBranchJournal, constant("way", "fence"), FENCED, PLAN_ID, REASON, UNDOES
                ),
            }
        )
    },
)


def decision_of_undo(journal: UndoJournal) -> dict[str, object]:
    """Return JSON values that tell the decision of one undo from that of another."""
    content = UNDO_JOURNAL.encode(journal)
    return {key: content[key] for key in content if key not in _NAMED_AFTER_OPERATION}
