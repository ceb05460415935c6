"""Laws of the three-way merge of rows: I1, I3, I4 and I6 at the level of keys and cells."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branch_console.diff.three_way import ThreeWay
from branch_console.merge.policy import Policy, RowRule
from branch_console.merge.row_merge import MergedRows, merge_rows
from branch_console.merge.row_work import RowVerdict
from tests.unit.merge.merged_rows import TABLE, keyed, rows_of, tuples

SCHEMA = keyed({"id": "INT NOT NULL", "a": "INT", "b": "STRING"})
Rows = dict[int, tuple[Any, ...]]
MIRRORED = {RowVerdict.OURS: RowVerdict.THEIRS, RowVerdict.THEIRS: RowVerdict.OURS}

_many = settings(max_examples=3 * settings.default.max_examples)

values = st.tuples(st.sampled_from([None, 0, 1]), st.sampled_from([None, "x", "y"]))
states = st.dictionaries(st.integers(0, 5), values, max_size=6)


def merge(base: Rows, ours: Rows, theirs: Rows, rule: RowRule = RowRule.CELL) -> MergedRows:
    tables = [
        rows_of(SCHEMA, [(key, *row) for key, row in side.items()]) for side in (base, ours, theirs)
    ]
    sides = ThreeWay(base=tables[0], ours=tables[1], theirs=tables[2])
    return merge_rows(sides, SCHEMA, Policy(rows=rule), table=TABLE)


def content(merged: MergedRows, replayed: Rows) -> Rows:
    """What is there after replay and what the merge writes."""
    found = {**replayed, **{row[0]: row[1:] for row in tuples(merged.upserts)}}
    gone = {row[0] for row in tuples(merged.deletes)}
    return {key: row for key, row in found.items() if key not in gone}


def conflicts(merged: MergedRows) -> set[tuple[Any, ...]]:
    return {
        (row["conflict_id"], row["kind"], row["base"], row["ours"], row["theirs"])
        for row in merged.conflicts.to_pylist()
    }


@pytest.mark.parametrize("rule", RowRule)
@_many
@given(base=states, ours=states, theirs=states)
def test_mirrored_sides_give_the_mirrored_verdict(
    rule: RowRule, base: Rows, ours: Rows, theirs: Rows
) -> None:
    merged, mirrored = merge(base, ours, theirs, rule), merge(base, theirs, ours, rule)
    turned = {MIRRORED.get(verdict, verdict): n for verdict, n in mirrored.verdicts.items()}
    assert merged.verdicts == turned
    assert conflicts(merged) == {
        (name, kind, base_text, theirs_text, ours_text)
        for name, kind, base_text, ours_text, theirs_text in conflicts(mirrored)
    }
    if not merged.conflicts.num_rows:
        assert content(merged, theirs) == content(mirrored, ours)


@_many
@given(base=states, theirs=states)
def test_a_target_that_did_not_change_becomes_the_source(base: Rows, theirs: Rows) -> None:
    merged = merge(base, base, theirs)
    assert merged.conflicts.num_rows == 0
    assert content(merged, theirs) == theirs
    assert merged.upserts.num_rows == merged.deletes.num_rows == 0


@_many
@given(base=states, ours=states)
def test_a_source_that_did_not_change_changes_nothing(base: Rows, ours: Rows) -> None:
    merged = merge(base, ours, base)
    assert merged.conflicts.num_rows == 0
    assert content(merged, base) == ours


def took_back_what_both_did(base: Rows, ours: Rows, first: Rows, second: Rows) -> bool:
    """Whether the source undid a change that the target had made as well."""
    for key in ours.keys() & first.keys() | base.keys():
        rows = [side.get(key) for side in (base, ours, first, second)]
        cells = [rows] if None in rows else zip(*rows, strict=True)
        if any(old != mine == other and last == old for old, mine, other, last in cells):
            return True
    return False


@_many
@given(base=states, ours=states, first=states, second=states)
def test_two_merges_give_what_the_second_alone_gives(
    base: Rows, ours: Rows, first: Rows, second: Rows
) -> None:
    one, both = merge(base, ours, first), merge(base, ours, second)
    if one.conflicts.num_rows or both.conflicts.num_rows:
        return
    if took_back_what_both_did(base, ours, first, second):
        # A merge that never saw the change leaves the target's own; one that saw it takes it back.
        return
    between = content(one, first)
    then = merge(first, between, second)
    if not then.conflicts.num_rows:
        assert content(then, second) == content(both, second)
