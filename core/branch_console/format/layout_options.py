"""The options of a table that say where or how its rows lie, and which of them we support.

Each version of Paimon adds such options. If a table uses one that we do not know, its rows can be
read wrong without any error: a merge of a table with `pk-clustering-override` moved files whose
rows Java then left out. So every option of a table has a judgement here. An option without one
stops writes and merges, and the refusal names it.

Source: Paimon 1.4.2 and 2.0.0, CoreOptions, FlinkConnectorOptions, IcebergOptions, CatalogOptions,
OrcOptions.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput


class Effect(StrEnum):
    """The effects of an option on the work on a table."""

    NONE = "none"
    """It says neither where nor how rows lie."""
    FOLLOWED = "followed"
    """It is followed; the code that follows it refuses the values that are not served."""
    STOPS_STATEMENTS = "stops statements"
    """Rows are read and merged right; statements could not write them so that Paimon finds them."""
    STOPS_WRITES = "stops writes"
    """Rows are read right, and could not be written or merged so that Paimon finds them."""
    STOPS_READS = "stops reads"
    """Rows could not even be read right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The known facts about an option.

    Attributes:
        off: The values, in lower case, under which it is as if it was not set.
        reason: For an option that stops something: what it does to rows.
    """

    effect: Effect
    off: frozenset[str] = frozenset()
    reason: str = ""


NO_EFFECT: Final = Judgement(effect=Effect.NONE)
FOLLOWED: Final = Judgement(effect=Effect.FOLLOWED)


def judge(key: str) -> Judgement | None:
    """Return what is known of an option; None for one that nobody has judged."""
    if key in _STOPPING:
        return _STOPPING[key]
    if key in _FOLLOWED:
        return FOLLOWED
    if key in _NONE or key.startswith(_NO_EFFECT_PREFIXES):
        return NO_EFFECT
    if key.startswith(_FIELDS):
        found = (judged for suffix, judged in _OF_A_COLUMN.items() if key.endswith(f".{suffix}"))
        return next(found, None)
    return None


def check_rows_read(options: Mapping[str, str]) -> None:
    """Refuse to read a table whose rows lie as they are not read here.

    Raises:
        InvalidInput: By the name of the option.
    """
    for key, reason in _stopping(options, {Effect.STOPS_READS}):
        raise InvalidInput(
            f"Branch Console cannot read the rows of this table: {reason} Read it with Paimon.",
            kind=ErrorKind.UNSUPPORTED,
            option=key,
        )


def check_rows_written(options: Mapping[str, str], *, is_merge: bool = False) -> None:
    """Refuse to write a table whose rows lie as they are not written here, or nobody knows how.

    Args:
        options: The options of the table.
        is_merge: Whether branches are merged, and no statement writes.

    Raises:
        InvalidInput: By the name of the option.
    """
    stopping = () if is_merge else _stopping(options, {Effect.STOPS_STATEMENTS})
    statements = ((key, f"{reason} Use Paimon for it.") for key, reason in stopping)
    for key, reason in (*statements, *unserved_in_writes(options)):
        raise InvalidInput(
            f"Branch Console cannot write rows of this table: {reason} Nothing was written.",
            kind=ErrorKind.UNSUPPORTED,
            option=key,
        )


def unserved_in_writes(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Tell the options of a table that stop writes and merges.

    Yields:
        The option, and sentences: what it does to rows, and what to do instead.
    """
    for key, reason in _stopping(options, {Effect.STOPS_READS, Effect.STOPS_WRITES}):
        yield key, f"{reason} Use Paimon for it."
    for key in sorted(options):
        if judge(key) is None:
            yield (
                key,
                f"the option {key!r} is on no list of Branch Console, so it may say where or how "
                "rows lie. Unset it, or use Paimon; a note of your own may be named "
                f"'custom.{key}'.",
            )


def _stopping(options: Mapping[str, str], effects: set[Effect]) -> Iterator[tuple[str, str]]:
    for key, value in sorted(options.items()):
        judged = judge(key)
        if judged is None or judged.effect not in effects:
            continue
        if value.strip().lower() not in judged.off:
            yield key, f"by {key!r} = {value!r} {judged.reason}."


def _stops(effect: Effect, reason: str, *off: str) -> Judgement:
    return Judgement(effect=effect, off=frozenset(off), reason=reason)


_FIELDS: Final = "fields."
_OFF: Final = "false"
_KEY_INDEX: Final = "an index of the rows lies beside them, which is made with each file"
_BLOBS: Final = "values lie in files of their own, or in other tables"

