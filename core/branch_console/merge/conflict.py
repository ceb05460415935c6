"""A conflict is a value: it can be counted, shown, settled and tested."""

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from branch_console.diff.three_way import ThreeWay


class ConflictKind(StrEnum):
    """The kinds of changes of both sides that cannot both stand."""

    COLUMN = "column"
    COLUMN_TYPE = "column type"
    COLUMN_NAME = "column name"
    NOT_NULL = "not null"
    OPTION = "option"
    KEYS = "keys"
    PARTITION = "partition"
    FILE_RULE = "whole files"
    FILE_REWRITTEN = "file rewritten"
    ADD_ADD = "added on both"
    MODIFY_MODIFY = "changed on both"
    DELETE_MODIFY = "deleted and changed"
    HIDDEN = "hidden result"
    NAME_OCCUPIED = "name occupied"
    OBJECT_GONE = "object gone"
    DATABASE_GONE = "database gone"
    DATABASE_NOT_EMPTY = "database not empty"
    PROPERTY = "property"
    IDENTITY_UNCLEAR = "identity unclear"

    @classmethod
    def _missing_(cls, value: object) -> "ConflictKind | None":
        name = FORMER_KINDS.get(value) if isinstance(value, str) else None
        return None if name is None else cls[name]


# Journals and policies in warehouses name four kinds by these words, and are read for good.
FORMER_KINDS: Final = {
    "file rule": "FILE_RULE",
    "add/add": "ADD_ADD",
    "modify/modify": "MODIFY_MODIFY",
    "delete/modify": "DELETE_MODIFY",
}

OBJECT_KINDS: Final = (
    ConflictKind.NAME_OCCUPIED,
    ConflictKind.OBJECT_GONE,
    ConflictKind.DATABASE_GONE,
    ConflictKind.DATABASE_NOT_EMPTY,
    ConflictKind.PROPERTY,
    ConflictKind.IDENTITY_UNCLEAR,
)
"""Conflicts over databases and tables as objects of the catalog, not over what a table holds."""


class Take(StrEnum):
    """How a conflict may be settled."""

    OURS = "ours"
    THEIRS = "theirs"
    BASE = "base"
    VALUE = "value"
    SCOPE_PARTITION = "scope=partition"
    ISOLATION_SNAPSHOT = "isolation=snapshot"
    RENAME = "rename"


_ADVISED: Final = {
    Take.OURS: "ours",
    Take.THEIRS: "theirs",
    Take.ISOLATION_SNAPSHOT: "isolation 'snapshot'",
}
"""The choices that advice speaks of, in its words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a conflict; a field that does not apply is None.

    Attributes:
        table: The table, or the database that the conflict is about.
        partition: As people read it, such as `dt=2026-11-21`.
        name: The name of the column, the option or the data file.
    """

    table: str
    partition: str | None = None
    bucket: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        place = [self.partition, None if self.bucket is None else f"bucket {self.bucket}"]
        return " ".join(part for part in (self.name, *place) if part) or self.table


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Something both sides changed in ways that cannot both stand.

    Attributes:
        rule: The id of the merge rule, such as `M3`; the cell where the rule has none, source first
            (`delete.insert`); of an object of the catalog its cell (`table/rename.drop`).
        sides: The value or change of each side, in words.
        row_count: How many rows it concerns, where that is known; rows themselves are Arrow.
        settle_with: The choices that settle it; none if only a change of a branch does.
        advice: The advice, as a sentence.
    """

    kind: ConflictKind
    rule: str
    subject: Subject
    sides: ThreeWay[str]
    row_count: int | None = None
    settle_with: tuple[Take, ...] = ()
    advice: str = ""

    @property
    def id(self) -> str:
        """The same for the same conflict in another preview."""
        digest_parts = (self.kind, self.rule, self.subject, self.sides)
        return hashlib.sha256(repr(digest_parts).encode()).hexdigest()[:12]

    def offering(self, takes: tuple[Take, ...]) -> "Conflict":
        """The conflict with the choices that were tried and settle it, and advice to match."""
        failed = [
            _ADVISED[take] for take in self.settle_with if take not in takes and take in _ADVISED
        ]
        advice = self.advice
        if failed:
            advice = f"{advice} Planned by {' and by '.join(failed)}, it stays a conflict."
        return replace(self, settle_with=takes, advice=advice.strip())

    def to_object(self) -> dict[str, object]:
        """Return the conflict as JSON values."""
        return {
            "id": self.id,
            "kind": str(self.kind),
            "rule": self.rule,
            "subject": str(self.subject),
            "base": self.sides.base,
            "ours": self.sides.ours,
            "theirs": self.sides.theirs,
            "rows": self.row_count,
            "settle_with": [str(each) for each in self.settle_with],
            "advice": self.advice,
        }
