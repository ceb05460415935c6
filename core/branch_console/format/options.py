"""Table options with Paimon's defaults, read as numbers, sizes and durations.

Source: Paimon CoreOptions, MemorySize and TimeUtils. An option that is not listed here is kept and
shown as text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from branch_console.errors import ErrorKind, InvalidInput

T = TypeVar("T")

INFINITE: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigOption(Generic[T]):
    """An option's key, how its text is read, and what holds where it is not set.

    Attributes:
        older_keys: Keys that it had before, which Paimon still reads where the key is not set.
    """

    key: str
    parse: Callable[[str], T]
    default: T
    older_keys: tuple[str, ...] = ()


class Options(Mapping[str, str]):
    """The options of a table or the properties of a snapshot: text by key, immutable."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(other) == self._values

    def __repr__(self) -> str:
        return f"Options({self._values!r})"

    def read(self, option: ConfigOption[T]) -> T:
        """Return the value of `option`, or Paimon's default where it is not set.

        Raises:
            InvalidInput: The text is no value of this option.
        """
        keys = (option.key, *option.older_keys)
        text = next((self._values[key] for key in keys if key in self._values), None)
        if text is None:
            return option.default
        try:
            return option.parse(text)
        except ValueError as error:
            raise InvalidInput(
                f"Option {option.key!r} is {text!r}: {error}.",
                kind=ErrorKind.INVALID_OPTION,
                option=option.key,
            ) from error

    def merged(self, changes: Mapping[str, str]) -> "Options":
        """Return these options with `changes` on top."""
        return Options({**self._values, **changes})

    def without(self, *keys: str) -> "Options":
        """Return these options without `keys`."""
        return Options({k: v for k, v in self._values.items() if k not in keys})


_SIZE_UNITS: Final = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}
_MILLIS_BY_UNIT: Final = {
    **dict.fromkeys(("ns", "nano", "nanosecond", "nanos", "nanoseconds"), 1e-6),
    **dict.fromkeys(("µs", "us", "micro", "microsecond", "micros", "microseconds"), 1e-3),
    **dict.fromkeys(("", "ms", "milli", "millisecond", "millis", "milliseconds"), 1.0),
    **dict.fromkeys(("s", "sec", "second", "secs", "seconds"), 1_000.0),
    **dict.fromkeys(("m", "min", "minute", "mins", "minutes"), 60_000.0),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000.0),
    **dict.fromkeys(("d", "day", "days"), 86_400_000.0),
}
_AMOUNT: Final = re.compile(r"\s*(\d+)\s*([^\d\s]*)\s*")


def _amount(text: str) -> tuple[int, str]:
    match = _AMOUNT.fullmatch(text)
    if not match:
        raise ValueError("a number with a unit is expected")
    return int(match[1]), match[2].lower()


def parse_memory_size(text: str) -> int:
    """Read a size such as `8 mb`, in bytes."""
    number, unit = _amount(text)
    if unit not in _SIZE_UNITS:
        raise ValueError(f"{unit!r} is not a unit of size")
    return number * _SIZE_UNITS[unit]


def parse_duration(text: str) -> int:
    """Read a duration such as `10 s`, in milliseconds."""
    number, unit = _amount(text)
    if unit not in _MILLIS_BY_UNIT:
        raise ValueError(f"{unit!r} is not a unit of time")
    return int(number * _MILLIS_BY_UNIT[unit])


def _parse_bool(text: str) -> bool:
    values = {"true": True, "false": False}
    if text.strip().lower() not in values:
        raise ValueError("true or false is expected")
    return values[text.strip().lower()]


def _parse_int(text: str) -> int:
    return int(text)


def _parse_columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _text(key: str, default: str) -> ConfigOption[str]:
    return ConfigOption(key=key, parse=str, default=default)


def _maybe_text(key: str) -> ConfigOption[str | None]:
    return ConfigOption(key=key, parse=str, default=None)


def _number(key: str, default: int) -> ConfigOption[int]:
    return ConfigOption(key=key, parse=_parse_int, default=default)


def _maybe_number(key: str) -> ConfigOption[int | None]:
    return ConfigOption(key=key, parse=_parse_int, default=None)


def _flag(key: str, default: bool, *older_keys: str) -> ConfigOption[bool]:
    return ConfigOption(key=key, parse=_parse_bool, default=default, older_keys=older_keys)


def _size(key: str, default: int) -> ConfigOption[int]:
    return ConfigOption(key=key, parse=parse_memory_size, default=default)


def _duration(key: str, default: int) -> ConfigOption[int]:
    return ConfigOption(key=key, parse=parse_duration, default=default)