_STOPPING: Final[Mapping[str, Judgement]] = MappingProxyType(
    {
        "pk-clustering-override": _stops(
            Effect.STOPS_STATEMENTS, "files are sorted by other columns than the key", _OFF
        ),
        "sequence.snapshot-ordering": _stops(
            Effect.STOPS_READS, "the snapshot of a row decides which one of its key wins", _OFF
        ),
        "postpone.merge-on-read": _stops(
            Effect.STOPS_READS, "readers merge rows that have no bucket yet", _OFF
        ),
        "orc.timestamp-ltz.legacy.type": _stops(
            Effect.STOPS_READS, "ORC files hold times of another type", "true"
        ),
        "vector-field": _stops(Effect.STOPS_READS, "arrays are stored as vectors"),
        "vector.file.format": _stops(Effect.STOPS_READS, "vectors lie in files of their own"),
        **dict.fromkeys(
            (
                "blob-field", "blob-descriptor-field", "blob.stored-descriptor-fields",
                "blob-view-field", "blob-external-storage-field", "blob-external-storage-path",
            ),
            _stops(Effect.STOPS_READS, _BLOBS),
        ),
        **dict.fromkeys(
            (
                "pk-vector.index.columns", "pk-btree.index.columns", "pk-bitmap.index.columns",
                "pk-full-text.index.columns",
            ),
            _stops(Effect.STOPS_WRITES, _KEY_INDEX),
        ),
        **dict.fromkeys(
            (
                "scan.bucket", "scan.creation-time-millis", "scan.file-creation-time-millis",
                "scan.watermark",
            ),
            _stops(Effect.STOPS_READS, "readers see some of the rows only"),
        ),
        **dict.fromkeys(
            ("scan.mode", "log.scan"),
            _stops(
                Effect.STOPS_READS, "readers see some of the rows only", "default", "full",
                "latest", "latest-full",
                # These need another option, which is followed or stops.
                "from-timestamp", "from-snapshot", "from-snapshot-full", "incremental",
            ),
        ),
        "upsert-key": _stops(
            Effect.STOPS_WRITES, "a row that is inserted replaces others though there is no key"
        ),
        "chain-table.enabled": _stops(
            Effect.STOPS_WRITES, "this is a chain table, whose rows lie on several branches", _OFF
        ),
        "write.sequence-number-init-mode": _stops(
            Effect.STOPS_WRITES, "snapshots number the rows", "scan"
        ),
    }
)  # fmt: skip

# Of single columns, behind `fields.<column>.`.
_OF_A_COLUMN: Final[Mapping[str, Judgement]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "aggregate-function", "count-limit", "default-aggregate-function", "distinct",
                "ignore-retract", "list-agg-delimiter", "nested-key", "nested-key-null-strategy",
                "nested-sequence-field", "sequence-group", "stats-mode", "ts-field",
            ),
            FOLLOWED,
        ),
        "map.storage-layout": _stops(
            Effect.STOPS_READS, "entries of a MAP lie in columns of their own", "default"
        ),
        # They mean nothing without the layout.
        "map.shared-shredding.max-columns": NO_EFFECT,
        "map.shared-shredding.column-placement-policy": NO_EFFECT,
    }
)  # fmt: skip

_FOLLOWED: Final = frozenset(
    {
        "aggregation.remove-record-on-delete", "branch", "bucket", "bucket-append-ordered",
        "bucket-function.type", "bucket-key", "changelog-file.compression",
        "changelog-file.format", "changelog-file.prefix", "changelog-file.stats-mode",
        "changelog-producer", "commit.callbacks", "commit.discard-duplicate-files",
        "commit.strict-mode.last-safe-snapshot", "data-evolution.enabled",
        "data-file.external-paths", "data-file.external-paths.specific-fs",
        "data-file.external-paths.strategy", "data-file.external-paths.weights",
        "data-file.path-directory", "data-file.prefix", "data-file.thin-mode",
        "deduplicate.ignore-delete", "deletion-vectors.bitmap64", "deletion-vectors.enabled",
        "deletion-vectors.merge-on-read", "deletion-vectors.modifiable",
        "dynamic-bucket.initial-buckets", "dynamic-bucket.max-buckets",
        "dynamic-bucket.target-row-num", "dynamic-partition-overwrite", "file.compression",
        "file.compression.zstd-level", "file.format", "first-row.ignore-delete", "force-lookup",
        "ignore-delete", "ignore-update-before", "index-file-in-data-file-dir",
        "manifest.compression", "manifest.delete-file-drop-stats", "manifest.format",
        "merge-engine", "metadata.stats-dense-store", "metadata.stats-keep-first-n-columns",
        "metadata.stats-mode", "metadata.stats-mode.per.level", "num-levels", "overwrite-upgrade",
        "partial-update.ignore-delete", "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group", "partition", "partition.default-name",
        "partition.legacy-name", "path", "primary-key", "primary-key.nullable",
        "record-level.expire-time", "record-level.time-field", "row-tracking.enabled",
        "row-tracking.partition-group-on-commit", "rowkind.field", "sequence.field",
        "sequence.field.sort-order", "target-file-size", "type", "write-only",
        "write.compaction-skip",
        # They name a branch or a state that is read.
        "incremental-between", "incremental-between-scan-mode",
        "incremental-between-tag-to-snapshot", "incremental-between-timestamp",
        "incremental-to-auto-tag", "log.scan.timestamp-millis", "scan.bounded.watermark",
        "scan.fallback-branch", "scan.fallback-delta-branch", "scan.fallback-snapshot-branch",
        "scan.primary-branch", "scan.snapshot-id", "scan.tag-name", "scan.timestamp",
        "scan.timestamp-millis", "scan.version",
    }
)  # fmt: skip

