"""Plans of merges that nobody decided on: for what shows them, and what builds on them."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from branch_console.diff.fast_forward import ForwardDecision
from branch_console.diff.file_safety import NOTHING_TO_DO
from branch_console.format.manifest_entry import MANIFEST_ENTRY
from branch_console.merge.file_moves import DisplayNames, FileMoves, MergeRules
from branch_console.merge.plan import (
    BaseAndHeads,
    FastForwardPlan,
    ForwardMove,
    Heads,
    MergeVerdict,
    Plan,
    RefusedPlan,
    ThreeWayPlan,
    UpToDatePlan,
)
from branch_console.merge.plan_reach import PlanReach
from branch_console.merge.schema_merge import SchemaMerge
from tests.support.commit_tables import UNPARTITIONED

_NO_FILES = MANIFEST_ENTRY.empty_table()
_NOTHING_MOVES = FileMoves(add=_NO_FILES, restore=_NO_FILES, remove=_NO_FILES)


def made_plan(
    verdict: MergeVerdict,
    *,
    id: str,
    heads: Heads,
    rules: MergeRules,
    decision: Callable[[], ForwardDecision] | None = None,
    **parts: Any,
) -> Plan:
    """The plan of a word.

    Args:
        verdict: The word.
        id: Of the plan.
        heads: What it is about.
        rules: What was chosen.
        decision: How a history is taken over, where the word is that.
        **parts: What else belongs to a plan of that kind.
    """
    match verdict:
        case MergeVerdict.UP_TO_DATE:
            return UpToDatePlan(id=id, heads=heads, rules=rules, **parts)
        case MergeVerdict.REFUSED:
            return RefusedPlan(id=id, heads=heads, rules=rules, **parts)
        case MergeVerdict.FAST_FORWARD:
            assert decision is not None
            move = ForwardMove(decision=decision(), safety=NOTHING_TO_DO)
            return FastForwardPlan(id=id, heads=heads, rules=rules, move=move, **parts)
    moves = parts.pop("moves", _NOTHING_MOVES)
    if verdict is MergeVerdict.UNDECIDED:
        moves = replace(moves, row_places=((UNPARTITIONED, 0),))
    return ThreeWayPlan(
        id=id,
        heads=BaseAndHeads(**{each.name: getattr(heads, each.name) for each in fields(heads)}),
        rules=rules,
        moves=moves,
        schema=SchemaMerge(schemas=(), final_id=0, id_map={}, field_ids={}),
        source_schema_id=0,
        reach=PlanReach(
            naming=DisplayNames(table=heads.table, partition=lambda _: ""),
            bucket_mode=None,
            places=frozenset(),
            settled=frozenset(),
            indexed=frozenset(),
            names=frozenset(),
            guarded=None,
            new_rows_may_lack_value=False,
        ),
        **parts,
    )
