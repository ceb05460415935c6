"""Looking at every file of a table: what is missing, and for which snapshots and tags."""

from collections.abc import Callable
from pathlib import Path

import pytest

from branch_console.diff.health.damage_rules import BranchDamage
from branch_console.procedures.maintenance.deep_check import find_damage
from tests.support.branch_bench import BranchBench
from tests.support.health import data_file, put_data_files


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """Main at 2 with a tag on 1, and a branch that goes on with a file of its own."""
    bench = BranchBench(tmp_path / "warehouse")
    bench.append("a")
    bench.tag("v1")
    bench.append("b")
    bench.branch("dev")
    bench.append("c", branch="dev")
    put_data_files(bench)
    return bench


def found(bench: BranchBench) -> dict[str, BranchDamage]:
    fresh = BranchBench(Path(bench.file_io.root))
    return {each.branch: each for each in find_damage(fresh.table())}


def names(damage: BranchDamage, kind: str = "data") -> list[str]:
    """What lacks something of a kind."""
    return [each.name for each in damage.damaged if getattr(each, kind)]


def test_a_whole_table_lacks_nothing(bench: BranchBench) -> None:
    assert found(bench) == {}


def test_a_missing_file_is_told_for_all_that_need_it(bench: BranchBench) -> None:
    data_file(bench, "a").unlink()
    damage = found(bench)
    assert names(damage["main"]) == ["snapshot 1", "snapshot 2", "tag branch-base-dev", "tag v1"]
    # What a branch stands on cannot be deleted.
    assert [each.tag for each in damage["main"].damaged] == [None, None, None, "v1"]
    assert names(damage["dev"]) == ["snapshot 2", "snapshot 3", "tag branch-base-dev"]
    assert (damage["main"].head_id, damage["main"].whole_ids) == (2, ())
    (wrong,) = damage["main"].damaged[0].data
    assert wrong.endswith("/bucket-0/data-a.parquet is missing")


def test_a_file_of_another_length_is_told_where_it_is_needed_alone(bench: BranchBench) -> None:
    data_file(bench, "c").write_bytes(b"x" * 7)
    damage = found(bench)
    assert set(damage) == {"dev"}
    assert names(damage["dev"]) == ["snapshot 3"]
    assert damage["dev"].whole_ids == (2,)
    assert damage["dev"].damaged[0].data[0].endswith("data-c.parquet has 7 bytes, not 1,000")


def test_a_file_that_a_later_commit_removed_is_needed_by_what_stands_before(
    bench: BranchBench,
) -> None:
    bench.store.remover.remove([str(data_file(bench, "b"))])
    assert names(found(bench)["main"]) == ["snapshot 2", "tag branch-base-dev"]


def lose_list(bench: BranchBench) -> None:
    head = bench.table().snapshots.get(2)
    Path(bench.table().paths.manifest(head.delta_manifest_list)).unlink()


def lose_manifest(bench: BranchBench) -> None:
    table = bench.table()
    delta = table.scan.read_list(table.paths, table.snapshots.get(2).delta_manifest_list)
    Path(table.paths.manifest(delta["file_name"][0].as_py())).unlink()


def tear_manifest(bench: BranchBench) -> None:
    table = bench.table()
    delta = table.scan.read_list(table.paths, table.snapshots.get(2).delta_manifest_list)
    path = Path(table.paths.manifest(delta["file_name"][0].as_py()))
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("damaged", [lose_list, lose_manifest, tear_manifest])
def test_metadata_that_cannot_be_read_is_told_and_the_rest_is_looked_at(
    bench: BranchBench, damaged: Callable[[BranchBench], None]
) -> None:
    data_file(bench, "a").unlink()
    damaged(bench)
    damage = found(bench)
    assert names(damage["main"], "metadata") == ["snapshot 2", "tag branch-base-dev"]
    assert names(damage["main"]) == ["snapshot 1", "tag v1"]
    assert "snapshot 2" in names(damage["dev"], "metadata")


def test_a_snapshot_or_tag_that_cannot_be_decoded_is_damage(bench: BranchBench) -> None:
    Path(bench.table().paths.snapshot(1)).write_text("{")
    Path(bench.table().paths.tag("v1")).write_text("{")
    assert names(found(bench)["main"], "metadata") == ["snapshot 1", "tag v1"]


def test_manifests_that_contradict_each_other_are_named(bench: BranchBench) -> None:
    bench.branch("other", tag="v1")
    again = bench.append("b", branch="other")
    table = bench.table("dev")
    head = table.snapshots.get(3)
    path = Path(table.paths.snapshot(3))
    path.write_text(path.read_text().replace(head.delta_manifest_list, again.delta_manifest_list))
    (state,) = found(bench)["dev"].damaged
    assert (state.name, state.data) == ("snapshot 3", ())
    assert "contradicts others" in state.metadata[0]
