"""Which data files arrive follows from the manifests that not both sides list."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.errors import Refused
from branch_console.format.manifest_entry import rows_without
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.verify_files import arriving_files, verify
from branch_console.table.file_checks import FILE_PROBLEMS, FILES_TO_VERIFY
from tests.support.branch_bench import BranchBench, TrustingRows
from tests.support.commit_tables import data_files, message


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    return BranchBench(tmp_path)


def _head(bench: BranchBench, branch: str) -> Snapshot:
    head = bench.table(branch).head()
    assert head is not None
    return head


def test_what_arrives_are_the_live_files_that_the_target_lacks(
    bench: BranchBench, rng: random.Random
) -> None:
    bench.append("a", "b", "c", "d")
    bench.branch("dev")
    names = iter(f"f{number}" for number in range(1_000))
    seen = [("main", _head(bench, "main"))]
    for _ in range(12):
        branch = rng.choice(["main", "dev"])
        live = sorted(bench.live_names(branch))
        gone = rng.sample(live, min(len(live), rng.randint(0, 2)))
        files = bench.table(branch).live_files(_head(bench, branch))
        deleted = files.filter(pc.is_in(files["file_name"], value_set=pa.array(gone, pa.string())))
        bench.committer(branch).commit(
            [message(new_files=data_files([next(names)]), deleted_files=deleted)], user="etl"
        )
        seen.append((branch, _head(bench, branch)))
    for (branch, wanted), target in [(each, target) for each in seen for target in ("main", "dev")]:
        incoming, head = bench.table(branch), _head(bench, target)
        expected = rows_without(incoming.live_files(wanted), bench.table(target).live_files(head))
        found = arriving_files(incoming, wanted, head)
        assert sorted(Path(path).name for path in found["path"].to_pylist()) == sorted(
            expected["file_name"].to_pylist()
        )
        assert sorted(found["row_count"].to_pylist()) == sorted(expected["row_count"].to_pylist())


def test_a_fast_forward_opens_no_manifest_that_both_branches_list(bench: BranchBench) -> None:
    bench.append("a")
    bench.append("b")
    shared = bench.table().manifests(_head(bench, "main"))["file_name"].to_pylist()
    bench.branch("dev")
    bench.append("c", branch="dev")
    for name in shared:
        Path(bench.table().paths.manifest(name)).write_bytes(b"broken")
    rows = TrustingRows()
    bench.call("fast_forward", branch="dev", rows=rows)
    assert [Path(path).name for path in rows.verified] == ["data-c.parquet"]


@pytest.mark.parametrize(
    ("gone", "total", "words"),
    [
        (1, 1, "1 of 1 data file of air.weather is not what its manifests say: 0: Missing. "),
        (1, 3, "1 of 3 data files of air.weather is not what its manifests say: 0: Missing. "),
        (2, 3, "2 of 3 data files of air.weather are not what its manifests say: 0: Missing.; "),
    ],
)
def test_files_that_are_gone_are_counted_in_a_right_sentence(
    gone: int, total: int, words: str
) -> None:
    files = [{"path": str(number), "size": 1, "row_count": 1} for number in range(total)]
    problems = [{"path": str(number), "problem": "Missing."} for number in range(gone)]
    rows = TrustingRows(pa.Table.from_pylist(problems, schema=FILE_PROBLEMS))
    asked = pa.Table.from_pylist(files, schema=FILES_TO_VERIFY)
    with pytest.raises(Refused) as refused:
        verify(rows, asked, "air.weather", lambda *_: None)
    assert str(refused.value).startswith(words)
