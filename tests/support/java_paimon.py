"""Paimon's own Java library, driven in this process: the oracle of the tests.

`JavaPaimon` is a warehouse, `JavaTable` one table on one branch. Nothing is cached: each call
loads the table again, so that what others wrote in between is seen.
"""

import datetime as dt
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jpype

from tests.support.java_values import (
    FieldType,
    Value,
    data_type,
    row_reader,
    to_java,
    to_java_row,
)
from tests.support.java_vm import java_class, start_jvm


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What a system table says."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Value, ...]]

    def records(self) -> list[dict[str, Value]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class JavaPaimon:
    """A warehouse, opened by a filesystem catalog without caches."""

    def __init__(self, warehouse: Path | str, version: str = "1.4.2") -> None:
        start_jvm(version)
        self.version = version
        options = {"warehouse": str(warehouse), "cache-enabled": "false"}
        context = java_class("catalog.CatalogContext").create(
            java_class("options.Options").fromMap(_java_map(options))
        )
        self.catalog = java_class("catalog.CatalogFactory").createCatalog(context)

    def create_database(self, name: str) -> None:
        """Make a database unless it exists."""
        self.catalog.createDatabase(name, True)

    def drop_database(self, name: str) -> None:
        """Drop a database with all its tables."""
        self.catalog.dropDatabase(name, False, True)

    def databases(self) -> list[str]:
        """All databases, by name."""
        return sorted(map(str, self.catalog.listDatabases()))

    def tables(self, database: str) -> list[str]:
        """All tables of a database, by name."""
        return sorted(map(str, self.catalog.listTables(database)))

    def create_table(
        self,
        name: str,
        fields: Mapping[str, FieldType],
        *,
        partition_keys: Sequence[str] = (),
        primary_keys: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> "JavaTable":
        """Make `database.table`, and its database if need be."""
        identifier = java_class("catalog.Identifier").fromString(name)
        self.create_database(identifier.getDatabaseName())
        builder = java_class("schema.Schema").newBuilder()
        for field, written in fields.items():
            builder.column(field, data_type(written))
        builder.partitionKeys(_java_list(partition_keys))
        builder.primaryKey(_java_list(primary_keys))
        builder.options(_java_map(options or {}))
        if comment is not None:
            builder.comment(comment)
        self.catalog.createTable(identifier, builder.build(), False)
        return self.table(name)

    def drop_table(self, name: str) -> None:
        """Drop a table with its branches."""
        self.catalog.dropTable(java_class("catalog.Identifier").fromString(name), False)

    def rename_table(self, name: str, new_name: str) -> None:
        """Rename a table; its branches move along."""
        identifier = java_class("catalog.Identifier").fromString
        self.catalog.renameTable(identifier(name), identifier(new_name), False)

    def table(self, name: str) -> "JavaTable":
        """A table by its identifier, such as `db.t` or `db.t$branch_dev`."""
        return JavaTable(self, name)


class JavaTable:
    """One table on one branch."""

    def __init__(self, paimon: JavaPaimon, name: str) -> None:
        self.paimon = paimon
        self.name = name

    def on(self, branch: str) -> "JavaTable":
        """The same table on another branch."""
        base = self.name.split("$")[0]
        return JavaTable(self.paimon, base if branch == "main" else f"{base}$branch_{branch}")

    def load(self, options: Mapping[str, str] | None = None) -> Any:
        """The Java table as it is now, with dynamic options."""
        table = self.paimon.catalog.getTable(self._identifier())
        return table.copy(_java_map(options)) if options else table

    # ---- writing -------------------------------------------------------------------------------

    def write(
        self,
        rows: Iterable[Sequence[Value]],
        *,
        kind: str = "+I",
        overwrite: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Commit rows as one batch.

        Args:
            rows: One tuple a row, in the order of the table's fields or of `columns`.
            kind: Row kind of all of them: `+I`, `-U`, `+U` or `-D`.
            overwrite: Replace what these partitions hold; `{}` replaces what the rows touch.
            columns: Write only these; the others stay null.
            options: Dynamic options of this write.
        """
        table = self.load(options)
        names = [str(name) for name in table.rowType().getFieldNames()]
        with _writer(table, overwrite) as (write, commit):
            assign_bucket = _bucket_assigner(table, write)
            for values in rows:
                full = _widen(values, columns, names)
                row = to_java_row(full, table.rowType(), kind)
                if assign_bucket is None:
                    write.write(row)
                else:
                    write.write(row, assign_bucket(row))
            commit.commit(write.prepareCommit())

    def prepare(
        self,
        rows: Iterable[Sequence[Value]] = (),
        *,
        kind: str = "+I",
        compact: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """Write rows, or compact each bucket, and return Java's commit messages uncommitted."""
        table = self.load({"write-only": str(not compact).lower(), **(options or {})})
        with _writer(table, None) as (write, _):
            assign_bucket = _bucket_assigner(table, write)
            for values in rows:
                row = to_java_row(values, table.rowType(), kind)
                if assign_bucket is None:
                    write.write(row)
                else:
                    write.write(row, assign_bucket(row))
            if compact:
                _compact_buckets(table, write, full=True)
            return list(write.prepareCommit())

    def write_columns(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Value]],
        *,
        first_row_id: int | None = None,
    ) -> None:
        """Commit a file that holds some columns of rows which have ids (data evolution).

        Args:
            columns: What the file holds.
            rows: One tuple a row, in the order of `columns`.
            first_row_id: The id of the first of these rows if they exist, else they are new.
        """
        table = self.load()
        row_type = table.rowType().project(_java_list(columns))
        with _writer(table, None) as (write, commit):
            write.withWriteType(row_type)
            for values in rows:
                write.write(to_java_row(values, row_type))
            messages = write.prepareCommit()
            if first_row_id is not None:
                for message in messages:
                    files = message.newFilesIncrement().newFiles()
                    numbered = [file.assignFirstRowId(first_row_id) for file in files]
                    files.clear()
                    files.addAll(_java_list(numbered))
            commit.commit(messages)

    def delete(self, rows: Iterable[Sequence[Value]]) -> None:
        """Commit these rows as deletions."""
        self.write(rows, kind="-D")

    def compact(self, *, full: bool = True, options: Mapping[str, str] | None = None) -> None:
        """Compact every bucket, by default into one run; also tables without buckets."""
        table = self.load({"write-only": "false", **(options or {})})
        if str(table.bucketMode().name()) == "BUCKET_UNAWARE":
            self._compact_unaware(table)
            return
        with _writer(table, None) as (write, commit):
            _compact_buckets(table, write, full=full)
            commit.commit(write.prepareCommit())

    def _compact_unaware(self, table: Any) -> None:
        coordinator = java_class("append.AppendCompactCoordinator")(table, False)
        try:
            tasks = coordinator.run()
        except java_class("table.source.EndOfScanException"):
            return  # there is nothing in the table
        write = table.store().newWrite("compaction")
        messages = _java_list([task.doCompact(table, write) for task in tasks])
        table.newBatchWriteBuilder().newCommit().commit(messages)
        write.close()

    def delete_positions(
        self, positions: Mapping[str, Sequence[int]], added: Iterable[Sequence[Value]] = ()
    ) -> None:
        """Delete rows of an append table without buckets through deletion vectors.

        Args:
            positions: Per data file name, the positions of rows to delete.
            added: Rows that come with the same commit, such as new versions of those.
        """
        table = self.load()
        store = table.store()
        vectors = "deletionvectors.Bitmap64DeletionVector"
        if not table.coreOptions().deletionVectorBitmap64():
            vectors = "deletionvectors.BitmapDeletionVector"
        by_partition: dict[bytes, Any] = {}
        for entry in store.newScan().plan().files():
            name = str(entry.file().fileName())
            if name not in positions:
                continue
            key = serialized_row(entry.partition())
            if key not in by_partition:
                by_partition[key] = vectors_of_partition(table, entry.partition())
            vector = java_class(vectors)()
            for position in positions[name]:
                vector.delete(position)
            by_partition[key].notifyNewDeletionVector(name, vector)
        messages = [index_message(maintainer) for maintainer in by_partition.values()]
        with _writer(table, None) as (write, commit):
            for row in added:
                write.write(to_java_row(row, table.rowType()))
            commit.commit(_java_list([*messages, *write.prepareCommit()]))

    def truncate(self) -> None:
        """Delete all rows in one commit."""
        self.load().newBatchWriteBuilder().newCommit().truncateTable()

    def drop_partition(self, partition: Mapping[str, str]) -> None:
        """Remove all rows of a partition."""
        commit = self.load().newBatchWriteBuilder().newCommit()
        commit.truncatePartitions(_java_list([_java_map(partition)]))

    def analyze(self, *, rows: int, size: int, columns: Mapping[str, Mapping[str, Any]]) -> None:
        """Commit statistics: per column `distinct`, `min`, `max`, `nulls`, `avg_len`, `max_len`."""
        table = self.load()
        fields = {str(field.name()): field for field in table.rowType().getFields()}
        content = java_class("java.util.LinkedHashMap")()
        for name, stats in columns.items():
            content.put(name, _column_stats(fields[name], stats))
        head = table.snapshotManager().latestSnapshot()
        long = java_class("java.lang.Long")
        statistics = java_class("stats.Statistics")(
            head.id(), head.schemaId(), long(rows), long(size), content
        )
        table.newBatchWriteBuilder().newCommit().updateStatistics(statistics)

    # ---- schema --------------------------------------------------------------------------------

    def add_column(self, path: str, written: FieldType, description: str | None = None) -> None:
        """Add a column, or a field `row.field` of a nested row."""
        change = java_class("schema.SchemaChange").addColumn
        self._alter(change(_path(path), data_type(written), description, None))

    def rename_column(self, path: str, new_name: str) -> None:
        """Rename a column."""
        self._alter(java_class("schema.SchemaChange").renameColumn(_path(path), new_name))

    def drop_column(self, path: str) -> None:
        """Drop a column."""
        self._alter(java_class("schema.SchemaChange").dropColumn(_path(path)))

    def retype_column(self, path: str, written: FieldType) -> None:
        """Give a column a wider type."""
        change = java_class("schema.SchemaChange").updateColumnType
        self._alter(change(_path(path), data_type(written), False))

    def set_nullable(self, path: str, is_nullable: bool) -> None:
        """Allow nulls in a column, or make it NOT NULL."""
        change = java_class("schema.SchemaChange").updateColumnNullability
        self._alter(change(_path(path), is_nullable))

    def set_default(self, path: str, value: str) -> None:
        """Give a column a default, which counts for rows written from now on."""
        change = java_class("schema.SchemaChange").updateColumnDefaultValue
        self._alter(change(_path(path), value))

    def columns(self) -> list[str]:
        """All columns with their types, as SQL writes them."""
        return [
            f"{field.name()} {field.type().asSQLString()}"
            for field in self.load().rowType().getFields()
        ]

    def set_options(self, options: Mapping[str, str]) -> None:
        """Set table options."""
        change = java_class("schema.SchemaChange").setOption
        self._alter(*(change(name, value) for name, value in options.items()))

    def remove_options(self, *names: str) -> None:
        """Remove table options."""
        self._alter(*map(java_class("schema.SchemaChange").removeOption, names))

    def set_comment(self, comment: str) -> None:
        """Set the comment of the table."""
        self._alter(java_class("schema.SchemaChange").updateComment(comment))

    def _alter(self, *changes: Any) -> None:
        self.paimon.catalog.alterTable(self._identifier(), _java_list(changes), False)

    # ---- branches, tags, history ---------------------------------------------------------------

    def create_tag(
        self, name: str, snapshot: int | None = None, retained: dt.timedelta | None = None
    ) -> None:
        """Tag a snapshot, by default the head."""
        kept = None
        if retained is not None:
            kept = java_class("java.time.Duration").ofMillis(
                retained // dt.timedelta(milliseconds=1)
            )
        if snapshot is None:
            self.load().createTag(name, kept)
        else:
            self.load().createTag(name, jpype.JLong(snapshot), kept)

    def delete_tag(self, name: str) -> None:
        """Delete a tag."""
        self.load().deleteTag(name)

    def create_branch(self, name: str, tag: str | None = None) -> None:
        """Make a branch from a tag of this branch, or an empty one."""
        table = self.load()
        if tag is None:
            table.createBranch(name)
        else:
            table.createBranch(name, tag)

    def drop_branch(self, name: str) -> None:
        """Drop a branch."""
        self.load().deleteBranch(name)

    def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch."""
        self.load().renameBranch(name, new_name)

    def fast_forward(self, name: str) -> None:
        """Copy a branch onto this one."""
        self.load().fastForward(name)

    def merge_branch(self, source: str, target: str = "main") -> None:
        """Merge a branch as Paimon 2.0.0 does; older versions cannot."""
        self.load().mergeBranch(source, target)

    def add_consumer(self, name: str, next_snapshot: int) -> None:
        """Note that a streaming reader reads a snapshot next."""
        consumer = java_class("consumer.Consumer")(jpype.JLong(next_snapshot))
        self.load().consumerManager().resetConsumer(name, consumer)

    def remove_orphan_files(self) -> None:
        """Delete the files of the table that no branch names, however young they are."""
        clean = java_class("operation.LocalOrphanFilesClean")
        older_than = java_class("java.lang.System").currentTimeMillis() + 60_000
        clean(self.load(), jpype.JLong(older_than), False).clean()

    def rollback_to(self, target: int | str) -> None:
        """Go back to a snapshot id or a tag name."""
        self.load().rollbackTo(jpype.JLong(target) if isinstance(target, int) else target)

    def expire_snapshots(self, keep: int, *, keep_changelogs: int | None = None) -> int:
        """Expire all but the newest snapshots; the number that went.

        Args:
            keep: How many snapshots stay.
            keep_changelogs: Of expired snapshots the newest become changelogs, up to this many
                with those that stay.
        """
        builder = java_class("options.ExpireConfig").builder()
        builder.snapshotRetainMax(keep).snapshotRetainMin(keep)
        builder.snapshotTimeRetain(java_class("java.time.Duration").ZERO)
        if keep_changelogs is not None:
            kept = java_class("java.lang.Integer")(keep_changelogs)
            builder.changelogRetainMax(kept).changelogRetainMin(kept)
        return int(self.load().newExpireSnapshots().config(builder.build()).expire())

    def expire(self, options: Mapping[str, str]) -> int:
        """Expire as a writer does with the options of the table and these; the number that went."""
        table = self.load(options)
        config = table.coreOptions().expireConfig()
        return int(table.newExpireSnapshots().config(config).expire())

    def set_consumer(self, name: str, next_snapshot: int) -> None:
        """Note how far a streaming reader has come."""
        consumer = java_class("consumer.Consumer")(next_snapshot)
        self.load().consumerManager().resetConsumer(name, consumer)

    # ---- asking --------------------------------------------------------------------------------

    def rows(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        options: Mapping[str, str] | None = None,
        partition: Mapping[str, str] | None = None,
        retracts: bool = True,
    ) -> list[tuple[Value, ...]]:
        """What a batch reader returns at the head, a snapshot id or a tag name of main.

        With a partition, by the text of its values, the rows of that one alone. Of changes the
        reader returns rows that delete, or that an update replaces, by their kind; `retracts` says
        whether they are wanted.
        """
        wanted = dict(options or {})
        if snapshot is not None:
            wanted["scan.snapshot-id"] = str(snapshot)
        if tag is not None:
            wanted["scan.tag-name"] = tag
        return _read(self.load(wanted), partition, retracts=retracts)

    def row_ids(self) -> dict[int, tuple[Value, ...]]:
        """What a batch reader returns at the head of a table with row tracking, by row id."""
        table = self.load()
        kind = java_class("table.SpecialFields").rowTypeWithRowTracking(table.rowType())
        width = table.rowType().getFieldCount()
        rows = _read(table, kind=kind)
        found = {row[width]: row[:width] for row in rows}
        assert len(found) == len(rows), f"ids stand twice: {rows}"
        return found

    def row_count(self) -> int:
        """How many rows a batch reader returns at the head."""
        return len(self.rows())

    def live_files(
        self, *, snapshot: int | None = None, tag: str | None = None
    ) -> list[dict[str, Value]]:
        """The live files of the head, a snapshot id or a tag of this branch, in file order."""
        table = self.load()
        state = _state(table, snapshot, tag)
        if state is None:
            return []
        read_partition = row_reader(table.store().partitionType())
        entries = table.store().newScan().withSnapshot(state).plan().files()
        files = [_live_file(entry, read_partition) for entry in entries]
        return sorted(
            files, key=lambda file: (file["partition_bytes"], file["bucket"], file["file_name"])
        )

    def index_files(
        self, *, snapshot: int | None = None, tag: str | None = None
    ) -> list[dict[str, Value]]:
        """The index files of the head, a snapshot id or a tag of this branch."""
        table = self.load()
        state = _state(table, snapshot, tag)
        if state is None or state.indexManifest() is None:
            return []
        entries = table.store().newIndexFileHandler().readManifest(state.indexManifest())
        read_partition = row_reader(table.store().partitionType())
        return sorted(
            (_index_file(entry, read_partition) for entry in entries),
            key=lambda file: (repr(file["partition"]), file["bucket"], file["file_name"]),
        )

    def snapshots(self) -> list[dict[str, Any]]:
        """All snapshots as JSON objects, oldest first."""
        manager = self.load().snapshotManager()
        found = (json.loads(str(item.toJson())) for item in manager.safelyGetAllSnapshots())
        return sorted(found, key=lambda item: int(item["id"]))

    def schemas(self) -> list[dict[str, Any]]:
        """All schemas as JSON objects, oldest first."""
        found = (json.loads(str(item.toString())) for item in self.load().schemaManager().listAll())
        return sorted(found, key=lambda item: int(item["id"]))

    def tags(self) -> dict[str, dict[str, Any]]:
        """All tags of this branch as JSON objects, by name."""
        found: dict[str, dict[str, Any]] = {}
        for pair in self.load().tagManager().tagObjects():
            found[str(pair.getValue())] = json.loads(str(pair.getKey().toJson()))
        return dict(sorted(found.items()))

    def branches(self) -> list[str]:
        """All branches but main, by name."""
        return sorted(map(str, self.load().branchManager().branches()))

    def system_table(self, name: str) -> Rows:
        """The rows of a system table, such as `files`, on this branch."""
        identifier = java_class("catalog.Identifier").fromString(f"{self.name}${name}")
        table = self.paimon.catalog.getTable(identifier)
        fields = list(table.rowType().getFields())
        return Rows(
            columns=tuple(str(field.name()) for field in fields),
            types=tuple(str(field.type().asSQLString()) for field in fields),
            rows=_read(table),
        )

    def _identifier(self) -> Any:
        return java_class("catalog.Identifier").fromString(self.name)


def _read(
    table: Any,
    partition: Mapping[str, str] | None = None,
    *,
    kind: Any = None,
    retracts: bool = True,
) -> list[tuple[Value, ...]]:
    builder = table.newReadBuilder()
    if kind is not None:
        builder = builder.withReadType(kind)
    if partition is not None:
        builder = builder.withPartitionFilter(_java_map(partition))
    read_row = row_reader(builder.readType())
    found: list[tuple[Value, ...]] = []
    reader = builder.newRead().createReader(builder.newScan().plan())

    def accept(row: Any) -> None:
        if retracts or row.getRowKind().isAdd():
            found.append(read_row(row))

    consumer = jpype.JProxy("java.util.function.Consumer", dict={"accept": accept})
    reader.forEachRemaining(consumer)
    return found


@contextmanager
def _writer(table: Any, overwrite: Mapping[str, str] | None) -> Iterator[tuple[Any, Any]]:
    builder = table.newBatchWriteBuilder()
    if overwrite is not None:
        builder = builder.withOverwrite(_java_map(overwrite))
    with tempfile.TemporaryDirectory() as spill:
        manager = java_class("disk.IOManager").create(spill)
        write = builder.newWrite().withIOManager(manager)
        commit = builder.newCommit()
        try:
            yield write, commit
        finally:
            write.close()
            commit.close()
            manager.close()


def _compact_buckets(table: Any, write: Any, *, full: bool) -> None:
    buckets = {
        (serialized_row(entry.partition()), entry.bucket()): entry.partition()
        for entry in table.store().newScan().plan().files()
    }
    for (_, bucket), partition in buckets.items():
        write.compact(partition, bucket, full)


def _bucket_assigner(table: Any, write: Any) -> Any:
    if str(table.bucketMode().name()) != "HASH_DYNAMIC":
        return None
    assigner = java_class("index.HashBucketAssigner")(
        table.snapshotManager(), "assigner", table.store().newIndexFileHandler(), 1, 1, 0, 5, -1
    )
    extractor = java_class("table.sink.FixedBucketRowKeyExtractor")(table.schema())

    def assign(row: Any) -> int:
        extractor.setRecord(row)
        key_hash = extractor.trimmedPrimaryKey().hashCode()
        return int(assigner.assign(write.getPartition(row), key_hash))

    return assign


def vectors_of_partition(table: Any, partition: Any) -> Any:
    """What keeps the deletion vectors of a partition of an append table without buckets."""
    return java_class("deletionvectors.append.BaseAppendDeleteFileMaintainer").forUnawareAppend(
        table.store().newIndexFileHandler(), table.snapshotManager().latestSnapshot(), partition
    )


def index_message(maintainer: Any) -> Any:
    """The message that commits what was changed of the deletion vectors of a partition."""
    entries = list(maintainer.persist())
    kinds = java_class("manifest.FileKind")
    added = [entry.indexFile() for entry in entries if entry.kind() == kinds.ADD]
    removed = [entry.indexFile() for entry in entries if entry.kind() == kinds.DELETE]
    none = java_class("java.util.ArrayList")()
    increment = java_class("io.DataIncrement")(
        none, none, none, _java_list(added), _java_list(removed)
    )
    return java_class("table.sink.CommitMessageImpl")(
        maintainer.getPartition(),
        maintainer.getBucket(),
        None,
        increment,
        java_class("io.CompactIncrement").emptyIncrement(),
    )


def _column_stats(field: Any, stats: Mapping[str, Any]) -> Any:
    long = java_class("java.lang.Long")

    def count(name: str) -> Any:
        return long(stats[name]) if name in stats else None

    return java_class("stats.ColStats").newColStats(
        field.id(),
        count("distinct"),
        to_java(stats.get("min"), field.type()),
        to_java(stats.get("max"), field.type()),
        count("nulls"),
        count("avg_len"),
        count("max_len"),
    )


def _state(table: Any, snapshot: int | None, tag: str | None) -> Any:
    if tag is not None:
        return table.tagManager().getOrThrow(tag).trimToSnapshot()
    manager = table.snapshotManager()
    return manager.latestSnapshot() if snapshot is None else manager.snapshot(snapshot)


def _live_file(entry: Any, read_partition: Any) -> dict[str, Value]:
    file = entry.file()
    source = file.fileSource().orElse(None)
    return {
        "partition": list(read_partition(entry.partition())),
        "partition_bytes": serialized_row(entry.partition()).hex(),
        "bucket": int(entry.bucket()),
        "total_buckets": int(entry.totalBuckets()),
        "level": int(file.level()),
        "file_name": str(file.fileName()),
        "file_size": int(file.fileSize()),
        "row_count": int(file.rowCount()),
        "delete_row_count": _plain(file.deleteRowCount().orElse(None)),
        "min_sequence_number": int(file.minSequenceNumber()),
        "max_sequence_number": int(file.maxSequenceNumber()),
        "schema_id": int(file.schemaId()),
        "file_source": None if source is None else int(source.toByteValue()),
        "extra_files": _plain(file.extraFiles()),
        "external_path": _plain(file.externalPath().orElse(None)),
        "first_row_id": _plain(file.firstRowId()),
        "write_cols": _plain(file.writeCols()),
        "value_stats_cols": _plain(file.valueStatsCols()),
        "creation_time": int(file.creationTime().getMillisecond()),
        "min_key": serialized_row(file.minKey()).hex(),
        "max_key": serialized_row(file.maxKey()).hex(),
        "key_stats": _stats(file.keyStats()),
        "value_stats": _stats(file.valueStats()),
    }


def _index_file(entry: Any, read_partition: Any) -> dict[str, Value]:
    file = entry.indexFile()
    ranges = file.dvRanges()
    return {
        "partition": list(read_partition(entry.partition())),
        "bucket": int(entry.bucket()),
        "index_type": str(file.indexType()),
        "file_name": str(file.fileName()),
        "file_size": int(file.fileSize()),
        "row_count": int(file.rowCount()),
        "deletion_vectors": None
        if ranges is None
        else [
            {
                "file": str(item.dataFileName()),
                "offset": int(item.offset()),
                "length": int(item.length()),
                "cardinality": _plain(item.cardinality()),
            }
            for item in ranges.values()
        ],
    }


def _stats(stats: Any) -> dict[str, Value]:
    counts = stats.nullCounts()
    return {
        "min_values": serialized_row(stats.minValues()).hex(),
        "max_values": serialized_row(stats.maxValues()).hex(),
        "null_counts": [
            None if counts.isNullAt(position) else int(counts.getLong(position))
            for position in range(counts.size())
        ],
    }


def serialized_row(row: Any) -> bytes:
    """The bytes of a BinaryRow with its arity in front, as metadata files hold them."""
    return bytes(
        byte & 0xFF for byte in java_class("utils.SerializationUtils").serializeBinaryRow(row)
    )


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, java_class("java.util.List")):
        return [str(item) for item in value]
    return int(value)


def _widen(
    values: Sequence[Value], columns: Sequence[str] | None, names: Sequence[str]
) -> Sequence[Value]:
    if columns is None:
        return values
    given = dict(zip(columns, values, strict=True))
    return [given.get(name) for name in names]


def _path(dotted: str) -> Any:
    return jpype.JArray(java_class("java.lang.String"))(dotted.split("."))


def _java_map(values: Mapping[str, str]) -> Any:
    content = java_class("java.util.LinkedHashMap")()
    for key, value in values.items():
        content.put(key, value)
    return content


def _java_list(values: Iterable[Any]) -> Any:
    content = java_class("java.util.ArrayList")()
    for value in values:
        content.add(value)
    return content
