"""Row work: the buckets whose rows must be looked at, and what is found there."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

import pyarrow as pa

from branch_console.diff.changes.virtual_base import Base
from branch_console.format import options as table_options
from branch_console.format.table_schema import MergeEngine, TableSchema
from branch_console.format.values.arrow_types import arrow_schema, nullable_columns

Message = TypeVar("Message")


class RowVerdict(StrEnum):
    """Verdicts on a row, from the changes that both sides made to it."""

    UNCHANGED = "unchanged"
    OURS = "ours"
    THEIRS = "theirs"
    ONCE = "once"
    BOTH = "both"
    DELETED = "deleted"
    CONFLICT = "conflict"


CHANGED_KEYS: Final = pa.schema(
    [
        pa.field("partition", pa.binary(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("ours", pa.int64(), nullable=False),
        pa.field("theirs", pa.int64(), nullable=False),
        pa.field("both", pa.int64(), nullable=False),
    ]
)
"""How many keys each side changed in a bucket, and how many both did."""

ROW_VERDICTS: Final = pa.schema(
    [
        pa.field("partition", pa.binary(), nullable=False),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
    ]
)
"""How many keys of a bucket got a RowVerdict; verdicts that no key got are left out."""


EVERY_BUCKET: Final = -1
"""In place of a bucket: row work on a whole partition, whose keys each side placed itself."""

ROWS_OF_SIDES: Final = ("base_row", "ours_row", "theirs_row")
"""The columns of `row_conflict_schema` that hold whole rows."""

FIRST_RANKED: Final = "first_ranked"
"""The column of `row_conflict_schema` that tells which results a sequence field hides."""


def row_conflict_schema(schema: TableSchema) -> pa.Schema:
    """The columns of row conflicts of a table, one row a cell or, where `column` is null, a row.

    `conflict_id` is the same for the same key and column in another preview. `key` is a struct of
    the primary key. `kind` is a ConflictKind. `base`, `ours`, `theirs` and `result` are values as
    text; of a whole row its columns as JSON. Null is NULL, or of a whole row that it is not there.
    `take` is null while the conflict is open; then `result` is what it was settled to,
    `decided_by` says by which layer of the policy, or by whom, and `is_choice` whether somebody
    chose it for this cell or row alone. `needs_another_look` marks a choice that was made on other
    values and is not applied. `base_row`, `ours_row` and `theirs_row` are structs of all columns,
    null if the row is not there: with them conflicts are settled again by another policy without
    looking at the table.

    A table of `tells_first_ranked` has `first_ranked` too: whether the sequence descends, and the
    sequence fields of the row that comes first once the source's files are added. Readers see no
    result that ranks below it.
    """
    key = [
        field.with_nullable(True)
        for field in arrow_schema(schema.project(schema.primary_keys).fields)
    ]
    rows = list(nullable_columns(schema.fields))
    return pa.schema(
        [
            pa.field("conflict_id", pa.string(), nullable=False),
            pa.field("key", pa.struct([field.remove_metadata() for field in key]), nullable=False),
            pa.field("column", pa.string()),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("base", pa.string()),
            pa.field("ours", pa.string()),
            pa.field("theirs", pa.string()),
            pa.field("take", pa.string()),
            pa.field("result", pa.string()),
            pa.field("decided_by", pa.string()),
            pa.field("is_choice", pa.bool_()),
            pa.field("needs_another_look", pa.bool_(), nullable=False),
            *(pa.field(name, pa.struct(rows)) for name in ROWS_OF_SIDES),
            *([_first_ranked_field(schema)] if tells_first_ranked(schema) else []),
        ]
    )


def tells_first_ranked(schema: TableSchema) -> bool:
    """Whether the rank by a sequence field alone says which results readers would see.

    It does not where a merge engine joins rows; where whole buckets are written, nothing is hidden.
    """
    return (
        bool(schema.options.read(table_options.SEQUENCE_FIELD))
        and schema.merge_engine is MergeEngine.DEDUPLICATE
        and not schema.skips_level_0
    )


def without_rows(conflicts: pa.Table) -> pa.Table:
    """Return conflicts without the columns from which they are settled again."""
    return conflicts.select(
        [name for name in conflicts.column_names if name not in (*ROWS_OF_SIDES, FIRST_RANKED)]
    )


def _first_ranked_field(schema: TableSchema) -> pa.Field:
    fields = {each.name: each for each in nullable_columns(schema.fields)}
    names = schema.options.read(table_options.SEQUENCE_FIELD)
    row = pa.struct([fields[name] for name in names])
    return pa.field(
        FIRST_RANKED, pa.struct([pa.field("descends", pa.bool_()), pa.field("row", row)])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowScope:
    """Facts that all row work of one merge of a table shares.

    Attributes:
        table: Its name as policies write it, such as `flights.delays`.
        schema: The final schema of the target, which need not be published yet; settled rows are
            written with its id.
        ours_schemas, theirs_schemas: The schemas of each side, by the ids that its files name.
            Their field ids are those of `schema`: if the source gave a new column an id that the
            target uses for another, it is remapped here.
    """

    table: str
    schema: TableSchema
    ours_schemas: Mapping[int, TableSchema]
    theirs_schemas: Mapping[int, TableSchema]

    def schemas_of(self, *, by_target: bool) -> Mapping[int, TableSchema]:
        """The schemas that files of the target, or of the source, name."""
        return self.ours_schemas if by_target else self.theirs_schemas


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketFiles:
    """The files of a bucket in one state.

    Attributes:
        entries: The live files, with the columns of MANIFEST_ENTRY.
        marks: The index files of deletion vectors, with the columns of INDEX_MANIFEST_ENTRY.
        in_target: Whether they name schemas of the target.
    """

    entries: pa.Table
    marks: pa.Table
    in_target: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowWork:
    """A bucket of a table with a primary key that both sides changed.

    With dynamic buckets it is a partition: a key may lie in other buckets on the two sides.

    All tables of files have the columns of MANIFEST_ENTRY.

    Attributes:
        partition: The BinaryRow of the partition, with its arity prefix.
        bucket: Its number; EVERY_BUCKET of a partition.
        base: The state that both sides come from; where it is joined, rows tell.
        ours, theirs: The states of the target and of the source.
        ours_changed: The files that the target appended since the base, before its compactions.
            None if they are gone: then the rows of both states are compared.
        theirs_changed: The same of the source. These are the files that the merge replays; where
            they are None, nothing of the source is replayed, and row work writes all it changed.
        index: The hash index of a partition: the keys in the target's buckets, as
            INDEX_MANIFEST_ENTRY.
    """

    partition: bytes
    bucket: int
    base: Base[BucketFiles]
    ours: BucketFiles
    theirs: BucketFiles
    ours_changed: pa.Table | None
    theirs_changed: pa.Table | None
    index: pa.Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reconciled(Generic[Message]):
    """The result of row work.

    Attributes:
        conflicts: Columns of `row_conflict_schema`, the settled ones too, by bucket and key.
        verdicts: Columns of ROW_VERDICTS.
        messages: The messages for the commit: one for each bucket with a file of settled rows.
    """

    conflicts: pa.Table
    verdicts: pa.Table
    messages: tuple[Message, ...]

    @property
    def open_count(self) -> int:
        """Conflicts that nothing settled."""
        return int(self.conflicts["take"].null_count)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedDeletesResult(Generic[Message]):
    """The result of joining both sides' deletes in files.

    Attributes:
        messages: The messages for the commit.
        unresolved_files: The names of files of the base of which nothing tells what is left, as a
            side did more than delete rows.
        overruled_rows: Rows that the target updated and that the source deleted.
    """

    messages: tuple[Message, ...]
    unresolved_files: tuple[str, ...]
    overruled_rows: int = 0
