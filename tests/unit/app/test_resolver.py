"""The resolver as values: groups, lines, what is typed and what rules of a group say."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from branch_console.errors import InvalidInput
from branch_console.format.identifier import Identifier
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.merge.policy import Policy, PolicyChoice
from branch_console.merge.policy_draft import with_column_rule, with_predicate, with_table_rule
from branch_console.merge.reapply_policy import reapply_policy
from branch_console.merge.row_work import FIRST_RANKED
from branch_console.procedures.browse.conflicts import read_row_conflicts
from branch_console.procedures.merge.inputs import preview_merge
from branch_console_app.models.merge.resolver import (
    RESULT,
    TAKE,
    WHOLE_ROW,
    Decider,
    Group,
    Shown,
    cell_lines,
    choices_for,
    decided,
    edits_of,
    groups_of,
    key_text,
    of_group,
    partition_texts,
)
from branch_console_app.models.merge.resolver_rules import (
    RuleScope,
    effect_of,
    effect_words,
    left_open_words,
    open_without_base,
    rule_lines,
    rule_of_group,
    sequence_words,
    sides_of_kind,
)
from branch_console_app.models.merge.row_conflicts import conflict_lines
from tests.support.contested_table import NAME, ContestedTable
from tests.unit.merge.merged_rows import TABLE, keyed, merge


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[pa.Table, TableSchema]:
    table = ContestedTable(tmp_path_factory.mktemp("resolver") / "warehouse", flights=3)
    table.call("compare_rows", branch="fix-delays")
    plan = preview_merge(table.warehouse, Identifier.parse(NAME), "fix-delays")
    kept = read_row_conflicts(table.warehouse, Identifier.parse(NAME), plan.id)
    assert kept is not None
    return kept, table.warehouse.table(NAME).schema()


def typed(
    found: tuple[pa.Table, TableSchema], at: int, *, by_row: bool = False, **cells: Any
) -> pa.Table:
    """The conflicts after one line of the editor was changed."""
    decider = Decider(table=NAME, schema=found[1], actor="ada", time_millis=1, by_row=by_row)
    policy = decided(Policy(), found[0], edits_of({at: cells}), decider)
    return reapply_policy(found[0], policy, NAME)


def test_groups_are_counted_by_kind_column_and_partition(
    found: tuple[pa.Table, TableSchema],
) -> None:
    kept, schema = found
    groups = groups_of(kept, partition_texts(kept, schema))
    assert [(each.column, each.partition, each.number) for each in groups] == [
        ("dep_delay", "day=2013-03-08", 2),
        ("dep_delay", "day=2013-03-09", 2),
        ("note", "day=2013-03-08", 1),
        ("note", "day=2013-03-09", 1),
        (WHOLE_ROW, "day=2013-03-08", 1),
        (WHOLE_ROW, "day=2013-03-09", 1),
    ]
    assert [each.number for each in groups_of(kept)] == [4, 2, 2]
    listed = of_group(kept, partition_texts(kept, schema), groups[4], Shown.OPEN)
    (line,) = cell_lines(listed)
    assert (line.column, line.ours, line.take) == (WHOLE_ROW, "not there", "undecided")
    assert choices_for(listed, by_row=False) == ("undecided", "keep", "delete")


def test_keys_and_values_show_a_null_and_what_cannot_be_seen(
    found: tuple[pa.Table, TableSchema],
) -> None:
    assert key_text({"day": None, "name": "NULL", "code": "a ", "at": b"\x01"}) == (
        'day = NULL, name = "NULL", code = a·, at = 01'
    )
    (line,) = cell_lines(with_values(found[0], "note", ours="NULL", theirs=None, base=""))
    assert (line.base, line.ours, line.theirs) == ('""', '"NULL"', "NULL")
    (told,) = conflict_lines(with_values(found[0], "note", ours="NULL", theirs=None), slice(1))
    assert (told.ours, told.theirs) == ('"NULL"', "NULL")
    (gone,) = conflict_lines(found[0].filter(pc.is_null(found[0]["column"])), slice(1))
    assert (gone.ours, gone.is_open) == ("not there", True)


def with_values(conflicts: pa.Table, column: str, **values: str | None) -> pa.Table:
    """The first conflict in a column with other texts of its sides."""
    one = conflicts.filter(pc.equal(conflicts["column"], column)).slice(0, 1)
    for name, value in values.items():
        at = one.schema.get_field_index(name)
        one = one.set_column(at, one.schema.field(at), [pa.array([value], pa.string())])
    return one


def test_a_side_an_edit_null_and_a_deletion_are_taken(
    found: tuple[pa.Table, TableSchema],
) -> None:
    assert typed(found, 0, **{TAKE: "source"})["result"][0].as_py() == "7"
    edited = typed(found, 0, **{RESULT: "12"})
    assert cell_lines(edited)[0].take == "edit"
    assert edited["decided_by"][0].as_py() == "ada"
    null = typed(found, 1, **{RESULT: None})
    assert (null["take"][1].as_py(), null["result"][1].as_py()) == ("value", None)
    at = found[0]["column"].to_pylist().index(None)
    for choice, take in (("keep", "theirs"), ("delete", "ours")):
        settled = typed(found, at, **{TAKE: choice})
        assert settled["take"][at].as_py() == take
        assert cell_lines(settled)[at].take == choice


def test_a_row_is_taken_with_all_its_cells(found: tuple[pa.Table, TableSchema]) -> None:
    settled = typed(found, 0, by_row=True, **{TAKE: "source"})
    assert settled["result"].to_pylist()[:3] == ["7", "measured", None]


@pytest.mark.parametrize(
    ("cells", "by_row", "message"),
    [
        ({RESULT: "soon"}, False, "'soon' is no value of column 'dep_delay'"),
        ({TAKE: "edit"}, False, "type the value"),
        ({TAKE: "max"}, False, "cannot be taken there"),
        ({TAKE: "keep"}, False, "cannot be taken there"),
        ({TAKE: "undecided"}, False, "decided by nobody"),
        ({RESULT: "1"}, True, "a whole row cannot be typed"),
    ],
)
def test_what_cannot_be_is_refused(
    found: tuple[pa.Table, TableSchema], cells: dict[str, Any], by_row: bool, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        typed(found, 0, by_row=by_row, **cells)


def test_a_choice_is_taken_back(found: tuple[pa.Table, TableSchema]) -> None:
    decider = Decider(table=NAME, schema=found[1], actor="ada", time_millis=1)
    chosen = decided(
        Policy(), found[0], edits_of({0: {TAKE: "target"}, 1: {TAKE: "base"}}), decider
    )
    left = decided(chosen, found[0], edits_of({0: {TAKE: "undecided"}}), decider)
    assert reapply_policy(found[0], left, NAME)["take"].to_pylist()[:2] == [None, "base"]


def test_the_rest_of_each_group_is_settled_by_one_rule_and_nothing_else_is(
    found: tuple[pa.Table, TableSchema],
) -> None:
    kept, schema = found
    partitions = partition_texts(kept, schema)
    for group in (*groups_of(kept, partitions), *groups_of(kept)):
        inside = of_group(kept, partitions, group, Shown.ALL)
        rule = rule_of_group(group, inside.slice(0, 1), schema, PolicyChoice.parse("base"))
        after = reapply_policy(kept, with_predicate(Policy(), NAME, rule), NAME)
        assert effect_of(kept, after).settles == group.number, group
        again = of_group(after, partitions, group, Shown.SETTLED)
        assert again.num_rows == group.number, group


def test_no_rule_settles_what_readers_would_not_see(found: tuple[pa.Table, TableSchema]) -> None:
    hidden = Group(kind="hidden result", column=WHOLE_ROW, number=1)
    with pytest.raises(InvalidInput, match="hidden result"):
        rule_of_group(hidden, found[0].slice(0, 1), found[1], PolicyChoice.parse("ours"))


def test_what_a_rule_for_all_leaves_open_is_said_with_the_way_to_settle_it(
    found: tuple[pa.Table, TableSchema],
) -> None:
    kept, schema = found
    policy = with_table_rule(Policy(), NAME, PolicyChoice.parse("ours"))
    assert left_open_words(reapply_policy(kept, policy, NAME)) == ""
    hidden = pc.if_else(pc.is_null(kept["column"]), "hidden result", kept["kind"])
    changed = pc.if_else(pc.equal(kept["column"], "note"), "later", kept["ours"])
    now = kept.set_column(kept.schema.get_field_index("kind"), "kind", hidden)
    now = now.set_column(now.schema.get_field_index("ours"), "ours", changed)
    decider = Decider(table=NAME, schema=schema, actor="ada", time_millis=1)
    of_note = [at for at, name in enumerate(kept["column"].to_pylist()) if name == "note"]
    edits = edits_of({of_note[0]: {TAKE: "source"}})
    before = reapply_policy(now, decided(Policy(), kept, edits, decider), NAME)
    policy = with_table_rule(
        decided(Policy(), kept, edits, decider), NAME, PolicyChoice.parse("ours")
    )
    after = reapply_policy(now, policy, NAME)
    assert effect_of(before, after).settles == 5
    assert left_open_words(after) == (
        "Decide again on 1 conflict under *To be checked again*: its values changed since the "
        "decision. Change the rows of 2 hidden results on a branch: readers would not see what a "
        "decision takes."
    )


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, None),
        ({"sequence.field": "note"}, "`note`"),
        ({"sequence.field": "note,dep_delay"}, "`note` and `dep_delay`"),
        # There a merge writes whole buckets, so nothing ranks above what it writes.
        ({"sequence.field": "note", "deletion-vectors.enabled": "true"}, None),
    ],
)
def test_a_sequence_field_can_leave_a_decision_without_effect(
    found: tuple[pa.Table, TableSchema], options: dict[str, str], names: str | None
) -> None:
    kept, schema = found
    words = sequence_words(replace(schema, options=Options({**schema.options, **options})), kept)
    if names is None:
        assert words is None
    else:
        assert words is not None
        assert words.startswith(f"Readers see the row that the sequence field {names} ranks first.")
        assert "the dry run reports a *hidden result*" in words, "these conflicts do not tell"


def test_a_decision_that_readers_would_not_see_leaves_its_conflict_open() -> None:
    schema = keyed({"id": "INT NOT NULL", "a": "INT", "at": "INT"}, {"sequence.field": "at"})
    kept = merge(schema, [], [(1, 1, 9), (2, 1, 3)], [(1, 2, 7), (2, 2, 5)]).conflicts
    first = [{"descends": False, "row": {"at": at}} for at in (9, 9, 5, 5)]
    place = kept.schema.get_field_index(FIRST_RANKED)
    field = kept.schema.field(place)
    kept = kept.set_column(place, field, pa.array(first, field.type))
    theirs = with_table_rule(Policy(), TABLE, PolicyChoice.parse("theirs"))
    settled = reapply_policy(kept, theirs, TABLE)
    assert settled["take"].to_pylist() == ["theirs", None, "theirs", "theirs"]
    effect = effect_of(reapply_policy(kept, Policy(), TABLE), settled)
    assert effect.settles == 3
    (line,) = rule_lines(theirs, TABLE, settled)
    assert line.number == 3
    lines = cell_lines(settled)
    assert (lines[1].take, lines[1].result) == ("undecided", "")
    assert lines[1].by == f"table {TABLE}: no effect, readers would not see it"
    assert left_open_words(settled) == (
        "Decide otherwise on 1 conflict: the sequence field ranks another row first, so readers "
        "would not see what was decided."
    )
    newest = with_column_rule(theirs, TABLE, "at", PolicyChoice.parse("max"))
    assert reapply_policy(kept, newest, TABLE)["take"].null_count == 0
    words = sequence_words(schema, kept)
    assert words is not None
    assert words.endswith("a decision for another row has no effect and settles nothing.")
    assert effect_words(3, 4) == (
        "Settles 3 of them only: readers would not see its rows, as the sequence field ranks "
        "others first"
    )
    assert effect_words(0, 4) is not None
    assert effect_words(4, 4) is None


def test_the_base_settles_no_conflict_of_a_row_that_both_branches_added() -> None:
    schema = keyed({"id": "INT NOT NULL", "a": "INT"})
    kept = merge(schema, [(1, 1)], [(1, 2), (2, 3)], [(1, 3), (2, 4)]).conflicts
    base = with_table_rule(Policy(), TABLE, PolicyChoice.parse("base"))
    effect = effect_of(kept, reapply_policy(kept, base, TABLE))
    assert (effect.settles, open_without_base(kept)) == (1, 1)
    assert effect_words(1, 2, 1) == (
        "The base cannot settle 1 conflict: both branches added its row, so there is no value to "
        "go back to. Take the source or keep the target for it."
    )
    assert [str(side) for side in sides_of_kind("added on both")] == ["ours", "theirs"]
    assert [str(side) for side in sides_of_kind(None)] == ["ours", "theirs", "base"]


def test_what_a_person_chose_is_counted_to_no_rule_of_their_name(
    found: tuple[pa.Table, TableSchema],
) -> None:
    policy = with_column_rule(Policy(), NAME, "dep_delay", PolicyChoice.parse("max"))
    (line,) = rule_lines(policy, NAME, reapply_policy(found[0], policy, NAME))
    assert line.number == 4
    decider = Decider(
        table=NAME, schema=found[1], actor="column dep_delay", time_millis=1, by_row=False
    )
    chosen = decided(policy, found[0], edits_of({0: {TAKE: "source"}}), decider)
    (line,) = rule_lines(chosen, NAME, reapply_policy(found[0], chosen, NAME))
    assert line.number == 3


def test_rules_are_listed_the_strongest_first_with_what_they_decide(
    found: tuple[pa.Table, TableSchema],
) -> None:
    policy = with_table_rule(Policy(), NAME, PolicyChoice.parse("base"))
    policy = with_column_rule(policy, NAME, "dep_delay", PolicyChoice.parse("max"))
    text = f"{policy.to_yaml()}    where:\n    - {{when: flight = 0, take: ours}}\n"
    policy = Policy.from_yaml(text)
    settled = reapply_policy(found[0], policy, NAME)
    lines = rule_lines(policy, NAME, settled)
    assert [(line.scope, line.number) for line in lines] == [
        (RuleScope.PREDICATE, 4),
        (RuleScope.COLUMN, 2),
        (RuleScope.TABLE, 2),
    ]
    without = lines[0].removed_from(policy)
    effect = effect_of(settled, reapply_policy(found[0], without, NAME))
    assert (effect.settles, effect.changes, effect.opens) == (0, 4, 0)
    empty = lines[1].removed_from(lines[2].removed_from(without))
    assert effect_of(settled, reapply_policy(found[0], empty, NAME)).opens == 8
