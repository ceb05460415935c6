import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.errors import InvalidInput
from branch_console.merge.conflict import Take
from branch_console.merge.policy import Policy, choose
from branch_console.merge.resolution import by_hand, open_words, settlement_words
from branch_console.merge.row_merge import MergedRows
from tests.unit.merge.merged_rows import cells, keyed, merge, tuples

SCHEMA = keyed(
    {"id": "INT NOT NULL", "a": "INT", "s": "STRING", "at": "TIMESTAMP(3)"},
)
BASE = [(1, 10, "x", 0), (2, 10, "x", 0), (3, 10, None, 0)]
OURS = [(1, 15, "ours", 5), (2, 11, "o", 1), (3, 1, None, 2)]
THEIRS = [(1, 13, "theirs", 3), (2, 12, "t", 9), (3, 2, None, 2)]


def settled(policy: str) -> MergedRows:
    return merge(SCHEMA, BASE, OURS, THEIRS, policy)


def column_a(policy: str) -> list[Any]:
    found = cells(settled(policy))
    return [found[key, "a"] for key in (1, 2, 3)]


COLUMN_RULES = {
    "ours": ["15", "11", "1"],
    "theirs": ["13", "12", "2"],
    "base": ["10", "10", "10"],
    "max": ["15", "12", "2"],
    "min": ["13", "11", "1"],
    "sum of deltas": ["18", "13", "-7"],
    "newest by at": ["15", "12", ...],
    "non-null": [..., ..., ...],
}


@pytest.mark.parametrize("rule", COLUMN_RULES)
def test_a_column_rule_settles_its_cells(rule: str) -> None:
    assert column_a(f"tables: {{db.t: {{columns: {{a: {rule}}}}}}}") == COLUMN_RULES[rule]


@pytest.mark.parametrize(
    "policy",
    [
        "tables: {db.t: {take: base}}",
        "tables: {db.t: {columns: {a: base}}}",
        "tables: {db.t: {where: [{when: id > 0, take: base}]}}",
        "kinds: {added on both: base}",
    ],
)
def test_no_rule_goes_back_to_a_base_that_a_row_did_not_have(policy: str) -> None:
    """Both sides added key 2: NULL would be a value that nobody ever wrote."""
    both = ([(1, 15, "x", 0), (2, 11, "x", 0)], [(1, 13, "x", 0), (2, 12, "x", 0)])
    found = cells(merge(SCHEMA, BASE[:1], *both, policy))
    assert found == {(1, "a"): ... if "kinds" in policy else "10", (2, "a"): ...}
    weaker = f"kinds: {{added on both: ours}}\n{policy}" if "kinds" not in policy else ""
    if weaker:
        assert cells(merge(SCHEMA, BASE[:1], *both, weaker))[2, "a"] == "11"


def test_texts_are_joined_and_a_value_goes_before_none() -> None:
    policy = "tables: {db.t: {columns: {s: 'concatenate with , '}}}"
    found = cells(settled(policy))
    assert found[1, "s"] == "ours, theirs"
    merged = merge(
        SCHEMA, [(1, 1, "x", 0)], [(1, None, "x", 0)], [(1, 7, "x", 0)],
        "tables: {db.t: {columns: {a: non-null}}}",
    )  # fmt: skip
    assert tuples(merged.results) == []
    assert cells(merged) == {(1, "a"): "7"}


def test_a_row_is_written_once_all_its_cells_are_settled() -> None:
    where = "where: [{when: id < 3, take: theirs, column: at}]"
    policy = f"tables: {{db.t: {{columns: {{a: max, s: ours}}, {where}}}}}"
    merged = settled(policy)
    assert merged.conflicts["take"].null_count == 0
    # Of key 3 the replay gives the same.
    assert [row[:3] for row in tuples(merged.upserts)] == [(1, 15, "ours"), (2, 12, "o")]
    assert settled("tables: {db.t: {columns: {a: max}}}").upserts.num_rows == 0


def choice(row: dict[str, Any], take: str, **changes: Any) -> str:
    content = {
        "id": row["conflict_id"],
        "key": {name: str(value) for name, value in row["key"].items()},
        "column": row["column"],
        "take": take,
        **{side: row[side] for side in ("base", "ours", "theirs")},
        "by": "anna",
        "at": "2026-11-21T15:00:00+00:00",
        **changes,
    }
    return json.dumps(content)


