"""What the health of branches tells of shared files is what Java's expiry does to them.

Each hazard is set up by Java, told by its rule, and then comes about or, once the remedies of the
finding have run, does not.
"""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import jpype
import pytest

from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.format.identifier import Identifier
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.stages import InlineStages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.dispatch import run_call
from branch_console.procedures.maintenance.doctor import examine
from tests.support.java_paimon import JavaPaimon, JavaTable
from tests.support.local_row_engine import LocalFiles

_NAME = "db.shared"
_ROWS = [(1, "ada"), (2, "bob")]
# A commit that is not write-only leaves one snapshot of its branch.
_EXPIRES = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
# As a dedicated compaction job sets it for its own commits.
_DEDICATED = {"write-only": "false", **_EXPIRES}
_BOTH_WAYS = pytest.mark.parametrize("is_remedied", [False, True], ids=["as it is", "remedied"])


@pytest.fixture
def table(java: JavaPaimon) -> JavaTable:
    """Main at 1, with two rows."""
    java.create_table(_NAME, {"id": "INT", "name": "STRING"})
    table = java.table(_NAME)
    table.write(_ROWS)
    return table


@pytest.fixture
def dev(table: JavaTable) -> JavaTable:
    """A branch that Java made from a tag of main."""
    table.create_tag("t1")
    table.create_branch("dev", "t1")
    return table.on("dev")


