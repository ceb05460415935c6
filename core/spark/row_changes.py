"""DELETE and UPDATE: which rows a condition picks, and the files that let them go or change.

With a primary key, rows are written that delete or replace by key. Without one, a file that holds
such rows is written anew without them, or marked by a deletion vector; changed rows are appended.
Source: Paimon DeleteFromPaimonTableCommand, UpdatePaimonTableCommand, RowLevelOp.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, functions

from core.commit.commit_message import row_count
from core.commit.row_write import PreparedRows
from core.errors import InvalidInput
from core.format import options as table_options
from core.format.data_types import AtomicType, TypeRoot
from core.format.table_schema import TableSchema
from core.merge.predicate import Condition, parse_condition
from core.spark.conform import ROW_KINDS, unsupported
from core.spark.data_files import check_deletes, check_writable
from core.spark.file_pruning import check_condition
from core.spark.file_rewrite import numbered_rows, plan_files, take_out
from core.spark.merge_on_read import VALUE_KIND
from core.spark.readers import check_readable, read_table
from core.spark.session import Progress, WarmSession
from core.spark.writers import WriteRequest, check_store, prepare_rows
from core.storage.file_io import FileIO
from core.table.file_store_table import FileStoreTable

_DELETE: Final = 3
_MERGING: Final = (".aggregate-function", ".sequence-group")
_UPDATED: Final = frozenset({"deduplicate", "partial-update"})


def delete_rows(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    condition: str | None,
    *,
    alias: str | None = None,
    write_id: str = "",
    progress: Progress = lambda done, total: None,
) -> PreparedRows:
    """Write what deletes the rows for which a condition is true.

    Args:
        session: Where the tasks run.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written.
        condition: In Spark's SQL; None for all rows.
        alias: How the condition calls the table, besides by the bare names of its columns.
        write_id: What the names of all files hold.
        progress: Called with tasks done and tasks known; what it raises stops the writing.

    Raises:
        InvalidInput: The condition is wrong, or the table takes no deletes.
    """
    schema = _checked(table, store)
    if schema.primary_keys:
        check_deletes(schema)
        there = read_table(session.spark, store, table, filters=_prunable(condition, schema))
        gone = _picked(there, condition, alias)
        gone = gone.withColumn(VALUE_KIND, functions.lit(_DELETE).cast("byte"))
        kind_column = schema.options.get("rowkind.field")
        if kind_column is not None:
            gone = gone.withColumn(kind_column, functions.lit(ROW_KINDS[_DELETE]))
        request = WriteRequest(write_id=write_id)
        return prepare_rows(session, store, table, gone, progress=progress, request=request)
    files = plan_files(store, table, table.head(), _prunable(condition, schema))
    picked = _picked(numbered_rows(session.spark, store, table, files), condition, alias)
    return take_out(session, store, table, files, picked, write_id=write_id, progress=progress)


def update_rows(
    session: WarmSession,
    store: FileIO,
    table: FileStoreTable,
    assignments: Mapping[str, str],
    condition: str | None,
    *,
    alias: str | None = None,
    write_id: str = "",
    progress: Progress = lambda done, total: None,
) -> PreparedRows:
    """Write what gives columns new values, in the rows for which a condition is true.

    Args:
        session: Where the tasks run.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written.
        assignments: Expressions in Spark's SQL, by column; they see the values from before.
        condition: As for `delete_rows`.
        alias: As for `delete_rows`.
        write_id: What the names of all files hold.
        progress: As for `delete_rows`.

    Raises:
        InvalidInput: An expression is wrong, or the table takes no updates.
    """
    schema = _checked(table, store)
    _check_update(schema, assignments)
    request = WriteRequest(write_id=write_id)
    if schema.primary_keys:
        before = read_table(session.spark, store, table, filters=_prunable(condition, schema))
        changed = _changed(_picked(before, condition, alias), assignments, schema)
        losing = _losing(assignments, schema)
        if losing is not None:
            changed = session.run(
                lambda _: changed.localCheckpoint(), description="update", progress=progress
            )
            _refuse_losing(session, changed, losing)
        rows = changed.select(*map(_quoted, schema.row_type.names))
        return prepare_rows(session, store, table, rows, progress=progress, request=request)
    files = plan_files(store, table, table.head(), _prunable(condition, schema))
    picked = _picked(numbered_rows(session.spark, store, table, files), condition, alias)
    changed = _changed(picked, assignments, schema)
    # Both halves must speak of the same rows, also where an expression is not deterministic.
    kept = session.run(
        lambda _: changed.localCheckpoint(),
        description=f"update {table.identifier}",
        progress=progress,
    )
    gone = take_out(session, store, table, files, kept, write_id=write_id, progress=progress)
    if not gone.row_count:
        return gone
    rows = kept.select(*map(_quoted, schema.row_type.names))
    come = prepare_rows(session, store, table, rows, progress=progress, request=request)
    return PreparedRows(
        messages=(*gone.messages, *come.messages),
        row_count=row_count(come.messages),
        expected_head=gone.expected_head,
    )


def _checked(table: FileStoreTable, store: FileIO) -> TableSchema:
    schema = table.schema()
    check_writable(schema, keeps_index=True)
    check_readable(schema)
    check_store(store)
    return schema


def _check_update(schema: TableSchema, assignments: Mapping[str, str]) -> None:
    if not assignments:
        raise InvalidInput("An update needs a column and its new value.")
    for name in assignments:
        if schema.find_field(name) is None:
            names = ", ".join(schema.row_type.names)
            raise InvalidInput(f"The table has no column {name!r}. It has: {names}.", column=name)
        if name in schema.primary_keys:
            raise unsupported(
                f"Column {name!r} belongs to the primary key, which cannot be updated. Delete the "
                "rows and insert them anew."
            )
    engine = schema.options.read(table_options.MERGE_ENGINE)
    if schema.primary_keys and engine not in _UPDATED:
        raise unsupported(f"Rows of a table with the merge engine {engine!r} cannot be updated.")
    if schema.options.read(table_options.ROW_TRACKING_ENABLED):
        raise unsupported(
            "Rows of a table with 'row-tracking.enabled' cannot be updated here: they would lose "
            "their row ids."
        )
    merging = sorted(key for key in schema.options if key.endswith(_MERGING))
    if schema.primary_keys and engine == "partial-update" and merging:
        raise unsupported(f"Rows cannot be updated where {merging[0]!r} merges what is written.")
    order = schema.options.get("sequence.field.sort-order", "ascending").lower()
    fields = schema.options.read(table_options.SEQUENCE_FIELD)
    sequence = sorted(set(fields) & set(assignments))
    if sequence and order != "ascending":
        raise unsupported(
            f"Column {sequence[0]!r} is a 'sequence.field' in descending order, which is not "
            "updated here."
        )
    for field in schema.fields:
        if isinstance(field.type, AtomicType) and _loses_in_spark(field.type):
            raise unsupported(
                f"Rows cannot be updated here: column {field.name!r} is {field.type}, which Spark "
                "does not keep whole."
            )


def _loses_in_spark(kind: AtomicType) -> bool:
    is_timestamp = kind.root in (TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)
    is_fine = is_timestamp and (kind.precision or 0) > 6
    return is_fine or kind.root is TypeRoot.VARIANT


def _prunable(text: str | None, schema: TableSchema) -> Condition | None:
    """The condition as far as manifests can be asked about it; None where they cannot."""
    # Spark reads a backslash in a text as the beginning of another letter.
    if text is None or "\\" in text:
        return None
    try:
        condition = parse_condition(text)
        check_condition(condition, schema)
    except InvalidInput:
        return None  # Spark knows more than our conditions, and says what is wrong
    return condition


def _picked(rows: DataFrame, condition: str | None, alias: str | None) -> DataFrame:
    """The rows for which the condition is true, under the names of the table alone."""
    named = rows if alias is None else rows.alias(alias)
    if condition is None:
        return named
    try:
        return named.where(condition)
    except PySparkException as error:
        raise _wrong(error) from error


def _changed(rows: DataFrame, assignments: Mapping[str, str], schema: TableSchema) -> DataFrame:
    """The rows with their new values; columns that are no part of the table stay."""
    own = set(schema.row_type.names)
    try:
        columns = [_quoted(name) for name in rows.columns if name not in own]
        for name in schema.row_type.names:
            text = assignments.get(name)
            columns.append(_quoted(name) if text is None else functions.expr(text).alias(name))
        # By the values from before it is told whether the new ones would show.
        columns += [_quoted(name).alias(_before(name)) for name in assignments]
        return rows.select(*columns)
    except PySparkException as error:
        raise _wrong(error) from error


def _losing(assignments: Mapping[str, str], schema: TableSchema) -> Column | None:
    """Where a changed row would lose against the one that it replaces; None where none can."""
    if schema.options.read(table_options.MERGE_ENGINE) == "partial-update":
        # For this engine a null says that nothing changes.
        cleared = [
            _quoted(name).isNull() & ~_quoted(_before(name)).isNull() for name in assignments
        ]
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
        one, two = _quoted(name), _quoted(other)
        is_less = two.isNotNull() & (one.isNull() | (one < two))
        result = is_less | (one.eqNullSafe(two) & result)
    return result


def _refuse_losing(session: WarmSession, changed: DataFrame, losing: Column) -> None:
    found = session.run(lambda _: changed.where(losing).limit(1).count(), description="update")
    if found:
        raise unsupported(
            "A row would not show its new values: with the merge engine 'partial-update' a null "
            "leaves a column as it is, and a smaller 'sequence.field' loses. Delete the rows and "
            "insert them anew."
        )


def _before(name: str) -> str:
    return f"{name} before"


def _quoted(name: str) -> Column:
    return functions.col(f"`{name.replace('`', '``')}`")


def _wrong(error: PySparkException) -> InvalidInput:
    told = str(error).splitlines()[0].strip().rstrip(".")
    return InvalidInput(f"The statement is wrong: {told}.")
