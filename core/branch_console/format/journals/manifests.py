"""The journal of a merge of manifests."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import needed
from branch_console.format.journals.terms import CALLBACKS, PLAN_ID, REASON, OperationJournal


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsJournal(OperationJournal):
    """Manifests that become fewer.

    Attributes:
        head_id: The head when this was decided: an earlier try is behind it.
    """

    head_id: int


MANIFESTS_JOURNAL: Final = Codec(
    what="journal of manifests that are merged",
    reads={1: Layout(ManifestsJournal, PLAN_ID, needed("headId", int), REASON, CALLBACKS)},
)
