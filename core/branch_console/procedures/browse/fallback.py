"""The branch that a batch read takes each partition from, if an option names a second one."""

from branch_console.format import options as table_options
from branch_console.format.identifier import Identifier
from branch_console.format.partition_path import partition_words
from branch_console.format.read_branches import ChainRule
from branch_console.format.values.binary_row import decode_row
from branch_console.procedures.browse.page_values import FallbackView
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.table.fallback_branch import read_fallback
from branch_console.table.file_store_table import FileStoreTable


def fallback_of(warehouse: Warehouse, table: Identifier) -> FallbackView | None:
    """Return what a batch read of a branch takes from where; None if it reads itself alone.

    Raises:
        NotFound: There is no such table or branch.
        FormatError: Metadata of one of both branches is missing or broken.
    """
    found = warehouse.table(table)
    chain = ChainRule.of(found.schema(), found.branch)
    if chain is not None:
        return _chain_view(found, chain)
    read = read_fallback(found)
    if read is None:
        return None
    schema = found.schema()
    types = schema.partition_type.types
    own, other = read.from_branch(found.branch), read.from_branch(read.rule.branch)
    return FallbackView(
        option=str(read.rule.order),
        branch=found.branch,
        other=read.rule.branch,
        is_partitioned=bool(schema.partition_keys),
        own_partitions=own.num_rows,
        other_partitions=tuple(
            partition_words(decode_row(each, types), schema)
            for each in other["partition"].to_pylist()
        ),
        problem=read.problem,
    )


def _chain_view(table: FileStoreTable, rule: ChainRule) -> FallbackView:
    return FallbackView(
        option=table_options.CHAIN_TABLE_ENABLED.key,
        branch=table.branch,
        other=rule.snapshot_branch,
        is_partitioned=True,
        own_partitions=0,
        other_partitions=(),
        problem=(
            f"This is a chain table: batch reads of {table.branch!r} take its own partitions, "
            f"those of {rule.snapshot_branch!r} that it lacks, and changes from "
            f"{rule.delta_branch!r} since the nearest of these. Its rows are read by Paimon, not "
            "here; either of these branches is read here alone."
        ),
    )
