"""The plan of a merge whose source has no snapshot: only schemas can come."""

import hashlib
from collections.abc import Mapping
from functools import partial

from branch_console.diff.three_way import ThreeWay, each_side
from branch_console.format.table_schema import TableSchema
from branch_console.merge.plan import SchemaPlan, UpToDatePlan
from branch_console.merge.schema_merge import merge_schemas
from branch_console.merge.side_work import SideWork


def plan_schema_merge(
    nothing: UpToDatePlan,
    schemas: ThreeWay[TableSchema],
    target_schemas: Mapping[int, TableSchema],
    source_schemas: Mapping[int, TableSchema],
    *,
    now_millis: int = 0,
) -> UpToDatePlan | SchemaPlan:
    """Decide on the schemas of a source that never had a commit.

    Args:
        nothing: The plan by the heads alone, with what was chosen: the source has nothing.
        schemas: The newest schemas of both branches, and the newest that they share.
        target_schemas: All schemas of the target, by id.
        source_schemas: All schemas of the source, by id.
        now_millis: The time that new schemas get; no part of the plan's id.
    """
    rules = nothing.rules
    merge = partial(
        merge_schemas,
        schemas,
        target_schemas=target_schemas,
        source_schemas=source_schemas,
        used_ids=frozenset(),
        # A column that forbids null needs a value in the rows that are there.
        ours_wrote=nothing.heads.ours is not None,
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
    digest_parts = (nothing.id, repr(rules), [each.id for each in found.conflicts], found.final_id)
    fingerprints = [each.fingerprint for each in found.schemas]
    return SchemaPlan(
        id=hashlib.sha256(repr((digest_parts, fingerprints)).encode()).hexdigest()[:16],
        heads=nothing.heads,
        rules=rules,
        notes=found.notes,
        schema=found,
        source_schema_id=schemas.theirs.id,
        did=each_side(found.did, lambda changes: SideWork(schema=changes)),
    )
