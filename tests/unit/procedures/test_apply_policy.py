"""A maintenance policy is set, reported and applied: branches are warned of, archived, dropped."""

import time
from pathlib import Path
from typing import Any

import pytest

from branch_console.commit.base.fences import fence_state
from branch_console.diff.lifecycle.policy import LifecycleStep
from branch_console.diff.lifecycle.report import LifecycleRow, PolicyReport
from branch_console.errors import InvalidInput, NotAllowed, NotFound, Refused
from branch_console.format.lineage_event import LineageKind
from branch_console.procedures import apply_policy as applying
from branch_console.procedures.maintenance.policy_report import read_policy_report
from branch_console.procedures.recover import recover_table
from branch_console.procedures.run.kept_policies import all_policies, find_policy, keep_policy
from tests.support.branch_bench import BranchBench, tree
from tests.support.lifecycle import preview, run

DAY = 86_400_000
POLICY = """\
version: 1
rules:
  - { branches: "tmp-*", stale_after: 3 d, drop_after: 7 d, unmerged: warn }
  - { branches: "free-*", stale_after: 1 d, archive_after: 2 d, drop_after: 3 d, unmerged: drop }
maintenance: { lifecycle: "0 4 * * *", zone: Europe/Berlin, tags: "30 * * * *" }
"""


class Aging:
    """A table whose branches grow old."""

    def __init__(self, folder: Path) -> None:
        self.bench = BranchBench(folder)
        self.bench.append("a")
        self.began = time.time_ns() // 1_000_000

    def make(self, name: str, *files: str) -> None:
        """Make a branch, and commit to it."""
        run(self.bench, "create_branch", f"make-{name}", now=self.began, branch=name, owner="ann")
        for each in files:
            self.bench.append(each, branch=name)

    def set_policy(self, text: str = POLICY) -> None:
        run(self.bench, "set_policy", "set", now=self.began, policy=text)

    def apply(self, days: float, operation: str = "", **arguments: Any) -> tuple[str, ...]:
        """Apply the policy some days after the beginning; return what the receipt says."""
        now = self.at(days)
        name = operation or f"day-{round(days * 10)}"
        return run(self.bench, "apply_policy", name, now=now, **arguments).notes

    def at(self, days: float) -> int:
        return self.began + round(days * DAY)

    def report(self, days: float) -> PolicyReport:
        warehouse = self.bench.warehouse(self.bench.store, lambda: self.at(days))
        return read_policy_report(warehouse, self.bench.identifier)

    def row(self, branch: str, days: float) -> LifecycleRow:
        (found,) = [each for each in self.report(days).branches if each.branch == branch]
        return found

    def branches(self) -> set[str]:
        return set(self.bench.table().branches.names())


@pytest.fixture
def aging(tmp_path: Path) -> Aging:
    return Aging(tmp_path)


def test_a_merged_branch_is_warned_about_archived_and_dropped(aging: Aging) -> None:
    aging.make("tmp-1")
    aging.set_policy()
    assert aging.apply(2.5) == ("No branch is due for a step.",)
    assert aging.apply(3.5) == ("Branch 'tmp-1' is stale.",)
    assert aging.apply(6) == ("No branch is due for a step.",)
    assert aging.apply(7.5) == ("Branch 'tmp-1' is archived. Tag 'archived-1' keeps its head.",)
    assert aging.apply(10) == ("No branch is due for a step.",)
    # Although the rule says 7 days, three days lie between two steps.
    dropped = aging.apply(11)
    (rescue,) = aging.branches()
    assert dropped[0] == f"Branch 'tmp-1' is dropped; {rescue!r} keeps all it held."
    assert aging.apply(12) == ("No branch is due for a step.",)
    kinds = [
        (event.kind, event.actor, event.operation_id.partition("-")[0])
        for event in aging.bench.table().ledger.events()
        if event.kind is not LineageKind.FORKED
    ]
    assert [kind for kind, _, _ in kinds] == [
        LineageKind.WARNED,
        LineageKind.ARCHIVED,
        LineageKind.DROPPED,
    ]
    # Undo brings it back, and what is brought back is young.
    operation = aging.bench.table().ledger.events()[-1].operation_id
    run(aging.bench, "undo", "back", now=aging.at(12), operation=operation)
    assert aging.branches() == {"tmp-1"}
    assert aging.row("tmp-1", 13).age_days == 1


