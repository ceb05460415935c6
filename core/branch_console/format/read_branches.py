"""The options of a branch that make batch reads of it take rows from other branches.

With `scan.fallback-branch` a read takes the partitions that the branch lacks from another one; with
`scan.primary-branch` the other one goes first. In a chain table a read takes partitions from the
branch, then from a branch of snapshots, then from the nearest earlier partition of that one with
the changes since, which lie on a branch of deltas.
"""

from dataclasses import dataclass
from enum import StrEnum

from branch_console.format import options as table_options
from branch_console.format.table_schema import TableSchema


class FallbackOrder(StrEnum):
    """The branch that is read first: the own one or the other one; values are Paimon's options."""

    OWN_FIRST = "scan.fallback-branch"
    OTHER_FIRST = "scan.primary-branch"


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackRule:
    """The option of a schema that names a second branch to read."""

    order: FallbackOrder
    branch: str

    @classmethod
    def of(cls, schema: TableSchema, branch: str) -> "FallbackRule | None":
        """Return the rule of a branch with this schema, None if it reads itself alone.

        Branches inherit options: one that is named by its own option reads itself alone.

        References:
            Paimon FileStoreTableFactory.create.
        """
        if schema.options.read(table_options.CHAIN_TABLE_ENABLED):
            return None
        for order, option in (
            (FallbackOrder.OWN_FIRST, table_options.SCAN_FALLBACK_BRANCH),
            (FallbackOrder.OTHER_FIRST, table_options.SCAN_PRIMARY_BRANCH),
        ):
            other = schema.options.read(option)
            if other and other.strip():
                return None if other == branch else cls(order=order, branch=other)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRule:
    """The options of a chain table that name the branches on which its rows lie."""

    snapshot_branch: str
    delta_branch: str

    @classmethod
    def of(cls, schema: TableSchema, branch: str) -> "ChainRule | None":
        """Return the rule of a branch with this schema, None if it reads itself alone.

        References:
            Paimon FileStoreTableFactory.createChainTable.
        """
        options = schema.options
        snapshots = options.read(table_options.SCAN_FALLBACK_SNAPSHOT_BRANCH)
        deltas = options.read(table_options.SCAN_FALLBACK_DELTA_BRANCH)
        if not options.read(table_options.CHAIN_TABLE_ENABLED) or not snapshots or not deltas:
            return None
        if branch.lower() in (snapshots.lower(), deltas.lower()):
            return None
        return cls(snapshot_branch=snapshots, delta_branch=deltas)


def rows_elsewhere(schema: TableSchema, branch: str) -> str | None:
    """Name the kind of table that a branch is if batch reads of it take rows of other branches."""
    chain = ChainRule.of(schema, branch)
    if chain is not None:
        return (
            f"a chain table, whose rows lie on {branch!r}, {chain.snapshot_branch!r} and "
            f"{chain.delta_branch!r}"
        )
    rule = FallbackRule.of(schema, branch)
    if rule is not None:
        return f"a table with {str(rule.order)!r}, whose rows lie on {branch!r} and {rule.branch!r}"
    return None
