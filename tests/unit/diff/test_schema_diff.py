"""Schemas compared by field id: what changed, and whether that is harmless."""

from dataclasses import replace

import pytest

from branch_console.diff.schema_diff import (
    ChangeKind,
    SchemaChange,
    SchemaDiff,
    SchemaVerdict,
    diff_schemas,
)
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema

COMPATIBLE, NEEDS_DEFAULT, BREAKING = SchemaVerdict


def field(number: int, name: str, kind: object = "INT", **more: str) -> DataField:
    return DataField(id=number, name=name, type=parse_data_type(kind), **more)


def schema(*fields: DataField, schema_id: int = 0, **more: object) -> TableSchema:
    given: dict[str, object] = {
        "partition_keys": (),
        "primary_keys": (),
        "options": Options(),
        "highest_field_id": max((each.id for each in fields), default=-1),
    }
    return TableSchema(id=schema_id, fields=fields, **{**given, **more})  # type: ignore[arg-type]


def only_change(diff: SchemaDiff) -> SchemaChange:
    (change,) = diff.changes
    return change


BASE = schema(field(0, "id", "INT NOT NULL"), field(1, "name", "STRING"), field(2, "amount"))


def with_field(number: int, changed: DataField) -> TableSchema:
    fields = list(BASE.fields)
    fields[number] = changed
    return replace(BASE, fields=tuple(fields))


def test_equal_schemas_do_not_differ() -> None:
    diff = diff_schemas(BASE, replace(BASE, id=4, time_millis=99))
    assert diff.is_empty
    assert diff.verdict is COMPATIBLE
    assert not diff.has_same_id_but_differs


def test_one_id_with_other_content_is_pointed_out() -> None:
    assert diff_schemas(BASE, replace(BASE, comment="x")).has_same_id_but_differs


@pytest.mark.parametrize(
    ("changed", "kind", "verdict"),
    [
        (field(1, "title", "STRING"), ChangeKind.RENAMED, COMPATIBLE),
        (field(1, "name", "STRING NOT NULL"), ChangeKind.NULLABILITY, NEEDS_DEFAULT),
        (field(1, "name", "STRING", default_value="x"), ChangeKind.DEFAULT, COMPATIBLE),
        (field(1, "name", "STRING", description="x"), ChangeKind.COMMENT, COMPATIBLE),
        (field(1, "name", "VARCHAR(9)"), ChangeKind.NARROWED, BREAKING),
        (field(1, "name", "INT"), ChangeKind.RETYPED, BREAKING),
    ],
    ids=lambda value: str(value) if isinstance(value, ChangeKind) else "",
)
def test_a_changed_column_is_one_change(
    changed: DataField, kind: ChangeKind, verdict: SchemaVerdict
) -> None:
    change = only_change(diff_schemas(BASE, with_field(1, changed)))
    assert (change.kind, change.verdict, change.field_id) == (kind, verdict, 1)
    assert change.subject == changed.name
    assert change.reason.endswith(".")


def test_allowing_null_is_harmless() -> None:
    change = only_change(diff_schemas(BASE, with_field(0, field(0, "id"))))
    assert (change.kind, change.verdict) == (ChangeKind.NULLABILITY, COMPATIBLE)
    assert (change.before, change.after) == ("NOT NULL", "NULL")


def test_a_dropped_column_breaks_and_an_added_one_may_need_values() -> None:
    dropped = only_change(diff_schemas(BASE, replace(BASE, fields=BASE.fields[:2])))
    assert (dropped.kind, dropped.verdict, dropped.before) == (ChangeKind.DROPPED, BREAKING, "INT")
    for kind, verdict in (("INT", COMPATIBLE), ("INT NOT NULL", NEEDS_DEFAULT)):
        grown = replace(BASE, fields=(*BASE.fields, field(3, "new", kind)), highest_field_id=3)
        added = only_change(diff_schemas(BASE, grown))
        assert (added.kind, added.verdict, added.after) == (ChangeKind.ADDED, verdict, kind)


def test_a_rename_is_no_drop_and_add() -> None:
    change = only_change(diff_schemas(BASE, with_field(2, field(2, "total"))))
    assert (change.kind, change.before, change.after) == (ChangeKind.RENAMED, "amount", "total")


