"""What SHOW and DESCRIBE tell of tables, as rows."""

from collections.abc import Iterable

import pyarrow as pa

from branch_console.errors import ErrorKind, InvalidInput, NotFound
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.browse.tables import list_table_names
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.query_sources import OpenedQuery
from branch_console.sql.create_text import create_statement
from branch_console.table.table_state import ReadState

_DESCRIBED = pa.schema([(name, pa.string()) for name in ("col_name", "data_type", "comment")])
_TABLES = pa.schema([(name, pa.string()) for name in ("namespace", "tableName")])


def tables_in(warehouse: Warehouse, database: str | None) -> pa.Table:
    """List the tables of a database, or of all.

    Returns:
        Columns `namespace` and `tableName`, as Spark names them.

    Raises:
        NotFound: There is no such database.
    """
    known = warehouse.catalog.databases()
    if database is not None and database not in known:
        hint = did_you_mean(nearest_names(database, known))
        raise NotFound(
            f"There is no database {database!r}.{hint}", kind=ErrorKind.DATABASE_NOT_FOUND
        )
    rows = [
        {"namespace": each.database, "tableName": each.table}
        for each in list_table_names(warehouse)
        if database in (None, each.database)
    ]
    return pa.Table.from_pylist(rows, schema=_TABLES)


def described(opened: OpenedQuery, *, extended: bool) -> pa.Table:
    """Tell the columns of the one table that a query reads, at the state that it names.

    Args:
        opened: The query.
        extended: Whether keys, branch, snapshot and options follow.

    Returns:
        Columns `col_name`, `data_type` (in Paimon's words) and `comment`, as Spark names them.

    Raises:
        InvalidInput: It reads another number of tables, or a system table.
    """
    state = _state_of(opened)
    schema = state.schema
    rows = [(each.name, str(each.type), each.description) for each in schema.fields]
    if extended:
        (read,) = opened.reads
        rows += [
            ("", "", ""),
            ("# Table", "", ""),
            ("Name", read.table, ""),
            ("Branch", read.branch, ""),
            ("Snapshot", "" if read.snapshot_id is None else str(read.snapshot_id), ""),
            *_details(schema),
        ]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays(columns, schema=_DESCRIBED)


def creating(opened: OpenedQuery) -> pa.Table:
    """Tell the statement that makes a table like the one that a query reads.

    Returns:
        One row with the column `createtab_stmt`, as Spark names it.

    Raises:
        InvalidInput: As `described` does, or Spark has no words for a column.
    """
    state = _state_of(opened)
    text = create_statement(state.table.identifier, state.schema)
    return pa.table({"createtab_stmt": [text]})


def _state_of(opened: OpenedQuery) -> ReadState:
    states = [
        source[0]
        for source in opened.contents.values()
        if isinstance(source, tuple) and isinstance(source[0], ReadState)
    ]
    if len(states) != 1 or len(opened.contents) != 1:
        raise InvalidInput(
            "One table is described, and no system table.", kind=ErrorKind.UNSUPPORTED
        )
    (state,) = states
    return state


def _details(schema: TableSchema) -> Iterable[tuple[str, str, str]]:
    yield "Schema", str(schema.id), ""
    yield "Primary key", ", ".join(schema.primary_keys), ""
    yield "Partitioned by", ", ".join(schema.partition_keys), ""
    yield "Comment", schema.comment or "", ""
    for key, value in sorted(schema.options.items()):
        yield f"Option {key}", value, ""
