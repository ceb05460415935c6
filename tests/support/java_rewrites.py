"""Row changes of tables without a primary key, as engines make them: files are written again."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jpype

from tests.support.java_paimon import (
    JavaTable,
    index_message,
    serialized_row,
    vectors_of_partition,
)
from tests.support.java_values import Value, row_reader, to_java_row
from tests.support.java_vm import java_class

Row: TypeAlias = Sequence[Value]


def rewrite(
    table: JavaTable,
    change: Callable[[Row], Row | None],
    added: Sequence[Row] = (),
    again: Callable[[Row], bool] = lambda _: False,
) -> None:
    """Commit a change of rows: each file with a row that changes is replaced by another one.

    Rows that have ids keep them, as engines see to it.

    Args:
        table: Without a primary key.
        change: What becomes of a row, given without its id; None where it is deleted.
        added: Rows that come with the same commit; in a table without row ids.
        again: Which rows have their files replaced though nothing of them changes.
    """
    loaded = table.load()
    builder = loaded.newBatchWriteBuilder()
    write, commit = builder.newWrite(), builder.newCommit()
    kind = loaded.rowType()
    if loaded.coreOptions().rowTrackingEnabled():
        kind = java_class("table.SpecialFields").rowTypeWithRowTracking(kind, False, True)
        write.withWriteType(kind)
    width = loaded.rowType().getFieldCount()
    gone = []
    has_vectors = loaded.coreOptions().deletionVectorsEnabled()
    kept: dict[bytes, Any] = {}
    for entry in loaded.store().newScan().plan().files():
        key, name = serialized_row(entry.partition()), entry.file().fileName()
        if has_vectors and key not in kept:
            kept[key] = vectors_of_partition(loaded, entry.partition())
        hidden = kept[key].getDeletionFile(name) if has_vectors else None
        rows = _rows_of(loaded, entry, kind, hidden)
        changed = [(change(row[:width]), row[width:]) for row in rows]
        is_same = [row and (*row, *ids) for row, ids in changed] == rows
        if is_same and not any(again(row) for row in rows):
            continue
        gone.append(_without(entry))
        if hidden is not None:
            kept[key].notifyRemovedDeletionVector(name)
        for row, ids in changed:
            if row is not None:
                write.write(to_java_row((*row, *ids), kind))
    for row in added:
        write.write(to_java_row(row, kind))
    vectors = (index_message(each) for each in kept.values())
    commit.commit(_list([*write.prepareCommit(), *gone, *vectors]))
    write.close()
    commit.close()


def positions_of(table: JavaTable, wanted: Callable[[Row], bool]) -> dict[str, list[int]]:
    """Where rows stand in the live data files, by file; rows that are deleted there too."""
    loaded = table.load()
    found = {
        str(entry.file().fileName()): [
            at for at, row in enumerate(_rows_of(loaded, entry, loaded.rowType())) if wanted(row)
        ]
        for entry in loaded.store().newScan().plan().files()
    }
    return {name: positions for name, positions in found.items() if positions}


def _rows_of(table: Any, entry: Any, kind: Any, hidden: Any = None) -> list[Row]:
    store = table.store()
    folder = store.pathFactory().bucketPath(entry.partition(), entry.bucket())
    split = (
        java_class("table.source.DataSplit")
        .builder()
        .withSnapshot(table.snapshotManager().latestSnapshotId())
        .withPartition(entry.partition())
        .withBucket(entry.bucket())
        .withBucketPath(folder.toString())
        .withTotalBuckets(entry.totalBuckets())
        .withDataFiles(_list([entry.file()]))
        .withDataDeletionFiles(_list([hidden]))
        .isStreaming(False)
        .rawConvertible(True)
        .build()
    )
    builder = table.newReadBuilder().withReadType(kind)
    read_row = row_reader(builder.readType())
    found: list[Row] = []
    consumer = jpype.JProxy(
        "java.util.function.Consumer", dict={"accept": lambda row: found.append(read_row(row))}
    )
    builder.newRead().createReader(split).forEachRemaining(consumer)
    return found


def _without(entry: Any) -> Any:
    nothing = _list(())
    return java_class("table.sink.CommitMessageImpl")(
        entry.partition(),
        entry.bucket(),
        entry.totalBuckets(),
        java_class("io.DataIncrement")(nothing, _list([entry.file()]), nothing),
        java_class("io.CompactIncrement").emptyIncrement(),
    )


def _list(values: Sequence[Any]) -> Any:
    return java_class("java.util.ArrayList")(list(values))
