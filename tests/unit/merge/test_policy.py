from pathlib import Path

import pytest

import branch_console.merge.policy
from branch_console.errors import InvalidInput
from branch_console.merge.catalog.object_rules import ObjectRules
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.policy import Policy, PolicyChoice, RowRule, Settle

TEXT = """\
version: 1
rows: row
kinds:
  deleted and changed: ours
  added on both: newest by at
tables:
  '*':
    take: theirs
  flights.delays:
    kinds:
      option: theirs
      added on both: newest by at
    columns:
      minutes: max
      note: 'concatenate with ; '
      status: newest by updated_at
    where:
    - when: dt < '2026-11-01' and ours.minutes is not null
      take: ours
    - when: base.note = 'it''s'
      take: base
      column: note
    choices:
    - id: 0123456789abcdef-01234567
      key:
        id: '7'
        dt: '2026-11-01'
      take: value
      column: note
      value: late
      base: a
      theirs: c
      by: anna
      at: '2026-11-21T15:00:00.125+00:00'
objects:
  '*':
    object gone: ours
  flights.routes:
    name occupied: rename=routes_2
    object gone: theirs
"""


def test_a_policy_is_read_and_written_unchanged() -> None:
    policy = Policy.from_yaml(TEXT)
    assert policy.to_yaml() == TEXT
    assert Policy.from_yaml(policy.to_yaml()).digest == policy.digest


def test_a_policy_of_before_names_four_kinds_otherwise_and_is_read_for_good() -> None:
    former = (
        TEXT.replace("deleted and changed", "delete/modify")
        .replace("added on both", "add/add")
        .replace("option: theirs", "file rule: theirs\n      modify/modify: ours")
    )
    policy = Policy.from_yaml(former)
    assert [each.kind for each in policy.kinds] == [
        ConflictKind.DELETE_MODIFY, ConflictKind.ADD_ADD,
    ]  # fmt: skip
    assert [each.kind for each in policy.for_table("flights.delays")[1].kinds] == [
        ConflictKind.FILE_RULE, ConflictKind.MODIFY_MODIFY, ConflictKind.ADD_ADD,
    ]  # fmt: skip
    assert "added on both: newest by at" in policy.to_yaml()


def test_a_policy_holds_what_its_file_says() -> None:
    policy = Policy.from_yaml(TEXT)
    assert policy.rows is RowRule.ROW
    assert [(each.kind, each.take.how) for each in policy.kinds] == [
        (ConflictKind.DELETE_MODIFY, Settle.OURS),
        (ConflictKind.ADD_ADD, Settle.NEWEST),
    ]
    every, table = policy.for_table("flights.delays")
    assert every.table == "*"
    assert policy.for_table("flights.planes") == (every,)
    assert [(each.kind, str(each.take)) for each in table.kinds] == [
        (ConflictKind.OPTION, "theirs"),
        (ConflictKind.ADD_ADD, "newest by at"),
    ]
    assert table.columns[1].take == PolicyChoice(how=Settle.CONCATENATE, separator="; ")
    assert table.columns[2].take == PolicyChoice(how=Settle.NEWEST, by="updated_at")
    assert table.where[1].column == "note"
    (choice,) = table.choices.to_pylist()
    assert choice["key"] == '{"id": "7", "dt": "2026-11-01"}'
    assert (choice["ours"], choice["time_millis"]) == (None, 1795273200125)
    assert not policy.decides_by_row("flights.delays")


def test_a_rule_that_was_given_up_is_read_as_the_one_nearest_to_it_and_told() -> None:
    policy = Policy.from_yaml("version: 1\nrows: touched\n")
    row = Policy.from_yaml("version: 1\nrows: row\n")
    assert (policy.rows, policy.digest) == (RowRule.ROW, row.digest)
    assert (len(policy.notes), row.notes) == (1, ())
    assert "rows: row" in policy.notes[0]
    assert Policy.from_yaml(policy.to_yaml()).notes == ()


