"""A branch as one look at it found it."""

from dataclasses import dataclass

from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRef:
    """A branch of a table with its head and schema; `head` is None before the first commit."""

    table: Identifier
    branch: str
    head: Snapshot | None
    schema: TableSchema
    base_tag: str | None = None

    @property
    def is_main(self) -> bool:
        """Whether this is the table's main branch."""
        return self.branch == MAIN_BRANCH
