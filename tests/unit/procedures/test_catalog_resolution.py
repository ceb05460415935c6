"""The draft of decisions on a merge of the catalog: kept for all, and never overwritten unseen."""

from pathlib import Path

import pytest

from branch_console.errors import NotAllowed, Refused
from branch_console.merge.catalog.object_rules import ObjectChoice
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.plan import MergeVerdict
from branch_console.merge.policy import Policy
from branch_console.merge.policy_draft import with_object_choice
from branch_console.procedures.catalog_merge.catalog_resolution import (
    CatalogResolution,
    find_catalog_resolution,
    save_catalog_draft,
)
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse

OCCUPIED = ConflictKind.NAME_OCCUPIED


@pytest.fixture
def bench(tmp_path: Path) -> CatalogBench:
    """Main and dev made two tables of the same names."""
    bench = CatalogBench(root=CatalogWarehouse(tmp_path / "warehouse").folder)
    bench("CREATE BRANCH dev ON CATALOG LAZY")
    for table in ("air.routes", "lab.boxes"):
        bench(f"USE BRANCH dev; CREATE TABLE {table} (id INT)")
        bench(f"CREATE TABLE {table} (id INT)")
    return bench


def found(bench: CatalogBench) -> CatalogResolution:
    call = bench.call("merge_catalog_branch", branch="dev")
    return find_catalog_resolution(bench.warehouse(), call)


def save(
    bench: CatalogBench, seen: CatalogResolution, policy: Policy, role: str = "editor"
) -> None:
    call = bench.call("merge_catalog_branch", role=role, branch="dev")
    save_catalog_draft(bench.warehouse(), call, seen.draft, policy)


def taking(policy: Policy, table: str, take: Take = Take.OURS) -> Policy:
    choice = ObjectChoice(object_name=table, kind=OCCUPIED, take=take)
    return with_object_choice(policy, table, OCCUPIED, choice)


def test_a_decision_is_kept_and_the_plan_follows_it(bench: CatalogBench) -> None:
    seen = found(bench)
    assert (seen.plan.id, seen.policy) == (seen.asked.id, None)
    save(bench, seen, taking(Policy(), "air.routes"))
    after = found(bench)
    assert [str(each.subject.table) for each in after.plan.conflicts] == ["lab.boxes"]
    assert len(after.asked.conflicts) == 2
    save(bench, after, taking(after.draft.policy, "lab.boxes"))
    assert found(bench).plan.verdict is MergeVerdict.CLEAN


def test_two_people_decide_side_by_side_and_are_told_where_they_differ(bench: CatalogBench) -> None:
    seen = found(bench)
    save(bench, seen, taking(Policy(), "air.routes"))
    save(bench, seen, taking(Policy(), "lab.boxes"))
    assert found(bench).plan.verdict is MergeVerdict.CLEAN
    with pytest.raises(Refused):
        save(bench, seen, taking(Policy(), "lab.boxes", Take.THEIRS))


def test_a_viewer_decides_nothing(bench: CatalogBench) -> None:
    seen = found(bench)
    with pytest.raises(NotAllowed):
        save(bench, seen, taking(Policy(), "air.routes"), role="viewer")
    assert found(bench).draft.version == 0