_NONE: Final = frozenset(
    {
        # Who reads or writes in which way, when files are compacted, what is kept how long.
        "add-column-before-partition", "alter-column-null-to-not-null.disabled",
        "async-file-write", "auto-create", "batch-scan-mode", "blob-as-descriptor",
        "blob-compaction.enabled", "blob-descriptor.source-table", "blob-view.resolve.enabled",
        "blob-write-null-on-fetch-failure", "blob-write-null-on-missing-file",
        "blob.copy-buffer-size", "blob.split-by-file-size", "blob.target-file-size",
        "cache-page-size", "chain-table.chain-partition-keys",
        "chain-table.split.key-range-enabled", "chain-table.streaming.merge-snapshot",
        "clustering.columns", "clustering.history-partition.idle-to-full-sort",
        "clustering.history-partition.limit", "clustering.incremental",
        "clustering.incremental.mode", "clustering.incremental.optimize-write",
        "clustering.strategy", "commit.custom-listeners", "commit.force-compact",
        "commit.force-create-snapshot", "commit.max-retries", "commit.max-retry-wait",
        "commit.min-retry-wait", "commit.timeout", "commit.user-prefix", "consumer-id",
        "continuous.discovery-interval", "cross-partition-upsert.bootstrap-parallelism",
        "cross-partition-upsert.index-ttl", "data-evolution.compaction.rewrite-row-ids",
        "data-evolution.merge-into.file-pruning", "data-evolution.merge-into.source-persist",
        "data-evolution.reassign.skip-contiguous-row-count",
        "data-evolution.row-id-conflict-rewrite.max-size", "data-evolution.row-sidecar.enabled",
        "data-evolution.row-sidecar.max-selected-rows",
        "data-evolution.row-sidecar.max-selection-ratio", "delete-file.thread-num",
        "delete.force-produce-changelog", "deletion-vector.index-file.target-size",
        "disable-explicit-type-casting", "dynamic-bucket.assigner-parallelism",
        "end-input.check-partition-expire", "end-input.watermark", "file-operation.thread-num",
        "file-reader-async-threshold", "file.block-size", "file.compression.per.level",
        "file.format.per.level", "file.suffix.include.compression",
        "filesystem.job-level-settings.enabled", "full-compaction.delta-commits",
        "full-text-index.search-mode", "global-index.build.max-parallelism",
        "global-index.build.max-shard", "global-index.column-update-action",
        "global-index.enabled", "global-index.external-path", "global-index.row-count-per-shard",
        "global-index.search-mode", "global-index.thread-num",
        "key-value.sequence_number.enabled", "local-kv-db.block-size",
        "local-merge-buffer-size", "local-sort.max-num-file-handles", "manifest-sort.enabled",
        "manifest-sort.max-rewrite-size", "manifest-sort.partition-field",
        "manifest.full-compaction-threshold-size", "manifest.merge-min-count",
        "manifest.target-file-size", "metastore.partitioned-table", "metastore.tag-to-partition",
        "metastore.tag-to-partition.preview", "num-sorted-run.compaction-trigger",
        "num-sorted-run.stop-trigger", "page-size", "partition.end-input-to-done",
        "partition.expiration-batch-size", "partition.expiration-check-interval",
        "partition.expiration-max-num", "partition.expiration-strategy",
        "partition.expiration-time", "partition.idle-time-to-done",
        "partition.idle-time-to-report-statistic", "partition.mark-done-action",
        "partition.mark-done-action.custom.class", "partition.mark-done-action.http.params",
        "partition.mark-done-action.http.url", "partition.mark-done-action.mode",
        "partition.mark-done.recover-from-state", "partition.sink-strategy",
        "partition.time-interval", "partition.timestamp-format.strict",
        "partition.timestamp-formatter", "partition.timestamp-pattern",
        "postpone.batch-write-fixed-bucket", "postpone.batch-write-fixed-bucket.max-parallelism",
        "postpone.default-bucket-num", "postpone.target-row-num-per-bucket",
        "postpone.target-size-per-bucket", "precommit-compact", "query-auth.enabled",
        "read.batch-size", "scalar-index.search-mode", "scan.bounded",
        "scan.dedicated-split-generation", "scan.fallback-branch.read-fail-fast",
        "scan.ignore-corrupt-files", "scan.ignore-lost-files", "scan.infer-parallelism",
        "scan.infer-parallelism.max", "scan.manifest.parallelism", "scan.max-snapshot.count",
        "scan.max-splits-per-task", "scan.parallelism", "scan.partitions",
        "scan.plan-auto-tag-for-read.time-retained", "scan.plan-sort-partition",
        "scan.push-down", "scan.remove-normalize", "sequence.auto-padding", "sort-engine",
        "sort-spill-buffer-size", "sort-spill-threshold", "spill-compression",
        "spill-compression.zstd-level", "stream-scan-mode", "streaming-read-append-overwrite",
        "streaming-read-overwrite",
        "streaming-read.shuffle-bucket-with-partition", "streaming.read.snapshot.delay",
        "table-read.sequence-number.enabled", "target-file-row-num",
        "variant.inferShreddingSchema", "variant.shredding.adaptive.maxInferBufferRow",
        "variant.shredding.adaptive.retentionRatio", "variant.shredding.inferenceMode",
        "variant.shredding.maxInferBufferRow", "variant.shredding.maxSchemaDepth",
        "variant.shredding.maxSchemaWidth", "variant.shredding.minFieldCardinalityRatio",
        "variant.shreddingSchema",
        "vector-index.search-mode", "vector-search.distribute.enabled",
        "vector-search.lateral-join.batch-size", "vector.target-file-size",
        "visibility-callback.check-interval", "visibility-callback.enabled",
        "visibility-callback.timeout", "write-buffer-for-append", "write-buffer-size",
        "write-buffer-spill.max-disk-size", "write-buffer-spillable", "write-max-writers-to-spill",
        "write.batch-memory", "write.batch-size", "write.merge-schema",
        "write.merge-schema.explicit-cast", "write.use-v2-write", "zorder.var-length-contribution",
        # Of catalogs and engines, which some of them keep with the table.
        "COLUMN_STATS_ACCURATE", "EXTERNAL", "alter-table-cascade", "bucketing_version",
        "case-sensitive", "catalog-options-table.enabled", "classification", "client-pool-size",
        "comment", "connector", "default-database", "external", "hadoop-conf-dir",
        "hive-conf-dir", "is_managed_location", "last_modified_by", "last_modified_time",
        "location", "location-in-properties", "metastore", "metastore.client.class", "numFiles",
        "numRows", "owner", "provider", "rawDataSize", "resolving-file-io.enabled",
        "storage_handler", "sync-all-properties", "table.type", "table_type", "totalSize",
        "transient_lastDdlTime", "uri", "warehouse",
    }
)  # fmt: skip

_NO_EFFECT_PREFIXES: Final = (
    # How files are packed: the files tell it themselves.
    "avro.", "csv.", "file-index.", "json.", "orc.", "parquet.", "text.",
    # Work that compacts, expires, looks up, notifies or mirrors, and that readers do not see.
    "bitmap-index.", "blob-descriptor.", "btree-index.", "changelog-producer.lookup-wait",
    "changelog-producer.compaction-interval", "changelog-producer.row-deduplicate",
    "changelog.", "commit.callback.", "compaction.", "consumer.", "format-table.", "kafka.",
    "log.", "lookup-", "lookup.", "materialized-table.", "metadata.iceberg.", "read.",
    "scan.split-enumerator.", "scan.watermark.", "sink.", "snapshot.", "sort-compaction.",
    "sorted-index.", "source.", "tag.", "unaware-bucket.",
    # Settings of stores, catalogs and engines; a user's own notes.
    "cache.", "client-pool-cache.", "custom.", "dbt.", "dfs.", "dlf.", "flink.", "fs.", "hadoop.",
    "hive.", "lock.", "option.", "oss.", "rest.", "s3.", "security.", "spark.",
)  # fmt: skip
