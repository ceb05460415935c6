"""The journal of a merge of the catalog: what is published, step by step, and on top of what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from branch_console.format.journals.codec import Codec, Layout
from branch_console.format.journals.keys import (
    needed,
    part,
    parts,
    perhaps,
    since,
    some_texts,
    text_map,
)
from branch_console.format.journals.terms import (
    GATE,
    NOTES,
    PLAN_ID,
    REASON,
    VERIFIED,
    OperationJournal,
)

_NO_TEXTS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalledPlace:
    """The place of an object: a database's name, or a table's name and the id of its database.

    Attributes:
        database: The id; empty for a database.
        is_aside: Whether it waits aside, known by its id alone.
    """

    name: str
    database: str = ""
    is_aside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalledStep:
    """One step; a place is None if the object is not there.

    Attributes:
        name: Counts the steps of one merge, such as `t1`; it is part of the ids of operations.
        kind: A word of `StepKind`.
        object_id: The database or the table.
        folder: The table's folder below the warehouse when the merge begins: on the target, or on
            the source if the table is new. None for a database.
        birth: The SHA-256 of the bytes of the table's first schema file.
        schemas: The schemas added to a table whose source has no snapshot, as JSON texts.
    """

    name: str
    kind: str
    object_id: str
    before: JournalledPlace | None = None
    after: JournalledPlace | None = None
    properties_before: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)
    properties_after: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)
    folder: str | None = None
    birth: str | None = None
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMergeJournal(OperationJournal):
    """A merge of the catalog, as it was decided.

    Attributes:
        subject: Its subject, for people.
        source: The branch that comes.
        target: The branch that changes.
        source_content: The name of the table branches that come.
        target_content: The name of the table branches that change.
        steps: In their order.
        database_names: What the databases are called while the steps go on, by id: as before the
            merge, and as those come that it makes.
        catalog_version: The version whose creation is the commit point, as JSON values.
    """

    subject: str
    source: str
    target: str
    source_content: str
    target_content: str
    steps: tuple[JournalledStep, ...]
    database_names: Mapping[str, str]
    catalog_version: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDatabase:
    """The state of a database before a merge changed it.

    Attributes:
        number: That of its newest file, 0 if it has none.
        file: The text of that file, or of the one that it would have; None if there is nothing.
    """

    number: int
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSign:
    """When a merge was at work, and on which machine."""

    time_millis: int
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeDirection:
    """The final direction of a decided merge: it goes on, or its steps are taken back.

    Attributes:
        turns_back: Whether its steps are taken back.
        reason: Why they are taken back, as the end of "because …"; empty if the merge goes on.
    """

    turns_back: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeNote:
    """A note on a merge that turns back: its obstacle, a step that stays, or who ended it."""

    text: str


_PLACE: Final = Layout(
    JournalledPlace,
    needed("name", str),
    since("database", str, default=""),
    since("isAside", bool, default=False),
)
_STEP: Final = Layout(
    JournalledStep,
    needed("name", str),
    needed("kind", str),
    needed("objectId", str),
    part("before", _PLACE),
    part("after", _PLACE),
    text_map("propertiesBefore"),
    text_map("propertiesAfter"),
    perhaps("folder", str),
    perhaps("birth", str),
    some_texts("schemas"),
)
CATALOG_MERGE_JOURNAL: Final = Codec(
    what="journal of a merge of the catalog",
    reads={
        1: Layout(
            CatalogMergeJournal,
            needed("subject", str),
            needed("source", str),
            needed("target", str),
            needed("sourceContent", str),
            needed("targetContent", str),
            parts("steps", _STEP),
            text_map("databaseNames"),
            needed("catalogVersion", dict),
            PLAN_ID,
            REASON,
            GATE,
            NOTES,
            VERIFIED,
        )
    },
)
MERGE_SIGN: Final = Codec(
    what="sign of a merge of the catalog that it goes on",
    reads={1: Layout(MergeSign, needed("timeMillis", int), needed("host", str))},
)
MERGE_DIRECTION: Final = Codec(
    what="note of a merge of the catalog on the way that it goes",
    reads={1: Layout(MergeDirection, needed("turnsBack", bool), since("reason", str, default=""))},
)
MERGE_NOTE: Final = Codec(
    what="note of a merge of the catalog that turns back",
    reads={1: Layout(MergeNote, needed("text", str))},
)
KNOWN_DATABASE: Final = Codec(
    what="note of a merge of the catalog on a database",
    reads={1: Layout(KnownDatabase, needed("number", int), perhaps("file", str))},
)
