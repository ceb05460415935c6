"""The journals of tags and changelogs that leave a branch until their files are released."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.expiry import MAINTENANCE_CLAIM, RetiredSnapshot
from branch_console.format.journals.keys import Entry, derived, needed, parts, since, texts, values
from branch_console.format.journals.tags import UNTAG, TagFile
from branch_console.format.journals.terms import (
    CALLBACKS,
    PLAN_ID,
    REASON,
    UNDOES,
    OperationJournal,
)
from branch_console.format.json_text import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesJournal(OperationJournal):
    """Names that leave a branch, and tags that it gets by itself.

    Attributes:
        tags: Tags that leave.
        changelogs: Decoupled changelogs that leave, rising.
        made: Tags that are made.
        releases: Earlier operations whose grace is over, and whose files go now.
        grace_millis: How long its own names are kept for undo; 0 lets their files go at once.
        takes_all: Whether no changelog stays.
    """

    tags: tuple[TagFile, ...] = ()
    changelogs: tuple[RetiredSnapshot, ...] = ()
    made: tuple[TagFile, ...] = ()
    releases: tuple[str, ...] = ()
    grace_millis: int = 0
    takes_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesBackJournal(OperationJournal):
    """Names that come back, and tags that go again.

    Attributes:
        expiry: The operation that has them.
        then: The name of the branch at that time.
    """

    expiry: str
    then: str
    tags: tuple[TagFile, ...] = ()
    changelogs: tuple[RetiredSnapshot, ...] = ()
    made: tuple[TagFile, ...] = ()


def _changelogs(raw: JsonObject, key: str) -> tuple[RetiredSnapshot, ...]:
    return tuple(
        RetiredSnapshot(
            id=each.get("id", int), delta_manifest_list=each.get("deltaManifestList", str)
        )
        for each in raw.objects(key)
    )


def _objects(changelogs: Iterable[RetiredSnapshot]) -> list[dict[str, object]]:
    return [{"id": each.id, "deltaManifestList": each.delta_manifest_list} for each in changelogs]


_TAG: Final = Layout(TagFile, *UNTAG)
_CLAIM: Final[Entry] = derived("claims", lambda _: MAINTENANCE_CLAIM)
_NAMES: Final = (
    parts("tags", _TAG),
    values("changelogs", _changelogs, _objects),
    parts("made", _TAG),
)
NAMES_JOURNAL: Final = Codec(
    what="journal of names that expire",
    reads={
        1: Layout(
            NamesJournal,
            PLAN_ID,
            REASON,
            _CLAIM,
            *_NAMES,
            texts("releases"),
            since("graceMillis", int, default=0),
            since("takesAll", bool, default=False),
            CALLBACKS,
        )
    },
)
NAMES_BACK: Final = (
    _CLAIM,
    needed("expiry", str),
    needed("then", str),
    *_NAMES,
    PLAN_ID,
    REASON,
    UNDOES,
    CALLBACKS,
)
"""The journal of an undo that brings names back."""
