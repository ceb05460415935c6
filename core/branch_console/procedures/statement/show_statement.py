"""The rows that SHOW and DESCRIBE return."""

import re
from collections.abc import Callable, Iterable

import pyarrow as pa

from branch_console.catalog.catalog import Catalog
from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.table_schema import TableSchema
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import paths_of
from branch_console.procedures.catalog.database_words import (
    no_database,
)
from branch_console.procedures.catalog.seen_catalog import properties_on, seen_from
from branch_console.procedures.statement.query_sources import OpenedQuery
from branch_console.sql.create_text import create_statement
from branch_console.sql.databases import COMMENT
from branch_console.sql.show_statements import ShowKind, ShowStatement
from branch_console.table.table_state import ReadState

_DESCRIBED = pa.schema([(name, pa.string()) for name in ("col_name", "data_type", "comment")])
_TABLES = pa.schema([(name, pa.string()) for name in ("namespace", "tableName")])


def catalog_rows(warehouse: Warehouse, statement: ShowStatement, session: str) -> pa.Table:
    """List databases or tables, or tell of a database, on a catalog branch or on main.

    Args:
        warehouse: The warehouse.
        statement: The statement, with the objects to list.
        session: The branch of the session.

    Returns:
        Columns as Spark names them: `namespace`, with `tableName` for tables; of one database
        `info_name` and `info_value`.

    Raises:
        NotFound: There is no such database or catalog branch.
    """
    seen = seen_from(warehouse, statement.branch, session)
    known = seen.databases()
    if statement.database is not None and statement.database not in known:
        raise no_database(statement.database, known)
    if statement.kind is ShowKind.DATABASE and statement.database is not None:
        return _database(warehouse, seen, statement.database)
    is_like = _matcher(statement.pattern)
    if statement.kind is ShowKind.DATABASES:
        return pa.table({"namespace": pa.array(filter(is_like, known), pa.string())})
    rows = [
        {"namespace": database, "tableName": name}
        for database in known
        if statement.database in (None, database)
        for name in seen.table_names(database)
        if is_like(name)
    ]
    return pa.Table.from_pylist(rows, schema=_TABLES)


def _database(warehouse: Warehouse, seen: Catalog, name: str) -> pa.Table:
    properties = dict(properties_on(warehouse, seen, name))
    rows = [
        ("Namespace Name", name),
        ("Comment", properties.pop(COMMENT, "")),
        ("Location", paths_of(warehouse).database(name)),
        *((f"Property {key}", value) for key, value in sorted(properties.items())),
    ]
    names, values = zip(*rows, strict=True)
    return pa.table({"info_name": pa.array(names), "info_value": pa.array(values)})


def _matcher(pattern: str | None) -> Callable[[str], bool]:
    """Return what tells names that are like a pattern, in which `*` is any letters and `|` or."""
    if pattern is None:
        return lambda _: True
    parts = (".*".join(map(re.escape, each.strip().split("*"))) for each in pattern.split("|"))
    compiled = re.compile("|".join(f"(?:{each})" for each in parts), re.IGNORECASE)
    return lambda name: compiled.fullmatch(name) is not None


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
