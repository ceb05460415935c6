"""The timeline: bars, gaps, groups, and the sentence that says it."""

from branch_console.format.snapshot import CommitKind, Snapshot
from branch_console_app.models.branches.snapshot_timeline import draw_timeline
from tests.unit.app.histories import Entry, history, snapshot


def entries(snapshots: tuple[Snapshot, ...]) -> list[Entry]:
    return [Entry(each.id, each) for each in snapshots]


def test_each_snapshot_is_a_bar_in_the_order_of_ids() -> None:
    timeline = draw_timeline("main", reversed(entries(history("m", 1, 5))))
    assert [bar.last_id for bar in timeline.bars] == [1, 2, 3, 4, 5]
    assert [bar.x for bar in timeline.bars] == [0, 1, 2, 3, 4]
    assert timeline.gaps == ()


def test_removed_rows_stand_below_zero() -> None:
    one = snapshot("m1", 1, rows=-30, kind=CommitKind.OVERWRITE)
    (bar,) = draw_timeline("main", entries((one,))).bars
    assert (bar.added, bar.removed) == (0, -30)


def test_what_a_snapshot_does_not_say_is_not_zero() -> None:
    one = snapshot("m1", 1, rows=None)
    (bar,) = draw_timeline("main", entries((one,))).bars
    assert (bar.added, bar.removed) == (None, None)


def test_expired_snapshots_leave_gaps() -> None:
    kept = (*history("m", 4, 5), *history("m", 9, 9))
    timeline = draw_timeline("main", entries(kept))
    assert [(gap.first_id, gap.last_id, gap.x) for gap in timeline.gaps] == [(1, 3, 0), (6, 8, 3)]
    assert [bar.x for bar in timeline.bars] == [1, 2, 4]
    assert timeline.gaps[0].words == "snapshots 1 to 3 expired"


def test_what_a_branch_began_behind_has_not_expired_from_it() -> None:
    kept = (*history("m", 4, 5), *history("m", 9, 9))
    timeline = draw_timeline("dev", entries(kept))
    assert [gap.words for gap in timeline.gaps] == [
        "snapshots 1 to 3 are not on the branch",
        "snapshots 6 to 8 expired",
    ]
    later = draw_timeline("dev", entries(kept), first_id=3)
    assert later.gaps[0].words == "snapshot 3 is not on the branch"


def test_a_snapshot_that_cannot_be_read_is_a_broken_gap() -> None:
    parts = [*entries(history("m", 1, 2)), Entry(3, None), *entries(history("m", 4, 4))]
    timeline = draw_timeline("main", parts)
    (gap,) = timeline.gaps
    assert gap.is_broken
    assert gap.words == "snapshot 3 cannot be read"
    assert timeline.snapshot_count == 3


def test_a_gap_at_the_end_is_shown_too() -> None:
    timeline = draw_timeline("main", [*entries(history("m", 1, 2)), Entry(3, None)])
    assert [(gap.x, gap.first_id) for gap in timeline.gaps] == [(2, 3)]


def test_ten_thousand_snapshots_become_a_thousand_bars_that_keep_the_sums() -> None:
    many = history("m", 1, 10_000)
    timeline = draw_timeline("main", entries(many))
    assert len(timeline.bars) == 1_000
    assert timeline.is_grouped
    assert sum(bar.added or 0 for bar in timeline.bars) == 100_000
    assert timeline.bars[-1].total == many[-1].total_record_count


def test_a_kind_can_be_left_out_without_making_gaps() -> None:
    mixed = (snapshot("m1", 1), snapshot("m2", 2, kind=CommitKind.COMPACT), snapshot("m3", 3))
    timeline = draw_timeline("main", entries(mixed), kinds=frozenset({CommitKind.APPEND}))
    assert [bar.last_id for bar in timeline.bars] == [1, 3]
    assert timeline.gaps == ()


def test_a_range_of_ids_can_be_looked_at() -> None:
    timeline = draw_timeline("main", entries(history("m", 1, 9)), first_id=3, last_id=5)
    assert [bar.last_id for bar in timeline.bars] == [3, 4, 5]
    assert timeline.gaps == ()


def test_the_sentence_tells_head_and_removals() -> None:
    parts = (snapshot("m1", 1), snapshot("m2", 2, rows=-5, kind=CommitKind.OVERWRITE, total=1234))
    assert draw_timeline("main", entries(parts)).alt == (
        "main: 2 snapshots, 1,234 rows at the head, 1 commit removed rows."
    )
    assert draw_timeline("dev", []).alt == "dev: no snapshot."
