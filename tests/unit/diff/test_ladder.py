"""The next step of a branch, one fact at a time."""

from dataclasses import replace
from typing import Any

import pytest

from branch_console.diff.lifecycle.ladder import BranchLife, BranchPlan, plan_branch
from branch_console.diff.lifecycle.policy import LifecycleStep, MaintenancePolicy
from branch_console.diff.lifecycle.report import lifecycle_rows

DAY = 86_400_000
NOW = 1_000 * DAY
POLICY = MaintenancePolicy.from_yaml(
    """\
version: 1
defaults: { stale_after: 30 d, archive_after: 60 d, drop_after: 90 d }
rules:
  - { branches: "tmp-*", stale_after: 3 d, drop_after: 7 d, unmerged: archive }
  - { branches: "free-*", unmerged: drop }
  - { branches: "release-*", never: [archive, drop] }
  - { branches: "kept-*", never: [drop] }
  - { branches: "rescue-1*", release_after: 30 d }
"""
)
WARN, ARCHIVE, DROP = LifecycleStep.WARN, LifecycleStep.ARCHIVE, LifecycleStep.DROP


def ago(days: float) -> int:
    return round(NOW - days * DAY)


def plan(branch: str = "dev", **facts: Any) -> BranchPlan:
    life = BranchLife(branch=branch, **{"created_millis": ago(400), **facts})
    return plan_branch(POLICY, life, NOW)


@pytest.mark.parametrize(
    ("facts", "step", "due"),
    [
        # Its age counts from its last commit, its creation, or whoever wanted it since.
        ({}, WARN, 400 - 30),
        ({"committed_millis": ago(10)}, WARN, 10 - 30),
        ({"created_millis": ago(10), "committed_millis": ago(500)}, WARN, 10 - 30),
        ({"renewed_millis": ago(5)}, WARN, 5 - 30),
        # No step is left out, however old it is, and three days lie between.
        ({"warned_millis": ago(1)}, ARCHIVE, 1 - 3),
        ({"warned_millis": ago(200)}, ARCHIVE, 200 - 3),
        ({"committed_millis": ago(59), "warned_millis": ago(29)}, ARCHIVE, 59 - 60),
        ({"warned_millis": ago(9), "archived_millis": ago(2)}, DROP, 2 - 3),
        ({"archived_millis": ago(100)}, DROP, 100 - 3),
        # A warning from before the last commit does not count.
        ({"committed_millis": ago(100), "warned_millis": ago(101)}, WARN, 100 - 30),
        # What was archived and got a commit elsewhere is young again, and stays archived.
        ({"committed_millis": ago(1), "archived_millis": ago(50)}, DROP, 1 - 90),
        # Nothing more than the rule says.
        ({"warned_millis": ago(9), "ahead": 1}, None, None),
        ({"warned_millis": ago(9), "ahead": None}, None, None),
        ({"warned_millis": ago(9), "is_protected": True}, None, None),
        ({"is_protected": True}, WARN, 400 - 30),
        ({"holds": ("Operation 7 is at work on it.",)}, None, None),
        ({"created_millis": None}, None, None),
        ({"branch": "tmp-1", "warned_millis": ago(9), "ahead": 5}, ARCHIVE, 9 - 3),
        ({"branch": "tmp-1", "archived_millis": ago(9), "ahead": 5}, None, None),
        ({"branch": "free-1", "archived_millis": ago(9), "ahead": 5}, DROP, 9 - 3),
        ({"branch": "release-1"}, WARN, 400 - 30),
        ({"branch": "release-1", "warned_millis": ago(9)}, None, None),
        ({"branch": "kept-1", "warned_millis": ago(9)}, ARCHIVE, 9 - 3),
        ({"branch": "kept-1", "archived_millis": ago(9)}, None, None),
        # What keeps the state of an operation is released by a rule alone.
        ({"branch": "rescue-2"}, None, None),
        ({"branch": "rescue-1"}, LifecycleStep.RELEASE, 400 - 30),
        ({"branch": "rescue-1", "renewed_millis": ago(2)}, LifecycleStep.RELEASE, 2 - 30),
        ({"branch": "merge-1"}, None, None),
    ],
)
def test_the_next_step(facts: dict[str, Any], step: LifecycleStep | None, due: float) -> None:
    found = plan(**facts)
    assert found.step is step
    assert found.due_millis == (None if step is None else ago(due))
    assert found.is_due(NOW) == (step is not None and due >= 0)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (
            {"owner": "ann"},
            "Branch 'dev' (rule defaults), 400 days old: warn now. Nobody has committed to it.",
        ),
        (
            {"warned_millis": ago(9), "ahead": 1},
            "Branch 'dev' (rule defaults), 400 days old, stays. 1 commit of it is merged nowhere: "
            "its rule goes no further than warn.",
        ),
        (
            {"warned_millis": ago(9), "ahead": None},
            "Branch 'dev' (rule defaults), 400 days old, stays. What it is ahead is not known: its "
            "rule goes no further than warn.",
        ),
        (
            {"branch": "release-1", "warned_millis": ago(9)},
            "Branch 'release-1' (rule release-* (line 6)), 400 days old, stays. Its rule never "
            "takes the step archive.",
        ),
        (
            {"holds": ("Operation 7 is at work on it.",)},
            "Branch 'dev' (rule defaults), 0 days old, stays. Operation 7 is at work on it.",
        ),
        (
            {"created_millis": None},
            "Branch 'dev' (rule defaults), of unknown age, stays. No time of it is known, so that "
            "it does not grow old.",
        ),
        (
            {"committed_millis": ago(10)},
            "Branch 'dev' (rule defaults), 10 days old: warn from 1972-10-17 00:00:00+00:00 on. "
            "Nobody has committed to it.",
        ),
    ],
)
def test_a_row_says_what_happens_and_why(facts: dict[str, Any], sentence: str) -> None:
    (row,) = lifecycle_rows([plan(**facts)], NOW, {})
    assert row.sentence == sentence


def test_a_policy_without_ages_leaves_every_branch_alone() -> None:
    life = BranchLife(branch="dev", created_millis=0)
    found = plan_branch(MaintenancePolicy(), life, NOW)
    assert (found.step, found.reason) == (None, "Its rule says no age for the step warn.")
    assert plan_branch(MaintenancePolicy(), replace(life, warned_millis=1), NOW).step is None
