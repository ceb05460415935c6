"""Branches that are renamed, dropped and made again, told under the names of today."""

from branch_console.format.lineage_event import (
    LineageEvent,
    LineageKind,
    released_name,
    under_present_names,
)
from branch_console.format.receipt import Receipt


def event(
    kind: LineageKind, branch: str, source: str | None = None, rescue: str | None = None
) -> LineageEvent:
    receipt = Receipt(
        operation_id="op",
        statement="",
        actor="ann",
        plan_id="",
        rescue_branch=rescue,
        started_millis=0,
        finished_millis=0,
    )
    return LineageEvent(
        id="e",
        branch=branch,
        operation_id="op",
        actor="ann",
        kind=kind,
        source_branch=source,
        time_millis=0,
        receipt=receipt if rescue else None,
    )


def told(*events: LineageEvent) -> list[tuple[str, str | None]]:
    return [(each.branch, each.source_branch) for each in under_present_names(events)]


FORKED, RENAMED, DROPPED = LineageKind.FORKED, LineageKind.RENAMED, LineageKind.DROPPED
RESTORED, PROTECTED = LineageKind.RESTORED, LineageKind.PROTECTED


def test_a_renamed_branch_keeps_its_past_and_its_children() -> None:
    assert told(
        event(FORKED, "a", "main"),
        event(PROTECTED, "a"),
        event(FORKED, "child", "a"),
        event(RENAMED, "b", "a"),
        event(RENAMED, "c", "b"),
    ) == [("c", "main"), ("c", None), ("child", "c"), ("c", "a"), ("c", "b")]


def test_a_name_that_is_given_again_is_another_branch() -> None:
    assert told(
        event(FORKED, "a", "main"),
        event(RENAMED, "b", "a"),
        event(FORKED, "a", "main"),
        event(PROTECTED, "a"),
    ) == [("b", "main"), ("b", "a"), ("a", "main"), ("a", None)]


def test_a_dropped_branch_lives_on_as_its_rescue_and_its_name_is_free() -> None:
    assert told(
        event(FORKED, "a", "main"),
        event(DROPPED, "a", rescue="rescue-1"),
        event(FORKED, "a", "main"),
        event(RENAMED, "z", "a"),
    ) == [("rescue-1", "main"), ("a", None), ("z", "main"), ("z", "a")]


def test_a_restored_branch_has_its_past_again() -> None:
    assert told(
        event(FORKED, "a", "main"),
        event(DROPPED, "a", rescue="rescue-1"),
        event(FORKED, "a", "main"),
        event(DROPPED, "a", rescue="rescue-2"),
        event(RESTORED, "a", "rescue-1"),
    ) == [
        ("a", "main"),
        ("a", None),
        ("rescue-2", "main"),
        ("a", None),
        ("a", "rescue-1"),
    ]


def test_a_released_branch_is_told_under_a_name_that_no_branch_has() -> None:
    gone = released_name("a", "op")
    past = (event(FORKED, "a", "main"), event(PROTECTED, "a"), event(DROPPED, "a"))
    anew = event(FORKED, "a", "main")
    assert told(*past, anew) == [(gone, "main"), (gone, None), ("a", None), ("a", "main")]
    back = event(RESTORED, "a", gone)
    assert told(*past, back) == [("a", "main"), ("a", None), ("a", None), ("a", gone)]
