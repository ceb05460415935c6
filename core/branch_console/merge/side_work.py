"""A side's changes to a table since the merge base, for previews that list many tables.

Whether two sides collide is decided on files and schemas; this only says what these came to.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from branch_console.diff.changes.table_changes import TableChanges
from branch_console.diff.schema_diff import ChangeKind, SchemaChange
from branch_console.diff.table_operation import TableOperation
from branch_console.diff.three_way import ThreeWay

_OF_PROPERTIES: Final = frozenset(
    {
        ChangeKind.OPTION_SET,
        ChangeKind.OPTION_CHANGED,
        ChangeKind.OPTION_UNSET,
        ChangeKind.TABLE_COMMENT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWork:
    """The changes of one side.

    Attributes:
        commits: How many commits changed rows, of which something is left.
        rows: The changes of these rows.
        schema: The changes of columns, keys and options, under the ids of the target.
        has_key: Whether the table has a primary key: a row that is written may replace another.
    """

    commits: int = 0
    rows: frozenset[TableOperation] = frozenset()
    schema: tuple[SchemaChange, ...] = ()
    has_key: bool = False

    @property
    def operations(self) -> frozenset[TableOperation]:
        """All of it, in the words of the matrix."""
        kinds = {each.kind in _OF_PROPERTIES for each in self.schema}
        return self.rows | {
            TableOperation.PROPERTIES if is_property else TableOperation.COLUMN
            for is_property in kinds
        }

    def to_object(self) -> dict[str, object]:
        """Return JSON values."""
        return {
            "commits": self.commits,
            "operations": [str(each) for each in TableOperation if each in self.operations],
            "schema": [change_words(each) for each in self.schema],
        }


NOTHING_DONE: Final = ThreeWay(base=SideWork(), ours=SideWork(), theirs=SideWork())


def work_of(changes: TableChanges, schema: tuple[SchemaChange, ...], *, has_key: bool) -> SideWork:
    """Sum up what a side did to rows and to the schema.

    Args:
        changes: The changes of the side since the base.
        schema: Its changes to columns, keys and options.
        has_key: Whether the table has a primary key: files of such tables only add up, so that a
            commit is what it was recorded as, and not what its files came to.
    """
    steps = changes.lasting_steps
    if has_key:
        lasting = {step.commit for step in steps}
        steps = tuple(step for step in changes.log.steps if step.commit in lasting)
    return SideWork(
        commits=len(steps),
        rows=frozenset(step.operation for step in steps),
        schema=schema,
        has_key=has_key,
    )


def change_words(change: SchemaChange) -> str:
    """Say what a side did to a column, a key or an option, as it completes "the source …"."""
    column = f"column {change.subject!r}"
    option = f"option {change.subject!r}"
    match change.kind:
        case ChangeKind.ADDED:
            return f"added {column}"
        case ChangeKind.DROPPED:
            return f"dropped {column}"
        case ChangeKind.RENAMED:
            return f"renamed column {change.before!r} to {change.after!r}"
        case ChangeKind.MOVED:
            return f"moved {column}"
        case ChangeKind.WIDENED | ChangeKind.NARROWED | ChangeKind.RETYPED:
            return f"changed {column} from {change.before} to {change.after}"
        case ChangeKind.NULLABILITY:
            return f"changed whether {column} may be NULL"
        case ChangeKind.DEFAULT:
            return f"changed the default of {column}"
        case ChangeKind.COMMENT:
            return f"changed the comment of {column}"
        case ChangeKind.PARTITION_KEYS:
            return "changed the partition keys"
        case ChangeKind.PRIMARY_KEYS:
            return "changed the primary key"
        case ChangeKind.OPTION_SET:
            return f"set {option}"
        case ChangeKind.OPTION_CHANGED:
            return f"changed {option}"
        case ChangeKind.OPTION_UNSET:
            return f"removed {option}"
        case ChangeKind.TABLE_COMMENT:
            return "changed the comment"
        case _:
            assert_never(change.kind)
