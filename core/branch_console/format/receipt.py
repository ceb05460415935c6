"""The record of an operation, kept for people and for undo."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeAlias

from branch_console.format.json_text import JsonObject, to_pretty_json, without_nulls
from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadMove:
    """A branch's head before and after; ids are for people, identities tell the snapshots."""

    branch: str
    before: SnapshotIdentity | None
    before_id: int | None
    after: SnapshotIdentity | None
    after_id: int | None

    @property
    def is_one_snapshot(self) -> bool:
        """Whether the branch went on by just one snapshot, as by a commit."""
        return self.after_id is not None and self.after_id == (self.before_id or 0) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much an operation moved; sizes in bytes.

    Attributes:
        files_shared: Data files that the target names now beside the branch that they came from.
        files_written: Data files that it made: of rows that it wrote, and whole copies.
        records_added: Records of the data files that came, less those of the files that went.
        rows_before, rows_after: All rows of the branch; None if nobody counted them.
        rows_inserted, rows_removed, rows_changed: Rows by key, of a table that has one; None if
            nobody counted them.
    """

    snapshots_added: int = 0
    snapshots_removed: int = 0
    schemas_added: int = 0
    schemas_removed: int = 0
    tags_added: int = 0
    tags_removed: int = 0
    files_verified: int = 0
    files_shared: int = 0
    files_written: int = 0
    records_added: int = 0
    bytes_written: int = 0
    files_removed: int = 0
    bytes_removed: int = 0
    rows_before: int | None = None
    rows_after: int | None = None
    rows_inserted: int | None = None
    rows_removed: int | None = None
    rows_changed: int | None = None

    def to_object(self) -> dict[str, int]:
        """Return the JSON object, without what did not move and what nobody counted."""
        return {
            key: count
            for key, count in asdict(self).items()
            if count or (count is not None and key in _COUNTED)
        }


def total_of(parts: Iterable[Counts]) -> Counts:
    """Add up what the parts of an operation moved; the rows that were counted are not added."""
    found = [each.to_object() for each in parts]
    keys = {key for each in found for key in each} - _COUNTED
    return Counts(**{key: sum(each.get(key, 0) for each in found) for key in keys})


_COUNTED: Final = frozenset(
    {"rows_before", "rows_after", "rows_inserted", "rows_removed", "rows_changed"}
)
_OLDER: Final = {"rows_added": "records_added"}

AnswerRow: TypeAlias = Mapping[str, str | int | bool | None]
"""A row with which an operation answers its call, by Paimon's columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The results that a run of a plan would have; nothing has changed yet.

    Attributes:
        counts: How much would be removed, at once or when the grace period ends.
        answer: The rows of the call's result, if counts do not say them.
    """

    counts: Counts = field(default_factory=Counts)
    answer: tuple[AnswerRow, ...] = ()
    moves: tuple[HeadMove, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The lasting record of one operation; `statement` is the command that repeats it.

    Attributes:
        gate: What the rules of the table said of the result, and who overrode them and why, as
            JSON values; None if there were no rules.
        answer: The rows that answer the call in SQL, where counts and moves do not tell them.
    """

    operation_id: str
    statement: str
    actor: str
    plan_id: str
    rescue_branch: str | None = None
    moves: tuple[HeadMove, ...] = ()
    counts: Counts = field(default_factory=Counts)
    notes: tuple[str, ...] = ()
    gate: Mapping[str, Any] | None = None
    answer: tuple[AnswerRow, ...] = ()
    started_millis: int
    finished_millis: int

    @classmethod
    def from_json(cls, text: str | bytes) -> "Receipt":
        """Decode a receipt.

        Raises:
            FormatError: The text is not a receipt.
        """
        return cls.from_object(JsonObject.parse(text, "receipt"))

    @classmethod
    def from_object(cls, raw: JsonObject) -> "Receipt":
        """Decode a receipt from a parsed object."""
        counts = JsonObject(raw.find("counts", dict) or {}, raw.what)
        return cls(
            operation_id=raw.get("operationId", str),
            statement=raw.get("statement", str),
            actor=raw.get("actor", str),
            plan_id=raw.get("planId", str),
            rescue_branch=raw.find("rescueBranch", str),
            moves=tuple(_move_from(move) for move in raw.objects("moves")),
            counts=_counts_from(counts),
            notes=raw.texts("notes"),
            gate=raw.find("gate", dict),
            answer=tuple(each.values for each in _rows_of(raw)),
            started_millis=raw.get("startedMillis", int),
            finished_millis=raw.get("finishedMillis", int),
        )

    def to_object(self) -> dict[str, object]:
        """Return the JSON object."""
        return without_nulls(
            {
                "operationId": self.operation_id,
                "statement": self.statement,
                "actor": self.actor,
                "planId": self.plan_id,
                "rescueBranch": self.rescue_branch,
                "moves": [_move_to(move) for move in self.moves],
                "counts": self.counts.to_object(),
                "notes": list(self.notes),
                "gate": self.gate,
                "answer": [dict(each) for each in self.answer] or None,
                "startedMillis": self.started_millis,
                "finishedMillis": self.finished_millis,
            }
        )

    def to_json(self) -> str:
        """Encode as JSON text."""
        return to_pretty_json(self.to_object())


def identity_from(raw: dict[str, Any] | None, what: str) -> SnapshotIdentity | None:
    """Decode a snapshot identity of our own files; None stays None."""
    if raw is None:
        return None
    content = JsonObject(raw, what)
    lists = (content.get("baseManifestList", str), content.get("deltaManifestList", str))
    return SnapshotIdentity(uuid=content.find("uuid", str), manifest_lists=lists)


def identity_to(identity: SnapshotIdentity | None) -> dict[str, object] | None:
    """Encode a snapshot identity for our own files; None stays None."""
    if identity is None:
        return None
    base, delta = identity.manifest_lists
    content = {"uuid": identity.uuid, "baseManifestList": base, "deltaManifestList": delta}
    return without_nulls(content)


def _counts_from(raw: JsonObject) -> Counts:
    """Decode counts; an earlier release called records rows."""
    known = {_OLDER.get(key, key): raw.get(key, int) for key in raw.values}
    return Counts(**{key: known[key] for key in known if key in Counts.__dataclass_fields__})


def _rows_of(raw: JsonObject) -> tuple[JsonObject, ...]:
    return raw.objects("answer") if raw.find("answer", list) else ()


def _move_from(raw: JsonObject) -> HeadMove:
    return HeadMove(
        branch=raw.get("branch", str),
        before=identity_from(raw.find("before", dict), raw.what),
        before_id=raw.find("beforeId", int),
        after=identity_from(raw.find("after", dict), raw.what),
        after_id=raw.find("afterId", int),
    )


def _move_to(move: HeadMove) -> dict[str, object]:
    return without_nulls(
        {
            "branch": move.branch,
            "before": identity_to(move.before),
            "beforeId": move.before_id,
            "after": identity_to(move.after),
            "afterId": move.after_id,
        }
    )
