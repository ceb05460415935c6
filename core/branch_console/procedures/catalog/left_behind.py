"""The tables and databases that an ended catalog branch leaves behind, and their restoration.

Tables that only this branch had move out of their database with their folder. Databases that only
it had move out of the warehouse. A base tag is removed if main still has its snapshot and nobody
else depends on it.
"""

from collections.abc import Collection, Iterator, Sequence

from branch_console.catalog.catalog_branch import CatalogOnBranch, Member, MemberState
from branch_console.catalog.sightings import find_birth
from branch_console.commit.branch.branch_creation import put_base_tags
from branch_console.commit.schema.tag_commit import remove_tag
from branch_console.errors import CommitConflict, ErrorKind, NotFound
from branch_console.format.identifier import MAIN_BRANCH, Identifier, rescue_name
from branch_console.format.journals.catalog_branches import OwnDatabase, OwnTable, UnneededTag
from branch_console.procedures.branch.member_branch import creation_of
from branch_console.procedures.branch.tags import vital_blocks
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.held_tables import holders_of
from branch_console.procedures.catalog.main_tables import move_folder
from branch_console.storage.catalog_paths import DATABASE_SUFFIX, OWN_FOLDER
from branch_console.storage.directory_mover import MoveOutcome
from branch_console.storage.table_paths import TablePaths
from branch_console.table.branch_manager import BranchManager
from branch_console.table.database_files import find_database_file
from branch_console.table.file_store_table import FileStoreTable


def drop_of_member(operation_id: str, member: str) -> str:
    """The id of the operation that drops the table branch of one table, as part of the whole."""
    return f"{operation_id}-{member}"


def own_tables(
    warehouse: Warehouse, seen: CatalogOnBranch, members: Sequence[Member], operation_id: str
) -> tuple[OwnTable, ...]:
    """Return the tables that a branch alone has, whose folders leave their database with it.

    Args:
        warehouse: The warehouse.
        seen: The branch.
        members: Tables of it.
        operation_id: The operation that drops the branch, after which the folders are named.
    """
    paths = warehouse.ledger.paths
    if not warehouse.file_io.is_local:
        return ()  # no store far away renames folders: they stay, with a rescue branch
    found = []
    for member in members:
        folder, birth = member.folder, member.table.birth
        if not member.is_made or member.table.adopted or folder is None or birth is None:
            continue
        kept = paths.dropped(member.name, drop_of_member(operation_id, member.id))
        table = OwnTable(
            id=member.id,
            name=member.name,
            birth=birth,
            folder=folder,
            kept=paths.relative(kept),
            rescue=rescue_name(drop_of_member(operation_id, member.id)),
        )
        if _is_alone(warehouse, table, seen.content, frozenset({seen.branch})):
            found.append(table)
    return tuple(found)


def own_databases(
    warehouse: Warehouse, seen: CatalogOnBranch, own: Sequence[OwnTable], operation_id: str
) -> tuple[OwnDatabase, ...]:
    """Return the databases that a branch alone has, and that are empty once its tables have left.

    Args:
        warehouse: The warehouse.
        seen: The branch.
        own: The tables that leave.
        operation_id: The operation that drops the branch, after which the folders are named.
    """
    files, paths = warehouse.file_io, warehouse.ledger.paths
    if not files.is_local:
        return ()
    found = []
    for folder in files.list(paths.warehouse):
        if not folder.is_directory or not folder.name.endswith(DATABASE_SUFFIX):
            continue
        file = find_database_file(files, paths, folder.path)
        if file is None or file.content.id not in seen.recorded.databases:
            continue
        database = OwnDatabase(
            id=file.content.id,
            name=folder.name.removesuffix(DATABASE_SUFFIX),
            kept=paths.relative(paths.dropped(folder.name, operation_id)),
        )
        if _is_database_alone(warehouse, database, {seen.branch}, {each.folder for each in own}):
            found.append(database)
    return tuple(found)


def unneeded_tags(
    warehouse: Warehouse, seen: CatalogOnBranch, members: Sequence[Member]
) -> tuple[UnneededTag, ...]:
    """Return the base tags of a branch that nobody needs once it has ended.

    A rescue needs that of its branch, so only those of tables whose branch was never made go. One
    stays if it alone keeps its snapshot: nothing would bring that back.
    """

    def decided(member: Member) -> UnneededTag | None:
        head, tag, folder = member.table.head, member.base_tag, member.folder
        if member.state is not MemberState.NOT_MADE or head is None or tag is None:
            return None
        if folder is None:
            return None
        found = UnneededTag(
            id=member.id,
            name=member.name,
            folder=folder,
            source=member.table.source or MAIN_BRANCH,
            tag=tag,
            fork=head.identity,
            snapshot_id=head.id,
        )
        return found if _is_unneeded(warehouse, found) else None

    others = _tags_of_others(warehouse, seen.branch)
    found = seen.reader.map_parallel(decided, list(members))
    return tuple(each for each in found if each is not None and (each.id, each.tag) not in others)


