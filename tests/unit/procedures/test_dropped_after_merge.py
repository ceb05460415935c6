"""Tables that the source of a merge drops later: what the target did since, and what had come."""

from pathlib import Path

import pytest

from branch_console.merge.file_moves import MergeRules
from branch_console.procedures.catalog_merge.catalog_sides import CatalogMergeSpec
from branch_console.procedures.catalog_merge.merge_catalog import preview_catalog_merge
from tests.support.catalog_bench import CatalogBench
from tests.support.catalog_warehouse import CatalogWarehouse
from tests.unit.procedures.test_merge_catalog import alter


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ("", None),
        ("commit", "It goes with what the target did since the base: content (1 commit)."),
        ("alter", "It goes with what the target did since the base: content (altered)."),
    ],
)
def test_what_a_merge_brought_is_not_what_the_target_did(
    tmp_path: Path, then: str, told: str | None
) -> None:
    made = CatalogWarehouse(tmp_path / "warehouse")
    made.create()
    alter(made, "air.flights", "dev")
    made.commit("air.flights", 2, "dev", schema_id=1)
    bench = CatalogBench(root=made.folder)
    bench("MERGE BRANCH dev")
    bench("USE BRANCH dev; DROP TABLE air.flights")
    if then == "commit":
        made.commit("air.flights", 3, "main", schema_id=1)
    if then == "alter":
        bench("ALTER TABLE air.flights ADD COLUMN later INT")
    spec = CatalogMergeSpec(source="dev", target="main")
    (flights,) = preview_catalog_merge(bench.warehouse(), spec).objects
    assert flights.reported == (() if told is None else (told,))
    strict = preview_catalog_merge(bench.warehouse(), spec, MergeRules(strict=True))
    assert bool(strict.conflicts) == (told is not None)
