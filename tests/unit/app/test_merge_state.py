"""The verdict of a merge: the first state that holds, its sentence, and the one next step."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from branch_console.errors import ErrorKind
from branch_console.merge.file_moves import Block
from branch_console.merge.plan import MergeVerdict, Plan, PlanCost
from branch_console_app.models.merge.merge_state import (
    MergeStanding,
    MergeState,
    NextStep,
    RowsOfMerge,
)
from tests.console.pages import settings
from tests.console.pretend import NEW_FILES, air_warehouse, merge_plan

COMPARED = PlanCost(buckets_to_compare=2)


@pytest.fixture
def plan(tmp_path: Path) -> Any:
    flights = air_warehouse(settings(tmp_path)).listed[1]

    def of(verdict: MergeVerdict, **parts: Any) -> Plan:
        source, target = flights.branches["fix-delays"], flights.branches["main"]
        return merge_plan(flights, source, target, verdict=verdict, **parts)

    return of


def conflicts(*columns_and_takes: tuple[str | None, str | None]) -> pa.Table:
    columns, takes = zip(*columns_and_takes, strict=True) if columns_and_takes else ((), ())
    return pa.table(
        {
            "kind": pa.array(["modify/modify"] * len(columns), pa.string()),
            "column": pa.array(columns, pa.string()),
            "take": pa.array(takes, pa.string()),
        }
    )


def told(state: MergeState) -> tuple[MergeStanding, str, NextStep | None]:
    return state.standing, state.sentence, state.step


def test_heads_and_files_decide_where_no_row_has_to(plan: Any) -> None:
    assert told(MergeState.of(plan(MergeVerdict.UP_TO_DATE))) == (
        MergeStanding.UP_TO_DATE,
        "`main` already has every change of `fix-delays`.",
        None,
    )
    lost = Block(kind=ErrorKind.NO_COMMON_HISTORY, text="They share no snapshot.")
    refused = MergeState.of(plan(MergeVerdict.REFUSED, blocks=(lost,)))
    assert (refused.standing, refused.step) == (MergeStanding.REFUSED, None)
    assert refused.detail == "They share no snapshot\\. Nothing was changed."
    clean = MergeState.of(plan(MergeVerdict.CLEAN), ahead=3)
    assert told(clean) == (
        MergeStanding.CLEAN,
        "No conflicts. `fix-delays` (3 commits) becomes one new snapshot of `main`.",
        NextStep.MERGE,
    )
    stale = MergeState.of(plan(MergeVerdict.CLEAN), stale="`main` moved from 12 to 13.")
    assert told(stale) == (MergeStanding.STALE, "`main` moved from 12 to 13.", NextStep.UPDATE)


def test_the_verdict_follows_the_comparison_of_rows(plan: Any) -> None:
    undecided = plan(MergeVerdict.UNDECIDED, moves=NEW_FILES, cost=COMPARED)
    before = MergeState.of(undecided)
    assert (before.standing, before.step) == (MergeStanding.NEEDS_ROWS, NextStep.COMPARE)
    at_work = MergeState.of(undecided, RowsOfMerge.of_plan(undecided, is_at_work=True))
    assert (at_work.standing, at_work.step) == (MergeStanding.COMPARING, None)
    found = RowsOfMerge.of_conflicts(conflicts(("dep_delay", None), ("dep_delay", None)))
    state = MergeState.of(undecided, found)
    assert told(state) == (
        MergeStanding.CONFLICTS,
        "2 conflicts to settle, all in `dep_delay`.",
        NextStep.SETTLE,
    )
    assert state.label == "Settle 2 conflicts"
    none = RowsOfMerge.of_conflicts(conflicts())
    assert MergeState.of(undecided, none).standing is MergeStanding.CLEAN


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("a", "theirs"), ("b", "theirs")], "All 2 conflicts are settled; all take the source."),
        ([("a", "ours")], "The conflict is settled; it takes the target."),
        ([("a", "max"), ("b", "ours")], "All 2 conflicts are settled."),
        ([("a", None), ("b", "ours")], "1 conflict to settle, all in `a`."),
        ([("b", None), ("a", None), ("a", None)], "3 conflicts to settle, in `a` and `b`."),
        ([(None, None)], "1 conflict to settle, all in whole rows."),
    ],
)
def test_open_conflicts_are_named_by_column_and_settled_ones_by_what_they_take(
    plan: Any, rows: list[tuple[str | None, str | None]], sentence: str
) -> None:
    undecided = plan(MergeVerdict.UNDECIDED, moves=NEW_FILES, cost=COMPARED)
    state = MergeState.of(undecided, RowsOfMerge.of_conflicts(conflicts(*rows)))
    assert state.sentence == sentence
