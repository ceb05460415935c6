"""What is profiled of two states, and how; decided from their manifests."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.diff.row_diff import ComparedColumn, compared_columns
from core.diff.state_diff import StateDiff
from core.format.data_types import DataField
from core.quality.profile import ColumnKind, kind_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QualityWork:
    """What is profiled.

    Attributes:
        diff: The two states.
        columns: What is profiled of each.
        keys: Names of compared columns that make up the key of both; empty without one.
        notes: Sentences on columns that are left out.
        reads_all: Whether files that both sides have are read however large they are.
    """

    diff: StateDiff
    columns: tuple[ComparedColumn, ...]
    keys: tuple[str, ...]
    notes: tuple[str, ...]
    reads_all: bool = False

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The compared columns in the types that the values of both sides are brought to."""
        return tuple(
            DataField(id=at, name=each.name, type=each.type) for at, each in enumerate(self.columns)
        )

    @property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """What can be said of each column."""
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
