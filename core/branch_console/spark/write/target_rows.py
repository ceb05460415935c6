"""Rows of a table that are replaced: how they are told apart, and what lets them go and come.

With a primary key, rows are written that delete or replace by key. Without one, a file that holds
such rows is written anew without them, or marked by a deletion vector; changed rows are appended.
Source: Paimon DeleteFromPaimonTableCommand, UpdatePaimonTableCommand, RowLevelOp.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, functions

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.expr.predicate import Condition
from branch_console.format import options as table_options
from branch_console.format.data_types import has_fine_times
from branch_console.format.journals.rows import ReadAt
from branch_console.format.scan_options import options_of_table
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import MergeEngine, TableSchema
from branch_console.spark.files.conform import ROW_KINDS, unsupported
from branch_console.spark.files.data_files import check_deletes, check_writable
from branch_console.spark.kernels.merge_on_read import VALUE_KIND
from branch_console.spark.read.readers import check_alone, check_readable, read_table
from branch_console.spark.session.arrow_frames import own_name
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.write.file_rewrite import (
    FILE,
    POSITION,
    PlannedFiles,
    delete_positions,
    numbered_rows,
    plan_files,
)
from branch_console.spark.write.growth_check import Growth, check_growth
from branch_console.spark.write.writers import WriteRequest, check_store, prepare_rows
from branch_console.sql.token_reader import quoted_name
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import ReadState

_DELETE: Final = 3
_MERGING: Final = (".aggregate-function", ".sequence-group")
_UPDATED: Final = frozenset({MergeEngine.DEDUPLICATE, MergeEngine.PARTIAL_UPDATE})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TargetRows:
    """The rows of a table that may be replaced.

    Attributes:
        schema: The schema of the table.
        frame: The rows, with the columns that tell them apart.
        head: The snapshot at which they are read.
        identity: These columns: the primary key, or file and position.
        files: The files of the rows; None with a primary key.
    """

    store: FileIO
    table: FileStoreTable
    schema: TableSchema
    frame: DataFrame
    head: Snapshot | None
    identity: tuple[str, ...]
    files: PlannedFiles | None

    @classmethod
    def read(
        cls,
        session: WarmSession,
        store: FileIO,
        table: FileStoreTable,
        condition: Condition | None = None,
    ) -> "TargetRows":
        """Look for the rows of a table at its head that may be meant by a condition.

        Raises:
            InvalidInput: The table is of a kind that is not read or written.
        """
        state = ReadState.as_it_is(table)
        state.check_rewritable()
        schema, head = state.schema, state.snapshot
        check_target(store, table, schema)
        files = None
        if schema.primary_keys:
            frame = read_table(session.spark, store, state, filters=condition)
        else:
            files = plan_files(store, table, head, condition)
            frame = numbered_rows(session.spark, store, table, files)
        return cls(
            store=store,
            table=table,
            schema=schema,
            frame=frame,
            head=head,
            identity=schema.primary_keys if files is None else (FILE, POSITION),
            files=files,
        )

    def replace(
        self,
        session: WarmSession,
        *,
        deleted: DataFrame | None = None,
        updated: Sequence[DataFrame] = (),
        inserted: Sequence[DataFrame] = (),
        write_id: str,
        progress: Progress,
    ) -> PreparedRows:
        """Write what makes rows go and come.

        With a primary key the files are looked through as readers would, before anybody commits
        them: see `check_growth`.

        Args:
            session: The Spark session for the tasks.
            deleted: Rows that go, each once, with the columns of `frame`.
            updated: Rows with their new values, each once in all frames, with those columns too.
            inserted: Rows that come, with columns of the table.
            write_id: The id that the names of all files contain.
            progress: Called with tasks done and tasks known; what it raises stops the writing.
        """
        request = WriteRequest(write_id=write_id)
        own = [quoted(name) for name in self.schema.row_type.names]
        come = [*(each.select(*own) for each in updated), *inserted]
        if self.files is None:
            gone = [] if deleted is None else [_deleting(deleted.select(*own), self.schema)]
            prepared = prepare_rows(
                session, self.store, self.table, [*gone, *come], progress=progress, request=request
            )
            growth = Growth.of(prepared.messages, inserts=bool(inserted))
            state = ReadState(table=self.table, snapshot=self.head, schema=self.schema)
            check_growth(session, self.store, state, prepared.messages, growth, progress=progress)
            return replace(prepared, read_at=ReadAt.of(self.head))
        taken = PreparedRows(messages=(), row_count=0)
        leaving = [*([] if deleted is None else [deleted]), *updated]
        if leaving:
            taken = delete_positions(
                session, self.store, self.table, self.files,
                reduce(DataFrame.unionAll, (each.select(*self.identity) for each in leaving)),
                write_id=write_id, progress=progress,
            )  # fmt: skip
        if not inserted and (not updated or not taken.row_count):
            return taken
        written = prepare_rows(
            session, self.store, self.table, come, progress=progress, request=request
        )
        return PreparedRows(
            messages=(*taken.messages, *written.messages),
            row_count=taken.row_count
            + written.row_count
            - self._coming_again(session, taken, deleted, updated),
            expected_head=taken.expected_head or written.expected_head,
            # Rows that came meanwhile might have been met by the source, and not be inserted.
            read_at=ReadAt.of(self.head) if inserted else None,
        )

    def _coming_again(
        self,
        session: WarmSession,
        taken: PreparedRows,
        deleted: DataFrame | None,
        updated: Sequence[DataFrame],
    ) -> int:
        """How many of the rows that were taken out come again."""
        if not updated or deleted is None:
            return taken.row_count if updated else 0
        return taken.row_count - session.run(lambda _: deleted.count(), description="count")


def _deleting(rows: DataFrame, schema: TableSchema) -> DataFrame:
    """The rows as they delete by their keys."""
    rows = rows.withColumn(VALUE_KIND, functions.lit(_DELETE).cast("byte"))
    kind_column = schema.options.get("rowkind.field")
    if kind_column is None:
        return rows
    return rows.withColumn(kind_column, functions.lit(ROW_KINDS[_DELETE]))


def check_target(store: FileIO, table: FileStoreTable, schema: TableSchema) -> None:
    """Refuse a table whose rows are not read or not written; raises InvalidInput."""
    # Rows of another branch would be shown as changed and would stay as they are.
    check_alone(table)
    held = options_of_table(schema.options, table.branch)
    if held.travels:
        seen = "read as it was at" if held.between is None else "told by its changes,"
        raise unsupported(
            f"By its options {table.identifier} is {seen} {held.asked}; its newest rows are not "
            "changed here meanwhile. Nothing was changed. Unset the option first."
        )
    check_writable(schema, keeps_index=True)
    check_readable(schema)
    check_store(store)


def check_update(schema: TableSchema, columns: Iterable[str]) -> None:
    """Refuse updates of columns, and of tables, whose rows would not show the new values.

    Raises:
        InvalidInput: By the name of the column or option.
    """
    assignments = tuple(columns)
    if not assignments:
        raise InvalidInput("An update needs a column and its new value.")
    for name in assignments:
        if schema.find_field(name) is None:
            names = ", ".join(schema.row_type.names)
            raise InvalidInput(f"The table has no column {name!r}. It has: {names}.", column=name)
        if name in schema.primary_keys:
            raise InvalidInput(
                f"Column {name!r} belongs to the primary key, which cannot be updated. Delete the "
                "rows and insert them anew.",
                kind=ErrorKind.UNSUPPORTED,
                column=name,
            )
    engine = schema.merge_engine
    if schema.primary_keys and engine not in _UPDATED:
        name = schema.options.read(table_options.MERGE_ENGINE)
        raise unsupported(f"Rows of a table with the merge engine {name!r} cannot be updated.")
    if schema.options.read(table_options.ROW_TRACKING_ENABLED):
        raise unsupported(
            "Rows of a table with 'row-tracking.enabled' cannot be updated here: they would lose "
            "their row ids."
        )
    merging = sorted(key for key in schema.options if key.endswith(_MERGING))
    if schema.primary_keys and engine is MergeEngine.PARTIAL_UPDATE and merging:
        raise unsupported(
            f"Rows cannot be updated here: by {merging[0]!r} a new value is combined with the old "
            "one. Nothing was changed. Unset the option, or update the rows with Paimon."
        )
    order = schema.options.get("sequence.field.sort-order", "ascending").lower()
    fields = schema.options.read(table_options.SEQUENCE_FIELD)
    sequence = sorted(set(fields) & set(assignments))
    if sequence and order != "ascending":
        raise unsupported(
            f"Column {sequence[0]!r} is a 'sequence.field' in descending order, so an updated row "
            "may lose against the old one. Nothing was changed. Update other columns."
        )
    for field in schema.fields:
        if has_fine_times(field.type):
            raise unsupported(
                f"Rows cannot be updated here: column {field.name!r} is {field.type}, and Spark "
                "keeps six digits of it. Nothing was changed. Update the rows with Paimon."
            )


def check_delete(schema: TableSchema) -> None:
    """Refuse a DELETE from a table with a primary key that would not find its rows.

    Raises:
        InvalidInput: The merge engine takes no deletes, or Spark cannot tell the keys apart.
    """
    check_deletes(schema)
    for field in schema.fields:
        kind = field.type
        is_key = field.name in schema.primary_keys
        if is_key and has_fine_times(kind):
            raise unsupported(
                f"Rows cannot be deleted here: key column {field.name!r} is {kind}, and Spark "
                "keeps six digits of it. Nothing was changed. Delete the rows with Paimon."
            )


def with_values(rows: DataFrame, values: Mapping[str, Column], schema: TableSchema) -> DataFrame:
    """The rows with new values; columns that are no part of the table stay.

    The values from before come along, for `refuse_losing`.
    """
    own = set(schema.row_type.names)
    columns = [quoted(name) for name in rows.columns if name not in own]
    columns += [
        values[name].alias(name) if name in values else quoted(name)
        for name in schema.row_type.names
    ]
    columns += [quoted(name).alias(_before(name)) for name in values]
    return rows.select(*columns)


def losing(assignments: Collection[str], schema: TableSchema) -> Column | None:
    """Return a condition for changed rows that would lose against the old row; None without any."""
    if schema.merge_engine is MergeEngine.PARTIAL_UPDATE:
        # For this engine a null says that nothing changes.
        cleared = [quoted(name).isNull() & ~quoted(_before(name)).isNull() for name in assignments]
        return reduce(lambda one, other: one | other, cleared)
    fields = schema.options.read(table_options.SEQUENCE_FIELD)
    if not set(fields) & set(assignments):
        return None
    old = [_before(name) if name in assignments else name for name in fields]
    return _comes_before(fields, old)


def _comes_before(names: Sequence[str], others: Sequence[str]) -> Column:
    """Whether one user sequence is smaller than another; a null comes before all values."""
    result = functions.lit(False)
    for name, other in reversed(list(zip(names, others, strict=True))):
        one, two = quoted(name), quoted(other)
        is_less = two.isNotNull() & (one.isNull() | (one < two))
        result = is_less | (one.eqNullSafe(two) & result)
    return result


def refuse_losing(session: WarmSession, changed: DataFrame, losing: Column) -> None:
    """Refuse rows that `losing` holds for; they are kept, as they are read twice."""
    found = session.run(lambda _: changed.where(losing).limit(1).count(), description="update")
    if found:
        raise unsupported(
            "A row would not show its new values: with the merge engine 'partial-update' a null "
            "leaves a column as it is, and a smaller 'sequence.field' loses. Delete the rows and "
            "insert them anew."
        )


def _before(name: str) -> str:
    return own_name(f"{name} before")


def quoted(name: str, table: str | None = None) -> Column:
    """A column, whatever is in its name."""
    parts = [name] if table is None else [table, name]
    return functions.col(".".join(map(quoted_name, parts)))


@contextmanager
def errors_of_statement() -> Iterator[None]:
    """Tell what Spark finds wrong with expressions as what is wrong with the statement."""
    try:
        yield
    except PySparkException as error:
        text = str(error).splitlines()[0].strip().rstrip(".")
        raise InvalidInput(f"The statement is wrong: {text}.") from error
