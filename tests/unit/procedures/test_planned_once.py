"""How often a table is read to plan one operation: once, and once more where a worker resumes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.stages import Facts
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from tests.support.branch_bench import BranchBench, TrustingRows, opened
from tests.support.read_counts import read_counts


class Killed(BaseException):
    """The worker is gone."""


@dataclass
class KeptStages:
    """Keeps what stages left, as a job does; a worker may be killed where one publishes."""

    is_killed: bool = False
    kept: dict[str, Facts] = field(default_factory=dict)

    def run(
        self,
        name: str,
        work: Callable[[Progress], Facts],
        *,
        message: str,
        publishes: bool = False,
    ) -> Facts:
        if name not in self.kept:
            if publishes and self.is_killed:
                raise Killed
            self.kept[name] = work(lambda _done, _total: None)
        return self.kept[name]


def bench_of(root: Path, *, diverged: bool) -> BranchBench:
    bench = BranchBench(root, options={"write-only": "true"})
    for number in range(3):
        bench.append(f"base-{number}")
    bench.branch("dev")
    bench.append("theirs", branch="dev")
    if diverged:
        bench.append("ours")
    return bench


CASES: Mapping[str, tuple[str, bool, Mapping[str, str | int]]] = {
    "merge": ("merge_branch", True, {"branch": "dev"}),
    "merge that takes over": ("merge_branch", False, {"branch": "dev"}),
    "pick": ("cherry_pick", True, {"branch": "dev", "snapshot": 4}),
    "revert": ("revert", True, {"snapshot": 4}),
    "fast-forward": ("fast_forward", False, {"branch": "dev"}),
}

# Heads, sides, forward plans and opened tables, as they are; and listed folders, at most.
READS: Mapping[tuple[str, str], tuple[int, int, int, int, int]] = {
    ("merge", "preview"): (1, 1, 0, 1, 25),
    ("merge", "dry run"): (1, 1, 0, 2, 27),
    ("merge", "run"): (1, 1, 0, 3, 45),
    ("merge", "resumed run"): (1, 1, 0, 2, 30),
    ("merge that takes over", "preview"): (1, 0, 1, 1, 32),
    ("merge that takes over", "dry run"): (1, 0, 1, 2, 33),
    ("merge that takes over", "run"): (2, 0, 2, 3, 69),
    ("merge that takes over", "resumed run"): (1, 0, 1, 2, 37),
    ("pick", "preview"): (1, 1, 0, 1, 27),
    ("pick", "run"): (1, 1, 0, 3, 49),
    ("pick", "resumed run"): (1, 1, 0, 2, 34),
    ("revert", "preview"): (0, 1, 0, 1, 17),
    ("revert", "run"): (0, 1, 0, 3, 35),
    ("revert", "resumed run"): (0, 1, 0, 2, 25),
    ("fast-forward", "preview"): (0, 0, 1, 1, 22),
    ("fast-forward", "run"): (0, 0, 1, 3, 42),
    ("fast-forward", "resumed run"): (0, 0, 0, 1, 13),
}


@pytest.mark.parametrize(("case", "way"), sorted(READS))
def test_an_operation_reads_no_more_than_its_plan_takes(
    case: str, way: str, tmp_path: Path
) -> None:
    name, diverged, arguments = CASES[case]
    bench_of(tmp_path, diverged=diverged)
    call = ProcedureCall(
        name="dry_run_merge" if way == "dry run" else name,
        arguments={"table": "db.t", **arguments},
        actor="ann",
        operation_id="op-1",
    )
    stages = KeptStages()
    if way == "resumed run":
        stages.is_killed = True
        with pytest.raises(Killed):
            run_call(opened(tmp_path).warehouse(), TrustingRows(), call, stages)
        stages.is_killed = False
    warehouse = opened(tmp_path).warehouse()
    with read_counts() as counts:
        if way == "preview":
            assert preview_call(warehouse, call).can_run
        else:
            run_call(warehouse, TrustingRows(), call, stages)
    *reads, listings = READS[case, way]
    assert counts.all[:-1] == tuple(reads)
    assert counts.listings <= listings
