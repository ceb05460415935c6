"""The labels of the places where a branch can begin."""

from dataclasses import replace
from datetime import UTC

from branch_console.diff.lineage import MERGE_SOURCE
from branch_console.format.snapshot import CommitKind
from branch_console.format.tag import Tag
from branch_console.procedures.browse.page_values import SnapshotItem, TagItem
from branch_console_app.models.branches.start_labels import snapshot_label, start_tag_label
from tests.console.pretend import snapshot

EIGHTH = replace(snapshot("main", 8, kind=CommitKind.COMPACT), time_millis=1_795_643_880_000)


def test_a_snapshot_says_when_it_was_made_by_what_and_its_tags() -> None:
    item = SnapshotItem(id=8, snapshot=EIGHTH, tags=("branch-base-dev", "2013-q3"))
    assert snapshot_label(item, UTC) == "8 · 25 Nov 2026, 21:58 · compact · tag 2013-q3"
    merged = replace(EIGHTH, properties={MERGE_SOURCE: "fix-delays"})
    item = SnapshotItem(id=8, snapshot=merged)
    assert snapshot_label(item, UTC) == "8 · 25 Nov 2026, 21:58 · merge of fix-delays"


def test_a_snapshot_of_a_clock_that_cannot_be_still_has_a_label() -> None:
    item = SnapshotItem(id=8, snapshot=replace(EIGHTH, time_millis=2**62))
    assert snapshot_label(item, UTC) == f"8 · {2**62} ms · compact"


def test_a_tag_says_which_snapshot_it_names() -> None:
    item = TagItem(name="2013-q3", tag=Tag(name="2013-q3", snapshot=EIGHTH))
    assert start_tag_label(item, UTC) == "2013-q3 · snapshot 8 · 25 Nov 2026, 21:58"
    assert start_tag_label(TagItem(name="torn", tag=None), UTC) == "torn"
