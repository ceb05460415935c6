"""The ledger as a list: newest first, filtered, with what was taken back."""

import pytest

from branch_console.format.lineage_event import LineageEvent, LineageKind
from branch_console_app.models.jobs.ledger_list import history_lines


def event(number: int, kind: LineageKind, **more: str) -> LineageEvent:
    return LineageEvent(
        id=f"e{number}",
        branch=more.get("branch", "dev"),
        operation_id=f"op{number}",
        actor=more.get("actor", "ada"),
        kind=kind,
        time_millis=number,
        reason=more.get("reason"),
        tag=more.get("tag"),
        undoes=more.get("undoes"),
    )


EVENTS = (
    event(1, LineageKind.CREATED, reason="Delays are off"),
    event(2, LineageKind.TAGGED, tag="q1", actor="grace"),
    event(3, LineageKind.DROPPED, branch="old"),
    event(4, LineageKind.UNDONE, branch="old", undoes="op3"),
)


@pytest.mark.parametrize(
    ("words", "kinds", "expected"),
    [
        ("", (), ["op4", "op3", "op2", "op1"]),
        ("old", (), ["op4", "op3"]),
        ("DELAYS ada", (), ["op1"]),
        ("q1", (), ["op2"]),
        ("op3", (), ["op3"]),
        ("", ("tagged", "created"), ["op2", "op1"]),
        ("grace", ("created",), []),
    ],
)
def test_words_and_kinds_choose(words: str, kinds: tuple[str, ...], expected: list[str]) -> None:
    lines = history_lines(EVENTS, words=words, kinds=kinds)
    assert [line.event.operation_id for line in lines] == expected


def test_what_was_taken_back_says_by_what() -> None:
    undone = {line.event.operation_id: line.undone_by for line in history_lines(EVENTS)}
    assert undone == {"op1": None, "op2": None, "op3": "op4", "op4": None}