class Doctor:
    """Tells what is wrong, and runs procedures of ours."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = 0

    def call(self, name: str, **arguments: Argument) -> None:
        """Call a procedure on the table."""
        self._calls += 1
        made = ProcedureCall(
            name=name,
            arguments={"table": _NAME, **arguments},
            actor="ann",
            operation_id=f"{name}-{self._calls}",
            role="operator",
        )
        run_call(self._warehouse(), LocalFiles(), made, InlineStages())

    def findings(self, branch: str) -> dict[str, HealthFinding]:
        """What a branch tells, infos left out."""
        found = examine(self._warehouse(), Identifier.parse(_NAME))
        assert found.unchecked == ()
        return {
            each.rule: each
            for each in found.at_least(HazardSeverity.WARNING)
            if each.branch == branch
        }

    def tells(
        self, rule: str, branch: str, *, severity: HazardSeverity = HazardSeverity.CRITICAL
    ) -> None:
        """Check that a rule tells something of a branch."""
        found = self.findings(branch)
        assert rule in found
        assert found[rule].severity is severity

    def remedy(self, rule: str, branch: str) -> None:
        """Run what a finding says to run; it tells nothing more."""
        for remedy in self.findings(branch)[rule].remedies:
            self.call(remedy.procedure, **remedy.arguments)
        assert rule not in self.findings(branch)

    def _warehouse(self) -> Warehouse:
        return Warehouse.open(str(self._folder / "java"))


@pytest.fixture
def doctor(table: JavaTable, tmp_path: Path) -> Doctor:
    return Doctor(tmp_path)


def replace_all(table: JavaTable) -> None:
    """Write over all rows, and leave none of the older snapshots."""
    table.write([(9, "zoe")], overwrite={})
    table.expire_snapshots(1)


def run_dedicated_job(table: JavaTable) -> None:
    """Rewrite a branch and expire it, as a job does whose commits are not write-only."""
    for name in ("gus", "hal"):
        table.write([(9, name)], overwrite={}, options=_DEDICATED)


def is_whole(table: JavaTable, tag: str | None = None) -> bool:
    """Whether Java can read the head of a branch, or a tag of main."""
    return _is_read(lambda: table.rows(tag=tag))


def _is_read(read: Callable[[], object]) -> bool:
    try:
        read()
    except jpype.JException as error:
        if "FileNotFound" in error.stacktrace():
            return False
        raise
    return True


@_BOTH_WAYS
def test_f01_the_branch_expires_without_its_base_tag(
    is_remedied: bool, table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    assert doctor.findings("dev") == {}
    table.delete_tag("t1")
    doctor.tells("F01", "dev")
    if is_remedied:
        doctor.remedy("F01", "dev")
    replace_all(dev)
    assert is_whole(table) == is_remedied


@_BOTH_WAYS
def test_f02_main_expires_without_the_base_tag(
    is_remedied: bool, table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    table.delete_tag("t1")
    doctor.tells("F02", "dev")
    if is_remedied:
        doctor.remedy("F02", "dev")
    replace_all(table)
    assert is_whole(dev) == is_remedied


@pytest.mark.parametrize("retained", [None, dt.timedelta(days=1)], ids=["last", "brief"])
@_BOTH_WAYS
def test_f03_the_last_tag_on_what_expired_on_main(
    is_remedied: bool, retained: dt.timedelta | None, table: JavaTable, doctor: Doctor
) -> None:
    table.create_tag("t1", retained=retained)
    table.create_branch("dev", "t1")
    replace_all(table)
    severity = HazardSeverity.WARNING if retained is None else HazardSeverity.CRITICAL
    doctor.tells("F03", "dev", severity=severity)
    if is_remedied:
        for remedy in doctor.findings("dev")["F03"].remedies:
            doctor.call(remedy.procedure, **remedy.arguments)
    table.delete_tag("t1")
    assert is_whole(table.on("dev")) == is_remedied


@_BOTH_WAYS
def test_f04_a_tag_of_the_branch_on_what_expired_there(
    is_remedied: bool, table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    replace_all(dev)
    doctor.tells("F04", "dev")
    assert is_whole(table)
    if is_remedied:
        doctor.call("delete_tag", table=f"{_NAME}$branch_dev", tag="t1")
        assert "F04" not in doctor.findings("dev")
    else:
        dev.delete_tag("t1")
    assert is_whole(table) == is_remedied


@_BOTH_WAYS
def test_f05_a_tag_of_a_branch_that_expires(
    is_remedied: bool, dev: JavaTable, doctor: Doctor
) -> None:
    dev.write([(3, "cas")])
    dev.create_tag("bt")
    doctor.tells("F05", "dev", severity=HazardSeverity.WARNING)
    if is_remedied:
        doctor.remedy("F05", "dev")
    replace_all(dev)
    # Java looks for a tag of a branch on main.
    assert _is_read(lambda: dev.live_files(tag="bt")) == is_remedied


@_BOTH_WAYS
def test_f06_a_later_tag_of_main_hides_the_base_tag(
    is_remedied: bool, table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    table.create_branch("other", "t1")
    table.write([(9, "zoe")], overwrite={})
    table.create_tag("later")
    assert doctor.findings("dev") == {}
    dev.write([(3, "cas")])
    doctor.tells("F06", "dev")
    if is_remedied:
        doctor.remedy("F06", "dev")
    for row in ((4, "dan"), (5, "eve")):
        dev.write([row], overwrite={}, options=_EXPIRES)
    assert is_whole(table.on("other")) == is_remedied
    assert is_whole(table, tag="t1") == is_remedied
    assert is_whole(dev)
    assert is_whole(table)


@_BOTH_WAYS
def test_f06_a_tag_of_another_history_hides_tags_of_main(
    is_remedied: bool, table: JavaTable, doctor: Doctor
) -> None:
    doctor.call("create_tag", tag="v1")
    doctor.call("create_branch", branch="dev")
    table.on("dev").write([(9, "zoe")], overwrite={})
    doctor.call("create_branch", branch="sub", from_branch="dev")
    doctor.call("pin_branch", branch="sub")
    doctor.tells("F06", "main")
    if is_remedied:
        doctor.remedy("F06", "main")
    table.write([(4, "dan")])
    replace_all(table)
    assert is_whole(table, tag="v1") == is_remedied


@pytest.mark.parametrize("side", ["main", "dev"])
@_BOTH_WAYS
def test_f07_a_history_shared_since_a_fast_forward(
    is_remedied: bool, side: str, table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    dev.write([(3, "cas")])
    table.fast_forward("dev")
    doctor.tells("F07", "dev")
    if is_remedied:
        doctor.remedy("F07", "dev")
    replace_all(table.on(side))
    assert is_whole(table.on(side))
    other = dev if side == "main" else table
    assert is_whole(other) == is_remedied


def test_f08_a_branch_without_history_over_main(table: JavaTable, doctor: Doctor) -> None:
    table.create_branch("dev")
    table.on("dev").write([(7, "hal")])
    assert doctor.findings("dev") == {}
    table.fast_forward("dev")
    assert table.rows() == [(7, "hal")]
    doctor.tells("F08", "dev")


def test_a_branch_without_history_over_an_empty_main_is_no_loss(
    java: JavaPaimon, tmp_path: Path
) -> None:
    java.create_table(_NAME, {"id": "INT", "name": "STRING"})
    table = java.table(_NAME)
    table.create_branch("dev")
    table.on("dev").write([(7, "hal")])
    table.fast_forward("dev")
    assert "F08" not in Doctor(tmp_path).findings("dev")


@_BOTH_WAYS
def test_f09_main_rolled_back_below_the_fork(
    is_remedied: bool, table: JavaTable, doctor: Doctor
) -> None:
    table.write([(3, "cas")])
    table.create_tag("t2")
    table.create_branch("dev", "t2")
    table.rollback_to(1)
    doctor.tells("F09", "dev")
    if is_remedied:
        doctor.remedy("F09", "dev")
    replace_all(table)
    assert is_whole(table.on("dev")) == is_remedied


def test_f11_tags_that_a_branch_makes_on_main(table: JavaTable, doctor: Doctor) -> None:
    table.create_branch("dev")
    dev = table.on("dev")
    dev.set_options({"tag.automatic-creation": "process-time", "tag.creation-period": "hourly"})
    doctor.tells("F11", "dev", severity=HazardSeverity.WARNING)
    dev.write([(3, "cas")])
    doctor.tells("F11", "main", severity=HazardSeverity.WARNING)
    dev.remove_options("tag.automatic-creation")
    assert "F11" not in doctor.findings("dev")


def test_f12_snapshots_that_a_hint_hides(table: JavaTable, dev: JavaTable, doctor: Doctor) -> None:
    for row in ((3, "cas"), (4, "dan")):
        dev.write([row])
    dev.expire_snapshots(1)
    assert "F12" not in doctor.findings("main")
    table.write([(5, "eve")])
    table.fast_forward("dev")
    doctor.tells("F12", "main", severity=HazardSeverity.WARNING)
    assert "1, 2" in doctor.findings("main")["F12"].text


def test_f15_and_f16_a_fast_forward_that_drops_commits(
    table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    dev.write([(3, "cas")])
    table.fast_forward("dev")
    assert {"F15", "F16"}.isdisjoint(doctor.findings("dev"))
    dev.write([(4, "dan")])
    assert "F16" not in doctor.findings("dev")
    table.write([(5, "eve")])
    doctor.tells("F16", "dev", severity=HazardSeverity.WARNING)
    table.fast_forward("dev")
    assert sorted(table.rows()) == [*_ROWS, (3, "cas"), (4, "dan")]
    doctor.tells("F15", "dev")
    assert "F16" not in doctor.findings("dev")


def test_a_base_tag_on_a_branch(table: JavaTable, doctor: Doctor) -> None:
    doctor.call("create_branch", branch="dev")
    table.on("dev").write([(3, "cas")])
    doctor.call("create_branch", branch="sub", from_branch="dev")
    _drop_fences(table, "dev", "sub")
    assert "stands on 'dev'" in doctor.findings("sub")["F02"].text
    replace_all(table.on("dev"))
    assert not is_whole(table.on("sub"))


@_BOTH_WAYS
def test_f13_what_java_merged(
    is_remedied: bool, table: JavaTable, dev: JavaTable, doctor: Doctor, paimon_version: str
) -> None:
    if paimon_version == "1.4.2":
        pytest.skip("Paimon 1.4.2 has no merge; the run with the newest one has")
    dev.write([(3, "cas")])
    dev.write([(4, "dan")])
    table.write([(5, "eve")])
    assert doctor.findings("dev") == {}
    table.merge_branch("dev")
    doctor.tells("F13", "dev")
    assert "share 2 data files with 'main'" in doctor.findings("dev")["F13"].text
    if is_remedied:
        doctor.remedy("F13", "dev")
    run_dedicated_job(table)
    assert is_whole(table)
    assert is_whole(dev) == is_remedied


@pytest.mark.parametrize("rule", ["F13", "F14"])
@_BOTH_WAYS
def test_f13_and_f14_what_we_merged(
    is_remedied: bool, rule: str, java: JavaPaimon, tmp_path: Path
) -> None:
    options = {"write-only": "true"}
    java.create_table(_NAME, {"id": "INT", "name": "STRING"}, options=options)
    table, doctor = java.table(_NAME), Doctor(tmp_path)
    table.write(_ROWS)
    doctor.call("create_branch", branch="dev")
    dev = table.on("dev")
    dev.write([(3, "cas")])
    table.write([(5, "eve")])
    doctor.call("merge_branch", branch="dev")
    assert doctor.findings("dev") == {}
    # Without what keeps them, as a careless operator leaves it.
    _drop_fences(table, "dev")
    for tag in table.load().tagManager().allTagNames():
        if str(tag).startswith("branch-pin-"):
            table.delete_tag(str(tag))
    if rule == "F13":
        dev.set_options({"write-only": "false"})
    doctor.tells(rule, "dev")
    if is_remedied:
        doctor.remedy(rule, "dev")
    want = sorted(table.rows())
    run_dedicated_job(dev)
    assert is_whole(table) == is_remedied
    if is_remedied:
        assert sorted(table.rows()) == want
        run_dedicated_job(table)
        assert is_whole(table)
        assert is_whole(dev)


@_BOTH_WAYS
def test_f23_a_fence_without_effect(
    is_remedied: bool, table: JavaTable, dev: JavaTable, doctor: Doctor
) -> None:
    table.delete_tag("t1")
    doctor.call("fence_branch", branch="dev")
    assert "F01" not in doctor.findings("dev")
    dev.set_options({"consumer.expiration-time": "1 ms"})
    doctor.tells("F23", "dev")
    doctor.tells("F01", "dev")
    if is_remedied:
        dev.remove_options("consumer.expiration-time")
        assert {"F01", "F23"}.isdisjoint(doctor.findings("dev"))
    run_dedicated_job(dev)
    assert is_whole(table) == is_remedied


def test_f23_a_fence_that_another_engine_removed(dev: JavaTable, doctor: Doctor) -> None:
    doctor.call("fence_branch", branch="dev")
    assert doctor.findings("dev") == {}
    _drop_fences(dev, "dev")
    doctor.tells("F23", "dev")
    doctor.remedy("F23", "dev")


def _drop_fences(table: JavaTable, *branches: str) -> None:
    """Remove the consumers that hold branches, as other engines can."""
    for branch in branches:
        table.on(branch).load().consumerManager().deleteConsumer("branch-console-fence")
