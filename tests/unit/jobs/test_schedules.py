"""Which calls a time of a schedule comes to; what the worker does with them is tested by kills."""

from pathlib import Path

import pytest

from branch_console.diff.lifecycle.policy import MaintenancePolicy, ScheduledTask
from branch_console.format.identifier import Identifier
from branch_console.jobs.schedules import calls_of
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.run.kept_policies import all_policies, keep_policy
from branch_console.procedures.run.scheduled_calls import SERVED, call_of, schedules_of
from branch_console.sql.place import Place
from branch_console.sql.show_statements import ShowKind, parse_show
from tests.support.branch_bench import BranchBench, TrustingRows

HOUR = 3_600_000
# On the hour, in UTC.
TIME = 1_792_800_000_000 // HOUR * HOUR
POLICY = """\
version: 1
maintenance: { expire: "0 * * * *", doctor: "15 * * * *", orphans: "0 3 * * 0", tags: "30 * * * *",
               lifecycle: "0 4 * * *", grace: 0 s, zone: Europe/Berlin }
"""


def calls(
    bench: BranchBench, late: int = 0, table: str | None = None, task: str = "expire"
) -> list[ProcedureCall]:
    warehouse = bench.warehouse(clock=lambda: TIME + late)
    return list(calls_of(warehouse, table, ScheduledTask(task), TIME))


@pytest.fixture
def bench(tmp_path: Path) -> BranchBench:
    """A warehouse of two tables with one policy."""
    made = BranchBench(tmp_path)
    BranchBench(tmp_path, name="u")
    keep_policy(made.warehouse(), None, POLICY)
    return made


def test_a_time_is_one_call_a_table_with_an_id_that_is_always_the_same(bench: BranchBench) -> None:
    found = calls(bench)
    assert [each.table for each in found] == ["db.t", "db.u"]
    assert found == calls(bench, late=HOUR - 1)
    assert len({each.operation_id for each in found}) == 2
    assert {each.operation_id[:24] for each in found} == {"expire-20261024T000000Z-"}
    assert {(each.actor, each.role) for each in found} == {("schedule", "operator")}


def test_a_time_that_the_next_one_has_overtaken_is_left_out(bench: BranchBench) -> None:
    assert calls(bench, late=HOUR) == []
    assert calls(bench, late=50 * HOUR) == []


def test_a_table_with_a_policy_of_its_own_is_none_of_the_warehouse(bench: BranchBench) -> None:
    own = 'version: 1\nmaintenance: { expire: "*/30 * * * *" }\n'
    keep_policy(bench.warehouse(), Identifier.parse("db.u"), own)
    assert [each.table for each in calls(bench)] == ["db.t"]
    assert [each.table for each in calls(bench, table="db.u")] == ["db.u"]
    assert calls(bench, table="db.u", task="orphans") == []
    names = [each.name for each in schedules_of(all_policies(bench.warehouse()))]
    assert [each for each in names if each.startswith("expire")] == ["expire", "expire of db.u"]


def test_a_policy_that_is_gone_or_of_a_table_that_is_gone_calls_nothing(bench: BranchBench) -> None:
    keep_policy(bench.warehouse(), Identifier.parse("db.gone"), POLICY)
    assert calls(bench, table="db.gone") == []
    keep_policy(bench.warehouse(), None, "version: 1\n")
    assert calls(bench) == []


def test_a_task_that_is_not_served_has_no_schedule(bench: BranchBench) -> None:
    names = {each.name for each in schedules_of(all_policies(bench.warehouse()))}
    assert names == {str(each) for each in ScheduledTask if each in SERVED}
    assert {each.zone for each in schedules_of(all_policies(bench.warehouse()))} == {
        "Europe/Berlin"
    }


@pytest.mark.parametrize("task", sorted(SERVED))
def test_each_task_is_a_call_that_its_procedure_can_read(task: ScheduledTask) -> None:
    policy = MaintenancePolicy.from_yaml(POLICY)
    call = call_of(task, Identifier(database="db", table="t`t"), policy, TIME)
    kind = {
        ScheduledTask.EXPIRE: {"table": "db.t`t", "branches": "all", "grace": "0 s"},
        ScheduledTask.ORPHANS: {"table": "db.t`t", "grace": "0 s"},
        ScheduledTask.LIFECYCLE: {"table": "db.t`t", "report_only": True},
        ScheduledTask.TAGS: {"table": "db.t`t"},
        ScheduledTask.DOCTOR: {"sql": "SHOW HEALTH FROM `db`.`t``t`"},
    }[task]
    said = call.arguments.items()
    assert {name: each for name, each in said if name not in ("reason", "branch")} == kind
    if task is ScheduledTask.DOCTOR:
        look = parse_show(str(call.arguments["sql"]), Place(line=1, column=1))
        assert look.kind is ShowKind.HEALTH
        assert look.target is not None
        assert look.target.identifier.table == "t`t"


@pytest.mark.parametrize("task", sorted(SERVED - {ScheduledTask.DOCTOR}))
def test_each_task_runs_as_its_policy_has_it(bench: BranchBench, task: ScheduledTask) -> None:
    policy = MaintenancePolicy.from_yaml(POLICY)
    call = call_of(task, bench.identifier, policy, TIME)
    receipt = run_call(bench.warehouse(), TrustingRows(), call, InlineStages())
    assert (receipt.operation_id, receipt.actor) == (call.operation_id, "schedule")


def test_what_a_policy_says_of_stale_branches_is_done_where_it_is_no_dry_run() -> None:
    policy = MaintenancePolicy.from_yaml("version: 1\nmaintenance: { dry_run: false }")
    call = call_of(ScheduledTask.LIFECYCLE, Identifier.parse("db.t"), policy, TIME)
    assert dict(call.arguments) == {"table": "db.t"}
