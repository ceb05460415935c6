"""A query: which states of which tables it reads, and its answer."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import pyarrow as pa

from core.errors import ErrorKind, InvalidInput, NotFound, PaimonError
from core.format.identifier import MAIN_BRANCH, Identifier
from core.format.receipt import Receipt
from core.procedures.browse_tables import list_table_names
from core.procedures.call import ProcedureCall
from core.procedures.records import receipt_without_change, texts_of
from core.procedures.row_engine import Progress, QuerySource, RowEngine
from core.procedures.stages import Facts, Stages
from core.procedures.warehouse import Warehouse
from core.sql.answer import Answer, StateRead
from core.sql.query import Place, Query, TableReference, nearest_names, parse_query
from core.table.file_store_table import FileStoreTable
from core.table.system_tables import SYSTEM_TABLES, read_system_table
from core.table.table_state import TableState

KEPT_ROWS: Final = 100_000
"""Rows of an answer that a job keeps where nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """What a table of a query turned out to be."""

    content: QuerySource
    read: StateRead
    note: str | None = None


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

    started = warehouse.clock()
    facts = stages.run("read rows", answer, message="Reading rows.")
    return receipt_without_change(
        call,
        call.operation_id,
        texts_of(facts, "notes"),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


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
    place = Place(line=call.find_number("line") or 1, column=call.find_number("column") or 1)
    query = parse_query(call.text("sql"), place)
    sources = find_sources(warehouse, query, call.find_text("branch") or MAIN_BRANCH)
    limit = call.find_number("limit") or KEPT_ROWS
    # No other query of the session may have views of these names.
    own = hashlib.sha256(call.operation_id.encode()).hexdigest()[:16]
    names = {state: f"q{own}_{number}" for number, state in enumerate(sources)}
    rewritten = query.over([names[each.state] for each in query.references])
    try:
        found, plan = rows.query(
            rewritten.text,
            {names[state]: source.content for state, source in sources.items()},
            limit + 1,
            progress,
        )
    except InvalidInput as error:
        offset = error.facts.get("offset")
        if not isinstance(offset, int):
            raise
        at, message = rewritten.place_of(offset), error.message
        for reference in query.references:
            message = message.replace(names[reference.state], reference.written)
        raise InvalidInput(f"{at}: {message}", kind=error.kind) from error
    return Answer(
        rows=found.slice(0, limit),
        has_more=found.num_rows > limit,
        plan=plan,
        reads=tuple(source.read for source in sources.values()),
        notes=tuple(dict.fromkeys(each.note for each in sources.values() if each.note)),
        started_millis=started,
        finished_millis=warehouse.clock(),
    )


def find_sources(
    warehouse: Warehouse, query: Query, branch: str
) -> dict[tuple[Identifier, bool, str | None, int | None], Source]:
    """Open what a query reads, each state once.

    Args:
        warehouse: The warehouse.
        query: The query.
        branch: Where tables are read whose branch the query does not name; a table without that
            branch is read on main.

    Raises:
        NotFound: There is no such table, branch or version.
    """
    found: dict[tuple[Identifier, bool, str | None, int | None], Source] = {}
    for reference in query.references:
        if reference.state not in found:
            found[reference.state] = _source(warehouse, query, reference, branch)
    return found


def _source(warehouse: Warehouse, query: Query, reference: TableReference, branch: str) -> Source:
    try:
        table, note = _open(warehouse, reference, branch)
        if reference.identifier.system_table is not None:
            return _system_source(table, reference, note)
        snapshot, asked = None, None
        if reference.version is not None or reference.time_millis is not None:
            table, snapshot = table.state_for(
                reference.version, timestamp_millis=reference.time_millis
            )
            asked = reference.version or _time_text(reference.time_millis or 0)
        schema = table.schema() if snapshot is None else table.schemas.get(snapshot.schema_id)
        head = table.head() if snapshot is None else snapshot
    except PaimonError as error:
        raise type(error)(
            f"{reference.place}: {error.message}", kind=error.kind, **error.facts
        ) from error
    return Source(
        content=TableState(
            table=table, snapshot=snapshot, columns=query.columns_of(schema.row_type.names)
        ),
        read=StateRead(
            table=reference.identifier.table_name,
            branch=table.branch,
            snapshot_id=None if head is None else head.id,
            asked=asked,
        ),
        note=note,
    )


def _open(
    warehouse: Warehouse, reference: TableReference, branch: str
) -> tuple[FileStoreTable, str | None]:
    """Open a table on its branch; the note tells where that is not the session's."""
    identifier = reference.identifier
    try:
        if reference.names_branch or branch == MAIN_BRANCH:
            return warehouse.table(identifier), None
        try:
            return warehouse.table(identifier.on_branch(branch)), None
        except NotFound as error:
            if error.kind is not ErrorKind.BRANCH_NOT_FOUND:
                raise
        note = f"{identifier.table_name} has no branch {branch!r}: main is read."
        return warehouse.table(identifier), note
    except NotFound as error:
        raise _named_nearest(warehouse, reference, error) from error


def _named_nearest(warehouse: Warehouse, reference: TableReference, error: NotFound) -> NotFound:
    """The same error with the names that were perhaps meant."""
    identifier = reference.identifier
    if error.kind is ErrorKind.BRANCH_NOT_FOUND:
        main = warehouse.table(identifier.on_branch(MAIN_BRANCH))
        what, near = error.message, nearest_names(identifier.branch, main.branches.names())
    else:
        what = f"There is no table {identifier.table_name}."
        known = [each.table_name for each in list_table_names(warehouse)]
        near = nearest_names(identifier.table_name, known)
    hint = f" Is it {' or '.join(near)}?" if near else ""
    return NotFound(f"{what}{hint}", kind=error.kind, table=identifier.table_name)


def _system_source(table: FileStoreTable, reference: TableReference, note: str | None) -> Source:
    name = (reference.identifier.system_table or "").lower()
    if name not in SYSTEM_TABLES:
        raise InvalidInput(
            f"The system table {name!r} is not read here. There are {', '.join(SYSTEM_TABLES)}.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if reference.version is not None or reference.time_millis is not None:
        raise InvalidInput(
            "A system table shows the branch as it is now; it does not travel.",
            kind=ErrorKind.UNSUPPORTED,
        )
    # Spark's session speaks of times in UTC, and so do they.
    content: pa.Table = read_system_table(table, name, zone=UTC)
    return Source(
        content=content,
        read=StateRead(
            table=f"{reference.identifier.table_name}${name}",
            branch=table.branch,
            snapshot_id=None,
        ),
        note=note,
    )


def _time_text(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(sep=" ")
