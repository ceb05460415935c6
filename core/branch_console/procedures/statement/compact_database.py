"""Compacting the tables of databases, one after the other: one that fails stops no other."""

import re
from collections.abc import Iterator
from dataclasses import replace

from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.format.receipt import Receipt
from branch_console.operations.statement_requests import CompactDatabaseRequest, CompactRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.row_engine import Progress, RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.statement.write_statement import compact_once


def run_compact_database(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Compact tables by their names.

    Arguments of the call: `databases`, `tables` and `excluding`, regular expressions of whole
    names; `strategy`, `idle` and `without_callbacks`, as for one table.

    Raises:
        InvalidInput: The included or excluded pattern is no regular expression.
    """
    asked = call.request(CompactDatabaseRequest)
    chosen = tuple(_tables(warehouse, asked))

    def compact(progress: Progress) -> Facts:
        failed = []
        for number, table in enumerate(chosen):
            progress(number, len(chosen))
            one = CompactRequest(table=table, strategy=asked.strategy, idle_time=asked.idle_time)
            # Each has an id of its own; a table that was compacted by another try is left as it is.
            each = replace(call.asking(one), operation_id=f"{call.operation_id}-{number}")
            try:
                compact_once(warehouse, rows, each, lambda _done, _total: None)
            except PaimonError as error:
                if error.kind is ErrorKind.CANCELLED:
                    raise
                failed.append(f"{table}: {error.message}")
        progress(len(chosen), len(chosen))
        # In the words of Paimon.
        success = len(chosen) - len(failed)
        text = f"Compact database finished. Success: {success}, Failed: {len(failed)}"
        return {"notes": [text, *failed]}

    return receipt_of_stage(
        warehouse, call, stages, "write rows", compact, message="Writing rows of many tables."
    )


def _tables(warehouse: Warehouse, asked: CompactDatabaseRequest) -> Iterator[str]:
    databases = _pattern("databases", asked.databases or ".*")
    tables = _pattern("tables", asked.tables or ".*")
    excluding = _pattern("excluding", asked.excluding or "(?!)")
    for database in warehouse.catalog.databases():
        if databases.fullmatch(database) is None:
            continue
        for entry in warehouse.catalog.tables(database):
            name = entry.identifier.table_name
            if tables.fullmatch(name) and not excluding.fullmatch(name):
                yield name


def _pattern(argument: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidInput(
            f"The argument {argument!r} of compact_database is {text!r}, which is no regular "
            f"expression: {error}. Nothing was changed.",
            kind=ErrorKind.INVALID_ARGUMENT,
            argument=argument,
        ) from error
