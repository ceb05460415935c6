"""How often a table is read to plan one operation: once, and once more where a worker resumes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.stages import Facts
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.preview import preview_call
from tests.support.branch_bench import TrustingRows, opened
from tests.support.read_counts import branched, read_counts


class Killed(BaseException):
    """The worker is gone."""


@dataclass
class KeptStages:
    """Keeps what stages left, as a job does; a worker may be killed where one publishes."""

    is_killed: bool = False
    kept: dict[str, Facts] = field(default_factory=dict)
    before_publishing: Callable[[], object] = lambda: None

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
            if publishes:
                self.before_publishing()
            self.kept[name] = work(lambda _done, _total: None)
        return self.kept[name]


ROWS: Any = TrustingRows()

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
    ("merge", "run"): (1, 1, 0, 2, 43),
    ("merge", "resumed run"): (1, 1, 0, 2, 30),
    ("merge that takes over", "preview"): (1, 0, 1, 1, 32),
    ("merge that takes over", "dry run"): (1, 0, 1, 2, 33),
    ("merge that takes over", "run"): (1, 0, 1, 2, 55),
    ("merge that takes over", "resumed run"): (1, 0, 1, 2, 37),
    ("pick", "preview"): (1, 1, 0, 1, 27),
    ("pick", "run"): (1, 1, 0, 2, 47),
    ("pick", "resumed run"): (1, 1, 0, 2, 34),
    ("revert", "preview"): (0, 1, 0, 1, 17),
    ("revert", "run"): (0, 1, 0, 2, 33),
    ("revert", "resumed run"): (0, 1, 0, 2, 25),
    ("fast-forward", "preview"): (0, 0, 1, 1, 22),
    ("fast-forward", "run"): (0, 0, 1, 1, 39),
    ("fast-forward", "resumed run"): (0, 0, 0, 1, 13),
}


def call_of(name: str, arguments: Mapping[str, str | int]) -> ProcedureCall:
    return ProcedureCall(
        name=name, arguments={"table": "db.t", **arguments}, actor="ann", operation_id="op-1"
    )


@pytest.mark.parametrize(("case", "way"), sorted(READS))
def test_an_operation_reads_no_more_than_its_plan_takes(
    case: str, way: str, tmp_path: Path
) -> None:
    name, diverged, arguments = CASES[case]
    branched(tmp_path, diverged=diverged)
    call = call_of("dry_run_merge" if way == "dry run" else name, arguments)
    stages = KeptStages()
    if way == "resumed run":
        stages.is_killed = True
        with pytest.raises(Killed):
            run_call(opened(tmp_path).warehouse(), ROWS, call, stages)
        stages.is_killed = False
    warehouse = opened(tmp_path).warehouse()
    with read_counts() as counts:
        if way == "preview":
            assert preview_call(warehouse, call).can_run
        else:
            run_call(warehouse, ROWS, call, stages)
    *reads, listings = READS[case, way]
    assert counts.all[:-1] == tuple(reads)
    assert counts.listings <= listings


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_tag_that_is_made_while_a_merge_runs_comes_along(is_killed: bool, tmp_path: Path) -> None:
    bench = branched(tmp_path, diverged=False)
    call = call_of("merge_branch", {"branch": "dev"})
    stages = KeptStages(is_killed=is_killed, before_publishing=lambda: bench.tag("late", "dev"))
    with read_counts() as counts:
        if is_killed:
            with pytest.raises(Killed):
                run_call(bench.warehouse(), ROWS, call, stages)
            stages.is_killed = False
        run_call(bench.warehouse(), ROWS, call, stages)
    assert "late" in [tag.name for tag in bench.table().tags.all()]
    # What was planned counts no more.
    assert counts.forwards == 2


def test_a_worker_that_takes_up_a_merge_whose_target_moved_stops(tmp_path: Path) -> None:
    bench = branched(tmp_path, diverged=False)
    call = call_of("merge_branch", {"branch": "dev"})
    stages = KeptStages(is_killed=True)
    with pytest.raises(Killed):
        run_call(bench.warehouse(), ROWS, call, stages)
    bench.append("ours")
    kept = {name: facts for name, facts in stages.kept.items() if name == "check heads"}
    with pytest.raises(Refused, match="a branch moved since the run began") as refused:
        run_call(opened(tmp_path).warehouse(), ROWS, call, KeptStages(kept=kept))
    assert refused.value.kind is ErrorKind.HEAD_MOVED
    assert "data-theirs.parquet" not in bench.live_names("main")
