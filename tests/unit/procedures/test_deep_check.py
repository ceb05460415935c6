"""Looking at every file of a table: what is missing, and for which snapshots and tags."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from branch_console.diff.health.damage_rules import BranchDamage, damage_findings
from branch_console.format.index_manifest import INDEX_MANIFEST_ENTRY, deletion_vector_entry
from branch_console.format.values.deletion_vector import write_deletion_vectors
from branch_console.procedures.maintenance.deep_check import find_damage
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import UNPARTITIONED, message
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
    return {each.branch: each for each in find_damage(fresh.warehouse(), fresh.table()).branches}


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


def test_only_a_missing_file_of_rows_is_lost(bench: BranchBench) -> None:
    data_file(bench, "c").unlink()
    (state,) = found(bench)["dev"].damaged
    assert state.lost == state.data
    data_file(bench, "c").write_bytes(b"short")
    (state,) = found(bench)["dev"].damaged
    assert (len(state.data), state.lost) == (1, ())


def test_a_lost_index_file_is_named_and_the_remedy_goes_back_to_what_is_whole(
    bench: BranchBench,
) -> None:
    content, ranges = write_deletion_vectors({"data-a.parquet": (1, 4)})
    path = Path(bench.table().paths.index("index-1"))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    entry = deletion_vector_entry((UNPARTITIONED, 0), "index-1", len(content), ranges)
    made = pa.Table.from_pylist([entry], schema=INDEX_MANIFEST_ENTRY)
    bench.committer().commit([message(new_index_files=made)], user="alice", identifier=77)
    assert found(bench) == {}
    path.unlink()
    damage = found(bench)["main"]
    (state,) = damage.damaged
    assert (state.name, state.data, state.lost) == ("snapshot 3", (f"{path} is missing",), ())
    (finding,) = damage_findings("db.t", damage)
    (remedy,) = finding.remedies
    assert (remedy.procedure, remedy.arguments["snapshot"]) == ("rollback", 2)
