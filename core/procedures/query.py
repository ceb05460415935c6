"""A query: its rows, with what they come from."""

from typing import Final

from core.format.identifier import MAIN_BRANCH
from core.format.receipt import Receipt
from core.procedures.call import ProcedureCall
from core.procedures.query_sources import open_query
from core.procedures.records import receipt_of_stage
from core.procedures.row_engine import Progress, RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.warehouse import Warehouse
from core.sql.answer import Answer
from core.sql.place import Origins, Place
from core.sql.query import parse_query

KEPT_ROWS: Final = 100_000
"""Rows of an answer that a job keeps where nobody says how many."""


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
    does not name; `limit`, how many rows are answered; `line` and `column`, where the statement
    stands in what was given.

    Raises:
        InvalidInput: The statement is no query, or Spark cannot make sense of it.
        NotFound: It names a table, branch or version that there is not.
    """
    started = warehouse.clock()
    query = parse_query(call.text("sql"), Origins(parts=((0, place_of(call)),)))
    branch = call.find_text("branch") or MAIN_BRANCH
    opened = open_query(warehouse, query, branch, call.operation_id)
    limit = call.find_number("limit") or KEPT_ROWS
    with opened.told():
        found, plan = rows.query(opened.rewritten.text, opened.contents, limit + 1, progress)
    return Answer(
        rows=found.slice(0, limit),
        has_more=found.num_rows > limit,
        plan=plan,
        reads=opened.reads,
        notes=opened.notes,
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


def place_of(call: ProcedureCall) -> Place:
    """Return where the statement of a call stands in what was given."""
    return Place(line=call.find_number("line") or 1, column=call.find_number("column") or 1)