def test_what_says_the_same_has_one_digest() -> None:
    short = Policy.from_yaml("{version: 1, tables: {t: {columns: {a: max}}}}")
    long = Policy.from_yaml("version: 1\nrows: cell\ntables:\n  t:\n    columns:\n      a: 'max'\n")
    assert short.digest == long.digest != Policy().digest


def test_an_empty_file_settles_nothing() -> None:
    assert Policy.from_yaml("").digest == Policy().digest


WRONG = {
    "rows: cell": "Line 1: the policy has no 'version'",
    "version: 2": "Line 1: version is not 1",
    "version: 1\nrows: cells": "Line 2: rows is 'cells'; it may be cell, row",
    "version: 1\nkinds: {edit: ours}": "Line 2: kinds.edit is not known",
    "version: 1\nkind: {}": "Line 2: kind is not known; there may be version, rows",
    "version: 1\ntables: [t]": "Line 2: tables should hold fields",
    "version: 1\ntables:\n t:\n  take: mine": "Line 4: tables.t.take cannot be read: 'mine'",
    "version: 1\ntables:\n t:\n  take: newest": "'newest' is no way to settle",
    "version: 1\ntables:\n t:\n  take: [ours]": "Line 4: tables.t.take should be a text",
    "version: 1\ntables:\n t:\n  take:": "Line 4: tables.t.take has no value",
    "version: 1\ntables:\n t:\n  where: {when: a}": "Line 4: tables.t.where should be a list",
    "version: 1\ntables:\n t:\n  where:\n   - when: a <\n     take: ours": (
        "Line 5: tables.t.where\\[1\\].when cannot be read"
    ),
    "version: 1\ntables:\n t:\n  where:\n   - when: a < 1": "tables.t.where\\[1\\] has no 'take'",
    "version: 1\ntables:\n t:\n  columns: {a: max}\n  columns: {b: min}": "Line 5: .* twice",
    "version: 1\ntables: {t: {choices: [{id: a, key: {}, take: isolation=snapshot}]}}": (
        "take may be ours, theirs, base, value here"
    ),
    "version: 1\ntables: {t: {choices: [{id: a, key: {}, take: ours, by: x, at: noon}]}}": (
        "is no time"
    ),
    "version: 1\ntables: {t: {choices: [{id: a, key: {}, take: ours, by: x, at: 2026-11-21}]}}": (
        "without a zone"
    ),
    "version: 1\nkinds: {object gone: ours}": "kinds.object gone is not known",
    "version: 1\ntables: {t: {kinds: {object gone: ours}}}": "kinds.object gone is not k",
    "version: 1\nobjects: {a: {edit: ours}}": "objects.a.edit is not known; there may be name occ",
    "version: 1\nobjects: {a: {property: base}}": "objects.a.property cannot be read: 'base'",
    "version: 1\nobjects: {'*': {name occupied: rename=b}}": "name the object",
    "version: 1\nobjects: {a: {name occupied: rename=b.c}}": "the new name without its database",
    "version: 1\nobjects: {a: {name occupied: rename=b/c}}": "is not a usable name",
    "version: 1\ntables: {t: [}": "The policy is no YAML in line 2",
}


def test_choices_over_objects_are_kept_apart_by_object_and_kind() -> None:
    rules = ObjectRules(choices=Policy.from_yaml(TEXT).objects)
    gone, occupied = ConflictKind.OBJECT_GONE, ConflictKind.NAME_OCCUPIED
    found = [
        rules.find(kind, name) for kind in (gone, occupied) for name in ("flights.routes", "air")
    ]
    assert [str(each) for each in found] == ["theirs", "ours", "rename=routes_2", "None"]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named_with_its_line(text: str) -> None:
    with pytest.raises(InvalidInput, match=WRONG[text]):
        Policy.from_yaml(text)


def test_the_example_in_the_docstring_can_be_read() -> None:
    text = Path(branch_console.merge.policy.__file__).read_text()
    start, end = text.index("    version: 1"), text.index("The name `*`")
    assert Policy.from_yaml(text[start:end]).tables[0].choices.num_rows == 1
