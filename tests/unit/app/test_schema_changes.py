"""Two schemas side by side: a line a field id."""

from branch_console.diff.schema_diff import SchemaVerdict, diff_schemas
from branch_console.format.data_types import DataField, RowType, parse_data_type
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console_app.models.branches.schema_changes import ChangeMark, SchemaChanges


def schema(*fields: tuple[int, str, str], number: int = 0, **options: str) -> TableSchema:
    return TableSchema(
        id=number,
        fields=tuple(
            DataField(id=field_id, name=name, type=parse_data_type(text))
            for field_id, name, text in fields
        ),
        highest_field_id=max(field_id for field_id, _, _ in fields),
        partition_keys=(),
        primary_keys=(),
        options=Options(options),
    )


def test_a_rename_is_one_line() -> None:
    left, right = schema((0, "carrier", "STRING")), schema((0, "airline", "STRING"), number=1)
    (line,) = SchemaChanges.of(diff_schemas(left, right)).lines
    assert (line.mark, line.left_name, line.right_name) == (
        ChangeMark.CHANGED,
        "carrier",
        "airline",
    )
    assert line.words == "renamed"


def test_a_dropped_and_an_added_column_are_two_lines_where_they_stand() -> None:
    left = schema((0, "a", "INT"), (1, "b", "INT"), (2, "c", "INT"))
    right = schema((0, "a", "INT"), (2, "c", "INT"), (3, "d", "INT"))
    changes = SchemaChanges.of(diff_schemas(left, right))
    assert [(line.field_id, line.mark) for line in changes.lines] == [
        (0, ChangeMark.SAME),
        (1, ChangeMark.REMOVED),
        (2, ChangeMark.SAME),
        (3, ChangeMark.ADDED),
    ]
    assert changes.lines[1].right_name is None
    assert changes.lines[3].left_name is None
    assert [line.field_id for line in changes.changed_lines] == [1, 3]


def test_a_dropped_first_column_stands_first() -> None:
    left, right = schema((0, "a", "INT"), (1, "b", "INT")), schema((1, "b", "INT"))
    changes = SchemaChanges.of(diff_schemas(left, right))
    assert [line.field_id for line in changes.lines] == [0, 1]


def test_the_worst_reason_comes_first() -> None:
    left = schema((0, "a", "INT"), (1, "b", "BIGINT"))
    right = schema((0, "a", "BIGINT"), (1, "b", "INT"))
    changes = SchemaChanges.of(diff_schemas(left, right))
    assert changes.verdict is SchemaVerdict.BREAKING
    assert [reason.subject for reason in changes.reasons] == ["b", "a"]


def test_fields_of_nested_rows_follow_their_column() -> None:
    def nested(inner: tuple[DataField, ...]) -> TableSchema:
        place = DataField(id=1, name="place", type=RowType(fields=inner))
        first = DataField(id=0, name="a", type=parse_data_type("INT"))
        last = DataField(id=4, name="z", type=parse_data_type("INT"))
        return TableSchema(
            id=0, fields=(first, place, last), highest_field_id=4, partition_keys=(),
            primary_keys=(), options=Options(),
        )  # fmt: skip

    lat = DataField(id=2, name="lat", type=parse_data_type("INT"))
    wide = DataField(id=2, name="lat", type=parse_data_type("BIGINT"))
    new = DataField(id=3, name="lon", type=parse_data_type("INT"))
    changes = SchemaChanges.of(diff_schemas(nested((lat,)), nested((wide, new))))
    assert [(line.right_name, line.mark) for line in changes.lines] == [
        ("a", ChangeMark.SAME),
        ("place", ChangeMark.SAME),
        ("place.lat", ChangeMark.CHANGED),
        ("place.lon", ChangeMark.ADDED),
        ("z", ChangeMark.SAME),
    ]


def test_one_id_for_two_columns_of_two_branches_is_two_lines() -> None:
    base = schema((0, "a", "INT"))
    left, right = schema((0, "a", "INT"), (1, "b", "INT")), schema((0, "a", "INT"), (1, "c", "INT"))
    changes = SchemaChanges.of(diff_schemas(left, right, base))
    assert [(line.left_name, line.right_name, line.mark) for line in changes.lines] == [
        ("a", "a", ChangeMark.SAME),
        ("b", None, ChangeMark.REMOVED),
        (None, "c", ChangeMark.ADDED),
    ]


def test_options_stand_apart_from_columns() -> None:
    left, right = schema((0, "a", "INT"), bucket="1"), schema((0, "a", "INT"), bucket="2")
    changes = SchemaChanges.of(diff_schemas(left, right))
    assert [change.subject for change in changes.others] == ["bucket"]
    assert changes.changed_lines == ()


def test_equal_schemas_say_so() -> None:
    one = schema((0, "a", "INT"))
    changes = SchemaChanges.of(diff_schemas(one, one))
    assert changes.alt == "The schemas have the same content."
    assert changes.verdict is SchemaVerdict.COMPATIBLE
