import json
from dataclasses import replace

import pytest

from branch_console.errors import FormatError
from branch_console.format.snapshot import (
    BATCH_COMMIT_IDENTIFIER,
    CommitKind,
    Snapshot,
    SnapshotIdentity,
)

_TEXT = """{
  "version" : 3,
  "uuid" : "0a1b2c3d-0000-4000-8000-000000000001",
  "id" : 2,
  "schemaId" : 1,
  "baseManifestList" : "manifest-list-5f0c-0",
  "baseManifestListSize" : 1006,
  "deltaManifestList" : "manifest-list-5f0c-1",
  "deltaManifestListSize" : 1108,
  "changelogManifestList" : "manifest-list-5f0c-2",
  "changelogManifestListSize" : 900,
  "indexManifest" : "index-manifest-5f0c-0",
  "commitUser" : "writer",
  "writerVersion" : "2.1",
  "commitIdentifier" : 9223372036854775807,
  "commitKind" : "OVERWRITE",
  "timeMillis" : 1795222809415,
  "totalRecordCount" : 3,
  "deltaRecordCount" : -2,
  "changelogRecordCount" : 0,
  "watermark" : -9223372036854775808,
  "statistics" : "stat-5f0c-0",
  "properties" : {
    "a" : "1"
  },
  "nextRowId" : 0,
  "operation" : "DELETE"
}"""
_OLD = {
    "version": 3,
    "id": 1,
    "schemaId": 0,
    "baseManifestList": "base",
    "deltaManifestList": "delta",
    "commitUser": "writer",
    "commitIdentifier": 1,
    "commitKind": "APPEND",
    "timeMillis": 1,
    "logOffsets": {},
}


def test_a_snapshot_is_read_and_written_in_paimons_layout() -> None:
    snapshot = Snapshot.from_json(_TEXT)
    assert snapshot.to_json() == _TEXT
    assert snapshot.commit_kind is CommitKind.OVERWRITE
    assert snapshot.commit_identifier == BATCH_COMMIT_IDENTIFIER
    assert snapshot.properties == {"a": "1"}


def test_a_snapshot_of_an_old_release_has_nulls_for_newer_fields() -> None:
    snapshot = Snapshot.from_json(json.dumps(_OLD))
    assert snapshot.uuid is snapshot.next_row_id is snapshot.operation is None
    assert set(json.loads(snapshot.to_json())) == set(_OLD) - {"logOffsets"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"commitKind": "MERGE"}, "unknown 'commitKind'"),
        ({"baseManifestList": "../base"}, "not a file name"),
        ({"deltaManifestList": ""}, "not a file name"),
        ({"indexManifest": "a/b"}, "not a file name"),
        ({"statistics": "a\\b"}, "not a file name"),
        ({"id": None}, "no 'id'"),
        ({"timeMillis": 1.5}, "not a whole number"),
        ({"version": 4}, "format version 4"),
    ],
)
def test_a_snapshot_that_is_not_one_says_why(change: dict[str, object], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        Snapshot.from_json(json.dumps({**_OLD, **change}))


def test_snapshots_are_the_same_by_uuid_or_else_by_manifest_lists_never_by_id() -> None:
    one = Snapshot.from_json(_TEXT)
    moved = replace(one, id=9, base_manifest_list="other")
    assert one.identity.same_as(moved.identity)
    assert not one.identity.same_as(replace(one, uuid="another").identity)
    assert one.identity.same_as(replace(one, uuid=None).identity)
    assert not one.identity.same_as(replace(moved, uuid=None).identity)


def test_a_short_name_has_eight_characters() -> None:
    assert Snapshot.from_json(_TEXT).identity.short == "0a1b2c3d"
    lists = ("manifest-list-5f0cabcdef-0", "manifest-list-5f0cabcdef-1")
    assert SnapshotIdentity(uuid=None, manifest_lists=lists).short == "5f0cabc1"