def test_the_stronger_layer_decides() -> None:
    first = settled("").conflicts.to_pylist()[0]
    assert (first["key"], first["column"]) == ({"id": 1}, "a")
    layers = [
        ("kinds: {changed on both: ours}", "15"),
        ("'*': {take: theirs}", "13"),
        ("db.t: {take: base", "10"),
        ("kinds: {changed on both: theirs, added on both: ours}", "13"),
        ("columns: {a: max}", "15"),
        ("where: [{when: id = 1, take: min}, {when: id = 1, take: max}]", "13"),
        (f"choices: [{choice(first, 'value', value='99')}]", "99"),
    ]
    kinds, every, *table = (text for text, _ in layers)
    for count in range(1, len(layers) + 1):
        lines = [kinds]
        if count > 1:
            lines.append("tables:\n  " + every)
        if count > 2:
            lines.append("  " + ", ".join(table[: count - 2]) + "}")
        assert column_a("\n".join(lines))[0] == layers[count - 1][1]


def test_a_choice_on_other_values_needs_another_look_and_is_not_applied() -> None:
    first = settled("").conflicts.to_pylist()[0]
    chosen = choice(first, "theirs", ours="14")
    merged = settled(f"tables: {{db.t: {{take: ours, choices: [{chosen}]}}}}")
    row = merged.conflicts.to_pylist()[0]
    assert (row["take"], row["result"], row["needs_another_look"]) == (None, None, True)
    assert merged.conflicts["needs_another_look"].to_pylist().count(True) == 1


def test_how_conflicts_are_settled_is_said_by_side_and_what_a_person_set_by_hand() -> None:
    found = settled("tables: {db.t: {columns: {a: theirs}}}").conflicts
    number = found.num_rows - found["take"].null_count
    assert number < found.num_rows
    assert settlement_words(found) == f"{number} take the source"
    every = settled("tables: {'*': {take: theirs}}").conflicts
    assert settlement_words(every) == "all take the source"
    chosen = choice(every.to_pylist()[0], "value", value="99")
    mixed = settled(f"tables: {{db.t: {{take: theirs, choices: [{chosen}]}}}}").conflicts
    assert settlement_words(mixed) == f"{every.num_rows - 1} take the source, 1 decided by hand"
    assert (by_hand(mixed), by_hand(every)) == (1, 0)
    assert settlement_words(settled("").conflicts) == ""


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ([], ""),
        (["changed on both"], "Settle it by a policy."),
        (["changed on both"] * 2, "Settle them by a policy."),
        (["hidden result"], "No policy settles it: .* row first, .* Change that row on a branch."),
        (["hidden result"] * 2, "No policy settles them: .* Change those rows on a branch."),
        (
            ["hidden result", "added on both"],
            "No policy settles 1 of them: .* Change that row on a branch. Settle the other by a "
            "policy.",
        ),
        (
            ["hidden result", "added on both", "changed on both"],
            "No policy settles 1 of them: .* on a branch. Settle the others by a policy.",
        ),
    ],
)
def test_a_result_that_readers_would_not_see_is_no_matter_of_a_policy(
    kinds: list[str], words: str
) -> None:
    found = {"kind": [*kinds, "hidden result"], "take": [*[None] * len(kinds), "theirs"]}
    left = pa.table({name: pa.array(each, pa.string()) for name, each in found.items()})
    assert re.fullmatch(words, open_words(left, "by a policy"))


@pytest.mark.parametrize("name", ["anna", "kind anna", "column a", "where id > 0"])
def test_a_choice_is_one_whatever_the_person_is_called(name: str) -> None:
    every = settled("tables: {'*': {take: theirs}}").conflicts
    chosen = choice(every.to_pylist()[0], "ours", by=name)
    mixed = settled(f"tables: {{db.t: {{take: theirs, choices: [{chosen}]}}}}").conflicts
    assert by_hand(mixed) == 1
    assert settlement_words(mixed) == f"{every.num_rows - 1} take the source, 1 decided by hand"
    outdated = choice(every.to_pylist()[0], "ours", by=name, theirs="14")
    left = settled(f"tables: {{db.t: {{take: theirs, choices: [{outdated}]}}}}").conflicts
    assert by_hand(left) == 0
    assert settlement_words(left) == f"{every.num_rows - 1} take the source"


