"""The files of two states to profile, and how; decided from their manifests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from branch_console.diff.rows.row_diff import ComparedColumn, common_type, compared_columns
from branch_console.diff.state_diff import ComparedState, StateDiff
from branch_console.format.data_types import DataField
from branch_console.format.table_schema import TableSchema
from branch_console.quality.profile import ColumnKind, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedColumns:
    """The columns that a merge of the second state into the first would leave.

    Attributes:
        fields: The result's column for each compared column; None if the result lacks it.
        open_conflicts: The number of open conflicts; the first state's values are used for them.
        left_out: Names of columns whose type in the result has values that the other sides' cannot
            represent.
    """

    fields: tuple[DataField | None, ...]
    open_conflicts: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The files that are left out, in sentences."""
        return tuple(
            f"Column {name!r} of the merged result is not compared: its type becomes another one."
            for name in self.left_out
        )

    def against(self, columns: Sequence[ComparedColumn]) -> tuple[ComparedColumn, ...]:
        """The columns of the first state beside those of the result."""
        return tuple(
            replace(column, after=field)
            for column, field in zip(columns, self.fields, strict=True)
            if (column.before or field) and column.name not in self.left_out
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BaseColumns:
    """The columns of the base of both states.

    Attributes:
        state: The merge base: the fork, or the newest merge.
        fields: The base's column for each compared column; None if the base lacks it.
        left_out: Names of columns whose type in the base has values that the other sides' cannot
            represent.
    """

    state: ComparedState
    fields: tuple[DataField | None, ...]
    left_out: tuple[str, ...]

    def against(self, columns: Sequence[ComparedColumn]) -> tuple[ComparedColumn, ...]:
        """The columns of the base beside those of the second state."""
        return tuple(
            replace(column, before=field)
            for column, field in zip(columns, self.fields, strict=True)
            if (field or column.after) and column.name not in self.left_out
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QualityWork:
    """The units that are profiled.

    Attributes:
        diff: The two states.
        columns: The profiled columns of each.
        keys: Names of compared columns that make up the key of both; empty without one.
        notes: Sentences on columns that are left out.
        reads_all: Whether files that both sides have are read however large they are.
        merged: The columns of a merged result; None if none is profiled.
        base: The columns of the base of both; None if the base is one of them, or not known.
    """

    diff: StateDiff
    columns: tuple[ComparedColumn, ...]
    keys: tuple[str, ...]
    notes: tuple[str, ...]
    reads_all: bool = False
    merged: MergedColumns | None = None
    base: BaseColumns | None = None

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The compared columns in the types that the values of both sides are brought to."""
        return tuple(
            DataField(id=at, name=each.name, type=each.type) for at, each in enumerate(self.columns)
        )

    @property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """The measures that apply to each column."""
        return {each.name: kind_of(each.type) for each in self.columns}


def plan_quality(diff: StateDiff, *, reads_all: bool = False) -> QualityWork:
    """Decide what is profiled of two states.

    Args:
        diff: The states.
        reads_all: See `QualityWork`.
    """
    columns, left_out = compared_columns(diff.schema)
    keys = diff.after.schema.primary_keys
    old = {each.before.name for each in columns if each.before and each.name in keys}
    notes = list(left_out)
    if old != set(diff.before.schema.primary_keys):
        notes.append("Keys are not looked at: the two sides have different ones.")
        keys = ()
    return QualityWork(
        diff=diff, columns=columns, keys=tuple(keys), notes=tuple(notes), reads_all=reads_all
    )


def merged_columns(
    work: QualityWork,
    schema: TableSchema,
    field_ids: Mapping[int, int],
    *,
    of_target: bool,
    open_conflicts: int,
) -> MergedColumns:
    """Find the compared columns in what a merge would leave.

    Args:
        work: The profiles to make of both states.
        schema: The schema of the result.
        field_ids: Its field ids by those of the second state, where they differ.
        of_target: Whether the result has the field ids of the first state, else of the second.
        open_conflicts: See `MergedColumns`.
    """
    numbers = []
    for column in work.columns:
        own, other = column.before, column.after
        if of_target:
            number = own.id if own else field_ids.get(other.id, other.id) if other else None
        else:
            number = other.id if other else None
        numbers.append(number)
    fields, left_out = _fields_of(schema, numbers, work.columns)
    return MergedColumns(fields=fields, open_conflicts=open_conflicts, left_out=left_out)


def base_columns(work: QualityWork, state: ComparedState) -> BaseColumns:
    """Find the compared columns in what both states come from.

    Args:
        work: The profiles to make of both states.
        state: The merge base: the fork, or the newest merge.
    """
    # What came later has an id that the base had not given yet.
    known = [each.before or each.after for each in work.columns]
    numbers = [None if each is None else each.id for each in known]
    fields, left_out = _fields_of(state.schema, numbers, work.columns)
    return BaseColumns(state=state, fields=fields, left_out=left_out)


def _fields_of(
    schema: TableSchema, numbers: Sequence[int | None], columns: Sequence[ComparedColumn]
) -> tuple[tuple[DataField | None, ...], tuple[str, ...]]:
    """The fields of some ids, and the names of columns whose type cannot hold their values."""
    known = {field.id: field for field in schema.fields}
    fields: list[DataField | None] = []
    left_out = []
    for number, column in zip(numbers, columns, strict=True):
        field = None if number is None else known.get(number)
        if field is not None and common_type(field.type, column.type) != column.type:
            left_out.append(column.name)
            field = None
        fields.append(field)
    return tuple(fields), tuple(left_out)
