"""What a merge makes of commits that record no operation: a guess never drops a change."""

from pathlib import Path

import pytest

from branch_console.diff.lineage import ROW_OPERATION
from branch_console.errors import Refused
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.plan import MergeVerdict, verdict_of
from branch_console.operations.isolation import Isolation
from tests.support.branch_bench import BranchBench, tree
from tests.support.commit_tables import data_files, message
from tests.unit.procedures.test_merge_branch import (
    MANAGED,
    commit,
    delete_rows,
    keyed_files,
    merge,
    names,
    plan_with,
)


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A table of two files of ten rows each, and a branch."""
    bench = BranchBench(tmp_path, options=dict(MANAGED))
    bench.append("one", "two")
    bench.branch("dev")
    return bench


def replace_all(bench: BranchBench, branch: str, name: str, *, is_recorded: bool = False) -> None:
    """Write all files of a branch again as one of more rows."""
    bench.committer(branch).overwrite(
        [message(new_files=data_files([name], rows=21, total_buckets=-1), total_buckets=-1)],
        user="bob",
        identifier=hash((branch, name)) % (1 << 40),
        properties={ROW_OPERATION: "OVERWRITE"} if is_recorded else {},
    )


def settled(bench: BranchBench, take: Take) -> set[str]:
    merge(bench, policy=f"version: 1\nkinds: {{whole files: {take}}}")
    return names(bench)


@pytest.mark.parametrize(
    ("take", "left"), [(Take.OURS, {"one", "two", "new"}), (Take.THEIRS, {"replaced"})]
)
def test_a_replaced_partition_conflicts_with_rows_that_the_target_added(
    bench: BranchBench, take: Take, left: set[str]
) -> None:
    replace_all(bench, "dev", "replaced")
    bench.append("new")
    (conflict,) = plan_with(bench).conflicts
    assert (conflict.rule, conflict.kind) == ("update.insert", ConflictKind.FILE_RULE)
    assert conflict.settle_with == (Take.ISOLATION_SNAPSHOT, Take.OURS, Take.THEIRS)
    assert "recorded no operation" in conflict.advice
    before = tree(Path(bench.file_io.root))
    with pytest.raises(Refused):
        merge(bench)
    assert tree(Path(bench.file_io.root)) == before
    assert settled(bench, take) == left
    assert verdict_of(plan_with(bench)) is MergeVerdict.UP_TO_DATE


def test_isolation_keeps_a_replaced_partition_and_what_the_target_added(bench: BranchBench) -> None:
    replace_all(bench, "dev", "replaced")
    bench.append("new")
    assert verdict_of(plan_with(bench, isolation=Isolation.SNAPSHOT)) is MergeVerdict.CLEAN
    merge(bench, isolation="snapshot")
    assert names(bench) == {"replaced", "new"}


@pytest.mark.parametrize(
    ("rows", "rule"),
    [(10, "M3"), (7, "M1"), (12, "M3")],
    ids=["update", "delete", "merge"],
)
@pytest.mark.parametrize(
    ("take", "left"), [(Take.OURS, {"ours", "two"}), (Take.THEIRS, {"replaced"})]
)
def test_a_replaced_partition_conflicts_with_rows_that_the_target_changed(
    bench: BranchBench, rows: int, rule: str, take: Take, left: set[str]
) -> None:
    replace_all(bench, "dev", "replaced")
    delete_rows(bench, "main", "one", left="ours", rows=rows)
    (conflict,) = plan_with(bench).conflicts
    assert conflict.rule == rule
    assert conflict.settle_with == (Take.OURS, Take.THEIRS)
    assert settled(bench, take) == left


def test_what_the_source_updated_is_not_dropped_for_a_replaced_partition(
    bench: BranchBench,
) -> None:
    replace_all(bench, "main", "replaced")
    delete_rows(bench, "dev", "one", left="theirs", rows=10)
    (conflict,) = plan_with(bench).conflicts
    assert conflict.rule == "M3"
    # The file that only the target gave up would have to come back.
    assert conflict.settle_with == (Take.OURS,)
    assert settled(bench, Take.OURS) == {"replaced"}


def test_rows_tell_whether_a_delete_meets_a_replaced_partition(bench: BranchBench) -> None:
    replace_all(bench, "main", "replaced")
    delete_rows(bench, "dev", "one", left="theirs", rows=7)
    found = plan_with(bench)
    assert (verdict_of(found), found.cost.files_joined) == (MergeVerdict.UNDECIDED, 1)


@pytest.mark.parametrize("rows", [10, 7, 12])
def test_rows_that_may_be_new_are_not_dropped_for_a_recorded_overwrite(
    bench: BranchBench, rows: int
) -> None:
    replace_all(bench, "main", "replaced", is_recorded=True)
    delete_rows(bench, "dev", "one", left="theirs", rows=rows)
    (conflict,) = plan_with(bench).conflicts
    assert conflict.rule == ("M5" if rows < 10 else "M4")
    assert settled(bench, Take.OURS) == {"replaced"}


def test_a_preview_says_which_commits_record_nothing(bench: BranchBench) -> None:
    for left, gone in (("a", "one"), ("b", "two")):
        delete_rows(bench, "dev", gone, left=left, rows=5)
    bench.append("new")
    delete_rows(bench, "main", "new", left="less", rows=5)
    notes = plan_with(bench, isolation=Isolation.SNAPSHOT).notes
    told = "2 commits of 'dev' do not record what they changed; this was read from their files."
    assert told in notes


def test_a_revert_of_an_overwrite_keeps_what_came_since(bench: BranchBench) -> None:
    replace_all(bench, "main", "replaced", is_recorded=True)
    bench.append("new")
    bench.call("revert", snapshot=2, isolation="snapshot")
    assert names(bench) == {"one", "two", "new"}


def test_an_overwrite_that_was_rolled_back_takes_nothing_away(bench: BranchBench) -> None:
    replace_all(bench, "dev", "replaced", is_recorded=True)
    bench.call("revert", operation="back", target="dev", snapshot=2)
    bench.append("theirs", branch="dev")
    bench.append("new")
    merge(bench)
    assert names(bench) == {"one", "two", "theirs", "new"}


def test_keys_are_compared_whatever_a_commit_records(tmp_path: Path) -> None:
    told = []
    for record in ("", "OVERWRITE", "DELETE"):
        bench = BranchBench(
            tmp_path / record, primary_keys=["id"], options={**MANAGED, "bucket": "2"}
        )
        commit(bench, new=keyed_files("base", 0, 99))
        bench.branch("dev")
        bench.committer("dev").overwrite(
            [message(new_files=keyed_files("replaced", 0, 120), total_buckets=2)],
            user="bob",
            properties={ROW_OPERATION: record} if record else {},
        )
        commit(bench, new=keyed_files("new", 40, 50))
        found = plan_with(bench)
        assert found.moves is not None
        told.append((verdict_of(found), found.moves.digest_parts, found.moves.row_places))
    assert told[0][0] is MergeVerdict.UNDECIDED
    assert told == [told[0]] * 3
