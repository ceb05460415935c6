"""Merges of a partition that one side wrote with another number of buckets since the base."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from branch_console.commit.snapshot.file_store_commit import FileStoreCommit
from branch_console.errors import ErrorKind, Refused
from branch_console.format.data_types import INT
from branch_console.format.identifier import Identifier
from branch_console.format.values.binary_row import encode_row
from branch_console.merge.file_moves import MergeRules
from branch_console.merge.plan import RefusedPlan
from branch_console.procedures.merge.inputs import preview_merge
from tests.support.branch_bench import BranchBench, tree
from tests.support.commit_tables import data_files, message

_TABLE: Final = Identifier(database="db", table="t")
_ONE, _TWO = (encode_row([part], [INT]) for part in (1, 2))


@pytest.fixture(params=["key", "no key"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> BranchBench:
    """A table with two buckets in each of two partitions, and a branch of it."""
    has_key = request.param == "key"
    bench = BranchBench(
        tmp_path,
        primary_keys=["id", "pt"] if has_key else [],
        partition_keys=["pt"],
        options={"bucket": "2", "bucket-key": "id", "write-only": "true"},
    )
    for partition in (_ONE, _TWO):
        _append(bench, "base", partition, "main")
    bench.branch("dev")
    return bench


def _append(bench: BranchBench, name: str, partition: bytes, branch: str, bucket: int = 0) -> None:
    files = data_files([name], partition=partition, bucket=bucket, keys=(0, 9), total_buckets=2)
    message_of_it = message(partition, bucket, total_buckets=2, new_files=files)
    bench.committer(branch).commit([message_of_it], user="a", identifier=hash((name, partition)))


def _rescale(bench: BranchBench, partition: bytes, branch: str, buckets: Sequence[int]) -> None:
    """Write a partition again with four buckets, as Paimon's `rescale` does."""
    messages = [
        message(
            partition,
            bucket,
            total_buckets=4,
            new_files=data_files(
                [f"wide-{bucket}"],
                partition=partition,
                bucket=bucket,
                total_buckets=4,
                level=5,
                keys=(bucket, bucket),
            ),
        )
        for bucket in buckets
    ]
    committer = FileStoreCommit(bench.table(branch), bench.store, sleep=lambda _: None)
    committer.overwrite(messages, user="a", identifier=77)


def _live(bench: BranchBench) -> set[tuple[bytes, int]]:
    table = bench.table()
    head = table.head()
    assert head is not None
    files = table.live_files(head)
    return set(zip(files["partition"].to_pylist(), files["total_buckets"].to_pylist(), strict=True))


@pytest.mark.parametrize("rescaled", ["main", "dev"])
def test_a_partition_that_one_side_rescaled_and_the_other_changed_is_not_merged(
    bench: BranchBench, rescaled: str
) -> None:
    other = "dev" if rescaled == "main" else "main"
    # No bucket is changed by both: only their numbers tell that a key may be in two.
    _append(bench, "new", _ONE, other, bucket=1)
    _rescale(bench, _ONE, rescaled, (0, 2, 3))
    plan = preview_merge(bench.warehouse(), _TABLE, "dev", "main", MergeRules())
    assert isinstance(plan, RefusedPlan)
    (block,) = (each for each in plan.blocks if "number of buckets" in each.text)
    assert block.kind is ErrorKind.UNSUPPORTED
    assert "partition 'pt=1'" in block.text
    assert "(2 and 4)" in block.text
    before = tree(Path(bench.path))
    with pytest.raises(Refused, match="number of buckets"):
        bench.call("merge_branch", operation="merge-1", branch="dev")
    after = tree(Path(bench.path))
    assert {name: data for name, data in after.items() if "branch-lineage" not in name} == {
        name: data for name, data in before.items() if "branch-lineage" not in name
    }


def test_a_partition_that_only_the_source_rescaled_comes_as_it_is(bench: BranchBench) -> None:
    _append(bench, "new", _TWO, "main")
    _rescale(bench, _ONE, "dev", range(4))
    bench.call("merge_branch", operation="merge-1", branch="dev")
    assert _live(bench) == {(_ONE, 4), (_TWO, 2)}


def test_a_partition_that_only_the_target_rescaled_stays_as_it_is(bench: BranchBench) -> None:
    _rescale(bench, _ONE, "main", range(4))
    _append(bench, "new", _TWO, "dev")
    bench.call("merge_branch", operation="merge-1", branch="dev")
    assert _live(bench) == {(_ONE, 4), (_TWO, 2)}
