"""A merge of many tables publishes one version of each: plans without a fast-forward."""

from pathlib import Path

import pytest

from branch_console.commit.schema.schema_commit import change_schema, set_options
from branch_console.merge.file_moves import MergeRules, Strategy
from branch_console.merge.plan import MergeVerdict, Plan, SchemaPlan, can_run, verdict_of
from branch_console.procedures.merge.inputs import decided_for
from branch_console.procedures.merge.merge_kind import MergeKind, MergeSpec
from tests.support.branch_bench import NOW, BranchBench
from tests.support.two_branches import dev_ahead


def plan(bench: BranchBench, *, one_version: bool) -> Plan:
    spec = MergeSpec(kind=MergeKind.MERGE, source="dev", target="main", one_version=one_version)
    return decided_for(bench.warehouse(), bench.table(), spec, MergeRules()).plan


def test_where_a_fast_forward_would_do_every_bucket_is_adopted(tmp_path: Path) -> None:
    bench = dev_ahead(tmp_path)
    assert verdict_of(plan(bench, one_version=False)) is MergeVerdict.FAST_FORWARD
    found = plan(bench, one_version=True)
    assert (verdict_of(found), found.strategies) == (MergeVerdict.CLEAN, {str(Strategy.ADOPT): 1})
    assert (found.cost.files_added, found.cost.files_removed) == (2, 0)
    assert [each.id for each in found.schema.schemas] == [1]
    assert plan(bench, one_version=True).id == found.id


def test_a_target_without_a_snapshot_takes_over_the_history(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.branch("dev", empty=True)
    bench.append("a", branch="dev")
    assert verdict_of(plan(bench, one_version=False)) is MergeVerdict.REFUSED
    found = plan(bench, one_version=True)
    assert (verdict_of(found), can_run(found), found.heads.ours) == (
        MergeVerdict.FAST_FORWARD,
        True,
        None,
    )


@pytest.mark.parametrize("has_rows", [False, True])
def test_of_a_source_without_a_snapshot_the_new_schema_comes(
    tmp_path: Path, has_rows: bool
) -> None:
    bench = BranchBench(tmp_path)
    bench.branch("dev", empty=True)
    if has_rows:
        bench.append("a")
    assert verdict_of(plan(bench, one_version=True)) is MergeVerdict.UP_TO_DATE
    bench.alter("dev")
    assert verdict_of(plan(bench, one_version=False)) is MergeVerdict.UP_TO_DATE
    found = plan(bench, one_version=True)
    assert (verdict_of(found), found.heads.theirs) == (MergeVerdict.CLEAN, None)
    assert (found.heads.ours is not None) == has_rows
    assert isinstance(found, SchemaPlan)
    (schema,) = found.schema.schemas
    assert [each.name for each in schema.fields][-1] == "extra"
    bench.alter("main")
    assert plan(bench, one_version=True).id != found.id


def test_two_schemas_without_a_snapshot_can_conflict(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.branch("dev", empty=True)
    for branch, value in (("dev", "1"), ("main", "2")):
        changes = [set_options({"my.option": value})]
        change_schema(bench.table(branch), bench.store, changes, now_millis=NOW)
    found = plan(bench, one_version=True)
    assert (verdict_of(found), [str(each.kind) for each in found.conflicts]) == (
        MergeVerdict.CONFLICTS,
        ["option"],
    )
