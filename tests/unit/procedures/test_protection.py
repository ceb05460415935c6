from pathlib import Path

import pytest

from branch_console.errors import NotAllowed
from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console.procedures.history.protection import protection_of
from tests.support.branch_bench import BranchBench
from tests.support.lifecycle import preview


def rule(branch: str, *, on: bool = True, number: int = 0) -> LineageEvent:
    return LineageEvent(
        id=f"e{number}",
        branch=branch,
        operation_id=f"op{number}",
        actor="ann",
        kind=LineageKind.PROTECTED if on else LineageKind.UNPROTECTED,
        time_millis=number,
    )


@pytest.mark.parametrize(
    ("rules", "is_protected"),
    [
        ([], False),
        ([rule("release-1")], True),
        ([rule("release-*")], True),
        ([rule("release-2")], False),
        ([rule("Release-1")], False),
        ([rule("release-*"), rule("release-1", on=False)], False),
        ([rule("release-1", on=False), rule("release-*")], True),
        ([rule("release-*"), rule("release-2", on=False)], True),
    ],
)
def test_the_newest_rule_that_matches_decides(
    rules: list[LineageEvent], is_protected: bool
) -> None:
    assert (protection_of(rules, "release-1") is not None) == is_protected


def test_a_rule_is_kept_in_the_ledger_and_taken_back(tmp_path: Path) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("release-1")
    receipt = bench.call("protect_branch", branch="release-*", reason="live")
    assert receipt.notes == ("Rule 'release-*' protects release-1.",)
    found = protection_of(bench.table().ledger.events(), "release-1")
    assert found is not None
    assert (found.actor, found.reason, found.receipt) == ("ann", "live", receipt)
    bench.call("protect_branch", operation="off", branch="release-*", protected=False)
    assert protection_of(bench.table().ledger.events(), "release-1") is None


def test_rules_are_for_approvers(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="asks for approver"):
        BranchBench(tmp_path).call("protect_branch", branch="main", role="editor")


@pytest.mark.parametrize(
    ("branch", "protected", "told"),
    [
        ("dev", True, "1 branch can then not be dropped or renamed, and only approvers"),
        ("*", True, "2 branches can then not be dropped or renamed, and only approvers"),
        (
            "release-*",
            True,
            "No branch has such a name yet. One that is given it can then not be dropped or "
            "renamed, and only approvers can change it.",
        ),
        ("devv", True, "and only approvers can change it. Did you mean 'dev'?"),
        ("dev", False, "1 branch can then be changed by any editor."),
        ("release-*", False, "No branch has such a name yet. One that is given it can then be"),
    ],
)
def test_a_rule_is_told_by_the_branches_that_it_matches(
    tmp_path: Path, branch: str, protected: bool, told: str
) -> None:
    bench = BranchBench(tmp_path)
    bench.append("a")
    bench.branch("dev")
    found, _ = preview(bench, "protect_branch", branch=branch, protected=protected).consequences
    assert told in found.text
