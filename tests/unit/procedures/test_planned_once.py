"""How often a table is read to decide on one operation: once, and once more before it publishes.

A decision lists each folder once that it has to know. For a three-way merge these are snapshots
and schemas of both branches, the tags of main and the ledger: 6. One that takes over a history has
to know the tags of both branches: 7. It takes nothing from its target, so nobody asks who reads
that, and which branches stand on its tags.

A run looks at all of it once more before it begins its journal, as a tag, a consumer or an
operation of somebody else may have come; of heads that it keeps to it asks for their snapshots
alone. Then it lists the ledger, as its event comes behind all others, and what a publish believes
nobody: the snapshots of the target, and the schemas that its commit stands on. That makes 16 for a
three-way merge, and 16 for one that takes over, of which 10 were wanted: two looks take 14. The
files of a fast-forward are found in a stage of its own, under the schema that the source has then.

A worker that takes up a run which died before it published decides with that second look.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from branch_console.errors import ErrorKind, Refused
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import EVERY_TABLE, KindRule, Policy, PolicyChoice
from branch_console.merge.policy_draft import with_table_rule
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.stages import Facts
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.merge.conflicts import find_resolution, save_draft
from branch_console.procedures.merge.inputs import planned_merge
from branch_console.procedures.preview import preview_call
from branch_console.quality.rule_file import rule_path
from branch_console.storage.file_io import LocalFileIO
from tests.support.branch_bench import BranchBench, TrustingRows, opened
from tests.support.contested_table import NAME, ContestedTable
from tests.support.local_row_engine import LocalRows
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is done to a table with a branch `dev`, or to one whose rows both sides changed.

    Attributes:
        diverged: Whether main went on too.
        contested: Whether the table has a key, and rows of both sides are compared.
        before: Runs before anything is counted.
    """

    procedure: str
    arguments: Mapping[str, str | int]
    diverged: bool = False
    contested: bool = False
    before: Callable[[BranchBench], object] = lambda _: None

    def call(self, way: str) -> ProcedureCall:
        name = "dry_run_merge" if way == "dry run" else self.procedure
        return call_of(name, {"table": NAME if self.contested else "db.t", **self.arguments})

    def prepare(self, folder: Path) -> None:
        if self.contested:
            ContestedTable(folder)
        else:
            self.before(branched(folder, diverged=self.diverged))

    def open(self, folder: Path) -> tuple[Warehouse, Any]:
        if not self.contested:
            return opened(folder).warehouse(), ROWS
        warehouse = Warehouse.open(str(folder))
        return warehouse, LocalRows(warehouse.file_io)


THEIRS = with_table_rule(Policy(), EVERY_TABLE, PolicyChoice.parse("theirs")).to_yaml()
DEV = {"branch": "dev"}

CASES: Mapping[str, Case] = {
    "merge": Case(procedure="merge_branch", arguments=DEV, diverged=True),
    "merge that compares rows": Case(
        procedure="merge_branch",
        arguments={"branch": "fix-delays", "policy": THEIRS},
        contested=True,
    ),
    "merge that takes over": Case(procedure="merge_branch", arguments=DEV),
    "pick": Case(procedure="cherry_pick", arguments={**DEV, "snapshot": 4}, diverged=True),
    "revert": Case(procedure="revert", arguments={"snapshot": 4}, diverged=True),
    "fast-forward": Case(procedure="fast_forward", arguments=DEV),
    "rollback": Case(procedure="rollback", arguments={"snapshot": 2}),
    "drop": Case(procedure="drop_branch", arguments=DEV),
    "rename": Case(procedure="rename_branch", arguments={**DEV, "to": "later"}),
    "protect": Case(procedure="protect_branch", arguments=DEV),
    "undo": Case(
        procedure="undo",
        arguments={"operation": "merged"},
        diverged=True,
        before=lambda bench: bench.call("merge_branch", operation="merged", branch="dev"),
    ),
}

# Heads, sides, forward plans, opened tables and listed folders.
READS: Mapping[tuple[str, str], tuple[int, int, int, int, int]] = {
    ("merge", "preview"): (1, 1, 0, 1, 6),
    ("merge", "dry run"): (1, 1, 0, 1, 6),
    ("merge", "run"): (1, 1, 0, 1, 16),
    ("merge", "resumed run"): (1, 1, 0, 1, 11),
    ("merge that compares rows", "preview"): (1, 1, 0, 1, 6),
    ("merge that compares rows", "dry run"): (1, 1, 0, 1, 7),
    ("merge that compares rows", "run"): (1, 1, 0, 1, 16),
    ("merge that compares rows", "resumed run"): (1, 1, 0, 1, 11),
    ("merge that takes over", "preview"): (1, 0, 1, 1, 7),
    ("merge that takes over", "dry run"): (1, 0, 1, 1, 7),
    ("merge that takes over", "run"): (1, 0, 1, 1, 16),
    ("merge that takes over", "resumed run"): (1, 0, 1, 1, 9),
    ("pick", "preview"): (1, 1, 0, 1, 6),
    ("pick", "run"): (1, 1, 0, 1, 18),
    ("pick", "resumed run"): (1, 1, 0, 1, 12),
    ("revert", "preview"): (0, 1, 0, 1, 3),
    ("revert", "run"): (0, 1, 0, 1, 10),
    ("revert", "resumed run"): (0, 1, 0, 1, 7),
    ("fast-forward", "preview"): (0, 0, 1, 1, 7),
    ("fast-forward", "run"): (0, 0, 1, 1, 17),
    ("fast-forward", "resumed run"): (0, 0, 1, 1, 9),
    ("rollback", "preview"): (0, 0, 0, 1, 4),
    ("rollback", "run"): (0, 0, 0, 1, 13),
    ("drop", "preview"): (0, 0, 0, 1, 8),
    ("drop", "run"): (0, 0, 0, 1, 12),
    ("rename", "preview"): (0, 0, 0, 1, 7),
    ("rename", "run"): (0, 0, 0, 1, 11),
    ("protect", "preview"): (0, 0, 0, 1, 2),
    ("protect", "run"): (0, 0, 0, 1, 3),
    ("undo", "preview"): (0, 0, 0, 1, 5),
    ("undo", "run"): (0, 0, 0, 1, 15),
}


