"""Statements that write rows, and compaction by name: from the text to the snapshot."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import assert_never, cast

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member
from branch_console.errors import ErrorKind, InvalidInput, NotFound, Refused
from branch_console.expr.predicate import parse_condition
from branch_console.format.data_types import has_fine_times
from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.format.table_schema import TableSchema
from branch_console.operations.agreement import Agreement
from branch_console.operations.statement_requests import CompactRequest, StatementRequest
from branch_console.procedures.branch.member_branch import open_to_write
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.row_writer import Rows, RowWriter, row_writer
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.call.without_callbacks import notes_of_rows
from branch_console.procedures.history.protection import protection_blocks
from branch_console.procedures.run.archived import archive_blocks
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.statement.query import place_of
from branch_console.procedures.statement.query_sources import open_query, with_times
from branch_console.procedures.statement.write_rows import (
    Written,
    compact_table,
    delete_rows,
    insert_rows,
    merge_into,
    overwrite_rows,
    update_rows,
)
from branch_console.sql.defaults import default_expression
from branch_console.sql.merges import MergeClauses, RowClause
from branch_console.sql.place import Place
from branch_console.sql.query import RewrittenQuery
from branch_console.sql.statement import COMPACT
from branch_console.sql.targets import NamedColumn, Part, Target, unknown_column
from branch_console.sql.token_reader import quoted_name, statement_error
from branch_console.sql.writes import Write, WriteKind, parse_write
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.pinned_table import PinnedTable

_DONE: Mapping[str, str] = {
    WriteKind.INSERT: "inserted into",
    WriteKind.OVERWRITE: "written over",
    WriteKind.UPDATE: "updated in",
    WriteKind.DELETE: "deleted from",
    WriteKind.MERGE: "merged into",
    COMPACT: "written anew in",
}


def run_write(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Run INSERT, INSERT OVERWRITE, UPDATE, DELETE or MERGE INTO.

    Arguments of the call: `sql`, the statement; `branch`, where a target stands whose branch it
    does not name; `line` and `column`, where the statement stands in what was given;
    `without_callbacks`, why an operator leaves out what Paimon does for others.

    Raises:
        InvalidInput: The statement is wrong; nothing was written.
        NotFound: It names a table, branch or version that there is not.
        Refused: The branch is protected.
        CommitConflict: Somebody else came in between, where that matters; nothing is left.
    """
    return _staged(
        warehouse, call, stages, lambda progress: _written(warehouse, rows, call, progress)
    )


