"""The sources of a query: its tables, opened at the states that it asks for."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final

import pyarrow as pa

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.errors import ErrorKind, InvalidInput, PaimonError
from branch_console.expr.filter_pushdown import condition_from
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.scan_options import ScanOptions, check_branch, unfit_option
from branch_console.format.snapshot import Snapshot
from branch_console.procedures.call.row_engine import Progress, QuerySource, RowEngine
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.publishing import resolved_whole
from branch_console.sql.answer import StateRead
from branch_console.sql.pushdown import PushedComparison
from branch_console.sql.query import Query, ReferenceState, RewrittenQuery, TableReference
from branch_console.sql.token_reader import statement_error
from branch_console.table.fallback_branch import with_other_branch
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.scan_state import state_asked
from branch_console.table.system_tables import SYSTEM_TABLES, read_system_table
from branch_console.table.table_state import ChangedState, ReadState

_SEVERAL: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedQuery:
    """A query with all that it reads.

    Attributes:
        rewritten: The query over views.
        contents: What each view holds.
        reads: The states that are read, each once.
        notes: Where another branch is read than was asked for.
    """

    rewritten: RewrittenQuery
    contents: Mapping[str, QuerySource]
    reads: tuple[StateRead, ...]
    notes: tuple[str, ...]
    _written: Mapping[str, str]

    @property
    def snapshots(self) -> tuple[tuple[FileStoreTable, Snapshot], ...]:
        """The snapshots that are read, each with the table on the branch that has it."""
        found = []
        for content in self.contents.values():
            if isinstance(content, pa.Table):
                continue
            match content[0]:
                case ChangedState(commits=commits, before=before, snapshot=snapshot) as state:
                    found += [(state.table, each) for each in (before, snapshot, *commits)]
                case ReadState() as state:
                    found += state.reads
        return tuple((table, each) for table, each in found if each is not None)

    @contextmanager
    def placing_errors(self, sql: RewrittenQuery | None = None) -> Iterator[None]:
        """Tell errors of the engine by places of the statement, and tables by their names.

        Args:
            sql: What the engine is given, where that is not `rewritten` itself.
        """
        try:
            yield
        except InvalidInput as error:
            offset = error.facts.get("offset")
            if not isinstance(offset, int):
                raise
            place, message = (sql or self.rewritten).place_of(offset), error.message
            for view, name in self._written.items():
                message = message.replace(view, name)
            raise InvalidInput(f"{place}: {message}", kind=error.kind) from error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Source:
    content: QuerySource
    read: StateRead
    note: str | None


def open_query(warehouse: Warehouse, query: Query, branch: str, operation_id: str) -> OpenedQuery:
    """Open what a query reads, each state once.

    Args:
        warehouse: The warehouse.
        query: The query.
        branch: Where tables are read whose branch the query does not name: a branch of the catalog
            if there is one of that name; a table without that branch is read on main.
        operation_id: Whose query it is: no other one may have views of the same names.

    Several tables are read with all of a merge of the catalog or with nothing of it, unless one is
    being published for longer than a statement waits: a note says so.

    Raises:
        NotFound: There is no such table, branch or version.
        InvalidInput: There is no such system table.
    """
    if len({each.identifier for each in query.references}) < _SEVERAL:
        return _opened(warehouse, query, branch, operation_id)
    named = [_catalog_branches_of(each, branch) for each in query.references]
    branches = sorted(
        {each for names in named for each in names if warehouse.has_catalog_branch(each)}
    )
    found, note = resolved_whole(
        warehouse,
        (MAIN_BRANCH, *branches),
        lambda: _opened(warehouse, query, branch, operation_id),
    )
    return found if note is None else replace(found, notes=(*found.notes, note))


def _catalog_branches_of(reference: TableReference, branch: str) -> tuple[str, ...]:
    """The names under which a table may be one of a branch of the catalog."""
    named = reference.identifier
    return tuple({branch, named.branch, named.catalog_branch or MAIN_BRANCH})


def _opened(warehouse: Warehouse, query: Query, branch: str, operation_id: str) -> OpenedQuery:
    own = hashlib.sha256(operation_id.encode()).hexdigest()[:16]
    views: dict[ReferenceState, str] = {}
    written: dict[str, str] = {}
    sources: dict[str, _Source] = {}
    states = [reference.state for reference in query.references]
    seen = warehouse.on(branch) if warehouse.has_catalog_branch(branch) else None
    for reference in query.references:
        if reference.state not in views:
            view = views[reference.state] = f"q{own}_{len(views)}"
            written[view] = reference.written
            # Who reads a state twice wants other rows each time.
            is_once = states.count(reference.state) == 1
            compared = query.comparisons.get(reference.start, ()) if is_once else ()
            sources[view] = _source(warehouse, query, reference, branch, seen, compared)
    return OpenedQuery(
        rewritten=query.over([views[each.state] for each in query.references]),
        contents={view: source.content for view, source in sources.items()},
        reads=tuple(source.read for source in sources.values()),
        notes=tuple(dict.fromkeys(each.note for each in sources.values() if each.note)),
        _written=written,
    )


def with_times(rows: RowEngine, query: Query, progress: Progress) -> Query:
    """Let an engine evaluate the times that a query gives as expressions.

    Raises:
        InvalidInput: One is no time.
    """
    asked = [each for each in query.references if each.time_expression is not None]
    found: list[int] = []
    for reference in asked:
        sql = f"SELECT unix_millis(CAST(({reference.time_expression}) AS TIMESTAMP)) AS millis"
        try:
            answer, _ = rows.query(sql, {}, 1, progress)
        except InvalidInput as error:
            raise InvalidInput(f"{reference.place}: {error.message}", kind=error.kind) from error
        millis = answer["millis"][0].as_py()
        if millis is None:
            raise statement_error(
                reference.place, f"{reference.time_expression} is null, which is no time"
            )
        found.append(millis)
    return query.at_times(found)


def _source(
    warehouse: Warehouse,
    query: Query,
    reference: TableReference,
    branch: str,
    seen: CatalogOnBranch | None,
    comparisons: Iterable[PushedComparison],
) -> _Source:
    try:
        options = _options_of(reference)
        table, note = _open(warehouse, reference, branch, seen, options)
        if reference.identifier.system_table is not None:
            return _system_source(table, reference, options, note)
        state = state_asked(table, options)
        if isinstance(state, ReadState):
            state = with_other_branch(state)
    except PaimonError as error:
        raise type(error)(
            f"{reference.place}: {error.message}", kind=error.kind, **error.facts
        ) from error
    return _Source(
        content=(
            replace(state, columns=query.columns_of(state.schema.row_type.names)),
            condition_from(state.schema, comparisons),
        ),
        read=StateRead(
            table=reference.identifier.table_name,
            branch=state.table.branch,
            snapshot_id=None if state.snapshot is None else state.snapshot.id,
            asked=state.asked if isinstance(state, ChangedState) else options.asked,
        ),
        note=note,
    )


def _options_of(reference: TableReference) -> ScanOptions:
    """Return the options of a table in a query, from its hints or the words behind its name."""
    options = ScanOptions.parse(dict(reference.options))
    if options.branch is not None:
        named = reference.names_branch
        check_branch(reference.identifier, options.branch, names_branch=named)
    if not reference.names_state:
        return options
    if options.travels:
        raise unfit_option(
            "The table names a version or time, and its options name another state. Give one of "
            "them.",
            next(key for key, _ in reference.options),
        )
    return replace(options, version=reference.version, time_millis=reference.time_millis)


def _open(
    warehouse: Warehouse,
    reference: TableReference,
    branch: str,
    seen: CatalogOnBranch | None,
    options: ScanOptions,
) -> tuple[FileStoreTable, str | None]:
    """Open a table on its branch; the note tells where that is not the session's."""
    identifier = reference.identifier
    if options.branch is not None:
        return warehouse.table(identifier.on_branch(options.branch)), None
    if reference.names_branch or branch == MAIN_BRANCH:
        return warehouse.table(identifier), None
    if seen is not None:
        is_own = seen.find_member(identifier) is not None
        note = f"{identifier.table_name} is outside of catalog branch {branch!r}: main is read."
        return seen.open(identifier), None if is_own else note
    found = warehouse.find_table(identifier.on_branch(branch))
    if found is not None:
        return found, None
    note = f"{identifier.table_name} has no branch {branch!r}: main is read."
    return warehouse.table(identifier), note


def _system_source(
    table: FileStoreTable, reference: TableReference, options: ScanOptions, note: str | None
) -> _Source:
    name = (reference.identifier.system_table or "").lower()
    if name not in SYSTEM_TABLES:
        raise InvalidInput(
            f"The system table {name!r} is not read here. There are {', '.join(SYSTEM_TABLES)}.",
            kind=ErrorKind.UNSUPPORTED,
        )
    if options.travels or options.how is not None or options.fallback is not None:
        raise InvalidInput(
            "A system table shows one branch as it is now; it does not travel or tell changes.",
            kind=ErrorKind.UNSUPPORTED,
        )
    # Spark's session speaks of times in UTC, and so do they.
    content: pa.Table = read_system_table(table, name, zone=UTC)
    return _Source(
        content=content,
        read=StateRead(
            table=f"{reference.identifier.table_name}${name}",
            branch=table.branch,
            snapshot_id=None,
        ),
        note=note,
    )
