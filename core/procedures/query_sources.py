"""What a query reads: its tables opened, each at the state that it asks for."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa

from core.errors import ErrorKind, InvalidInput, PaimonError
from core.format.identifier import MAIN_BRANCH, Identifier
from core.merge.wanted_rows import condition_of
from core.procedures.row_engine import QuerySource
from core.procedures.warehouse import Warehouse
from core.sql.answer import StateRead
from core.sql.pushdown import Comparison
from core.sql.query import Query, RewrittenQuery, TableReference
from core.table.file_store_table import FileStoreTable
from core.table.system_tables import SYSTEM_TABLES, read_system_table
from core.table.table_state import ReadState


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

    @contextmanager
    def told(self, sql: RewrittenQuery | None = None) -> Iterator[None]:
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
        branch: Where tables are read whose branch the query does not name; a table without that
            branch is read on main.
        operation_id: Whose query it is: no other one may have views of the same names.

    Raises:
        NotFound: There is no such table, branch or version.
        InvalidInput: There is no such system table.
    """
    own = hashlib.sha256(operation_id.encode()).hexdigest()[:16]
    views: dict[_State, str] = {}
    written: dict[str, str] = {}
    sources: dict[str, _Source] = {}
    states = [reference.state for reference in query.references]
    for reference in query.references:
        if reference.state not in views:
            view = views[reference.state] = f"q{own}_{len(views)}"
            written[view] = reference.written
            # Who reads a state twice wants other rows each time.
            is_once = states.count(reference.state) == 1
            compared = query.comparisons.get(reference.start, ()) if is_once else ()
            sources[view] = _source(warehouse, query, reference, branch, compared)
    return OpenedQuery(
        rewritten=query.over([views[each.state] for each in query.references]),
        contents={view: source.content for view, source in sources.items()},
        reads=tuple(source.read for source in sources.values()),
        notes=tuple(dict.fromkeys(each.note for each in sources.values() if each.note)),
        _written=written,
    )


_State = tuple[Identifier, bool, str | None, int | None]


def _source(
    warehouse: Warehouse,
    query: Query,
    reference: TableReference,
    branch: str,
    comparisons: Iterable[Comparison],
) -> _Source:
    try:
        table, note = _open(warehouse, reference, branch)
        if reference.identifier.system_table is not None:
            return _system_source(table, reference, note)
        asked = None
        if reference.version is not None or reference.time_millis is not None:
            table, snapshot = table.state_for(
                reference.version, timestamp_millis=reference.time_millis
            )
            asked = reference.version or _time_text(reference.time_millis or 0)
            state = ReadState.as_it_was(table, snapshot)
        else:
            state = ReadState.as_it_is(table)
    except PaimonError as error:
        raise type(error)(
            f"{reference.place}: {error.message}", kind=error.kind, **error.facts
        ) from error
    return _Source(
        content=(
            replace(state, columns=query.columns_of(state.schema.row_type.names)),
            condition_of(state.schema, comparisons),
        ),
        read=StateRead(
            table=reference.identifier.table_name,
            branch=table.branch,
            snapshot_id=None if state.snapshot is None else state.snapshot.id,
            asked=asked,
        ),
        note=note,
    )


def _open(
    warehouse: Warehouse, reference: TableReference, branch: str
) -> tuple[FileStoreTable, str | None]:
    """Open a table on its branch; the note tells where that is not the session's."""
    identifier = reference.identifier
    if reference.names_branch or branch == MAIN_BRANCH:
        return warehouse.table(identifier), None
    found = warehouse.find_table(identifier.on_branch(branch))
    if found is not None:
        return found, None
    note = f"{identifier.table_name} has no branch {branch!r}: main is read."
    return warehouse.table(identifier), note


def _system_source(table: FileStoreTable, reference: TableReference, note: str | None) -> _Source:
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
    return _Source(
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
