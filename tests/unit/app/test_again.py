"""What another run of a job asks for, and where it makes no sense."""

import pytest

from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.registry import PROCEDURES
from branch_console_app.models.jobs.run_again import (
    Again,
    arguments_again,
    nothing_to_run_on,
    way_again,
)


def called(name: str, **arguments: Argument) -> ProcedureCall:
    """A call that ended."""
    return ProcedureCall(name=name, arguments=arguments, actor="ada", operation_id="9f")


@pytest.mark.parametrize("name", [*PROCEDURES, "create_branch", "drop_table", "compact"])
def test_nothing_that_changes_a_table_runs_again_by_a_click(name: str) -> None:
    assert way_again(name) is not Again.AT_ONCE


def test_what_held_for_one_run_is_not_filled_in_again() -> None:
    given = {"table": "a.t", "plan_id": "7", "override_gate": "late", "reason": "wrong"}
    call = called("revert", **given, operation=None)
    assert arguments_again(call) == {"table": "a.t", "reason": "wrong"}


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("drop_branch", {"branch": "dev"}, None),
        ("drop_branch", {"branch": "old"}, "Branch `old` is gone"),
        ("rename_branch", {"branch": "old", "to": "dev"}, "Branch `old` is gone"),
        ("rollback", {"table": "a.t$branch_old"}, "Branch `old` is gone"),
        ("merge_branch", {"branch": "dev", "target": "old"}, "Branch `old` is gone"),
        ("create_branch", {"branch": "new", "from_branch": "old"}, "Branch `old` is gone"),
        ("create_branch", {"branch": "dev"}, "Branch `dev` is there"),
        ("create_branch", {"branch": "new"}, None),
        ("protect_branch", {"branch": "release-*"}, None),
        ("undo", {"operation": "9f"}, None),
    ],
)
def test_what_a_call_would_miss_is_told(
    name: str, arguments: dict[str, Argument], told: str | None
) -> None:
    found = nothing_to_run_on(called(name, **{"table": "a.t", **arguments}), ("dev",))
    assert (found or "").startswith(told or "")
    assert (found is None) == (told is None)