def test_a_branch_with_commits_of_its_own_goes_no_further_than_its_rule(aging: Aging) -> None:
    aging.make("tmp-1", "b")
    aging.make("free-1", "c")
    aging.set_policy()
    aging.apply(3.5)
    for days in (8, 30, 100):
        aging.apply(days)
    assert "tmp-1" in aging.branches()
    assert "free-1" not in aging.branches()
    row = aging.row("tmp-1", 101)
    assert (row.ahead, row.step) == (1, None)
    assert row.reason == "1 commit of it is merged nowhere: its rule goes no further than warn."
    # Once main has them, nothing holds it back.
    run(aging.bench, "fast_forward", "merge", now=aging.at(101), branch="tmp-1")
    assert aging.row("tmp-1", 102).step is LifecycleStep.ARCHIVE


def test_a_rescue_branch_is_released_by_a_rule_once_its_undo_is_not_promised(aging: Aging) -> None:
    aging.make("dev", "b")
    aging.set_policy('version: 1\nrules: [{ branches: "rescue-*", release_after: 5 d }]\n')
    run(aging.bench, "drop_branch", "drop", now=aging.at(1), branch="dev")
    assert aging.branches() == {"rescue-drop"}
    assert aging.apply(5) == ("No branch is due for a step.",)
    (refused,) = aging.apply(7)
    assert "is refused" in refused
    released = aging.apply(9)
    assert released[0].startswith("Branch 'rescue-drop' ")
    assert aging.branches() == set()


@pytest.mark.parametrize("loss", ["list", "manifest"])
def test_a_rule_ends_no_promised_undo_of_a_rescue_branch_that_cannot_be_read(
    aging: Aging, loss: str
) -> None:
    aging.make("dev", "b")
    aging.set_policy('version: 1\nrules: [{ branches: "rescue-*", release_after: 5 d }]\n')
    run(aging.bench, "drop_branch", "drop", now=aging.at(1), branch="dev")
    rescue = aging.bench.table("rescue-drop")
    head = rescue.head()
    assert head is not None
    lost = head.delta_manifest_list
    if loss == "manifest":
        lost = rescue.scan.read_list(rescue.paths, lost)["file_name"][0].as_py()
    Path(rescue.paths.manifest(lost)).unlink()
    (refused,) = aging.apply(7)
    assert refused.startswith("The release of branch 'rescue-drop' is refused: undo of operation ")
    assert aging.branches() == {"rescue-drop"}
    assert aging.apply(9)[0].startswith("Branch 'rescue-drop' is gone.")


def test_an_archived_branch_takes_no_commit_until_it_leaves_the_archive(aging: Aging) -> None:
    aging.make("dev")
    aging.make("other", "c")
    aging.bench.append("b")
    told = preview(aging.bench, "archive_branch", branch="dev")
    assert [each.text for each in told.consequences] == [
        "Branch Console commits no more to 'dev' until it is taken out of the archive. Other "
        "engines do not know of this.",
        "Tag 'archived-1' of 'dev' keeps its head.",
        "The branch stays readable, and its fence keeps other engines from expiring it.",
    ]
    for each in ("dev", "other"):
        aging.bench.call("archive_branch", operation=f"archive-{each}", branch=each)
    dev = aging.bench.table("dev")
    assert dev.tags.get("archived-1").snapshot.identity == dev.snapshots.get(1).identity
    assert fence_state(dev).is_effective
    refused = "is archived by ann: it cannot be committed to"
    with pytest.raises(Refused, match=refused):
        run(aging.bench, "fast_forward", "forward", branch="main", target="dev")
    with pytest.raises(Refused, match=refused):
        run(aging.bench, "rollback", "roll", table="db.t$branch_other", snapshot=1)
    with pytest.raises(Refused, match="'dev' is archived already"):
        aging.bench.call("archive_branch", operation="again", branch="dev")
    # What it holds may still be merged, tagged and dropped.
    run(aging.bench, "create_tag", "tag", table="db.t$branch_dev", tag="v1")
    aging.bench.call("archive_branch", operation="leave", branch="dev", archived=False)
    run(aging.bench, "fast_forward", "now", branch="main", target="dev")
    assert aging.bench.live_names("dev") == aging.bench.live_names()


def test_what_is_protected_is_only_warned_about(aging: Aging) -> None:
    aging.make("tmp-1")
    aging.set_policy()
    run(aging.bench, "protect_branch", "protect", now=aging.began, branch="tmp-1")
    assert aging.apply(4) == ("Branch 'tmp-1' is stale.",)
    for days in (8, 20, 100):
        assert aging.apply(days) == ("No branch is due for a step.",)
    assert aging.row("tmp-1", 100).reason == "It is protected: it is only warned about."