def call_of(name: str, arguments: Mapping[str, str | int]) -> ProcedureCall:
    return ProcedureCall(
        name=name, arguments={"table": "db.t", **arguments}, actor="ann", operation_id="op-1"
    )


@pytest.mark.parametrize(("case", "way"), sorted(READS))
def test_an_operation_reads_no_more_than_its_plan_takes(
    case: str, way: str, tmp_path: Path
) -> None:
    done, folder = CASES[case], tmp_path / "warehouse"
    done.prepare(folder)
    call, stages = done.call(way), KeptStages()
    if way == "resumed run":
        stages.is_killed = True
        with pytest.raises(Killed):
            run_call(*done.open(folder), call, stages)
        stages.is_killed = False
    warehouse, rows = done.open(folder)
    with read_counts() as counts:
        if way == "preview":
            assert preview_call(warehouse, call).can_run
        else:
            run_call(warehouse, rows, call, stages)
    assert counts.all == READS[case, way]


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


@pytest.mark.parametrize("case", ["merge", "merge that takes over"])
def test_a_worker_that_takes_up_a_run_before_its_files_were_verified_plans_it_once(
    case: str, tmp_path: Path
) -> None:
    done, stages = CASES[case], KeptStages(is_killed=True)
    done.prepare(tmp_path)
    with pytest.raises(Killed):
        run_call(*done.open(tmp_path), done.call("run"), stages)
    kept = {name: facts for name, facts in stages.kept.items() if name == "check heads"}
    warehouse, rows = done.open(tmp_path)
    with read_counts() as counts:
        run_call(warehouse, rows, done.call("run"), KeptStages(kept=kept))
    assert counts.all == READS[case, "run"]


def test_what_a_decision_hands_on_looks_anew(tmp_path: Path) -> None:
    bench = branched(tmp_path, diverged=False)
    with bench.warehouse().deciding() as deciding:
        table = deciding.table("db.t")
        assert table.tags.names() == table.on("main").tags.names()
        before = table.tags.names()
        bench.tag("late")
        assert table.tags.names() == deciding.table("db.t").tags.names() == before
        with deciding.deciding() as same:
            assert same.table("db.t") is table
    assert "late" in table.tags.names()


@pytest.mark.parametrize(("way", "reads"), [("preview", 1), ("dry run", 1), ("run", 2)])
def test_rules_are_read_with_the_plan_that_they_will_judge(
    way: str, reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = branched(tmp_path, diverged=True)
    path, asked, real = rule_path(bench.file_io.root, "db.t"), [], LocalFileIO.find

    def find(self: LocalFileIO, looked_for: str) -> bytes | None:
        asked.append(looked_for)
        return real(self, looked_for)

    monkeypatch.setattr(LocalFileIO, "find", find)
    call = CASES["merge"].call(way)
    if way == "preview":
        preview_call(bench.warehouse(), call)
    else:
        run_call(bench.warehouse(), ROWS, call, KeptStages())
    assert asked.count(path) == reads


@pytest.mark.parametrize("is_decided", [False, True])
def test_a_policy_of_a_draft_is_decided_by_on_the_sides_that_were_read(
    is_decided: bool, tmp_path: Path
) -> None:
    table = ContestedTable(tmp_path / "warehouse", flights=3)
    call = call_of("merge_branch", {"table": NAME, "branch": "fix-delays"})
    if is_decided:
        plain = find_resolution(table.warehouse, call)
        rule = KindRule(kind=ConflictKind.COLUMN_TYPE, take=PolicyChoice.parse("ours"))
        save_draft(table.warehouse, call, plain.draft, Policy(kinds=(rule,)))
    warehouse = Warehouse.open(str(table.folder))
    with read_counts() as counts:
        found = find_resolution(warehouse, call)
    assert (counts.heads, counts.sides, counts.opens) == (1, 1, 1)
    assert (found.policy is not None) == is_decided
    # It is the plan that a policy of its own comes to.
    alone = Warehouse.open(str(table.folder))
    policy = {} if found.policy is None else {"policy": found.policy}
    asked = call_of("merge_branch", {"table": NAME, "branch": "fix-delays", **policy})
    assert planned_merge(alone, asked).id == found.plan.id