def test_a_row_is_chosen_as_a_whole() -> None:
    rows = settled("rows: row").conflicts.to_pylist()
    assert [row["column"] for row in rows] == [None] * 3
    chosen = choice({**rows[0]}, "theirs")
    by_cell = settled(f"tables: {{db.t: {{choices: [{chosen}]}}}}")
    assert tuples(by_cell.upserts) == []
    assert cells(by_cell)[1, "a"] == "13"
    chosen = choice(rows[0], "base")
    by_row = settled(f"rows: row\ntables: {{db.t: {{choices: [{chosen}]}}}}")
    assert [row[:3] for row in tuples(by_row.upserts)] == [(1, 10, "x")]
    assert json.loads(cells(by_row)[1, None])["s"] == "x"


def test_keeping_and_deleting_are_sides() -> None:
    sides = ([(1, 1, "x", 0)], [], [(1, 2, "x", 9)])
    kept = merge(SCHEMA, *sides, "kinds: {deleted and changed: theirs}")
    assert kept.upserts.num_rows == kept.deletes.num_rows == 0
    assert kept.conflicts["take"].to_pylist() == ["theirs"]
    gone = merge(SCHEMA, *sides, "kinds: {deleted and changed: ours}")
    assert tuples(gone.deletes) == [(1,)]
    restored = merge(SCHEMA, *sides, "kinds: {deleted and changed: base}")
    assert [row[:3] for row in tuples(restored.upserts)] == [(1, 1, "x")]
    unknown = merge(SCHEMA, *sides, "kinds: {deleted and changed: newest by at}")
    assert cells(unknown) == {(1, None): ...}


WRONG = {
    "columns: {b: max}": "names column 'b'. There is: id, a, s, at",
    "where: [{when: ours.b = 1, take: ours}]": "names column 'b'",
    "take: newest by b": "names column 'b'",
    "columns: {s: sum of deltas}": "Column 's' is string and cannot be settled by 'sum of deltas'",
    "where: [{when: id = 'x', take: ours}]": "compares what cannot be compared",
}


@pytest.mark.parametrize("rule", WRONG)
def test_rules_that_do_not_fit_the_table_are_refused(rule: str) -> None:
    with pytest.raises(InvalidInput, match=WRONG[rule]):
        settled(f"tables: {{db.t: {{{rule}}}}}")


def test_rules_for_every_table_leave_those_alone_that_lack_a_column() -> None:
    rules = "columns: {b: max}, where: [{when: ours.b = 1, take: ours}]"
    assert column_a(f"tables: {{'*': {{{rules}}}}}") == [..., ..., ...]


def test_an_edit_that_is_no_value_is_refused_at_its_cell() -> None:
    first = settled("").conflicts.to_pylist()[0]
    chosen = choice(first, "value", value="many")
    with pytest.raises(InvalidInput, match="'many' is no value of column 'a'"):
        settled(f"tables: {{db.t: {{choices: [{chosen}]}}}}")
    rows = settled("rows: row").conflicts.to_pylist()
    chosen = choice(rows[0], "value", value="{}")
    with pytest.raises(InvalidInput, match="Edit its cells"):
        settled(f"rows: row\ntables: {{db.t: {{choices: [{chosen}]}}}}")


def test_choices_made_on_conflicts_settle_them() -> None:
    policy = Policy.from_yaml("{version: 1, tables: {db.t: {take: ours}}}")
    found = settled("").conflicts
    of_a = found.filter(pc.equal(found["column"], "a"))
    first = choose(of_a, Take.THEIRS, decided_by="anna", time_millis=1)
    second = choose(of_a.slice(0, 1), Take.VALUE, value="7", decided_by="ben", time_millis=2)
    policy = policy.with_choices("db.t", first).with_choices("db.t", second)
    assert policy.tables[0].choices.num_rows == 3
    again = settled(policy.to_yaml().removeprefix("version: 1\n")).conflicts.to_pylist()
    assert [(row["result"], row["decided_by"]) for row in again if row["column"] == "a"] == [
        ("7", "ben"), ("12", "anna"), ("2", "anna")
    ]  # fmt: skip


def test_an_edit_to_null_is_a_value() -> None:
    first = settled("").conflicts.to_pylist()[0]
    chosen = choice(first, "value", value=None)
    row = settled(f"tables: {{db.t: {{choices: [{chosen}]}}}}").conflicts.to_pylist()[0]
    assert (row["take"], row["result"], row["decided_by"]) == ("value", None, "anna")
