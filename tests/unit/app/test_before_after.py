"""The states before and after an operation, and the commits that a merge brought."""

import json
from dataclasses import replace

from branch_console.diff.lineage import MERGE_BASE_IDENTITY, MERGE_SOURCE_IDENTITY
from branch_console.format.receipt import HeadMove, Receipt, identity_to
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.browse.page_values import SnapshotItem
from branch_console_app.models.jobs.before_after import (
    before_and_after,
    commits_merged,
    commits_of_move,
)
from tests.unit.app.histories import history, snapshot


def receipt(*moves: HeadMove, rescue: str | None = None) -> Receipt:
    return Receipt(
        operation_id="o", statement="s", actor="ada", plan_id="p", moves=moves,
        rescue_branch=rescue, started_millis=1, finished_millis=2,
    )  # fmt: skip


def move(before: Snapshot | None, after: Snapshot | None) -> HeadMove:
    return HeadMove(
        branch="main",
        before=None if before is None else before.identity,
        before_id=None if before is None else before.id,
        after=None if after is None else after.identity,
        after_id=None if after is None else after.id,
    )


def items(*snapshots: Snapshot) -> tuple[SnapshotItem, ...]:
    """The snapshots of a branch as a page lists them, newest first."""
    return tuple(SnapshotItem(id=each.id, snapshot=each) for each in reversed(snapshots))


def test_both_states_are_named_by_the_very_snapshots() -> None:
    sides = before_and_after(receipt(move(snapshot("a", 12), snapshot("b", 14))))
    assert sides is not None
    assert sides.view == {"cmp_a": "main@12:a-uuid", "cmp_b": "main@14:b-uuid"}


def test_a_rescue_branch_keeps_what_left_the_branch() -> None:
    merged = receipt(move(snapshot("a", 12), snapshot("b", 14)))
    undo = receipt(move(snapshot("b", 14), snapshot("a", 12)), rescue="rescue-1")
    sides = before_and_after(merged, undo)
    assert sides is not None
    assert sides.view == {"cmp_a": "main@12:a-uuid", "cmp_b": "rescue-1@14:b-uuid"}
    back = before_and_after(undo)
    assert back is not None
    assert back.view == {"cmp_a": "rescue-1@14:b-uuid", "cmp_b": "main@12:a-uuid"}


def test_nothing_is_compared_where_a_side_is_missing_or_both_are_one() -> None:
    one = snapshot("a", 12)
    assert before_and_after(receipt()) is None
    assert before_and_after(receipt(move(None, one))) is None
    assert before_and_after(receipt(move(one, None))) is None
    assert before_and_after(receipt(move(one, one))) is None


def test_a_fast_forward_brought_the_commits_between_its_heads_whatever_came_later() -> None:
    main = history("m", 10, 16)
    moved = move(main[2], main[4])
    assert [each.id for each in commits_of_move(items(*main), moved)] == [13, 14]
    # Undone since, and merged again: another snapshot has the number.
    again = (*main[:4], snapshot("other", 14))
    assert commits_of_move(items(*again), moved) == ()


def test_commits_of_which_some_have_expired_are_not_listed_in_part() -> None:
    main = history("m", 1, 12)
    moved = move(main[0], main[-1])
    assert len(commits_of_move(items(*main), moved)) == 11
    assert commits_of_move(items(*main[-2:]), moved) == ()
    # Of the earlier head itself nothing is needed.
    assert len(commits_of_move(items(*main[1:]), moved)) == 11


def test_a_branch_that_got_another_history_did_not_get_commits_on_its_own() -> None:
    own, shared = history("own", 10, 14), history("m", 1, 9)
    forced = history("dev", 10, 12)
    assert commits_of_move(items(*shared, *forced), move(own[-1], forced[-1])) == ()
    longer = history("dev", 10, 16)
    assert commits_of_move(items(*shared, *longer), move(own[-1], longer[-1])) == ()


def test_a_merge_took_in_the_commits_of_its_source_between_base_and_head() -> None:
    source = history("s", 3, 8)
    noted = {
        MERGE_BASE_IDENTITY: json.dumps(identity_to(source[0].identity)),
        MERGE_SOURCE_IDENTITY: json.dumps(identity_to(source[3].identity)),
    }
    merged = replace(snapshot("m", 9), properties=noted)
    assert [each.id for each in commits_merged(items(*source), merged)] == [4, 5, 6]
    assert commits_merged(items(*source[1:]), merged) == ()
    assert commits_merged(items(*source), snapshot("plain", 9)) == ()