def run_compact(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Compact a table.

    Arguments of the call: `table`; `partitions`, as `day=2026-01-01,region=eu` with semicolons
    between, all if left out, or `where`, a condition on partition columns; `idle`, only those that
    got no file for so long; `without_callbacks`, as for a statement that writes rows.
    """

    def compact(progress: Progress) -> Facts:
        return {"notes": [*compact_once(warehouse, rows, call, progress)]}

    return receipt_of_stage(warehouse, call, stages, "write rows", compact, message="Writing rows.")


def compact_once(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> tuple[str, ...]:
    """Compact the table of a call, and say what became of it.

    Raises:
        InvalidInput: The table is of a kind that is not compacted here, or an argument is wrong.
        NotFound: There is no such table or branch.
        Refused: The branch is protected or archived.
        CommitConflict: Time and again another commit took a file away meanwhile; nothing is left.
    """
    asked = call.request(CompactRequest)
    asked.check_strategy()
    asked.check_partitions()
    table = warehouse.table(Identifier.parse(asked.table))
    check_takes_commits(table, "compacted")
    written = compact_table(
        warehouse,
        row_writer(rows),
        table,
        call,
        partitions=tuple(map(_partition_of, (asked.partitions or "").split(";"))),
        where=None if asked.where is None else parse_condition(asked.where),
        idle_before_millis=asked.idle_before_millis(warehouse.clock()),
        progress=progress,
    )
    return (_sentence(call.name, written, table), *_notes(call, table, written))


def target_table(warehouse: Warehouse, target: Target, branch: str) -> FileStoreTable:
    """Open the table that a statement changes, on the branch that it names or else the session's.

    A table of a catalog branch may have no branch of its own yet; `made_target` makes it.

    Raises:
        NotFound: There is no such table or branch: a write never goes to another branch instead.
        Refused: It is outside of the catalog branch.
    """
    try:
        seen = catalog_of(warehouse, target, branch)
        if seen is not None:
            return seen.open_member(_member(seen, target))
        return warehouse.table(target.on(branch))
    except NotFound as error:
        raise NotFound(
            f"{target.place}: {error.message} Nothing was changed.", kind=error.kind, **error.facts
        ) from error


def made_target(
    warehouse: Warehouse, call: ProcedureCall, target: Target, branch: str, table: FileStoreTable
) -> FileStoreTable:
    """Return the table that a statement changes, with its branch made if it was not made yet.

    Args:
        warehouse: The warehouse.
        call: The call of the writer.
        target: The table as the statement names it.
        branch: The branch of the session.
        table: What `target_table` opened.
    """
    seen = catalog_of(warehouse, target, branch)
    if seen is None or not isinstance(table, PinnedTable):
        return table
    return open_to_write(warehouse, seen, _member(seen, target), call)


def catalog_of(warehouse: Warehouse, target: Target, branch: str) -> CatalogOnBranch | None:
    """The catalog branch that a statement writes on; None if it is a branch of a table."""
    named = target.identifier.catalog_branch
    if named is not None:
        return warehouse.on(named)
    if target.names_branch or not warehouse.has_catalog_branch(branch):
        return None
    return warehouse.on(branch)


def _member(seen: CatalogOnBranch, target: Target) -> Member:
    identifier = target.identifier.in_catalog
    found = seen.find_member(identifier)
    if found is not None:
        return found
    seen.open(identifier)  # says so if there is no such table at all
    raise Refused(
        f"{target.place}: {identifier.table_name} is outside of catalog branch {seen.branch!r}, "
        f"which holds {seen.scope}; there it is only read, as main has it. Nothing was changed. "
        f"Write to main, or make a branch of the table.",
        kind=ErrorKind.BRANCH_NOT_FOUND,
        table=identifier.table_name,
        branch=seen.branch,
    )


@contextmanager
def errors_at(place: Place) -> Iterator[None]:
    """Give errors of a statement its place, where they have none of their own."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        if error.message.startswith("Line "):
            raise
        raise type(error)(f"{place}: {error.message}", kind=error.kind, **error.facts) from error


@contextmanager
def _errors_at_column(write: Write) -> Iterator[None]:
    """Give errors of a column its place, where the statement names it just once."""
    try:
        yield
    except InvalidInput as error:
        name = str(error.facts.get("column", "")).lower()
        places = [each.place for each in write.named_columns if each.name.lower() == name]
        clause = error.facts.get("clause")
        if write.merge is not None and isinstance(clause, int):
            places = [write.merge.clauses[clause].place]
        with errors_at(places[0]) if len(places) == 1 else nullcontext():
            raise


def check_unprotected(table: FileStoreTable, what: str) -> None:
    """Refuse to change a protected branch; `what` says what is not done to it."""
    for each in protection_blocks(table.ledger.whole(), table.branch, what):
        raise Refused(f"{each.text} Nothing was changed.", kind=each.kind)


def check_takes_commits(table: FileStoreTable, what: str) -> None:
    """Refuse to change a branch that is protected or archived; `what` is not done to it."""
    check_unprotected(table, what)
    for each in archive_blocks(table, table.branch, what):
        raise Refused(f"{each.text} Nothing was changed.", kind=each.kind)


_Done = tuple[Written, FileStoreTable, tuple[str, ...]]


def _staged(
    warehouse: Warehouse, call: ProcedureCall, stages: Stages, work: Callable[[Progress], _Done]
) -> Receipt:
    def write(progress: Progress) -> Facts:
        written, table, notes = work(progress)
        return {"notes": [_sentence(call.name, written, table), *notes]}

    return receipt_of_stage(warehouse, call, stages, "write rows", write, message="Writing rows.")


def _written(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> _Done:
    asked = call.request(StatementRequest)
    write, branch = parse_write(asked.sql, place_of(asked)), asked.branch
    call = _with_reason_of(call, write)
    table = target_table(warehouse, write.target, branch)
    check_takes_commits(table, "written")
    schema = table.schema()
    columns = None if write.columns is None else _columns_of(schema, write.columns)
    write = _in_words_of(schema, write, columns)
    query = with_times(rows, write.query, progress)
    opened = open_query(warehouse, query, branch, call.operation_id)
    sql = opened.rewritten
    if columns is not None:
        names = ", ".join(map(quoted_name, columns))
        sql = sql.within("SELECT * FROM (", f") AS given ({names})")
    with (
        errors_at(write.target.place),
        _errors_at_column(write),
        opened.placing_errors(sql),
        rows.opened(sql.text, opened.contents, keeps_times=_keeps_times(write, schema)) as f,
    ):
        # What the engine opened, it takes.
        frame = cast(Rows, f)
        # Now that nothing is wrong with the statement.
        table = made_target(warehouse, call, write.target, branch, table)
        done = _carry_out(warehouse, row_writer(rows), call, write, table, sql, frame, progress)
    return done, table, (*_notes(call, table, done), *opened.notes)


def _keeps_times(write: Write, schema: TableSchema) -> bool:
    """Whether what a statement reads may go into columns that are finer than the engine's times."""
    is_read_to_write = write.kind in (WriteKind.INSERT, WriteKind.OVERWRITE, WriteKind.MERGE)
    return is_read_to_write and any(has_fine_times(field.type) for field in schema.fields)


def _notes(call: ProcedureCall, table: FileStoreTable, written: Written) -> tuple[str, ...]:
    return () if written.snapshot_id is None else notes_of_rows(call, table)


def _with_reason_of(call: ProcedureCall, write: Write) -> ProcedureCall:
    """The call with the reason that the statement itself gives; another one counts no more."""
    reason = write.target.without_callbacks
    if reason is None:
        return call
    return call.agreeing(Agreement(without_callbacks=reason))


def _carry_out(
    warehouse: Warehouse,
    writer: RowWriter,
    call: ProcedureCall,
    write: Write,
    table: FileStoreTable,
    sql: RewrittenQuery,
    frame: Rows,
    progress: Progress,
) -> Written:
    condition = None if write.condition is None else write.condition.of(sql)
    by_position = write.columns is None and not write.by_name
    match write.kind:
        case WriteKind.INSERT:
            return insert_rows(
                warehouse, writer, table, frame, call, by_position=by_position,
                partition=write.partition or {}, progress=progress,
            )  # fmt: skip
        case WriteKind.OVERWRITE:
            return overwrite_rows(
                warehouse, writer, table, frame, call, by_position=by_position,
                partition=write.partition, progress=progress,
            )  # fmt: skip
        case WriteKind.UPDATE:
            names = _columns_of(table.schema(), [column for column, _ in write.assignments])
            parts = [part for _, part in write.assignments]
            values = _values(sql, table.schema(), names, parts)
            return update_rows(
                warehouse, writer, table, values, condition, call,
                alias=write.target.name, progress=progress,
            )  # fmt: skip
        case WriteKind.DELETE:
            return delete_rows(
                warehouse, writer, table, condition, call, alias=write.target.name,
                progress=progress,
            )  # fmt: skip
        case WriteKind.MERGE:
            merge = _merge_over(sql, write, table.schema())
            return merge_into(warehouse, writer, table, merge, call, progress=progress)
        case _:
            assert_never(write.kind)


def _merge_over(sql: RewrittenQuery, write: Write, schema: TableSchema) -> MergeClauses:
    """The statement with views for its tables, and columns as the table spells them."""
    merge = write.merge
    if merge is None:
        raise InvalidInput("A MERGE names what it merges. Write USING and its clauses.")
    clauses = []
    for each in merge.clauses:
        values = None
        if each.values is not None:
            names = _columns_of(schema, [column for column, _ in each.values])
            values = _values(sql, schema, names, [part for _, part in each.values])
        clauses.append(
            RowClause(
                match_kind=each.match_kind,
                action=each.action,
                condition=None if each.condition is None else each.condition.of(sql),
                values=values,
            )
        )
    return MergeClauses(
        target_name=write.target.name,
        source=merge.source.of(sql),
        source_name=merge.source_name,
        condition=merge.condition.of(sql),
        clauses=tuple(clauses),
    )


def _values(
    sql: RewrittenQuery, schema: TableSchema, names: Sequence[str], parts: Sequence[Part | None]
) -> dict[str, str]:
    """The expressions of columns; those without one get the column's default."""
    return {
        name: default_expression(schema.field(name)) if part is None else part.of(sql)
        for name, part in zip(names, parts, strict=True)
    }


def _in_words_of(schema: TableSchema, write: Write, columns: Sequence[str] | None) -> Write:
    """An INSERT with the partition as the table spells it, and defaults of columns as values."""
    known = {key.lower(): key for key in schema.partition_keys}
    for column in write.partition_columns:
        if column.name.lower() not in known:
            keys = ", ".join(known.values()) or "none"
            what = f"{column.name!r} is no partition column; the table has {keys}"
            raise statement_error(column.place, what)
    partition = write.partition
    if partition is not None:
        partition = {known[name.lower()]: value for name, value in partition.items()}
    taken = columns or [name for name in schema.row_type.names if name not in (partition or {})]
    # A row that is too long is told of when all of it is known.
    defaults = {
        at: default_expression(schema.field(taken[number]))
        for at, number in write.defaults.items()
        if number < len(taken)
    }
    return replace(write, partition=partition, query=write.query.replacing(defaults))


def _columns_of(schema: TableSchema, named: Sequence[NamedColumn]) -> tuple[str, ...]:
    """The columns as the table spells them."""
    known = {name.lower(): name for name in schema.row_type.names}
    found: list[str] = []
    for column in named:
        name = known.get(column.name.lower())
        if name is None:
            raise unknown_column(column, known.values())
        if name in found:
            raise statement_error(column.place, f"column {name!r} is there twice")
        found.append(name)
    return tuple(found)


def _partition_of(text: str) -> dict[str, object]:
    """A partition as Paimon's procedures write it: `day=2026-01-01,region=eu`; empty for all."""
    if not text.strip():
        return {}
    pairs = [each.partition("=") for each in text.split(",")]
    if not all(name.strip() and sign for name, sign, _ in pairs):
        raise InvalidInput(f"{text!r} names no partition. Write day=2026-01-01,region=eu.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _sentence(name: str, written: Written, table: FileStoreTable) -> str:
    if written.snapshot_id is None:
        return f"No row of {table.identifier.table_name} on {table.branch!r} had to change."
    if name == WriteKind.OVERWRITE and not written.rows:
        return (
            f"Rows of {table.identifier.table_name} were removed and none came in their place: "
            f"{table.branch!r} is at snapshot {written.snapshot_id}."
        )
    count = f"{written.rows:,} row{'' if written.rows == 1 else 's'}"
    return (
        f"{count} {_DONE[name]} {table.identifier.table_name}: {table.branch!r} is at snapshot "
        f"{written.snapshot_id}."
    )
