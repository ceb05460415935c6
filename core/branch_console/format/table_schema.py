"""A table's schema file: columns, keys and options, as one branch knows them.

Source: Paimon TableSchema and SchemaSerializer.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from branch_console.errors import ErrorKind, FormatError, NotFound
from branch_console.format import options as table_options
from branch_console.format.data_types import (
    DataField,
    DataType,
    RowType,
    field_to_json,
    parse_field,
)
from branch_console.format.json_text import JsonObject, to_pretty_json
from branch_console.format.options import Options

CURRENT_VERSION: Final = 3
_POSTPONE_BUCKET: Final = -2
# Kept by whoever set it: no engine removes a snapshot of such a table on its own.
_ENDLESS_RETENTION: Final = 1_000_000_000


class BucketMode(StrEnum):
    """How rows find their bucket [Paimon BucketMode]."""

    HASH_FIXED = "fixed"
    HASH_DYNAMIC = "dynamic"
    KEY_DYNAMIC = "dynamic across partitions"
    BUCKET_UNAWARE = "unaware"
    POSTPONE_MODE = "postpone"


class MergeEngine(StrEnum):
    """How readers make one row of the records of one key [Paimon MergeEngine].

    What depends on it matches on it, so that the type checker names each place that lacks a case.
    """

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """One version of a table's schema on one branch; ids fork, so compare `fingerprint`."""

    version: int = CURRENT_VERSION
    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...]
    primary_keys: tuple[str, ...]
    options: Options
    comment: str | None = None
    time_millis: int = 0

    @classmethod
    def from_json(cls, text: str | bytes) -> "TableSchema":
        """Decode a schema file.

        Raises:
            FormatError: The text is not a schema, or names columns that it does not have.
        """
        raw = JsonObject.parse(text, "schema file")
        version = raw.check_version(CURRENT_VERSION, absent=1)
        schema = cls(
            version=version,
            id=raw.get("id", int),
            fields=tuple(parse_field(field) for field in raw.objects("fields")),
            highest_field_id=raw.get("highestFieldId", int),
            partition_keys=raw.texts("partitionKeys"),
            primary_keys=raw.texts("primaryKeys"),
            options=_with_old_defaults(version, raw.text_map("options")),
            comment=raw.find("comment", str),
            time_millis=raw.find("timeMillis", int) or 0,
        )
        names = {field.name for field in schema.fields}
        unknown = sorted({*schema.partition_keys, *schema.primary_keys} - names)
        if unknown:
            raise FormatError(f"The schema file has keys that are no columns: {unknown}.")
        return schema

    def to_json(self) -> str:
        """Encode as Paimon writes it."""
        content: dict[str, object] = {
            "version": self.version,
            "id": self.id,
            "fields": [field_to_json(field) for field in self.fields],
            "highestFieldId": self.highest_field_id,
            "partitionKeys": list(self.partition_keys),
            "primaryKeys": list(self.primary_keys),
            "options": dict(self.options),
        }
        if self.comment is not None:
            content["comment"] = self.comment
        return to_pretty_json({**content, "timeMillis": self.time_millis})

    @property
    def fingerprint(self) -> str:
        """A hash of everything but id and time: equal exactly for schemas with equal content."""
        content = [
            [field_to_json(field) for field in self.fields],
            self.partition_keys,
            self.primary_keys,
            sorted(self.options.items()),
            self.comment,
        ]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    @property
    def row_type(self) -> RowType:
        """All columns."""
        return RowType(fields=self.fields, nullable=False)

    @property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """The primary key without the partition keys: what identifies a row in its partition."""
        return tuple(key for key in self.primary_keys if key not in self.partition_keys)

    @property
    def partition_type(self) -> RowType:
        """The partition columns, in key order."""
        return self.project(self.partition_keys)

    @property
    def key_type(self) -> RowType:
        """The trimmed primary key: what a row of a bucket is known by."""
        return self.project(self.trimmed_primary_keys)

    @property
    def clustering_columns(self) -> tuple[str, ...]:
        """The columns by which files above level 0 are sorted in place of the key; mostly none.

        Source: Paimon ClusteringCompactManager, option `pk-clustering-override`.
        """
        if not self.options.read(table_options.PK_CLUSTERING_OVERRIDE):
            return ()
        return self.options.read(table_options.CLUSTERING_COLUMNS)

    @property
    def ranged_key_type(self) -> RowType:
        """The key by whose range files are told apart; no columns if each may hold any key."""
        return self.project(()) if self.clustering_columns else self.key_type

    def min_key_type(self, level: int) -> RowType:
        """The type of the min and max key of a data file of a level."""
        columns = self.clustering_columns
        return self.project(columns) if columns and level > 0 else self.key_type

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns whose hash chooses the bucket."""
        return self.options.read(table_options.BUCKET_KEY) or self.trimmed_primary_keys

    @property
    def num_buckets(self) -> int:
        """The option `bucket`: a count, -1 (dynamic or unaware) or -2 (postpone)."""
        return self.options.read(table_options.BUCKET)

    @property
    def bucket_mode(self) -> BucketMode:
        """How rows find their bucket."""
        if self.num_buckets == _POSTPONE_BUCKET:
            return BucketMode.POSTPONE_MODE
        if self.num_buckets > 0:
            return BucketMode.HASH_FIXED
        if not self.primary_keys:
            return BucketMode.BUCKET_UNAWARE
        crosses = not set(self.partition_keys) <= set(self.primary_keys)
        return BucketMode.KEY_DYNAMIC if crosses else BucketMode.HASH_DYNAMIC

    @property
    def merge_engine(self) -> MergeEngine | None:
        """How records of one key become a row; None for an engine that is not known here.

        Reading rows of such a table is refused: `check_mergeable` names the engine.
        """
        name = self.options.read(table_options.MERGE_ENGINE)
        return next((engine for engine in MergeEngine if engine == name), None)

    @property
    def retention_option(self) -> str | None:
        """The option by which writers of other engines expire no snapshot, None without one."""
        kept = self.options.get(table_options.SNAPSHOT_NUM_RETAINED_MIN.key, "")
        if kept.isdigit() and int(kept) >= _ENDLESS_RETENTION:
            return table_options.SNAPSHOT_NUM_RETAINED_MIN.key
        is_write_only = self.options.get(table_options.WRITE_ONLY.key, "").lower() == "true"
        return table_options.WRITE_ONLY.key if is_write_only else None

    @property
    def fence_obstacles(self) -> tuple[str, ...]:
        """Options by which other engines expire snapshots in spite of a consumer of the branch.

        Source: Paimon TableCommitImpl (`consumer.expiration-time` deletes idle consumers) and
        ExpireSnapshotsImpl (`consumer.changelog-only` asks consumers for changelogs only).
        """
        found = []
        if table_options.CONSUMER_EXPIRATION_TIME.key in self.options:
            found.append(table_options.CONSUMER_EXPIRATION_TIME.key)
        changelog_only = self.options.get(table_options.CONSUMER_CHANGELOG_ONLY.key, "false")
        if changelog_only.strip().lower() != "false":
            found.append(table_options.CONSUMER_CHANGELOG_ONLY.key)
        return tuple(found)

    @property
    def skips_level_0(self) -> bool:
        """Whether batch readers of a table with a primary key leave out what is not compacted yet.

        Files above level 0 hold each key once then, and adding one at level 0 shows nothing.

        Source: Paimon CoreOptions.batchScanSkipLevel0.
        """
        if self.options.read(table_options.DELETION_VECTORS_ENABLED):
            return not self.options.read(table_options.DELETION_VECTORS_MERGE_ON_READ)
        return self.merge_engine is MergeEngine.FIRST_ROW

    def project(self, names: tuple[str, ...]) -> RowType:
        """Return the columns `names`, in that order.

        Raises:
            NotFound: There is no such column.
        """
        return RowType(fields=tuple(self.field(name) for name in names), nullable=False)

    def find_field(self, name: str) -> DataField | None:
        """Return the column `name`, or None."""
        return next((field for field in self.fields if field.name == name), None)

    def field(self, name: str) -> DataField:
        """Return the column `name`.

        Raises:
            NotFound: There is no such column.
        """
        found = self.find_field(name)
        if found is None:
            raise NotFound(
                f"Schema {self.id} has no column {name!r}.", kind=ErrorKind.SCHEMA_NOT_FOUND
            )
        return found

    def field_types(self, names: tuple[str, ...]) -> tuple[DataType, ...]:
        """Return the types of the columns `names`."""
        return self.project(names).types

    def with_options(self, changes: dict[str, str]) -> "TableSchema":
        """Return this schema with options on top: Paimon's dynamic options."""
        return replace(self, options=self.options.merged(changes))


def _with_old_defaults(version: int, options: dict[str, str]) -> Options:
    # Files of old releases rely on defaults that have changed since.
    if version <= 1:
        options.setdefault(table_options.BUCKET.key, "1")
    if version <= 2:
        options.setdefault(table_options.FILE_FORMAT.key, "orc")
    return Options(options)
