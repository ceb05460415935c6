"""DELETE and UPDATE: which rows a condition picks, and what becomes of them."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, functions

from branch_console.commit.rows.row_commit import PreparedRows
from branch_console.errors import InvalidInput
from branch_console.expr.predicate import Condition, parse_condition
from branch_console.format.table_schema import TableSchema
from branch_console.spark.read.file_pruning import check_condition
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.write.target_rows import (
    TargetRows,
    check_delete,
    check_update,
    errors_of_statement,
    losing,
    refuse_losing,
    with_values,
)
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable


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
        session: The Spark session for the tasks.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written.
        condition: In Spark's SQL; None for all rows.
        alias: How the condition calls the table, besides by the bare names of its columns.
        write_id: The id that the names of all files contain.
        progress: Called with tasks done and tasks known; what it raises stops the writing.

    Raises:
        InvalidInput: The condition is wrong, or the table takes no deletes.
    """
    schema = table.schema()
    target = TargetRows.read(session, store, table, _prunable(condition, schema))
    if schema.primary_keys:
        check_delete(schema)
    gone = _picked(target.frame, condition, alias)
    return target.replace(session, deleted=gone, write_id=write_id, progress=progress)


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
        session: The Spark session for the tasks.
        store: The store of the table's paths, with the right to write.
        table: The table on the branch to be written.
        assignments: Expressions in Spark's SQL, by column; they see the values from before.
        condition: As for `delete_rows`.
        alias: As for `delete_rows`.
        write_id: The id that the names of all files contain.
        progress: As for `delete_rows`.

    Raises:
        InvalidInput: An expression is wrong, or the table takes no updates.
    """
    schema = table.schema()
    check_update(schema, assignments)
    target = TargetRows.read(session, store, table, _prunable(condition, schema))
    picked = _picked(target.frame, condition, alias)
    with errors_of_statement():
        values = {name: functions.expr(text) for name, text in assignments.items()}
        changed = with_values(picked, values, schema)
    loses = losing(assignments, schema) if schema.primary_keys else None
    if loses is not None or not schema.primary_keys:
        # What is read twice must be the same, also if an expression is not deterministic.
        changed = session.run(
            lambda _: changed.localCheckpoint(),
            description=f"update {table.identifier}",
            progress=progress,
        )
    if loses is not None:
        refuse_losing(session, changed, loses)
    return target.replace(session, updated=[changed], write_id=write_id, progress=progress)


def _prunable(text: str | None, schema: TableSchema) -> Condition | None:
    """The condition as far as manifests can be asked about it; None if they cannot."""
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
    with errors_of_statement():
        return named.where(condition)
