"""The journals of what is done to the consumers of a branch."""

from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import needed, or_null, parts
from branch_console.format.journals.terms import PLAN_ID, REASON, OperationJournal


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerChange:
    """The file of one consumer before and after; None if there is none."""

    consumer: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumersJournal(OperationJournal):
    """Consumers that read on elsewhere, or that go."""

    changes: tuple[ConsumerChange, ...]


_CHANGE: Final = Layout(
    ConsumerChange, needed("consumer", str), or_null("before", str), or_null("after", str)
)
CONSUMER_CHANGES: Final = parts("changes", _CHANGE)

CONSUMERS_JOURNAL: Final = Codec(
    what="journal of consumers",
    reads={1: Layout(ConsumersJournal, PLAN_ID, CONSUMER_CHANGES, REASON)},
)