def test_one_id_given_on_both_branches_is_two_columns() -> None:
    ours = replace(BASE, fields=(*BASE.fields, field(3, "note", "STRING")), highest_field_id=3)
    theirs = replace(BASE, fields=(*BASE.fields, field(3, "price", "INT")), highest_field_id=3)
    dropped, added = diff_schemas(ours, theirs, BASE).changes
    assert (dropped.kind, dropped.subject) == (ChangeKind.DROPPED, "note")
    assert (added.kind, added.subject) == (ChangeKind.ADDED, "price")
    assert "needs a new one" in added.reason
    # Without the common schema the ids are all there is to go by.
    kinds = {change.kind for change in diff_schemas(ours, theirs).changes}
    assert kinds == {ChangeKind.RENAMED, ChangeKind.RETYPED}


def test_moving_one_column_is_one_move() -> None:
    moved = replace(BASE, fields=(BASE.fields[2], BASE.fields[0], BASE.fields[1]))
    change = only_change(diff_schemas(BASE, moved))
    assert (change.kind, change.subject, change.before, change.after) == (
        ChangeKind.MOVED,
        "amount",
        "3",
        "1",
    )


def test_an_added_column_in_front_moves_no_other() -> None:
    grown = replace(BASE, fields=(field(3, "new"), *BASE.fields))
    assert only_change(diff_schemas(BASE, grown)).kind is ChangeKind.ADDED


def test_nested_columns_are_compared_by_id_too() -> None:
    def address(*fields: dict[str, object]) -> TableSchema:
        return schema(field(0, "address", {"type": "ROW", "fields": list(fields)}))

    street = {"id": 1, "name": "street", "type": "STRING"}
    before = address(street, {"id": 2, "name": "zip", "type": "INT"})
    after = address({**street, "name": "line"}, {"id": 2, "name": "zip", "type": "BIGINT"})
    changes = diff_schemas(before, after).changes
    assert [(change.kind, change.subject) for change in changes] == [
        (ChangeKind.RENAMED, "address.line"),
        (ChangeKind.WIDENED, "address.zip"),
    ]


def test_parts_of_collections_are_compared() -> None:
    before = schema(
        field(0, "a", {"type": "ARRAY", "element": "INT"}),
        field(1, "m", {"type": "MAP", "key": "STRING", "value": "INT"}),
    )
    after = schema(
        field(0, "a", {"type": "ARRAY", "element": "BIGINT"}),
        field(1, "m", {"type": "MAP", "key": "STRING", "value": "INT NOT NULL"}),
    )
    assert [(change.kind, change.subject) for change in diff_schemas(before, after).changes] == [
        (ChangeKind.WIDENED, "a.element"),
        (ChangeKind.NULLABILITY, "m.value"),
    ]


def test_keys_that_change_break_and_renamed_key_columns_do_not() -> None:
    keyed = replace(BASE, primary_keys=("id",), partition_keys=("amount",))
    changes = diff_schemas(BASE, keyed).changes
    assert {change.kind for change in changes} == {
        ChangeKind.PRIMARY_KEYS,
        ChangeKind.PARTITION_KEYS,
    }
    assert diff_schemas(BASE, keyed).verdict is BREAKING
    renamed = replace(
        keyed, fields=(field(0, "key", "INT NOT NULL"), *keyed.fields[1:]), primary_keys=("key",)
    )
    assert only_change(diff_schemas(keyed, renamed)).kind is ChangeKind.RENAMED


@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("bucket", BREAKING),
        ("merge-engine", BREAKING),
        ("fields.amount.aggregate-function", BREAKING),
        ("fields.default-aggregate-function", BREAKING),
        ("sequence.field.sort-order", BREAKING),
        ("write-only", COMPATIBLE),
        ("snapshot.time-retained", COMPATIBLE),
    ],
)
def test_options_differ_harmlessly_unless_files_depend_on_them(
    key: str, verdict: SchemaVerdict
) -> None:
    values: tuple[dict[str, str], ...] = ({}, {key: "1"}, {key: "2"})
    kinds = {
        (0, 1): ChangeKind.OPTION_SET,
        (1, 2): ChangeKind.OPTION_CHANGED,
        (2, 0): ChangeKind.OPTION_UNSET,
    }
    for (left, right), kind in kinds.items():
        before = replace(BASE, options=Options(values[left]))
        after = replace(BASE, options=Options(values[right]))
        change = only_change(diff_schemas(before, after))
        assert (change.kind, change.subject, change.verdict) == (kind, key, verdict)


def test_the_verdict_of_a_diff_is_its_worst() -> None:
    worse = with_field(1, field(1, "title", "STRING NOT NULL"))
    assert diff_schemas(BASE, worse).verdict is NEEDS_DEFAULT
    assert (
        diff_schemas(BASE, replace(worse, comment="c", fields=worse.fields[:2])).verdict is BREAKING
    )
