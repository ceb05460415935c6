from typing import Any

import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.options import (
    BUCKET,
    BUCKET_KEY,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_TIMEOUT,
    FILE_FORMAT,
    IGNORE_DELETE,
    MANIFEST_TARGET_FILE_SIZE,
    SCAN_FALLBACK_BRANCH,
    WRITE_ONLY,
    ConfigOption,
    Options,
    parse_duration,
    parse_memory_size,
)


@pytest.mark.parametrize(
    ("option", "text", "value", "default"),
    [
        (BUCKET, "4", 4, -1),
        (BUCKET_KEY, "a, b", ("a", "b"), ()),
        (WRITE_ONLY, "TRUE", True, False),
        (FILE_FORMAT, "orc", "orc", "parquet"),
        (MANIFEST_TARGET_FILE_SIZE, "1 kb", 1024, 8 * 1024 * 1024),
        (COMMIT_MAX_RETRY_WAIT, "10 min", 600_000, 10_000),
        (COMMIT_TIMEOUT, "5 s", 5_000, None),
        (SCAN_FALLBACK_BRANCH, "old", "old", None),
    ],
    ids=lambda value: value.key if isinstance(value, ConfigOption) else str(value),
)
def test_options_are_read_or_have_paimons_default(
    option: ConfigOption[Any], text: str, value: Any, default: Any
) -> None:
    assert Options({option.key: text}).read(option) == value
    assert Options().read(option) == default


def test_a_key_that_an_option_had_before_counts_where_the_key_is_not_set() -> None:
    older = {"partial-update.ignore-delete": "true", "write.compaction-skip": "true"}
    assert Options(older).read(IGNORE_DELETE)
    assert Options(older).read(WRITE_ONLY)
    assert not Options({**older, "ignore-delete": "false"}).read(IGNORE_DELETE)


@pytest.mark.parametrize(
    ("text", "size"),
    [("7", 7), ("7b", 7), ("2 kb", 2048), ("2K", 2048), ("3mebibytes", 3 << 20), ("1 tb", 1 << 40)],
)
def test_sizes_are_in_bytes(text: str, size: int) -> None:
    assert parse_memory_size(text) == size


@pytest.mark.parametrize(
    ("text", "millis"),
    [("7", 7), ("7ms", 7), ("2 s", 2000), ("1min", 60_000), ("1 h", 3_600_000), ("1d", 86_400_000)],
)
def test_durations_are_in_milliseconds(text: str, millis: int) -> None:
    assert parse_duration(text) == millis


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (BUCKET, "many"),
        (WRITE_ONLY, "yes"),
        (MANIFEST_TARGET_FILE_SIZE, "8 apples"),
        (MANIFEST_TARGET_FILE_SIZE, "mb"),
        (COMMIT_MAX_RETRY_WAIT, "1 fortnight"),
    ],
    ids=lambda value: value.key if isinstance(value, ConfigOption) else str(value),
)
def test_text_that_is_no_value_names_the_option(option: ConfigOption[Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=option.key) as caught:
        Options({option.key: text}).read(option)
    assert caught.value.kind is ErrorKind.INVALID_OPTION


def test_options_are_an_immutable_mapping() -> None:
    options = Options({"a": "1", "b": "2"})
    assert dict(options) == {"a": "1", "b": "2"}
    assert options == Options({"b": "2", "a": "1"})
    assert hash(options) == hash(Options({"b": "2", "a": "1"}))
    assert options.merged({"b": "3"}) == {"a": "1", "b": "3"}
    assert options.without("a", "missing") == {"b": "2"}
    assert options == {"a": "1", "b": "2"}
    assert "a" in options
    assert len(options) == 2
