import json
from dataclasses import replace

import pytest

from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format.options import Options
from branch_console.format.table_schema import BucketMode, TableSchema

_TEXT = """{
  "version" : 3,
  "id" : 7,
  "fields" : [ {
    "id" : 0,
    "name" : "day",
    "type" : "DATE NOT NULL"
  }, {
    "id" : 1,
    "name" : "id",
    "type" : "BIGINT NOT NULL",
    "description" : "größe"
  }, {
    "id" : 2,
    "name" : "tags",
    "type" : {
      "type" : "ARRAY",
      "element" : "STRING"
    },
    "defaultValue" : "[]"
  } ],
  "highestFieldId" : 5,
  "partitionKeys" : [ "day" ],
  "primaryKeys" : [ "day", "id" ],
  "options" : {
    "bucket" : "4"
  },
  "comment" : "all \\"orders\\"",
  "timeMillis" : 1795222810136
}"""


@pytest.fixture
def schema() -> TableSchema:
    return TableSchema.from_json(_TEXT)


def test_a_schema_is_read_and_written_in_paimons_layout(schema: TableSchema) -> None:
    assert schema.to_json() == _TEXT
    assert TableSchema.from_json(_TEXT.encode()) == schema
    assert (schema.id, schema.highest_field_id, schema.comment) == (7, 5, 'all "orders"')


def test_empty_parts_are_written_as_paimon_does(schema: TableSchema) -> None:
    bare = replace(schema, partition_keys=(), primary_keys=(), options=Options(), comment=None)
    text = bare.to_json()
    assert '"partitionKeys" : [ ],' in text
    assert '"options" : { },' in text
    assert "comment" not in text
    assert TableSchema.from_json(text) == bare


def test_keys_and_types_follow_from_the_columns(schema: TableSchema) -> None:
    assert schema.trimmed_primary_keys == schema.bucket_keys == ("id",)
    assert schema.partition_type.names == ("day",)
    assert schema.key_type.names == ("id",)
    assert schema.row_type.names == ("day", "id", "tags")
    assert [str(t) for t in schema.field_types(("id",))] == ["BIGINT NOT NULL"]
    assert schema.with_options({"bucket-key": "day"}).bucket_keys == ("day",)


def test_a_missing_column_is_found_missing(schema: TableSchema) -> None:
    assert schema.find_field("nothing") is None
    with pytest.raises(NotFound, match="no column 'nothing'"):
        schema.field("nothing")


@pytest.mark.parametrize(
    ("bucket", "partition_keys", "primary_keys", "mode"),
    [
        ("4", ("day",), ("day", "id"), BucketMode.HASH_FIXED),
        ("4", (), (), BucketMode.HASH_FIXED),
        ("-1", ("day",), ("day", "id"), BucketMode.HASH_DYNAMIC),
        ("-1", (), ("id",), BucketMode.HASH_DYNAMIC),
        ("-1", ("day",), ("id",), BucketMode.KEY_DYNAMIC),
        ("-1", ("day",), (), BucketMode.BUCKET_UNAWARE),
        ("-2", (), ("id",), BucketMode.POSTPONE_MODE),
    ],
)
def test_the_bucket_mode_follows_from_bucket_and_keys(
    schema: TableSchema,
    bucket: str,
    partition_keys: tuple[str, ...],
    primary_keys: tuple[str, ...],
    mode: BucketMode,
) -> None:
    changed = replace(schema, partition_keys=partition_keys, primary_keys=primary_keys)
    assert changed.with_options({"bucket": bucket}).bucket_mode is mode


@pytest.mark.parametrize(
    ("options", "skips"),
    [
        ({}, False),
        ({"merge-engine": "first-row"}, True),
        ({"deletion-vectors.enabled": "true"}, True),
        ({"deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"}, False),
        ({"deletion-vectors.merge-on-read": "true"}, False),
        # As `CoreOptions` of 2.0.0 answers; 1.4.2 looks at the engine alone.
        (
            {
                "merge-engine": "first-row",
                "deletion-vectors.enabled": "true",
                "deletion-vectors.merge-on-read": "true",
            },
            False,
        ),
    ],
)
def test_readers_skip_new_files_where_paimon_does(
    schema: TableSchema, options: dict[str, str], skips: bool
) -> None:
    assert schema.with_options(options).skips_level_0 is skips


def test_the_fingerprint_leaves_out_id_and_time_and_nothing_else(schema: TableSchema) -> None:
    assert replace(schema, id=8, time_millis=1).fingerprint == schema.fingerprint
    for other in (
        replace(schema, comment=None),
        replace(schema, primary_keys=("id", "day")),
        replace(schema, partition_keys=()),
        replace(schema, fields=schema.fields[::-1]),
        schema.with_options({"bucket": "5"}),
    ):
        assert other.fingerprint != schema.fingerprint


@pytest.mark.parametrize(
    ("version", "options"),
    [
        (None, {"bucket": "1", "file.format": "orc"}),
        (1, {"bucket": "1", "file.format": "orc"}),
        (2, {"file.format": "orc"}),
        (3, {}),
    ],
)
def test_old_schemas_keep_the_defaults_of_their_time(
    version: int | None, options: dict[str, str]
) -> None:
    raw = {**json.loads(_TEXT), "version": version, "options": {}}
    assert TableSchema.from_json(json.dumps(raw)).options == options


def test_unknown_fields_and_a_missing_time_are_no_error(schema: TableSchema) -> None:
    raw = {**json.loads(_TEXT), "later": {"a": 1}}
    del raw["timeMillis"]
    assert TableSchema.from_json(json.dumps(raw)) == replace(schema, time_millis=0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"primaryKeys": ["nothing"]}, "keys that are no columns"),
        ({"id": "seven"}, "'id' that is not a whole number"),
        ({"id": True}, "'id' that is not a whole number"),
        ({"id": 2**63}, "'id' of more than 64 bits"),
        ({"fields": None}, "no 'fields'"),
        ({"fields": [1]}, "something other than objects"),
        ({"partitionKeys": [1]}, "something other than strings"),
    ],
)
def test_a_schema_that_is_not_one_says_why(change: dict[str, object], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        TableSchema.from_json(json.dumps({**json.loads(_TEXT), **change}))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", b"\xff"])
def test_text_that_is_no_object_is_a_format_error(text: str | bytes) -> None:
    with pytest.raises(FormatError, match="schema file"):
        TableSchema.from_json(text)


def test_a_schema_of_the_future_asks_for_an_upgrade() -> None:
    with pytest.raises(FormatError, match="Upgrade Branch Console") as caught:
        TableSchema.from_json(json.dumps({**json.loads(_TEXT), "version": 4}))
    assert caught.value.kind is ErrorKind.UNKNOWN_VERSION
