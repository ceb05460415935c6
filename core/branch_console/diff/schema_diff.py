"""The differences of two schemas, column by column by field id, and which are harmless.

A rename is a rename: ids tell it from a column dropped and another added. Two branches may also
give one id to different columns; with the common schema at hand that is told apart too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    VectorType,
    is_widening,
    with_nullable,
)
from branch_console.format.table_schema import TableSchema


class ChangeKind(StrEnum):
    """The changes of a column, a key or an option."""

    ADDED = "added"
    DROPPED = "dropped"
    RENAMED = "renamed"
    MOVED = "moved"
    WIDENED = "widened"
    NARROWED = "narrowed"
    RETYPED = "retyped"
    NULLABILITY = "nullability"
    DEFAULT = "default"
    COMMENT = "comment"
    PARTITION_KEYS = "partition keys"
    PRIMARY_KEYS = "primary keys"
    OPTION_SET = "option set"
    OPTION_CHANGED = "option changed"
    OPTION_UNSET = "option unset"
    TABLE_COMMENT = "table comment"


class SchemaVerdict(StrEnum):
    """Whether data of the left schema fits the right one, from best to worst."""

    COMPATIBLE = "compatible"
    NEEDS_DEFAULT = "needs-default"
    BREAKING = "breaking"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """One difference, from left to right.

    Attributes:
        subject: The column, with dots into nested rows, or the option, or "" for the table.
        field_id: The field id of the column; None for other subjects.
        before: The value in the left schema, as text; None if it has none.
        after: The value in the right schema, likewise.
        reason: Why the verdict is as it is, in a sentence.
    """

    kind: ChangeKind
    subject: str
    field_id: int | None = None
    before: str | None = None
    after: str | None = None
    verdict: SchemaVerdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaDiff:
    """All differences from one schema to another.

    Attributes:
        has_same_id_but_differs: Whether both are, say, schema 3 with other content: branches count
            on their own.
    """

    left: TableSchema
    right: TableSchema
    changes: tuple[SchemaChange, ...]
    has_same_id_but_differs: bool

    @property
    def verdict(self) -> SchemaVerdict:
        """The worst verdict of any change."""
        order = list(SchemaVerdict)
        return max((each.verdict for each in self.changes), key=order.index, default=order[0])

    @property
    def is_empty(self) -> bool:
        """Whether the schemas have the same content."""
        return not self.changes


# Options that decide how rows are laid out or merged: files written under one value are not read
# rightly under another.
_STRUCTURAL_OPTIONS: Final = {
    "bucket": "rows of one key would lie in different buckets until the table is rewritten",
    "bucket-key": "rows of one key would lie in different buckets until the table is rewritten",
    "bucket-function.type": "rows of one key would lie in different buckets",
    "merge-engine": "rows of one key would merge to another result",
    "sequence.field": "another row of a key would win",
    "sequence.field.sort-order": "another row of a key would win",
    "fields.default-aggregate-function": "rows of one key would merge to another result",
    "rowkind.field": "rows would be taken for inserts or deletes by another column",
    "row-tracking.enabled": "row ids are given from the first commit on or never",
    "data-evolution.enabled": "files may hold some columns only",
    "partition.legacy-name": "partition folders would be named differently",
    "partition.default-name": "the folder of null partitions would be named differently",
    "data-file.path-directory": "data files would be looked for elsewhere",
    "type": "the table would be of another kind",
}
_STRUCTURAL_FIELD_SUFFIXES: Final = (".aggregate-function", ".sequence-group")


def diff_schemas(
    left: TableSchema, right: TableSchema, base: TableSchema | None = None
) -> SchemaDiff:
    """Compare two schemas.

    Args:
        left: The schema the data was written with, or the target's in a merge.
        right: The schema to read it with, or the source's in a merge.
        base: Their common ancestor, where they are of two branches: a field id above its highest
            was given on each branch on its own, and names the same column only by chance.
    """
    shared_ids = None if base is None else base.highest_field_id
    changes = (
        *_diff_fields(left.fields, right.fields, "", shared_ids),
        *_diff_keys(left, right),
        *_diff_options(left.options, right.options),
        *_diff_comment(left.comment, right.comment),
    )
    return SchemaDiff(
        left=left,
        right=right,
        changes=changes,
        has_same_id_but_differs=left.id == right.id and left.fingerprint != right.fingerprint,
    )


def _diff_fields(
    left: tuple[DataField, ...], right: tuple[DataField, ...], path: str, shared_ids: int | None
) -> Iterator[SchemaChange]:
    before = {field.id: field for field in left}
    after = {field.id: field for field in right}
    common = {
        each
        for each in before.keys() & after.keys()
        if _is_one_column(before[each], after[each], shared_ids)
    }
    for field in left:
        if field.id not in common:
            yield _dropped(field, path, is_reused=field.id in after)
    for field in right:
        if field.id not in common:
            yield _added(field, path, is_reused=field.id in before)
        else:
            yield from _diff_field(before[field.id], field, path, shared_ids)
    yield from _moved(
        [field for field in left if field.id in common],
        [field for field in right if field.id in common],
        path,
    )


def _is_one_column(left: DataField, right: DataField, shared_ids: int | None) -> bool:
    if shared_ids is None or left.id <= shared_ids:
        return True
    return left.name == right.name


def _dropped(field: DataField, path: str, *, is_reused: bool) -> SchemaChange:
    reason = "Its values are no longer read."
    if is_reused:
        reason += f" The other branch gave the id {field.id} to another column."
    return SchemaChange(
        kind=ChangeKind.DROPPED,
        subject=path + field.name,
        field_id=field.id,
        before=str(field.type),
        verdict=SchemaVerdict.BREAKING,
        reason=reason,
    )


def _added(field: DataField, path: str, *, is_reused: bool) -> SchemaChange:
    verdict, reason = SchemaVerdict.COMPATIBLE, "Rows written before read null."
    if field.default_value is not None:
        reason = f"Rows written before read null; new ones get {field.default_value!r}."
    if not field.type.nullable:
        verdict = SchemaVerdict.NEEDS_DEFAULT
        reason = "Rows written before have no value, and null is not allowed."
    if is_reused:
        reason += f" Both branches gave the id {field.id} to different columns: it needs a new one."
    return SchemaChange(
        kind=ChangeKind.ADDED,
        subject=path + field.name,
        field_id=field.id,
        after=str(field.type),
        verdict=verdict,
        reason=reason,
    )


def _diff_field(
    left: DataField, right: DataField, path: str, shared_ids: int | None
) -> Iterator[SchemaChange]:
    subject = path + right.name
    if left.name != right.name:
        yield SchemaChange(
            kind=ChangeKind.RENAMED,
            subject=subject,
            field_id=right.id,
            before=path + left.name,
            after=subject,
            verdict=SchemaVerdict.COMPATIBLE,
            reason="Files are read by id; queries must use the new name.",
        )
    yield from _diff_type(left.type, right.type, subject, right.id, shared_ids)
    if left.type.nullable != right.type.nullable:
        yield _nullability(left.type, right.type, subject, right.id)
    if left.default_value != right.default_value:
        yield SchemaChange(
            kind=ChangeKind.DEFAULT,
            subject=subject,
            field_id=right.id,
            before=left.default_value,
            after=right.default_value,
            verdict=SchemaVerdict.COMPATIBLE,
            reason="Defaults count for rows written from now on.",
        )
    if left.description != right.description:
        yield SchemaChange(
            kind=ChangeKind.COMMENT,
            subject=subject,
            field_id=right.id,
            before=left.description,
            after=right.description,
            verdict=SchemaVerdict.COMPATIBLE,
            reason="Comments change no data.",
        )


def _nullability(
    left: DataType, right: DataType, subject: str, field_id: int | None
) -> SchemaChange:
    is_looser = right.nullable
    return SchemaChange(
        kind=ChangeKind.NULLABILITY,
        subject=subject,
        field_id=field_id,
        before="NULL" if left.nullable else "NOT NULL",
        after="NULL" if right.nullable else "NOT NULL",
        verdict=SchemaVerdict.COMPATIBLE if is_looser else SchemaVerdict.NEEDS_DEFAULT,
        reason="More values are allowed."
        if is_looser
        else "Rows may hold null already; they need a value.",
    )


def _diff_type(
    left: DataType, right: DataType, subject: str, field_id: int, shared_ids: int | None
) -> Iterator[SchemaChange]:
    """Differences of types but for the outermost nullability; rows go on by field id."""
    if with_nullable(left, True) == with_nullable(right, True):
        return
    match left, right:
        case RowType(), RowType():
            yield from _diff_fields(left.fields, right.fields, f"{subject}.", shared_ids)
        case ArrayType(element=before), ArrayType(element=after):
            yield from _diff_part(before, after, subject, "element", field_id, shared_ids)
        case MultisetType(element=before), MultisetType(element=after):
            yield from _diff_part(before, after, subject, "element", field_id, shared_ids)
        case MapType(), MapType():
            yield from _diff_part(left.key, right.key, subject, "key", field_id, shared_ids)
            yield from _diff_part(left.value, right.value, subject, "value", field_id, shared_ids)
        case VectorType(element=before), VectorType(element=after) if left.length == right.length:
            yield from _diff_part(before, after, subject, "element", field_id, shared_ids)
        case _:
            yield _retyped(left, right, subject, field_id)


def _diff_part(
    left: DataType,
    right: DataType,
    subject: str,
    part: str,
    field_id: int,
    shared_ids: int | None,
) -> Iterator[SchemaChange]:
    inner = f"{subject}.{part}"
    yield from _diff_type(left, right, inner, field_id, shared_ids)
    if left.nullable != right.nullable:
        yield _nullability(left, right, inner, field_id)


def _retyped(left: DataType, right: DataType, subject: str, field_id: int) -> SchemaChange:
    kind, verdict = ChangeKind.RETYPED, SchemaVerdict.BREAKING
    reason = "Values of the one type are not all values of the other."
    if isinstance(left, AtomicType) and isinstance(right, AtomicType):
        if is_widening(left, right):
            kind, verdict = ChangeKind.WIDENED, SchemaVerdict.COMPATIBLE
            reason = "Every value fits the wider type."
        elif is_widening(right, left):
            kind, reason = ChangeKind.NARROWED, "Values may not fit the narrower type."
    return SchemaChange(
        kind=kind,
        subject=subject,
        field_id=field_id,
        before=str(with_nullable(left, True)),
        after=str(with_nullable(right, True)),
        verdict=verdict,
        reason=reason,
    )


def _moved(left: list[DataField], right: list[DataField], path: str) -> Iterator[SchemaChange]:
    """The fewest columns whose move turns the one order into the other."""
    positions = {field.id: position for position, field in enumerate(left)}
    order = [positions[field.id] for field in right]
    still = _longest_rising(order)
    for field, position in zip(right, order, strict=True):
        if position not in still:
            yield SchemaChange(
                kind=ChangeKind.MOVED,
                subject=path + field.name,
                field_id=field.id,
                before=str(position + 1),
                after=str(order.index(position) + 1),
                verdict=SchemaVerdict.COMPATIBLE,
                reason="Files are read by id; only the order of SELECT * changes.",
            )


def _longest_rising(numbers: list[int]) -> set[int]:
    runs: list[list[int]] = [[]]
    for number in numbers:
        fitting = [run for run in runs if not run or run[-1] < number]
        runs.append([*max(fitting, key=len), number])
    longest = max(runs, key=len)
    return set(longest)


def _diff_keys(left: TableSchema, right: TableSchema) -> Iterator[SchemaChange]:
    renames = {field.id: field.name for field in right.fields}
    names = {field.name: renames.get(field.id, field.name) for field in left.fields}
    for kind, before, after, reason in (
        (
            ChangeKind.PARTITION_KEYS,
            left.partition_keys,
            right.partition_keys,
            "Files lie in folders of other partitions; the table must be written anew.",
        ),
        (
            ChangeKind.PRIMARY_KEYS,
            left.primary_keys,
            right.primary_keys,
            "Rows are merged by another key; the table must be written anew.",
        ),
    ):
        # A key column that was only renamed is the same key.
        if tuple(names.get(name, name) for name in before) != after:
            yield SchemaChange(
                kind=kind,
                subject="",
                before=", ".join(before) or None,
                after=", ".join(after) or None,
                verdict=SchemaVerdict.BREAKING,
                reason=reason,
            )


def _diff_options(left: Mapping[str, str], right: Mapping[str, str]) -> Iterator[SchemaChange]:
    for key in sorted(left.keys() | right.keys()):
        before, after = left.get(key), right.get(key)
        if before == after:
            continue
        kind = ChangeKind.OPTION_CHANGED
        if before is None or after is None:
            kind = ChangeKind.OPTION_SET if before is None else ChangeKind.OPTION_UNSET
        harm = harm_of_option(key)
        yield SchemaChange(
            kind=kind,
            subject=key,
            before=before,
            after=after,
            verdict=SchemaVerdict.BREAKING if harm else SchemaVerdict.COMPATIBLE,
            reason=f"Existing files: {harm}." if harm else "Existing files are read as before.",
        )


def harm_of_option(key: str) -> str | None:
    """Return the damage to existing files if this option differs, None if there is none."""
    if key.startswith("fields.") and key.endswith(_STRUCTURAL_FIELD_SUFFIXES):
        return "rows of one key would merge to another result"
    return _STRUCTURAL_OPTIONS.get(key)


def _diff_comment(left: str | None, right: str | None) -> Iterator[SchemaChange]:
    if left != right:
        yield SchemaChange(
            kind=ChangeKind.TABLE_COMMENT,
            subject="",
            before=left,
            after=right,
            verdict=SchemaVerdict.COMPATIBLE,
            reason="Comments change no data.",
        )
