"""The start of a new branch of the catalog: its scope, and each table at one snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.catalog.catalog_tag_view import with_present_folders
from branch_console.commit.schema.base_tags import fork_bytes
from branch_console.diff.history_move import count
from branch_console.errors import AlreadyExists, ErrorKind, InvalidInput, NotFound
from branch_console.format.catalog.catalog_version import (
    CatalogScope,
    CatalogVersion,
    CreationMode,
    DatabaseChange,
    TableChange,
    TableHead,
    VersionKind,
    VersionName,
)
from branch_console.format.identifier import MAIN_BRANCH, Identifier, check_branch_name
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.snapshot import Snapshot
from branch_console.operations.catalog_requests import CreateCatalogBranchRequest
from branch_console.procedures.branch.create_branch import free_base_tag
from branch_console.procedures.browse.branches import BranchReader
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.states import MainNow, read_main_now
from branch_console.storage.table_paths import BASE_TAG_PREFIX
from branch_console.table.file_store_table import FileStoreTable

_SHOWN = 5
_CERTAIN = frozenset({"recorded", "high"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFork:
    """The contents that a new branch of the catalog will have.

    Attributes:
        parent: The version that it builds on; number 0 if main has none yet.
        main: The current state of main, if the branch begins there.
        tables: The tables by id, each at its fork, with the tag that keeps the fork.
        left_out: The reasons, by table name, for tables within the scope that the branch cannot
            have.
    """

    branch: str
    parent: VersionName
    main: MainNow | None
    scope: CatalogScope
    mode: CreationMode
    from_tag: str | None
    is_empty: bool
    databases: Mapping[str, DatabaseChange]
    tables: Mapping[str, TableChange]
    left_out: Mapping[str, str]

    def name_of(self, key: str) -> str:
        """Return the name of a table, such as `air.flights`."""
        table = self.tables[key]
        return f"{self.databases[table.database or ''].name}.{table.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSource:
    """All that a branch or a tag of the catalog could hold, before a scope is asked.

    Attributes:
        parent: The version that it is of; number 0 if main has none yet.
        tables: By id, each at its head there.
        left_out: Tables that nothing can be done with, by name, with the reason.
        main: The state of main, if main is the source.
    """

    parent: VersionName
    databases: Mapping[str, DatabaseChange]
    tables: Mapping[str, TableChange]
    left_out: Mapping[str, str]
    main: MainNow | None = None


def decide_fork(
    warehouse: Warehouse, call: ProcedureCall, main: MainNow | None = None
) -> CatalogFork:
    """Decide where a branch of the catalog begins; nothing is written.

    Args:
        warehouse: The warehouse.
        call: The call.
        main: The state of main; None if it was not read.

    Raises:
        AlreadyExists: The name is taken, by a catalog branch or by branches of tables.
        InvalidInput: The name is none that a branch may have, or two beginnings are named.
        NotFound: The scope matches nothing, there is no such branch or tag, or a version is gone.
    """
    asked = call.request(CreateCatalogBranchRequest)
    check_branch_name(asked.branch)
    if sum((asked.from_branch is not None, asked.tag is not None, asked.empty)) > 1:
        raise InvalidInput(
            "A catalog branch begins at one place: name a branch, a tag, or empty. Nothing was "
            "changed.",
            kind=ErrorKind.INVALID_ARGUMENT,
        )
    if warehouse.ledger.find(asked.branch) is not None:
        raise AlreadyExists(
            f"There is a catalog branch {asked.branch!r} already. Nothing was changed; choose "
            f"another name, or look at it: branch-console catalog show {asked.branch}.",
            branch=asked.branch,
        )
    warehouse.ledger.check_not_behind(asked.branch)
    source = _source(warehouse, asked, main)
    scope = CatalogScope(databases=_names(asked.databases), tables=_names(asked.tables))
    check_scope(scope, source)
    databases = source.databases
    held = {
        key: table
        for key, table in source.tables.items()
        if scope.holds_table(databases[table.database or ""].name or "", table.name or "")
    }
    if asked.empty:
        held = {key: replace(table, head=None) for key, table in held.items()}
    fork = CatalogFork(
        branch=asked.branch,
        parent=source.parent,
        main=source.main,
        scope=scope,
        mode=CreationMode.LAZY if asked.lazy else CreationMode.EAGER,
        from_tag=asked.tag,
        is_empty=asked.empty,
        databases=databases,
        tables=held,
        left_out={
            name: reason
            for name, reason in source.left_out.items()
            if scope.holds_table(*name.split(".", 1))
        },
    )
    if asked.tag is not None:
        _check_tagged(warehouse, fork, asked.tag)
    tables, taken = tables_with_base_tags(
        warehouse, fork.databases, fork.tables, fork.branch, adopts=asked.adopt
    )
    if taken:
        way = (
            "Its fork is not certain, so it is not adopted"
            if asked.adopt
            else "Adopt it, with --adopt or ADOPT"
        )
        raise branch_taken(fork.branch, taken, f"{way}; or choose another name.")
    return replace(fork, tables=tables)


def branch_taken(branch: str, names: Sequence[str], way: str) -> AlreadyExists:
    """Return the error for tables that have a branch of this name; `way` says what to do."""
    return AlreadyExists(
        f"Branch {branch!r} is there already on {some_tables(names)}. Nothing was changed. {way}",
        branch=branch,
        tables=list(names),
    )


def first_version(warehouse: Warehouse, fork: CatalogFork, call: ProcedureCall) -> CatalogVersion:
    """Return the version that a branch begins with.

    It names its parent and its scope, and of tables only what the parent does not say of them.
    """
    recorded = warehouse.ledger.recorded(fork.parent.branch, fork.parent.number)
    known = recorded.tables
    tables = {key: _besides(known.get(key), table, fork) for key, table in fork.tables.items()}
    holds = fork.scope.holds_table
    names = {key: each.name or "" for key, each in recorded.databases.items()}
    missing = [
        key
        for key, table in known.items()
        if key not in fork.tables and holds(names.get(table.database or "", ""), table.name or "")
    ]
    return CatalogVersion(
        branch=fork.branch,
        number=warehouse.ledger.newest(fork.branch) + 1,
        kind=VersionKind.FORKED,
        parents=(fork.parent,),
        operation=call.operation_id,
        actor=call.actor,
        time_millis=warehouse.clock(),
        statement=call.statement,
        scope=fork.scope,
        content=fork.branch,
        mode=fork.mode,
        from_tag=fork.from_tag,
        is_empty=fork.is_empty,
        owner=call.request(CreateCatalogBranchRequest).owner,
        reason=call.reason,
        tables={
            **{key: table for key, table in tables.items() if table is not None},
            **dict.fromkeys(missing),
        },
        left_out=fork.left_out,
    )


def _source(
    warehouse: Warehouse, asked: CreateCatalogBranchRequest, main: MainNow | None
) -> CatalogSource:
    if asked.tag is not None:
        return _source_of_tag(warehouse, asked.tag)
    return source_of(warehouse, asked.from_branch, main)


def source_of(
    warehouse: Warehouse, branch: str | None = None, main: MainNow | None = None
) -> CatalogSource:
    """Return all that a catalog branch holds, or main if none is named, each at its head.

    Raises:
        NotFound: There is no such catalog branch.
        Refused: A table of it is lost.
    """
    if branch not in (None, MAIN_BRANCH):
        return _source_of_branch(warehouse.on(branch or ""))
    now = main or read_main_now(warehouse)
    databases = now.main.databases
    names = {
        key: f"{databases[table.database or ''].name}.{table.name}"
        for key, table in now.main.tables.items()
    }
    unclear = {names[key]: reason for key, reason in now.main.unclear.items()}
    left_out = {**now.main.left_out, **unclear}
    return CatalogSource(
        parent=now.version,
        databases=databases,
        tables={key: table for key, table in now.main.tables.items() if names[key] not in left_out},
        left_out=left_out,
        main=now,
    )


def _source_of_branch(seen: CatalogOnBranch) -> CatalogSource:
    """Return the contents of another catalog branch: each table at the head that it has there."""
    tables, left_out = {}, dict(seen.fork.left_out)
    for member in seen.members():
        table = seen.open_member(member)
        head, schema = table.head_and_schema()
        is_made = member.is_made
        tables[member.id] = replace(
            member.table,
            folder=member.folder,
            schema=schema.id,
            head=None if head is None else TableHead(id=head.id, identity=head.identity),
            source=seen.content if is_made else member.table.source,
            base_tag=None,
            adopted=None,
        )
    return CatalogSource(
        parent=seen.version, databases=seen.recorded.databases, tables=tables, left_out=left_out
    )


def _source_of_tag(warehouse: Warehouse, name: str) -> CatalogSource:
    noted = warehouse.catalog_tags.get(name)
    tag = with_present_folders(warehouse.catalog.reader, warehouse.ledger.paths, noted)
    return CatalogSource(
        parent=tag.version, databases=tag.databases, tables=tag.tables, left_out=tag.left_out
    )


def _names(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    return tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))


def check_scope(scope: CatalogScope, source: CatalogSource) -> None:
    """See that each database and each pattern of a scope names something; raises NotFound."""
    known = [database.name or "" for database in source.databases.values()]
    for name in scope.databases:
        if name not in known:
            raise NotFound(
                f"There is no database {name!r}.{did_you_mean(nearest_names(name, known))} Nothing "
                "was changed.",
                kind=ErrorKind.DATABASE_NOT_FOUND,
                database=name,
            )
    tables = [
        (source.databases[table.database or ""].name or "", table.name or "")
        for table in source.tables.values()
    ]
    for pattern in scope.tables:
        if not any(CatalogScope(tables=(pattern,)).holds_table(*name) for name in tables):
            raise NotFound(
                f"No table matches {pattern!r}; a pattern holds the database, too, such as "
                "'air.fl*'. Nothing was changed.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                pattern=pattern,
            )
    if not known:
        raise NotFound(
            "The warehouse has no database, so that a branch of its catalog would hold nothing. "
            "Nothing was changed; make a database first.",
            kind=ErrorKind.DATABASE_NOT_FOUND,
        )


def _besides(
    known: TableChange | None, table: TableChange, fork: CatalogFork
) -> TableChange | None:
    """Return the differences of a table's entry from the parent's; None without any."""
    if known is None:
        return table
    head = None if fork.is_empty or table.head == known.head else table.head
    change = TableChange(
        folder=None if table.folder == known.folder else table.folder,
        schema=None if table.schema == known.schema else table.schema,
        head=head,
        base_tag=table.base_tag,
        adopted=table.adopted,
        source=table.source,
    )
    return None if change == TableChange() else change


def table_in(
    warehouse: Warehouse, databases: Mapping[str, DatabaseChange], table: TableChange
) -> FileStoreTable:
    """Return a table by what the ledger has of it and of the databases."""
    database = databases[table.database or ""].name or ""
    identifier = Identifier(database=database, table=table.name or "")
    path = warehouse.ledger.paths.folder(table.folder or "")
    return FileStoreTable(warehouse.catalog.reader, path, identifier)


def _check_tagged(warehouse: Warehouse, fork: CatalogFork, tag: str) -> None:
    """See that each table still has what a tag of the catalog names there.

    Raises:
        NotFound: The tag is gone from a table, and the snapshot that it named has expired.
    """

    def has_lost_it(key: str) -> bool:
        table = fork.tables[key]
        head = table.head
        if head is None:
            return False
        source = table_in(warehouse, fork.databases, table).on(table.source or MAIN_BRANCH)
        tagged = source.tags.find(tag)
        places = (None if tagged is None else tagged.snapshot, source.snapshots.find(head.id))
        return not any(each and each.identity.same_as(head.identity) for each in places)

    keys = list(fork.tables)
    lost = warehouse.catalog.reader.map_parallel(has_lost_it, keys)
    names = [fork.name_of(key) for key, is_lost in zip(keys, lost, strict=True) if is_lost]
    if names:
        raise NotFound(
            f"Tag {tag!r} is gone from {some_tables(names)}; what it named has expired. Nothing "
            "was changed. Leave such tables out, by --database or --tables; or make another tag.",
            kind=ErrorKind.SNAPSHOT_NOT_FOUND,
            tag=tag,
            tables=names,
        )


def some_tables(names: Sequence[str]) -> str:
    """Return how many tables there are and what the first of them are called."""
    shown = ", ".join(names[:_SHOWN]) + (" and others" if len(names) > _SHOWN else "")
    return f"{count(len(names), 'table')}: {shown}"


def tables_with_base_tags(
    warehouse: Warehouse,
    databases: Mapping[str, DatabaseChange],
    tables: Mapping[str, TableChange],
    branch: str,
    *,
    adopts: bool = False,
) -> tuple[dict[str, TableChange], list[str]]:
    """Look at each table for the name of its base tag, and for a branch that is there already.

    Args:
        warehouse: The warehouse.
        databases: The databases of the tables, by id.
        tables: By id, each at its fork.
        branch: The name of their table branches.
        adopts: Whether branches that are there are taken, where their fork is certain.

    Returns:
        The tables, and the names of those that have such a branch which is not taken.
    """
    reader = warehouse.catalog.reader

    def decided(key: str) -> tuple[TableChange | None, str | None]:
        table = tables[key]
        main = table_in(warehouse, databases, table)
        if main.branches.exists(branch):
            return _adopted(warehouse, main, table, branch) if adopts else None, key
        return _with_base_tag(main, table, branch), None

    keys = list(tables)
    found = dict(zip(keys, reader.map_parallel(decided, keys), strict=True))
    taken = [
        table_in(warehouse, databases, tables[key]).identifier.table_name
        for key, (table, there) in found.items()
        if there and table is None
    ]
    return {key: table for key, (table, _) in found.items() if table is not None}, taken


def _with_base_tag(main: FileStoreTable, table: TableChange, branch: str) -> TableChange:
    head, source = table.head, main.on(table.source or MAIN_BRANCH)
    if head is None:
        return table
    usual = f"{BASE_TAG_PREFIX}{branch}"
    files = main.reader.files
    if not files.exists(source.paths.lineage_dir) and not files.exists(source.paths.tag(usual)):
        return table  # nobody ever made a branch of this table
    tag = free_base_tag(source, branch, head.identity, source.ledger.whole())
    return table if tag == usual else replace(table, base_tag=tag)


def _adopted(
    warehouse: Warehouse, main: FileStoreTable, table: TableChange, branch: str
) -> TableChange | None:
    """A table with the fork that its branch is certain to have; None if none is certain."""
    # By the handle: the catalog branch that this one is made of may call the table otherwise.
    listed = BranchReader(warehouse, main).items()
    found = next(each for each in listed if each.name == branch)
    fork = found.fork
    if fork is None or fork.parent != MAIN_BRANCH or fork.confidence not in _CERTAIN:
        return None
    try:
        base = Snapshot.from_json(fork_bytes(main, branch, fork.identity, (MAIN_BRANCH, branch)))
    except NotFound:
        return None
    tag = found.base_tag
    if tag is None or main.tags.find(tag) is None:
        if not main.snapshots.holds(base):
            return None  # nothing of main keeps it, so that the next merge could lose its base
        tag = free_base_tag(main, branch, base.identity, main.ledger.whole(), wanted=tag)
    return replace(
        table,
        schema=base.schema_id,
        head=TableHead(id=base.id, identity=base.identity),
        base_tag=None if tag == f"{BASE_TAG_PREFIX}{branch}" else tag,
        adopted=True,
    )