def _maybe_duration(key: str) -> ConfigOption[int | None]:
    return ConfigOption(key=key, parse=parse_duration, default=None)


def _columns(key: str) -> ConfigOption[tuple[str, ...]]:
    return ConfigOption(key=key, parse=_parse_columns, default=())


_MB: Final = 1 << 20
_SECOND: Final = 1_000
_HOUR: Final = 3_600_000

TABLE_TYPE: Final = _text("type", "table")
# A materialized table keeps the same files; the other types are no tables of this format.
TYPES_WITH_BRANCHES: Final = frozenset({"table", "materialized-table"})
BUCKET: Final = _number("bucket", -1)
BUCKET_KEY: Final = _columns("bucket-key")
BUCKET_FUNCTION_TYPE: Final = _text("bucket-function.type", "default")
DYNAMIC_BUCKET_TARGET_ROW_NUM: Final = _number("dynamic-bucket.target-row-num", 2_000_000)
DYNAMIC_BUCKET_MAX_BUCKETS: Final = _number("dynamic-bucket.max-buckets", -1)
MERGE_ENGINE: Final = _text("merge-engine", "deduplicate")
SEQUENCE_FIELD: Final = _columns("sequence.field")
CHANGELOG_PRODUCER: Final = _text("changelog-producer", "none")
PK_CLUSTERING_OVERRIDE: Final = _flag("pk-clustering-override", False)
CLUSTERING_COLUMNS: Final = _columns("clustering.columns")
DELETION_VECTORS_ENABLED: Final = _flag("deletion-vectors.enabled", False)
DELETION_VECTORS_BITMAP64: Final = _flag("deletion-vectors.bitmap64", False)
DELETION_VECTORS_MERGE_ON_READ: Final = _flag("deletion-vectors.merge-on-read", False)
ROW_TRACKING_ENABLED: Final = _flag("row-tracking.enabled", False)
ROW_TRACKING_PARTITION_GROUP: Final = _flag("row-tracking.partition-group-on-commit", True)
DATA_EVOLUTION_ENABLED: Final = _flag("data-evolution.enabled", False)
WRITE_ONLY: Final = _flag("write-only", False, "write.compaction-skip")
IGNORE_DELETE: Final = _flag(
    "ignore-delete",
    False,
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)
IGNORE_UPDATE_BEFORE: Final = _flag("ignore-update-before", False)
CONSUMER_EXPIRATION_TIME: Final = _maybe_text("consumer.expiration-time")
CONSUMER_CHANGELOG_ONLY: Final = _flag("consumer.changelog-only", False)

FILE_FORMAT: Final = _text("file.format", "parquet")
FILE_COMPRESSION: Final = _text("file.compression", "zstd")
FILE_COMPRESSION_ZSTD_LEVEL: Final = _number("file.compression.zstd-level", 1)
DATA_FILE_PREFIX: Final = _text("data-file.prefix", "data-")
CHANGELOG_FILE_PREFIX: Final = _text("changelog-file.prefix", "changelog-")
DATA_FILE_PATH_DIRECTORY: Final = _maybe_text("data-file.path-directory")
DATA_FILE_THIN_MODE: Final = _flag("data-file.thin-mode", False)
INDEX_FILE_IN_DATA_FILE_DIR: Final = _flag("index-file-in-data-file-dir", False)
TARGET_FILE_SIZE_APPEND: Final = _size("target-file-size", 256 * _MB)
TARGET_FILE_SIZE_PRIMARY_KEY: Final = _size("target-file-size", 128 * _MB)

PARTITION_DEFAULT_NAME: Final = _text("partition.default-name", "__DEFAULT_PARTITION__")
PARTITION_LEGACY_NAME: Final = _flag("partition.legacy-name", True)
DYNAMIC_PARTITION_OVERWRITE: Final = _flag("dynamic-partition-overwrite", True)
OVERWRITE_UPGRADE: Final = _flag("overwrite-upgrade", True)
COMPACTION_TRIGGER: Final = _number("num-sorted-run.compaction-trigger", 5)
NUM_LEVELS: Final = _maybe_number("num-levels")

MANIFEST_FORMAT: Final = _text("manifest.format", "avro")
MANIFEST_COMPRESSION: Final = _text("manifest.compression", "zstd")
MANIFEST_TARGET_FILE_SIZE: Final = _size("manifest.target-file-size", 8 * _MB)
MANIFEST_FULL_COMPACTION_SIZE: Final = _size("manifest.full-compaction-threshold-size", 16 * _MB)
MANIFEST_MERGE_MIN_COUNT: Final = _number("manifest.merge-min-count", 30)
MANIFEST_DELETE_FILE_DROP_STATS: Final = _flag("manifest.delete-file-drop-stats", False)
METADATA_STATS_MODE: Final = _text("metadata.stats-mode", "truncate(16)")
METADATA_STATS_DENSE_STORE: Final = _flag("metadata.stats-dense-store", True)
METADATA_STATS_KEEP_FIRST_N: Final = _number("metadata.stats-keep-first-n-columns", -1)

