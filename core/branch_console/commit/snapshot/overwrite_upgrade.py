"""The upgrade of files that replace whole partitions of a primary-key table to the top level.

Readers then need not merge these files. With deletion vectors they see them without waiting for a
compaction.
Source: Paimon FileStoreCommitImpl.tryUpgrade, option `overwrite-upgrade`.
"""

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from branch_console.commit.snapshot.commit_changes import Changes
from branch_console.commit.snapshot.conflict_detection import buckets_with_overlap
from branch_console.format import options as table_options
from branch_console.format.manifest_entry import FileKind, file_identity
from branch_console.format.table_schema import TableSchema


def upgraded(changes: Changes, schema: TableSchema) -> Changes:
    """Lift new files to the top level, bucket by bucket, where their keys do not overlap."""
    delta = changes.delta
    if not _may_upgrade(delta, schema):
        return changes
    overlapping = buckets_with_overlap(delta, schema.key_type)
    places = zip(delta["partition"].to_pylist(), delta["bucket"].to_pylist(), strict=True)
    is_lifted = pa.array([place not in overlapping for place in places])
    at = delta.schema.get_field_index("level")
    levels = pc.if_else(is_lifted, pa.scalar(top_level(schema), pa.int32()), delta["level"])
    delta = delta.set_column(at, delta.schema.field(at), levels)
    at = delta.schema.get_field_index("identity")
    return replace(
        changes, delta=delta.set_column(at, delta.schema.field(at), file_identity(delta))
    )


def _may_upgrade(delta: pa.Table, schema: TableSchema) -> bool:
    if not schema.options.read(table_options.OVERWRITE_UPGRADE) or not schema.primary_keys:
        return False
    if schema.clustering_columns:
        # Rows are sorted otherwise above level 0, which the next compaction sees to.
        return False
    is_plain = pc.and_(
        pc.and_(pc.equal(delta["level"], 0), pc.greater_equal(delta["bucket"], 0)),
        pc.equal(delta["kind"], int(FileKind.ADD)),
    )
    return delta.num_rows > 0 and bool(pc.all(is_plain).as_py())


def top_level(schema: TableSchema) -> int:
    """The level of the one run that a full compaction leaves."""
    count: int | None = schema.options.read(table_options.NUM_LEVELS)
    if count is None:
        # Paimon keeps one level more than it takes sorted runs to start a compaction.
        count = schema.options.read(table_options.COMPACTION_TRIGGER) + 1
    return count - 1