def test_a_reader_an_option_and_an_operation_at_work_keep_a_branch_young(aging: Aging) -> None:
    aging.make("tmp-1")
    aging.set_policy()
    table = aging.bench.table("tmp-1")
    consumer = Path(table.paths.consumer("job"))
    consumer.write_text('{"nextSnapshot": 1}')
    assert aging.row("tmp-1", 3.5).due_millis == pytest.approx(
        consumer.stat().st_mtime * 1000 + 3 * DAY, abs=1
    )
    intent = Path(table.paths.lineage_dir, "intent-cut-off.json")
    intent.write_text("{")
    row = aging.row("tmp-1", 30)
    assert (row.age_days, row.step) == (0, None)
    assert row.reason == "Operation cut-off, which cannot be read, may be at work on it."


def test_a_dry_run_reports_each_branch_and_changes_nothing(aging: Aging) -> None:
    aging.make("tmp-1")
    aging.make("free-1", "b")
    aging.set_policy()
    before = tree(Path(aging.bench.file_io.root))
    told = aging.apply(50.5, report_only=True, role="viewer")
    assert told == (
        "Branch 'free-1' (rule free-* (line 4)), 50 days old: warn now. Nobody has committed to "
        "it. 1,000 bytes are needed by it alone.",
        "Branch 'tmp-1' (rule tmp-* (line 3)), 50 days old: warn now. Nobody has committed to it. "
        "0 bytes are needed by it alone.",
    )
    assert tree(Path(aging.bench.file_io.root)) == before
    report = aging.report(50)
    assert (report.policy_of, report.version, report.is_dry_run) == ("db.t", 1, True)
    assert [(each.task, each.zone) for each in report.schedules] == [
        ("tags", "Europe/Berlin"),
        ("lifecycle", "Europe/Berlin"),
    ]


def test_a_step_that_was_cut_off_is_finished_by_the_same_call(
    aging: Aging, monkeypatch: pytest.MonkeyPatch
) -> None:
    aging.make("free-1", "b")
    aging.set_policy()
    aging.apply(2)
    aging.apply(6)
    real = applying.run_procedure

    def killed(*given: Any) -> Any:
        """Does the step, and is killed before anybody knows."""
        real(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(applying, "run_procedure", killed)
    with pytest.raises(KeyboardInterrupt):
        aging.apply(10, "drop")
    monkeypatch.undo()
    (rescue,) = aging.branches()
    # A worker has the plan of the first try, a call without stages finds nothing due.
    assert aging.apply(10, "drop") == ("No branch is due for a step.",)
    assert aging.branches() == {rescue}
    dropped = [
        event for event in aging.bench.table().ledger.events() if event.kind is LineageKind.DROPPED
    ]
    assert len(dropped) == 1
    assert recover_table(aging.bench.warehouse(), aging.bench.table()) == ()


def test_a_table_has_a_policy_of_its_own_or_that_of_the_warehouse(aging: Aging) -> None:
    warehouse = aging.bench.warehouse()
    with pytest.raises(NotFound, match=r"no maintenance policy for db\.t\. Set one"):
        aging.apply(1)
    keep_policy(warehouse, None, "version: 1\n")
    found = find_policy(warehouse, aging.bench.identifier)
    assert found is not None
    assert found.table is None
    aging.set_policy()
    found = find_policy(warehouse, aging.bench.identifier)
    assert found is not None
    assert (found.table, found.version) == ("db.t", 1)
    # The same again is no new version.
    assert keep_policy(warehouse, aging.bench.identifier, POLICY).version == 1
    assert keep_policy(warehouse, aging.bench.identifier, "version: 1\n").version == 2
    assert [each.table for each in all_policies(warehouse)] == [None, "db.t"]


def test_setting_a_policy_asks_for_an_operator_and_for_one_that_can_be_read(aging: Aging) -> None:
    with pytest.raises(NotAllowed, match="asks for operator"):
        run(aging.bench, "set_policy", "no", policy=POLICY, role="editor")
    with pytest.raises(InvalidInput, match="Line 1: version is not 1"):
        run(aging.bench, "set_policy", "bad", policy="version: 7")
    assert all_policies(aging.bench.warehouse()) == ()
    aging.set_policy()
    with pytest.raises(NotAllowed, match="asks for operator"):
        aging.apply(4, role="approver")