COMMIT_MAX_RETRIES: Final = _number("commit.max-retries", 10)
COMMIT_MIN_RETRY_WAIT: Final = _duration("commit.min-retry-wait", 10)
COMMIT_MAX_RETRY_WAIT: Final = _duration("commit.max-retry-wait", 10 * _SECOND)
COMMIT_TIMEOUT: Final = _maybe_duration("commit.timeout")
COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT: Final = _maybe_number(
    "commit.strict-mode.last-safe-snapshot"
)
COMMIT_DISCARD_DUPLICATE_FILES: Final = _flag("commit.discard-duplicate-files", False)
SNAPSHOT_NUM_RETAINED_MIN: Final = _number("snapshot.num-retained.min", 10)
SNAPSHOT_NUM_RETAINED_MAX: Final = _number("snapshot.num-retained.max", INFINITE)
SNAPSHOT_TIME_RETAINED: Final = _duration("snapshot.time-retained", _HOUR)
SNAPSHOT_EXPIRE_LIMIT: Final = _number("snapshot.expire.limit", 50)
# Where they are not set, changelogs go with their snapshots.
CHANGELOG_NUM_RETAINED_MAX: Final = _maybe_number("changelog.num-retained.max")
CHANGELOG_NUM_RETAINED_MIN: Final = _maybe_number("changelog.num-retained.min")
CHANGELOG_TIME_RETAINED: Final = _maybe_duration("changelog.time-retained")

TAG_DEFAULT_TIME_RETAINED: Final = _maybe_text("tag.default-time-retained")
TAG_TIME_EXPIRE_ENABLED: Final = _flag("tag.time-expire-enabled", True)
TAG_AUTOMATIC_CREATION: Final = _text("tag.automatic-creation", "none")
TAG_CREATION_PERIOD: Final = _text("tag.creation-period", "daily")
TAG_CREATION_PERIOD_DURATION: Final = _maybe_duration("tag.creation-period-duration")
TAG_CREATION_DELAY: Final = _duration("tag.creation-delay", 0)
TAG_PERIOD_FORMATTER: Final = _text("tag.period-formatter", "with_dashes")
TAG_AUTOMATIC_COMPLETION: Final = _flag("tag.automatic-completion", False)
TAG_NUM_RETAINED_MAX: Final = _maybe_number("tag.num-retained-max")
SINK_WATERMARK_TIME_ZONE: Final = _text("sink.watermark-time-zone", "UTC")
SINK_PROCESS_TIME_ZONE: Final = _maybe_text("sink.process-time-zone")
PARTITION_EXPIRATION_STRATEGY: Final = _text("partition.expiration-strategy", "values-time")
PARTITION_EXPIRATION_TIME: Final = _maybe_duration("partition.expiration-time")
PARTITION_EXPIRATION_MAX_NUM: Final = _number("partition.expiration-max-num", 100)
PARTITION_TIMESTAMP_FORMATTER: Final = _maybe_text("partition.timestamp-formatter")
PARTITION_TIMESTAMP_PATTERN: Final = _maybe_text("partition.timestamp-pattern")
PARTITION_MARK_DONE_ACTION: Final[ConfigOption[tuple[str, ...]]] = ConfigOption(
    key="partition.mark-done-action", parse=_parse_columns, default=("success-file",)
)

BRANCH: Final = _text("branch", "main")
SCAN_FALLBACK_BRANCH: Final = _maybe_text("scan.fallback-branch")
SCAN_PRIMARY_BRANCH: Final = _maybe_text("scan.primary-branch")
SCAN_FALLBACK_SNAPSHOT_BRANCH: Final = _maybe_text("scan.fallback-snapshot-branch")
SCAN_FALLBACK_DELTA_BRANCH: Final = _maybe_text("scan.fallback-delta-branch")
CHAIN_TABLE_ENABLED: Final = _flag("chain-table.enabled", False)
BRANCH_OPTIONS: Final = (
    SCAN_FALLBACK_BRANCH,
    SCAN_PRIMARY_BRANCH,
    SCAN_FALLBACK_SNAPSHOT_BRANCH,
    SCAN_FALLBACK_DELTA_BRANCH,
)
