"""Two schemas side by side, a line a field id: left, right, and what became of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.diff.schema_diff import ChangeKind, SchemaChange, SchemaDiff, SchemaVerdict
from branch_console.format.data_types import DataField
from branch_console_app.models.parts.wording import plural

ONLY_CHANGES_ABOVE: Final = 200


class ChangeMark(StrEnum):
    """The change of a column, by the glyph that shows it."""

    SAME = ""
    ADDED = "+"
    REMOVED = "\N{MINUS SIGN}"
    CHANGED = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLine:
    """One column of both schemas; a side that lacks it is None."""

    field_id: int | None
    mark: ChangeMark
    left_name: str | None
    left_type: str | None
    right_name: str | None
    right_type: str | None
    words: str

    @property
    def is_changed(self) -> bool:
        """Whether anything differs."""
        return self.mark is not ChangeMark.SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChanges:
    """A diff as a page shows it.

    Attributes:
        lines: Columns in the order of the right schema, dropped ones where they stood.
        others: Changes of keys, options and the table's comment.
    """

    lines: tuple[ColumnLine, ...]
    others: tuple[SchemaChange, ...]
    verdict: SchemaVerdict
    reasons: tuple[SchemaChange, ...]
    alt: str

    @classmethod
    def of(cls, diff: SchemaDiff) -> "SchemaChanges":
        """Lay a diff out."""
        order = list(SchemaVerdict)
        return cls(
            lines=tuple(_lines(diff)),
            others=tuple(change for change in diff.changes if change.field_id is None),
            verdict=diff.verdict,
            reasons=tuple(sorted(diff.changes, key=lambda each: -order.index(each.verdict))),
            alt=_alt(diff),
        )

    @property
    def changed_lines(self) -> tuple[ColumnLine, ...]:
        """The columns in which anything differs."""
        return tuple(line for line in self.lines if line.is_changed)


def _lines(diff: SchemaDiff) -> Iterator[ColumnLine]:
    left = {field.id: field for field in diff.left.fields}
    right = {field.id: field for field in diff.right.fields}
    changes: dict[int, list[SchemaChange]] = {}
    for change in diff.changes:
        if change.field_id is not None:
            changes.setdefault(change.field_id, []).append(change)
    for field_id in _order(diff.left.fields, diff.right.fields):
        own = changes.pop(field_id, [])
        yield from _column(left.get(field_id), right.get(field_id), own, field_id)
        field = right.get(field_id) or left[field_id]
        for inner_id, inner in list(changes.items()):
            # Fields of nested rows have ids of their own and follow the column they are in.
            if inner[0].subject.startswith(f"{field.name}."):
                yield _nested(inner_id, changes.pop(inner_id))
    for field_id, rest in changes.items():
        yield _nested(field_id, rest)


def _order(left: Sequence[DataField], right: Sequence[DataField]) -> list[int]:
    """Return the ids of the right schema, with each dropped one behind its left neighbour."""
    ids = [field.id for field in right]
    before: int | None = None
    for field in left:
        if field.id not in ids:
            ids.insert(0 if before is None else ids.index(before) + 1, field.id)
        before = field.id
    return ids


def _column(
    left: DataField | None, right: DataField | None, changes: list[SchemaChange], field_id: int
) -> Iterator[ColumnLine]:
    dropped = [change for change in changes if change.kind is ChangeKind.DROPPED]
    added = [change for change in changes if change.kind is ChangeKind.ADDED]
    if dropped and added:
        # Two branches gave one id to different columns: these are two, not one that changed.
        yield _line(field_id, left, None, dropped)
        yield _line(field_id, None, right, added)
    else:
        yield _line(field_id, left, right, changes)


def _line(
    field_id: int, left: DataField | None, right: DataField | None, changes: list[SchemaChange]
) -> ColumnLine:
    return ColumnLine(
        field_id=field_id,
        mark=_mark(changes),
        left_name=left.name if left else None,
        left_type=str(left.type) if left else None,
        right_name=right.name if right else None,
        right_type=str(right.type) if right else None,
        words=_words(changes),
    )


def _nested(field_id: int, changes: list[SchemaChange]) -> ColumnLine:
    subject = changes[0].subject
    mark = _mark(changes)
    types = [each for each in changes if each.kind is not ChangeKind.RENAMED]
    before = types[0].before if types else None
    after = types[0].after if types else None
    names = next((each for each in changes if each.kind is ChangeKind.RENAMED), None)
    left_name = names.before if names else subject
    return ColumnLine(
        field_id=field_id,
        mark=mark,
        left_name=None if mark is ChangeMark.ADDED else left_name,
        left_type=before,
        right_name=None if mark is ChangeMark.REMOVED else subject,
        right_type=after,
        words=_words(changes),
    )


def _mark(changes: Sequence[SchemaChange]) -> ChangeMark:
    kinds = {change.kind for change in changes}
    if not kinds:
        return ChangeMark.SAME
    if kinds == {ChangeKind.ADDED}:
        return ChangeMark.ADDED
    if kinds == {ChangeKind.DROPPED}:
        return ChangeMark.REMOVED
    return ChangeMark.CHANGED


def _words(changes: Sequence[SchemaChange]) -> str:
    return ", ".join(dict.fromkeys(_WORDS.get(change.kind, change.kind) for change in changes))


_WORDS: Final[dict[ChangeKind, str]] = {
    ChangeKind.NULLABILITY: "nullability changed",
    ChangeKind.DEFAULT: "default changed",
    ChangeKind.COMMENT: "comment changed",
    ChangeKind.RETYPED: "type changed",
}


def _alt(diff: SchemaDiff) -> str:
    counts: dict[str, int] = {}
    for change in diff.changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    if not counts:
        return "The schemas have the same content."
    parts = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    return f"{plural(len(diff.changes), 'difference')}: {parts}; verdict {diff.verdict}."
