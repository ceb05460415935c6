from pathlib import Path

from branch_console.diff.rows.row_diff import plan_row_diff
from branch_console.format.data_types import INT
from branch_console.format.values.binary_row import encode_row
from branch_console.procedures.compare.states import compare_states
from branch_console.spark.compare.compare_units import plan_units
from tests.support.branch_bench import BranchBench
from tests.support.commit_tables import data_files, message

_ONE, _TWO = (encode_row([part], [INT]) for part in (1, 2))


def _write(bench: BranchBench, branch: str, partition: bytes, bucket: int, of: int) -> None:
    """Have a partition hold one file, in a bucket of so many."""
    files = data_files(
        [f"{branch}-{bucket}-of-{of}"],
        partition=partition,
        bucket=bucket,
        total_buckets=of,
        keys=(0, 9),
    )
    written = message(partition, bucket, total_buckets=of, new_files=files)
    bench.committer(branch).overwrite([written], user="a", identifier=hash((partition, of)))


def test_keys_that_moved_with_the_number_of_buckets_are_compared_with_each_other(
    tmp_path: Path,
) -> None:
    bench = BranchBench(
        tmp_path, primary_keys=["id", "pt"], partition_keys=["pt"], options={"bucket": "2"}
    )
    _write(bench, "main", _ONE, 1, of=2)
    _write(bench, "main", _TWO, 1, of=2)
    bench.branch("dev")
    # As Paimon's `rescale`: the option of the table stays as it is.
    _write(bench, "dev", _ONE, 3, of=4)
    _write(bench, "dev", _TWO, 0, of=2)
    diff = compare_states(bench.warehouse(), bench.identifier, "main", "dev")
    units = plan_units(bench.file_io, bench.table(), plan_row_diff(diff))

    def read(groups: tuple[tuple[object, ...], ...]) -> int:
        return sum(len(group) for group in groups)

    # In the first partition the buckets meet; in the second no key can be in both.
    assert sorted((read(each.before), read(each.after)) for each in units) == [
        (0, 1),
        (1, 0),
        (1, 1),
    ]
