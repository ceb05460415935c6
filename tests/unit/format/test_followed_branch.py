from branch_console.format.followed_branch import FollowedBranch, follow_branch
from branch_console.format.lineage_event import LineageEvent, LineageKind, released_name
from branch_console.format.receipt import Counts, Receipt


def event(
    kind: LineageKind,
    branch: str,
    source: str | None = None,
    *,
    rescue: str | None = None,
    operation: str | None = None,
) -> LineageEvent:
    name = operation or f"{kind}-{branch}"
    receipt = Receipt(
        operation_id=name,
        statement="",
        actor="ann",
        plan_id="",
        rescue_branch=rescue,
        counts=Counts(),
        started_millis=1,
        finished_millis=1,
    )
    return LineageEvent(
        id=name,
        branch=branch,
        operation_id=name,
        actor="ann",
        kind=kind,
        source_branch=source,
        time_millis=1,
        receipt=receipt,
    )


BORN = event(LineageKind.FORKED, "dev", "main")
CUT = event(LineageKind.ROLLED_BACK, "dev", operation="cut")
KEPT = event(LineageKind.RESCUED, "rescue-cut", "dev", operation="cut")
RENAMED = event(LineageKind.RENAMED, "old", "dev")
DROPPED = event(LineageKind.DROPPED, "dev", "main", rescue="rescue-drop", operation="drop")
RESTORED = event(LineageKind.RESTORED, "dev", "rescue-drop")


def test_a_branch_that_stayed_has_its_name() -> None:
    assert follow_branch((BORN, CUT, KEPT), "cut", "dev") == FollowedBranch(name="dev")


def test_what_an_operation_made_itself_is_followed_from_its_end() -> None:
    away = event(LineageKind.RENAMED, "mine", "rescue-cut")
    assert follow_branch((BORN, CUT, KEPT, away), "cut", "rescue-cut") == FollowedBranch(
        name="mine"
    )


def test_renames_before_the_operation_do_not_count() -> None:
    before = event(LineageKind.RENAMED, "other", "dev")
    again = event(LineageKind.FORKED, "dev", "main", operation="again")
    assert follow_branch((BORN, before, again, CUT), "cut", "dev") == FollowedBranch(name="dev")


def test_renames_are_followed_whoever_has_the_old_name() -> None:
    again = event(LineageKind.FORKED, "dev", "main", operation="again")
    further = event(LineageKind.RENAMED, "older", "old")
    assert follow_branch((CUT, RENAMED, again, further), "cut", "dev") == FollowedBranch(
        name="older"
    )


def test_a_dropped_branch_is_gone_until_it_is_back() -> None:
    assert follow_branch((CUT, DROPPED), "cut", "dev") == FollowedBranch(
        name="dev", ended_by=DROPPED
    )
    assert follow_branch((CUT, DROPPED, RESTORED, RENAMED), "cut", "dev") == FollowedBranch(
        name="old"
    )
    again = event(LineageKind.FORKED, "dev", "main", operation="again")
    assert follow_branch((CUT, DROPPED, again), "cut", "dev") == FollowedBranch(
        name="dev", ended_by=DROPPED
    )
    fetched = event(LineageKind.RENAMED, "mine", "rescue-drop")
    assert follow_branch((CUT, DROPPED, again, fetched), "cut", "dev") == FollowedBranch(
        name="mine"
    )


def test_a_rescue_branch_that_is_dropped_too_is_gone_by_the_second_drop() -> None:
    second = event(LineageKind.DROPPED, "rescue-drop", rescue="rescue-second", operation="second")
    found = follow_branch((CUT, DROPPED, second), "cut", "dev")
    assert found == FollowedBranch(name="rescue-drop", ended_by=second)


def test_a_name_given_again_ends_a_branch_that_other_software_removed() -> None:
    again = event(LineageKind.FORKED, "dev", "main", operation="again")
    moved = event(LineageKind.RENAMED, "dev", "fix")
    for successor in (again, moved):
        found = follow_branch((CUT, successor, RENAMED), "cut", "dev")
        assert found == FollowedBranch(name="dev", ended_by=successor)


def test_a_branch_that_was_released_is_gone_until_the_release_is_undone() -> None:
    released = event(LineageKind.DROPPED, "dev", "main", operation="release")
    back = event(LineageKind.RESTORED, "dev", released_name("dev", "release"))
    again = event(LineageKind.FORKED, "dev", "main", operation="again")
    assert follow_branch((CUT, released, again), "cut", "dev") == FollowedBranch(
        name="dev", ended_by=released
    )
    assert follow_branch((CUT, released, back, RENAMED), "cut", "dev") == FollowedBranch(name="old")
