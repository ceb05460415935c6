"""A query, or another statement that gives rows: its rows, with what they come from."""

from typing import Final

import pyarrow as pa

from branch_console.format.identifier import Identifier
from branch_console.format.receipt import Receipt
from branch_console.operations.statement_requests import QueryRequest, StatementRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.seen_catalog import check_session
from branch_console.procedures.maintenance.doctor import examine, health_rows
from branch_console.procedures.maintenance.storage import read_storage, storage_rows
from branch_console.procedures.maintenance.table_holds import hold_rows, list_holds
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.run.running_reads import holding
from branch_console.procedures.statement.query_sources import open_query, with_times
from branch_console.procedures.statement.show_statement import catalog_rows, creating, described
from branch_console.sql.answer import Answer
from branch_console.sql.place import Place
from branch_console.sql.show_statements import ShowKind, parse_show

KEPT_ROWS: Final = 100_000
"""Rows of an answer that a job keeps if nobody says how many."""


def run_query(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Answer a query as a job; the answer is kept under the operation's id.

    Arguments of the call: those of `answer_query`.
    """

    def answer(progress: Progress) -> Facts:
        found = answer_query(warehouse, rows, call, progress)
        rows.keep(call.operation_id, found)
        count = found.rows.num_rows
        more = " and more" if found.has_more else ""
        return {"notes": [f"{count:,} row{'' if count == 1 else 's'}{more}.", *found.notes]}

    return receipt_of_stage(warehouse, call, stages, "read rows", answer, message="Reading rows.")


def answer_query(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, progress: Progress
) -> Answer:
    """Answer a query.

    Arguments of the call: `sql`, the statement; `branch`, where tables are read whose branch it
    does not name; `limit`, how many rows are answered, within the bound of
    the engine; `line` and `column`, where the statement
    stands in what was given.

    Raises:
        InvalidInput: The statement gives no rows, or Spark cannot make sense of it.
        NotFound: It names a table, branch or version that there is not, or no table, on a branch
            that is nowhere.
    """
    started = warehouse.clock()
    asked = call.request(QueryRequest)
    statement, branch = parse_show(asked.sql, place_of(asked)), asked.branch
    filtered = asked.limit or KEPT_ROWS
    limit = min(filtered, rows.most_rows)
    opened, plan = None, ""
    notes: tuple[str, ...] = ()
    if statement.target is None and (statement.query is None or not statement.query.references):
        # No table says whether it has the branch.
        check_session(warehouse, branch)
    if statement.query is not None:
        query = with_times(rows, statement.query, progress)
        opened = open_query(warehouse, query, branch, call.operation_id)
    if statement.target is not None:
        found, notes = _facts_of(warehouse, statement.kind, statement.target.on(branch))
    elif opened is None:
        found = catalog_rows(warehouse, statement, branch)
    elif statement.kind in (ShowKind.COLUMNS, ShowKind.TABLE):
        found = described(opened, extended=statement.kind is ShowKind.TABLE)
    elif statement.kind is ShowKind.STATEMENT:
        found = creating(opened)
    else:
        is_plan = statement.kind is ShowKind.PLAN
        wanted = 0 if is_plan else limit + 1
        with opened.placing_errors(), holding(warehouse, call, opened.snapshots):
            found, plan = rows.query(opened.rewritten.text, opened.contents, wanted, progress)
        found = pa.table({"plan": [plan]}) if is_plan else found
    has_more = found.num_rows > limit
    if opened is not None:
        notes = opened.notes
    if has_more and limit < filtered:
        notes = (*notes, _bound_note(limit))
    return Answer(
        rows=found.slice(0, limit),
        has_more=has_more,
        plan=plan,
        reads=() if opened is None else opened.reads,
        notes=notes,
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


def _facts_of(
    warehouse: Warehouse, kind: ShowKind, table: Identifier
) -> tuple[pa.Table, tuple[str, ...]]:
    """The health, the storage or the holds of a table, as rows, and what these leave out."""
    if kind is ShowKind.HOLDS:
        return hold_rows(list_holds(warehouse, table)), ()
    if kind is ShowKind.STORAGE:
        storage = read_storage(warehouse, table)
        return storage_rows(storage), tuple(each.sentence for each in storage.unread)
    return health_rows(examine(warehouse, table)), ()


def _bound_note(limit: int) -> str:
    return (
        f"The answer ends at {limit:,} rows, as many as one may have. Read less, or raise the "
        "setting query_rows."
    )


def place_of(asked: StatementRequest) -> Place:
    """Return where a statement stands in what was given."""
    return Place(line=asked.line, column=asked.column)
