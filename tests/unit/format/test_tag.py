import datetime as dt
import json

import pytest

from branch_console.errors import FormatError
from branch_console.format.tag import Tag

_SNAPSHOT = {
    "version": 3,
    "id": 1,
    "schemaId": 0,
    "baseManifestList": "base",
    "deltaManifestList": "delta",
    "commitUser": "writer",
    "commitIdentifier": 1,
    "commitKind": "APPEND",
    "timeMillis": 1,
}
TIMES: list[tuple[list[int], dt.datetime]] = [
    ([2026, 11, 21, 1, 0], dt.datetime(2026, 11, 21, 1, 0)),
    ([2026, 11, 21, 1, 0, 10], dt.datetime(2026, 11, 21, 1, 0, 10)),
    ([2026, 11, 21, 1, 0, 0, 5000], dt.datetime(2026, 11, 21, 1, 0, 0, 5)),
]


def test_a_tag_without_retention_is_its_snapshot() -> None:
    tag = Tag.from_json("v1", json.dumps(_SNAPSHOT))
    assert (tag.name, tag.create_time, tag.time_retained_seconds) == ("v1", None, None)
    assert tag.to_json() == tag.snapshot.to_json()


@pytest.mark.parametrize(("parts", "time"), TIMES, ids=str)
def test_times_are_arrays_without_trailing_zeros(parts: list[int], time: dt.datetime) -> None:
    raw = {**_SNAPSHOT, "tagCreateTime": parts, "tagTimeRetained": 18000.5}
    tag = Tag.from_json("v1", json.dumps(raw))
    assert tag.create_time == time
    assert tag.time_retained_seconds == 18000.5
    assert json.loads(tag.to_json()) == raw
    assert f'"tagCreateTime" : [ {", ".join(map(str, parts))} ]' in tag.to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"tagCreateTime": [2026]},
        {"tagCreateTime": [2026, 13, 1, 0, 0]},
        {"tagCreateTime": [10**30, 1, 1, 0, 0]},
        {"tagCreateTime": ["a", 1, 1, 0, 0]},
        {"tagCreateTime": "yesterday"},
        {"tagTimeRetained": "long"},
        {"tagTimeRetained": [1]},
    ],
    ids=str,
)
def test_times_that_cannot_be_read_are_a_format_error(change: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="tag file"):
        Tag.from_json("v1", json.dumps({**_SNAPSHOT, **change}))