def put_away(operation: CatalogOperation, tables: Sequence[OwnTable]) -> Iterator[str]:
    """Move the folders of tables out of their databases; yields the sentences of the receipt.

    A folder that somebody else has something in by now stays, and so do all if the store cannot
    rename folders: a rescue branch keeps the table there.
    """
    warehouse, paths = operation.warehouse, operation.paths
    for table in tables:
        source, kept = paths.folder(table.folder), paths.folder(table.kept)
        is_away = warehouse.file_io.exists(kept) or (
            _is_alone(warehouse, table, table.rescue, frozenset())
            and warehouse.store.mover.move(source, kept) is MoveOutcome.DONE
        )
        where = f"is kept as {table.kept}" if is_away else "stays where it is"
        yield f"{table.name} was on no other branch. Its folder {where}."


def put_databases_away(
    operation: CatalogOperation, databases: Sequence[OwnDatabase]
) -> Iterator[str]:
    """Move the folders of empty databases away; yields the sentences of the receipt.

    One that somebody else uses by now stays: folders are shared by name.
    """
    warehouse, paths = operation.warehouse, operation.paths
    for database in databases:
        source, kept = paths.database(database.name), paths.folder(database.kept)
        is_away = warehouse.file_io.exists(kept) or (
            _is_database_alone(warehouse, database, set(), set())
            and warehouse.store.mover.move(source, kept) is MoveOutcome.DONE
        )
        where = f"is kept as {database.kept}" if is_away else "stays where it is"
        yield f"Database {database.name!r} was on no other branch. Its folder {where}."


def bring_databases_back(operation: CatalogOperation, databases: Sequence[OwnDatabase]) -> None:
    """Move the folders of databases back, unless somebody made a folder of that name."""
    warehouse, paths = operation.warehouse, operation.paths
    for database in databases:
        kept = paths.folder(database.kept)
        if warehouse.file_io.exists(kept):
            warehouse.store.mover.move(kept, paths.database(database.name))


def bring_back(operation: CatalogOperation, tables: Sequence[OwnTable]) -> None:
    """Move the folders of tables back into their databases; raises CommitConflict."""
    warehouse, paths = operation.warehouse, operation.paths
    for table in tables:
        kept = paths.folder(table.kept)
        if warehouse.file_io.exists(kept):
            # Main has nothing in it, which is what tells it from a table of main.
            move_folder(warehouse, kept, paths.folder(table.folder), None, "brought back")


def why_not_back(
    warehouse: Warehouse, table: OwnTable, databases: Sequence[OwnDatabase] = ()
) -> str | None:
    """Say why the folder of a table cannot move back; None if it can, or never left.

    Args:
        warehouse: The warehouse.
        table: The table.
        databases: The databases whose folders are restored before it.
    """
    files, paths = warehouse.file_io, warehouse.ledger.paths
    folder = paths.folder(table.folder)
    if not files.exists(paths.folder(table.kept)):
        return None
    if files.exists(folder):
        return f"something else has the folder {table.folder} of {table.name} by now"
    is_aside = folder == paths.new_table(table.id)
    home = folder.rpartition("/")[0]
    is_coming = any(
        home == paths.database(each.name) and files.exists(paths.folder(each.kept))
        for each in databases
    )
    if not is_aside and not is_coming and not files.exists(home):
        return f"the database folder of {table.folder} is gone, where {table.name} was"
    return None


def remove_tags(operation: CatalogOperation, branch: str, tags: Sequence[UnneededTag]) -> None:
    """Remove base tags of a branch that has ended, but for those that somebody needs by now."""
    warehouse, own = operation.warehouse, operation.intent.operation_id
    # Whoever makes a branch of that name takes the same claim, and begins at these tags perhaps.
    if not tags or operation.journal.claim(branch, own) != own:
        return
    try:
        if warehouse.ledger.find(branch) is not None:
            return
        others = _tags_of_others(warehouse, branch)
        for tag in tags:
            if (tag.id, tag.tag) not in others and _is_unneeded(warehouse, tag):
                source = _source(warehouse, tag)
                data = warehouse.store.files.read(source.paths.tag(tag.tag))
                remove_tag(source, warehouse.store, tag.tag, data)
    finally:
        operation.journal.release(branch, own)


