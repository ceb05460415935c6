"""A snapshot of a table that a branch or a tag of the catalog names."""

from dataclasses import dataclass

from branch_console.format.snapshot import SnapshotIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSnapshot:
    """It is known by its identity, wherever the table lies.

    Attributes:
        owner: The branch or the tag of the catalog.
        branch: The branch of the table on which it lies.
        content: The branch of the table that has a copy of it once it is made; None for a tag.
        id: Its number on that branch.
    """

    owner: str
    branch: str
    content: str | None
    id: int
    identity: SnapshotIdentity
