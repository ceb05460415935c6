"""The commands that run statements: about branches, and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.operations.agreement import WITHOUT_CALLBACKS
from branch_console.operations.argument import Argument
from branch_console.operations.catalog_requests import MergeCatalogRequest
from branch_console.operations.declared import takes_argument
from branch_console.operations.statement_requests import InsertRowsRequest, QueryRequest
from branch_console.procedures.call.call import argument_text
from branch_console.sql.answer import Answer
from branch_console.sql.statement import CONFIRM, QUERY, Statement
from branch_console_app.cli.arguments import (
    JsonOption,
    LimitOption,
    WarehouseOption,
    open_services,
)
from branch_console_app.cli.branches import BackgroundOption, run_call
from branch_console_app.cli.jobs import JobArgument, finish_job
from branch_console_app.cli.lifecycle import run_previewed
from branch_console_app.cli.output import (
    ROWS_SHOWN,
    print_json,
    print_line,
    print_note,
    print_table,
    progress,
    sql_value,
)
from branch_console_app.cli.request_options import AskedRequest, takes

if TYPE_CHECKING:
    from branch_console.jobs.warm_rows import WarmRows
    from branch_console_app.services import Services

statements = typer.Typer()

# As many rows as Spark counts.
_ALL_ROWS: Final = 2**31 - 2


@statements.command("sql")
@takes(InsertRowsRequest, only=(WITHOUT_CALLBACKS,))
def sql(
    text: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENTS",
            help="Such as: 'SELECT count(*) FROM db.t', 'MERGE BRANCH dev ON TABLE db.t DRY RUN'.",
        ),
    ],
    asked: AskedRequest[InsertRowsRequest],
    limit: LimitOption = None,
    background: BackgroundOption = False,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run statements that semicolons divide, up to the first that is refused or fails."""
    # Only who has statements waits for what reads them.
    from branch_console.sql.parser import parse_statements  # noqa: PLC0415

    found = parse_statements(text)
    if not found:
        raise InvalidInput(
            "There is nothing to run: no statement was given, or only comments or a USE BRANCH, "
            "which counts for what stands behind it. See: branch-console sql --help.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if as_json and len(found) != 1:
        raise InvalidInput(
            f"With --json one statement makes one document; {len(found)} were given.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if asked.arguments:
        found = _with_reason(found, asked.arguments)
    services = open_services(warehouse)
    with closing(_Queries(services)) as queries:
        for number, statement in enumerate(found):
            if number:
                print_line()
            code = _run(services, queries, statement, limit, background, as_json)
            if code:
                return code
    return 0


@statements.command()
def answer(
    job_id: JobArgument,
    limit: LimitOption = None,
    warehouse: WarehouseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the rows of a query that ran as a job, by sql --background."""
    wanted = _rows_wanted(limit, as_json)
    found = open_services(warehouse).answer(job_id, most=wanted + 1)
    has_more = found.has_more or found.rows.num_rows > wanted
    first = replace(found, rows=found.rows.slice(0, wanted), has_more=has_more)
    print_answer(first, as_json=as_json, is_all=limit == 0)


def print_answer(found: Answer, *, as_json: bool, is_all: bool = False) -> None:
    """Print the rows of a query, and beside them what else is to be known.

    Args:
        found: The answer.
        as_json: Whether to print a document.
        is_all: Whether all rows were asked for, so that asking for more gives no more.
    """
    if as_json:
        print_json(
            {
                "columns": [
                    {"name": field.name, "type": str(field.type)} for field in found.rows.schema
                ],
                "count": found.rows.num_rows,
                "has_more": found.has_more,
                "reads": found.reads,
                "notes": found.notes,
                "rows": found.rows,
            }
        )
        return
    print_table(found.rows, 0, write=sql_value)
    if found.has_more and not is_all:
        print_line("… more rows; --limit 0 prints all")
    for note in found.notes:
        print_note(note)


class _Queries:
    """Queries of one command: the worker answers them, else Spark in this process.

    Spark takes ten seconds to start, which a worker has behind it. A worker that is busy is not
    waited for: its job may take hours.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._rows: WarmRows | None = None

    def answer(self, arguments: Mapping[str, Argument]) -> Answer:
        """Answer a query, and show how far it is."""
        if self._rows is None and self._reads_rows(arguments) and self._services.has_free_worker:
            job = finish_job(self._services, QUERY, arguments)
            return self._services.answer(job.id)
        if self._rows is None:
            # Spark takes a second to import, which nobody else should wait for.
            from branch_console.jobs.warm_rows import WarmRows  # noqa: PLC0415

            self._rows = WarmRows(self._services.job_settings, self._services.warehouse.file_io)
        from branch_console.procedures.statement.query import answer_query  # noqa: PLC0415

        call = self._services.call(QUERY, arguments)
        with progress() as tell:
            tell("Reading rows.", 0, None)
            return answer_query(
                self._services.warehouse,
                self._rows,
                call,
                lambda done, total: tell("Reading rows.", done, total),
            )

    def _reads_rows(self, arguments: Mapping[str, Argument]) -> bool:
        """Whether Spark is needed; what only metadata tell is told at once."""
        from branch_console.sql.show_statements import parse_show  # noqa: PLC0415 - as where the statement was read

        return parse_show(QueryRequest.decode(QUERY, arguments).sql).reads_rows

    def close(self) -> None:
        """Stop Spark where it was started."""
        if self._rows is not None:
            self._rows.close()


def _run(
    services: Services,
    queries: _Queries,
    statement: Statement,
    limit: int | None,
    background: bool,
    as_json: bool,
) -> int:
    from branch_console.sql.parser import WRITING  # noqa: PLC0415 - as where the statement was read

    if statement.procedure in WRITING:
        return run_call(
            services,
            statement.procedure,
            statement.arguments,
            background=background,
            as_json=as_json,
            called=statement.called,
        )
    if statement.procedure == MergeCatalogRequest.procedure:
        # As with a merge of one table, only who merges waits for what plans need.
        from branch_console_app.cli.catalog_merge import run_catalog_merge  # noqa: PLC0415

        return run_catalog_merge(
            services,
            statement.arguments,
            preview=statement.is_dry,
            as_json=as_json,
            background=background,
        )
    if statement.procedure != QUERY:
        return run_previewed(
            services.settings.warehouse,
            statement.procedure,
            statement.arguments,
            confirm=statement.confirms,
            words=partial(argument_text, CONFIRM),
            dry_run=statement.is_dry,
            background=background,
            as_json=as_json,
            called=statement.called,
        )
    if background:
        arguments = {**statement.arguments, "limit": limit}
        return run_call(services, QUERY, arguments, background=True, as_json=as_json)
    wanted = _rows_wanted(limit, as_json)
    found = queries.answer({**statement.arguments, "limit": wanted})
    print_answer(found, as_json=as_json, is_all=limit == 0)
    return 0


def _with_reason(
    found: Sequence[Statement], given: Mapping[str, Argument]
) -> tuple[Statement, ...]:
    """The statements, those that commit with the reason why they go on without callbacks."""
    taking = [all(takes_argument(each.procedure, name) for name in given) for each in found]
    if not any(taking):
        raise InvalidInput(
            "--without-callbacks is for statements that write rows, merge, or move a history or a "
            "tag; none was given. Nothing was run.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    return tuple(
        replace(each, arguments={**given, **each.arguments}) if takes else each
        for each, takes in zip(found, taking, strict=True)
    )


def _rows_wanted(limit: int | None, as_json: bool) -> int:
    if limit is None:
        return _ALL_ROWS if as_json else ROWS_SHOWN
    return limit or _ALL_ROWS