def put_tags_back(operation: CatalogOperation, seen: CatalogOnBranch) -> None:
    """Make the base tags again that `remove_tags` removed, from the snapshots of their source.

    Raises:
        CommitConflict: A snapshot has expired meanwhile, or a tag names another one by now.
    """
    missing = []
    for member in seen.members():
        tag, folder = member.base_tag, member.folder
        if member.state is not MemberState.NOT_MADE or tag is None or folder is None:
            continue
        path = operation.paths.folder(folder)
        main = FileStoreTable(seen.reader, path, member.identifier.on_branch(MAIN_BRANCH))
        creation = creation_of(seen.content, member.table, main, seen.fork.from_tag)
        if main.on(creation.source).tags.find(tag) is None:
            missing.append((main, creation))
    try:
        put_base_tags(operation.warehouse.store, missing)
    except NotFound as error:
        raise CommitConflict(
            f"{error.message} Catalog branch {seen.branch!r} is not back; what came back of it is "
            "a branch of its table.",
            kind=ErrorKind.HEAD_MOVED,
        ) from error


def _is_alone(warehouse: Warehouse, table: OwnTable, branch: str, holders: frozenset[str]) -> bool:
    """Whether a folder has one branch of a table and nothing else, so that nobody misses it.

    A folder is shared by name: two catalog branches may both have made such a table. A rescue
    branch beside it is looked for by the undo that needs it.

    Args:
        warehouse: The warehouse.
        table: The table.
        branch: The one branch that its folder has.
        holders: The catalog branches that may hold it.
    """
    reader, files = warehouse.catalog.reader, warehouse.file_io
    main = TablePaths(table=warehouse.ledger.paths.folder(table.folder))
    if not files.exists(main.table):
        return False
    if files.exists(main.schema_dir) or files.exists(main.snapshot_dir):
        return False
    names = BranchManager(reader, main, Identifier.parse(table.name)).names()
    if names != (branch,) or find_birth(reader, main.on(branch).root) != table.birth:
        return False
    return holders.issuperset(holders_of(warehouse, table.folder))


def _is_database_alone(
    warehouse: Warehouse,
    database: OwnDatabase,
    holders: Collection[str],
    leaving: Collection[str],
) -> bool:
    """Whether a folder is that of a database which main hides, and nobody misses it.

    Args:
        warehouse: The warehouse.
        database: The database.
        holders: The catalog branches that may hold it, or have one of its name.
        leaving: The folders of tables, below the warehouse, that may be in it.
    """
    files, paths = warehouse.file_io, warehouse.ledger.paths
    folder = paths.database(database.name)
    found = find_database_file(files, paths, folder)
    if found is None or found.content.is_on_main or found.content.id != database.id:
        return False
    inside = {paths.relative(each.path) for each in files.list(folder)}
    if inside - {paths.relative(f"{folder}/{OWN_FOLDER}"), *leaving}:
        return False
    others = (each for each in warehouse.ledger.branches() if each not in holders)
    return not any(
        key == database.id or each.name == database.name
        for other in others
        for key, each in warehouse.ledger.recorded(other).databases.items()
    )


def _is_unneeded(warehouse: Warehouse, tag: UnneededTag) -> bool:
    """Whether a tag still names the fork, main keeps the snapshot itself, and nobody stands on it.

    Catalog branches are not asked here: what they need is in no ledger of a table.
    """
    source = _source(warehouse, tag)
    found, snapshot = source.tags.find(tag.tag), source.snapshots.find(tag.snapshot_id)
    if found is None or snapshot is None or not snapshot.identity.same_as(tag.fork):
        return False
    is_it = found.snapshot.identity.same_as(tag.fork)
    return is_it and not vital_blocks(source, tag.tag, "deleted")


def _source(warehouse: Warehouse, tag: UnneededTag) -> FileStoreTable:
    path = warehouse.ledger.paths.folder(tag.folder)
    identifier = Identifier.parse(tag.name)
    return FileStoreTable(warehouse.catalog.reader, path, identifier).on(tag.source)


def _tags_of_others(warehouse: Warehouse, branch: str) -> frozenset[tuple[str, str]]:
    """The base tags that catalog branches but one name, each by the id of its table."""
    found = set()
    for other in warehouse.ledger.branches():
        if other == branch:
            continue
        for key, table in warehouse.ledger.recorded(other).tables.items():
            if table.base_tag is not None:
                found.add((key, table.base_tag))
    return frozenset(found)
