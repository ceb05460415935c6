"""The fast-forward preview in words: legal, refused, nothing to do."""

from dataclasses import replace
from datetime import datetime

from branch_console.diff.fast_forward import BranchHistory, WayOut, plan_forward_move
from branch_console.diff.rows.row_figure import RowCounts, RowFigure
from branch_console.errors import ErrorKind
from branch_console.format.options import Options
from branch_console.format.receipt import HeadMove
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console_app.models.merge.fast_forward import (
    FastForwardPreview,
    MovedCommits,
    commit_rows,
    tag_words,
)
from tests.unit.app.histories import history, snapshot

MAIN = history("m", 1, 3)
SCHEMA = TableSchema(
    id=0, fields=(), highest_field_id=-1, partition_keys=(), primary_keys=(), options=Options()
)


def branch(name: str, snapshots: tuple[Snapshot, ...], *tags: Tag) -> BranchHistory:
    return BranchHistory(branch=name, snapshots=snapshots, schemas=(SCHEMA,), tags=tags)


def preview(source: BranchHistory, target: BranchHistory) -> FastForwardPreview:
    return FastForwardPreview.of(plan_forward_move("air.flights", source, target))


def test_a_legal_fast_forward_says_what_comes_and_that_nothing_goes() -> None:
    dev = branch("dev", (*MAIN, *history("d", 4, 5)), Tag(name="v1", snapshot=MAIN[1]))
    seen = preview(dev, branch("main", MAIN))
    assert seen.headline == "Merge `dev` (2 commits and 1 tag) into `main`."
    assert "has no commit since snapshot 3" in seen.detail
    assert seen.changes == (
        "`main` gets 2 snapshots: +20 rows; its head becomes snapshot 5.",
        "`main` gets the tag `v1`.",
    )
    assert seen.removes.is_empty
    assert all(check.passed for check in seen.checks)
    assert seen.code is None


def test_a_moved_target_is_refused_with_what_would_go() -> None:
    late = (*MAIN, snapshot("x4", 4, user="bob"))
    dev = branch("dev", (*MAIN, *history("d", 4, 5)))
    seen = preview(dev, branch("main", late, Tag(name="v2", snapshot=late[-1])))
    assert seen.headline == "Fast-forward refused: it would remove 1 commit and 1 tag of `main`."
    assert seen.detail == "Nothing changed."
    assert seen.code is ErrorKind.TARGET_MOVED
    assert seen.removes.users == ("bob",)
    assert not seen.checks[0].passed
    assert WayOut.REPLACE in seen.ways_out
    assert seen.changes == ()


def test_a_target_that_is_ahead_needs_nothing() -> None:
    seen = preview(branch("dev", MAIN[:2]), branch("main", MAIN))
    assert seen.headline == "Nothing to do: `main` already has every commit of `dev`."
    assert seen.ways_out == ()


def test_a_done_one_keeps_the_checks_that_it_had_before() -> None:
    before = branch("main", MAIN)
    dev = branch("dev", (*MAIN, *history("d", 4, 5)))
    wanted = preview(dev, before).checks
    move = HeadMove(branch="main", before=None, before_id=3, after=None, after_id=5)
    after = preview(dev, branch("main", dev.snapshots))
    assert after.checks_of_done(move, is_replaced=False) == wanted
    assert "Merge base: snapshot 3, which both branches contain." in [each.text for each in wanted]
    assert after.checks != wanted
    first = preview(dev, branch("main", ())).checks
    assert after.checks_of_done(replace(move, before_id=None), is_replaced=False) == first
    # A target that was replaced had commits that the source lacks, and 3 was no merge base.
    (check,) = after.checks_of_done(move, is_replaced=True)
    assert check.text == "`dev` has commits; its head is snapshot 5."


def test_what_was_not_looked_at_does_not_count_as_passed() -> None:
    seen = preview(branch("dev", ()), branch("main", MAIN))
    (check,) = seen.checks
    assert (check.passed, check.kind) == (False, ErrorKind.BRANCH_EMPTY)
    assert seen.headline.startswith("Fast-forward")


def test_branches_without_shared_history_are_refused() -> None:
    seen = preview(branch("dev", history("d", 1, 2)), branch("main", MAIN))
    assert seen.code is ErrorKind.NO_COMMON_HISTORY
    assert [check.passed for check in seen.checks] == [False, True]


def test_odd_names_stay_names() -> None:
    dev = branch("a`b", (*MAIN, *history("d", 4, 4)))
    assert "`` a`b ``" in preview(dev, branch("main", MAIN)).headline


def test_commits_are_listed_newest_first() -> None:
    figures = tuple(RowFigure(rows=10, records=10) for _ in MAIN)
    moved = MovedCommits(snapshots=MAIN, changes=figures, schema_ids=(), tags=())
    rows = commit_rows(moved)
    assert [row[0] for row in rows] == [3, 2, 1]
    assert rows[0] == (3, "append", "+10", "etl", 180_000)


def test_tags_are_listed_with_the_snapshot_they_name() -> None:
    tag = Tag(name="v1", snapshot=MAIN[0], create_time=datetime(2024, 1, 1))
    assert tag_words([tag]) == "`v1` at 1"


def test_counted_rows_take_the_place_of_records() -> None:
    seen = preview(branch("dev", (*MAIN, *history("d", 4, 5))), branch("main", MAIN))
    counts = RowCounts(before=336_776, after=335_751, added=0, removed=1_025, changed=717)
    assert seen.knowing(None) == seen
    assert seen.knowing(counts).changes[0] == (
        "`main` gets 2 snapshots: 1,025 rows removed, 717 changed; its head becomes snapshot 5."
    )
