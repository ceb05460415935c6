"""The queries of the SQL page: their text, their rows, their files to download."""

import io
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from branch_console.errors import InvalidInput
from branch_console.format.identifier import BRANCH_MARK, MAIN_BRANCH, Identifier
from branch_console.operations.statement_requests import QueryRequest
from branch_console.procedures.call.permissions import Role
from branch_console.sql.answer import Answer, StateRead
from branch_console.sql.parser import parse_statements
from branch_console.sql.query import TableReference, parse_query
from branch_console.sql.statement import QUERY
from branch_console.sql.tables import TableStatementKind
from branch_console.sql.token_reader import written_name
from branch_console_app.models.parts.wording import code, duration, listed, plain, plural

SHOWN_ROWS: Final = 1_000
"""Rows of an answer that the page draws."""

_MAX_IN_ADDRESS: Final = 4_000
_EXACT_IN_BROWSERS: Final = 2**53


def role_of(procedure: str) -> Role:
    """Return the role that a statement that writes asks for."""
    return Role.OPERATOR if procedure == TableStatementKind.DROP else Role.EDITOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query that somebody ran: its text, and the branch where it stood."""

    text: str
    branch: str

    @classmethod
    def of_statement(cls, statement: str) -> "Asked | None":
        """Read what a job says of itself; None if it is no query."""
        try:
            (found,) = parse_statements(statement)
        except (InvalidInput, ValueError):
            return None
        if found.procedure != QUERY:
            return None
        asked = QueryRequest.decode(QUERY, found.arguments)
        return cls(text=asked.sql, branch=asked.branch)

    @property
    def line(self) -> str:
        """The text on one line."""
        return " ".join(self.text.split())


def first_rows_query(table: Identifier) -> str:
    """Return a query of the first rows of a table on its branch."""
    named = table.table if table.is_main else f"{table.table}{BRANCH_MARK}{table.branch}"
    return f"SELECT * FROM {written_name(table.database)}.{written_name(named)} LIMIT 100"


def text_for_address(text: str) -> str | None:
    """Return a statement as an address may hold it; None if it is too long for one."""
    return text if len(text) <= _MAX_IN_ADDRESS else None


def tables_named(text: str) -> tuple[Identifier, ...]:
    """Return the tables that a query names, on main; none if it cannot be read yet."""
    named = (Identifier.parse(each.identifier.table_name) for each in _references(text))
    return tuple(dict.fromkeys(named))


def branches_read(asked: Asked) -> tuple[str, ...]:
    """Return the branches that a query reads, as far as its text tells: those that it names, too.

    Args:
        asked: The query; where it cannot be read, or names no table, its branch alone.
    """
    names = (
        each.identifier.branch if each.names_branch else asked.branch
        for each in _references(asked.text)
    )
    return tuple(dict.fromkeys(names)) or (asked.branch,)


def session_words(asked: Asked, branches: Mapping[str, Collection[str]]) -> str | None:
    """Say which tables a query reads on the branch that was chosen for it; Markdown.

    Args:
        asked: The query.
        branches: The branches besides main of the tables that it names, by table; without those
            that could not be read.

    Returns:
        None if that is main, or the query names the branch of each table that could be read.
    """
    free = [each for each in _references(asked.text) if not each.names_branch]
    named = dict.fromkeys(each.identifier.table_name for each in free)
    tables = [each for each in named if each in branches]
    there = [code(each) for each in tables if asked.branch in branches[each]]
    not_there = [code(each) for each in tables if asked.branch not in branches[each]]
    if asked.branch == MAIN_BRANCH or not tables:
        return None
    parts = []
    if there:
        parts.append(f"{listed(there)} on {code(asked.branch)}, the branch chosen above")
    if not_there:
        parts.append(f"{listed(not_there)}, without this branch, on {code(MAIN_BRANCH)}")
    return f"Reads {'; '.join(parts)}."


def _references(text: str) -> tuple[TableReference, ...]:
    """The tables that a query names; none if it cannot be read yet."""
    try:
        return tuple(parse_query(text.strip().rstrip(";")).references)
    except InvalidInput:
        return ()


def summary(answer: Answer) -> str:
    """Say how many rows there are, how long it took, and of which states they come; Markdown."""
    count = answer.rows.num_rows
    at_least = "at least " if answer.has_more else ""
    took = duration(answer.finished_millis - answer.started_millis)
    return f"**{at_least}{plural(count, 'row')}** in {took}"


def read_words(read: StateRead) -> str:
    """Say which state of a table was read; Markdown."""
    snapshot = "" if read.snapshot_id is None else f" at snapshot {read.snapshot_id}"
    asked = read.asked if read.asked and read.asked != str(read.snapshot_id) else None
    words = f"{code(read.table)} on {code(read.branch)}{snapshot}"
    return f"{words} ({plain(asked)})" if asked else words


def for_screen(rows: pa.Table) -> pa.Table:
    """Return rows as a browser can show them: what it has no type for becomes text."""
    columns = [
        pa.chunked_array([[_text(value) for value in column.to_pylist()]], pa.string())
        if _is_strange(column)
        else column
        for column in rows.columns
    ]
    return pa.table(columns, names=rows.column_names)


def to_csv(rows: pa.Table) -> bytes:
    """Encode rows as CSV: null is nothing, and an empty text is a pair of quotes."""
    columns = [
        pa.chunked_array([[_text(value) for value in column.to_pylist()]], pa.string())
        if _has_no_csv(column.type)
        else column
        for column in rows.columns
    ]
    sink = io.BytesIO()
    csv.write_csv(pa.table(columns, names=rows.column_names), sink)
    return sink.getvalue()


def to_parquet(rows: pa.Table) -> bytes:
    """Encode rows as Parquet, with their types."""
    sink = io.BytesIO()
    pq.write_table(rows, sink)
    return sink.getvalue()


def _is_strange(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_int64(kind):
        # Browsers count in floating point.
        ends = pc.min_max(column).as_py()
        return any(abs(end or 0) > _EXACT_IN_BROWSERS for end in ends.values())
    return _has_no_csv(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)


def _has_no_csv(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_nested(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_time(kind)
    )


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bytes():
            return value.hex()
        case time() | date() | datetime() | timedelta() | Decimal() | int():
            return str(value)
        case _:
            return json.dumps(_plain(value), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case bytes():
            return value.hex()
    return value
