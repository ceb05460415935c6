"""What was found is settled again just as a merge would settle it."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.errors import InvalidInput
from branch_console.merge.conflict import Take
from branch_console.merge.policy import Policy, choose
from branch_console.merge.reapply_policy import conflicts_where, reapply_policy, row_level_conflicts
from branch_console.merge.resolution import by_hand
from tests.unit.merge.merged_rows import TABLE, keyed, merge

SCHEMA = keyed({"id": "INT NOT NULL", "a": "INT", "s": "STRING", "at": "TIMESTAMP(3)"})
ROWS_BASE = [(1, 10, "x", 0), (2, 10, "x", 0), (3, 10, None, 0), (4, 1, "gone", 0)]
ROWS_OURS = [(1, 15, "ours", 5), (2, 11, "o", 1), (3, 1, None, 2), (5, 1, "new", 1)]
ROWS_THEIRS = [(1, 13, "theirs", 3), (2, 12, "t", 9), (3, 2, None, 2), (4, 2, "gone", 0)]
ROWS_THEIRS += [(5, 2, "new", 1)]

POLICIES = (
    "",
    "kinds: {deleted and changed: theirs}",
    "tables: {'*': {take: theirs}}",
    "tables: {db.t: {columns: {a: max, at: newest by at, s: concatenate with ;}}}",
    "tables: {db.t: {take: ours, columns: {a: sum of deltas}, where: "
    "[{when: id < 2, take: base}, {when: base.id is null, take: theirs, column: a},"
    " {when: ours.a > 1 and theirs.s = 't', take: theirs}]}}",
    "tables: {db.t: {where: [{when: ours.id is null, take: base}]}}",
)


@pytest.mark.parametrize("policy", POLICIES)
def test_it_is_what_a_merge_by_that_policy_finds(policy: str) -> None:
    found = merge(SCHEMA, ROWS_BASE, ROWS_OURS, ROWS_THEIRS, "tables: {'*': {take: base}}")
    expected = merge(SCHEMA, ROWS_BASE, ROWS_OURS, ROWS_THEIRS, policy).conflicts
    assert expected.num_rows == 9
    again = reapply_policy(found.conflicts, Policy.from_yaml(f"version: 1\n{policy}"), TABLE)
    assert again.equals(expected)


def test_cells_and_rows_that_people_chose_are_settled_alike() -> None:
    found = merge(SCHEMA, ROWS_BASE, ROWS_OURS, ROWS_THEIRS).conflicts
    who = {"decided_by": "ada", "time_millis": 1_000}
    first = found.filter(pc.equal(pc.struct_field(found["key"], "id"), 1))
    cell = choose(first.slice(0, 1), Take.VALUE, value="99", **who)
    rows = row_level_conflicts(found)
    assert rows.num_rows == 5
    row = choose(rows.slice(0, 2), Take.THEIRS, **who)
    policy = Policy().with_choices(TABLE, row).with_choices(TABLE, cell)
    text = policy.to_yaml().removeprefix("version: 1\n")
    expected = merge(SCHEMA, ROWS_BASE, ROWS_OURS, ROWS_THEIRS, text).conflicts
    again = reapply_policy(found, policy, TABLE)
    assert again.equals(expected)
    assert again["result"].to_pylist()[:2] == ["99", "theirs"]
    changed = merge(SCHEMA, ROWS_BASE, [(1, 16, "ours", 5), *ROWS_OURS[1:]], ROWS_THEIRS).conflicts
    looks = reapply_policy(changed, policy, TABLE)["needs_another_look"].to_pylist()
    assert looks == [True, True, True, *[False] * 6]


def test_conflicts_kept_before_a_choice_was_marked_are_settled_alike() -> None:
    found = merge(SCHEMA, ROWS_BASE, ROWS_OURS, ROWS_THEIRS).conflicts
    chosen = choose(found.slice(0, 1), Take.OURS, decided_by="kind ada", time_millis=1_000)
    policy = Policy().with_choices(TABLE, chosen)
    unknown = pa.nulls(found.num_rows, pa.bool_())
    kept = found.drop_columns(["is_choice"]).append_column("is_choice", unknown)
    again = reapply_policy(kept, policy, TABLE)
    assert again.select(found.column_names).equals(reapply_policy(found, policy, TABLE))
    assert by_hand(again) == 1


def test_a_condition_tells_where_it_holds() -> None:
    found = merge(SCHEMA, ROWS_BASE, ROWS_OURS, ROWS_THEIRS).conflicts
    assert pc.sum(conflicts_where(found, "id < 3")).as_py() == 6
    assert pc.sum(conflicts_where(found, "id < 3", "a")).as_py() == 2
    assert pc.sum(conflicts_where(found, "ours.id is null")).as_py() == 1
    with pytest.raises(InvalidInput, match="nosuch"):
        conflicts_where(found, "ours.nosuch = 1")


def test_nothing_is_settled_of_nothing() -> None:
    found = merge(SCHEMA, ROWS_BASE, ROWS_BASE, ROWS_THEIRS).conflicts
    assert reapply_policy(found, Policy(), TABLE).num_rows == 0
    assert row_level_conflicts(found).num_rows == 0
