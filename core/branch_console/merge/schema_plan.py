"""The plan of a merge whose source has no snapshot: only schemas can come."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from branch_console.diff.three_way import ThreeWay
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.format.table_schema import TableSchema
from branch_console.merge.file_moves import FileMoves, MergeRules
from branch_console.merge.merge_plan import MergePlan, MergeVerdict
from branch_console.merge.schema_merge import merge_schemas


def plan_schema_merge(
    nothing: MergePlan,
    schemas: ThreeWay[TableSchema],
    target_schemas: Mapping[int, TableSchema],
    source_schemas: Mapping[int, TableSchema],
    rules: MergeRules,
    *,
    now_millis: int = 0,
) -> MergePlan:
    """Decide on the schemas of a source that never had a commit.

    Args:
        nothing: The plan by the heads alone: the source has nothing.
        schemas: The newest schemas of both branches, and the newest that they share.
        target_schemas: All schemas of the target, by id.
        source_schemas: All schemas of the source, by id.
        rules: What was chosen.
        now_millis: The time that new schemas get; no part of the plan's id.
    """
    merge = partial(
        merge_schemas,
        schemas,
        target_schemas=target_schemas,
        source_schemas=source_schemas,
        used_ids=frozenset(),
        # A column that forbids null needs a value in the rows that are there.
        ours_wrote=nothing.ours is not None,
        theirs_wrote=False,
        strict=rules.strict,
        table=nothing.table,
        time_millis=now_millis,
    )
    found = merge()
    settled = {
        each.id: take
        for each in found.conflicts
        if (take := rules.takes(each.kind)) is not None and take in each.settle_with
    }
    found = merge(settled=settled) if settled else found
    if not (found.conflicts or found.schemas or found.is_settled):
        return nothing
    told = (nothing.id, repr(rules), [each.id for each in found.conflicts], found.final_id)
    fingerprints = [each.fingerprint for each in found.schemas]
    return replace(
        nothing,
        id=hashlib.sha256(repr((told, fingerprints)).encode()).hexdigest()[:16],
        verdict=MergeVerdict.CONFLICTS if found.conflicts else MergeVerdict.CLEAN,
        moves=FileMoves(
            add=MANIFEST_ENTRY.empty_table(),
            restore=MANIFEST_ENTRY.empty_table(),
            remove=MANIFEST_ENTRY.empty_table(),
        ),
        schema=found,
        source_schema_id=schemas.theirs.id,
        conflicts=found.conflicts,
        notes=found.notes,
    )
