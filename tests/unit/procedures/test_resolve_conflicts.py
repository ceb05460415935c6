"""The draft of a policy on a real table: kept, shared, carried over heads that move."""

from dataclasses import replace
from pathlib import Path

import pytest

from branch_console.errors import ErrorKind, NotAllowed, Refused
from branch_console.format.identifier import Identifier
from branch_console.merge.conflict import Take
from branch_console.merge.policy import Policy, PolicyChoice, choose
from branch_console.merge.policy_draft import with_column_rule
from branch_console.merge.reapply_policy import reapply_policy
from branch_console.procedures.browse.conflicts import read_row_conflicts
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.merge.conflicts import find_resolution, save_draft
from tests.support.contested_table import NAME, ContestedTable

CALL = ProcedureCall(
    name="merge_branch",
    arguments={"table": NAME, "branch": "fix-delays"},
    actor="ada",
    operation_id="x",
)


def test_a_draft_is_kept_shared_and_carried_over_a_head_that_moved(tmp_path: Path) -> None:
    table = ContestedTable(tmp_path / "warehouse", flights=3)
    first = find_resolution(table.warehouse, CALL)
    table.call("compare_rows", branch="fix-delays")
    found = read_row_conflicts(table.warehouse, Identifier.parse(NAME), first.plan.id)
    assert found is not None
    assert found.num_rows == 8
    assert (first.draft.version, first.draft.decisions) == (0, 0)

    cell = choose(found.slice(0, 1), Take.THEIRS, decided_by="ada", time_millis=1)
    draft = save_draft(
        table.warehouse, CALL, first.draft, first.draft.policy.with_choices(NAME, cell)
    )
    # Bob has the page open from before: what does not touch comes on top, what does is told.
    rule = with_column_rule(first.draft.policy, NAME, "note", PolicyChoice.parse("ours"))
    joined = save_draft(table.warehouse, replace(CALL, actor="bob"), first.draft, rule)
    assert joined.version == draft.version + 1 == 2
    other = choose(found.slice(0, 1), Take.OURS, decided_by="bob", time_millis=2)
    with pytest.raises(Refused, match="by ada"):
        save_draft(table.warehouse, CALL, first.draft, Policy().with_choices(NAME, other))
    with pytest.raises(NotAllowed):
        save_draft(table.warehouse, replace(CALL, role="viewer"), joined, Policy())

    again = find_resolution(table.warehouse, CALL)
    assert again.draft.policy.to_yaml() == joined.policy.to_yaml()
    assert again.plan.id == first.plan.id
    settled = reapply_policy(found, again.draft.policy, NAME)
    assert settled["decided_by"].to_pylist()[:2] == ["ada", "column note"]

    table.write("main", delay=6, note="<b>by hand</b>", every=10)
    moved = find_resolution(table.warehouse, CALL)
    assert moved.plan.id != first.plan.id
    assert moved.draft.policy.to_yaml() == joined.policy.to_yaml()
    table.call("compare_rows", branch="fix-delays")
    now = read_row_conflicts(table.warehouse, Identifier.parse(NAME), moved.plan.id)
    assert now is not None
    looked = reapply_policy(now, moved.draft.policy, NAME)
    # Ada chose where ours was 5; it is 6 now.
    assert looked["needs_another_look"].to_pylist()[:2] == [True, False]
    assert looked["result"].to_pylist()[:2] == [None, "<b>by hand</b>"]


def test_old_versions_go_and_no_choice_is_taken_for_a_new_one(tmp_path: Path) -> None:
    table = ContestedTable(tmp_path / "warehouse", flights=2)
    draft = first = find_resolution(table.warehouse, CALL).draft
    for number in range(60):
        rule = PolicyChoice.parse("ours" if number % 2 else "theirs")
        wanted = with_column_rule(draft.policy, NAME, "note", rule)
        draft = save_draft(table.warehouse, CALL, draft, wanted)
    (folder,) = (tmp_path / "warehouse/air.db/delays/branch-lineage/drafts").iterdir()
    assert len(list(folder.iterdir())) == 50
    stale = with_column_rule(first.policy, NAME, "note", PolicyChoice.parse("base"))
    with pytest.raises(Refused) as refused:
        save_draft(table.warehouse, CALL, first, stale)
    assert refused.value.kind is ErrorKind.COMMIT_CONFLICT
    assert find_resolution(table.warehouse, CALL).draft.version == 60
