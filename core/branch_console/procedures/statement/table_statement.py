"""CREATE TABLE, DROP TABLE and ALTER TABLE: schemas that are published, folders that move."""

from collections.abc import Iterable
from typing import Final, assert_never

from branch_console.catalog.catalog_branch import CatalogOnBranch
from branch_console.commit.schema.column_changes import (
    allow_null,
    comment_column,
    move_column,
    unset_options,
)
from branch_console.commit.schema.schema_commit import (
    SchemaChange,
    add_column,
    change_schema,
    create_table,
    drop_column,
    rename_column,
    retype_column,
    set_options,
)
from branch_console.errors import AlreadyExists, ErrorKind, InvalidInput, NotFound, Refused
from branch_console.format import options as table_options
from branch_console.format.data_types import (
    ArrayType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    parts_of,
)
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.format.journals.objects import (
    CREATE_TABLE_JOURNAL,
    DROP_TABLE_JOURNAL,
    RENAME_TABLE_JOURNAL,
)
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.options import Options
from branch_console.format.receipt import Receipt
from branch_console.format.table_schema import BucketMode, TableSchema
from branch_console.operations.statement_requests import StatementRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.other_catalog import check_catalog
from branch_console.procedures.call.permissions import Role, check_role
from branch_console.procedures.call.row_engine import RowEngine
from branch_console.procedures.call.stages import Facts, Stages
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog import branch_tables
from branch_console.procedures.catalog.catalog_operation import (
    CatalogPlan,
    CatalogProcedure,
    run_catalog_procedure,
)
from branch_console.procedures.catalog.database_statement import either_finish
from branch_console.procedures.catalog.database_words import (
    nothing_to_do,
)
from branch_console.procedures.catalog.main_tables import (
    finish_table_drop,
    finish_table_rename,
    plan_table_drop,
    plan_table_rename,
)
from branch_console.procedures.run.receipts import receipt_of_stage
from branch_console.procedures.statement.query import place_of
from branch_console.procedures.statement.write_statement import (
    catalog_of,
    check_takes_commits,
    check_unprotected,
    errors_at,
    made_target,
    target_table,
)
from branch_console.sql.tables import (
    AddColumn,
    AllowNull,
    Change,
    CommentColumn,
    DropColumn,
    MoveColumn,
    RenameColumn,
    RetypeColumn,
    SetOptions,
    TableStatement,
    TableStatementKind,
    UnsetOptions,
    parse_table_statement,
)
from branch_console.sql.targets import NamedColumn, unknown_column
from branch_console.sql.token_reader import statement_error
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

# Of a table with rows [Paimon CoreOptions.IMMUTABLE_OPTIONS, SchemaManager.checkAlterTableOption].
_FIXED: Final = frozenset(
    {
        "aggregation.remove-record-on-delete", "blob-descriptor-field", "blob-field",
        "blob-view-field", "bucket", "bucket-function.type", "bucket-key",
        "data-evolution.enabled", "data-file.path-directory", "deletion-vectors.enabled",
        "dynamic-bucket.initial-buckets", "force-lookup", "ignore-delete",
        "index-file-in-data-file-dir", "merge-engine", "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group", "partition", "pk-clustering-override",
        "primary-key", "row-tracking.enabled", "rowkind.field", "sequence.snapshot-ordering",
        "type",
    }
)  # fmt: skip
_RESERVED: Final = frozenset({"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "_ROW_ID"})
_NO_KEYS: Final = (ArrayType, MapType, MultisetType, RowType)


def run_table_statement(
    warehouse: Warehouse, rows: RowEngine, call: ProcedureCall, stages: Stages
) -> Receipt:
    """Run CREATE TABLE, DROP TABLE or ALTER TABLE.

    Arguments of the call: as for a statement that writes rows.

    Raises:
        InvalidInput: The statement is wrong, or not served for this table or store.
        NotFound: There is no such table or branch.
        AlreadyExists: There is such a table.
        Refused: A branch is protected.
    """
    statement, branch = _statement_of(call)
    if statement.kind is TableStatementKind.DROP:
        return run_catalog_procedure(DROP_TABLE, warehouse, rows, call, stages)
    if statement.to is not None:
        return run_catalog_procedure(RENAME_TABLE, warehouse, rows, call, stages)
    if statement.kind is TableStatementKind.CREATE and _seen(warehouse, statement, branch):
        return run_catalog_procedure(CREATE_TABLE, warehouse, rows, call, stages)

    def work(_: object) -> Facts:
        warehouse.check_writable()
        with errors_at(statement.target.place):
            match statement.kind:
                case TableStatementKind.CREATE:
                    note = _create(warehouse, call, statement, branch)
                case TableStatementKind.ALTER:
                    note = _alter(warehouse, call, statement, branch)
                case other:
                    raise AssertionError(other)
        return {"notes": [note]}

    doing = call.name.replace("_", " ")
    return receipt_of_stage(
        warehouse, call, stages, doing, work, message=f"About to {doing}.", publishes=True
    )


def _create(
    warehouse: Warehouse, call: ProcedureCall, statement: TableStatement, branch: str
) -> str:
    check_role(call.role, Role.EDITOR, "create tables")
    identifier = statement.target.on(branch)
    _check_database(warehouse, identifier)
    schema = _schema_of(warehouse, statement)
    paths = TablePaths(table=_path(warehouse, identifier), branch=identifier.branch)
    existing = _existing(warehouse, identifier)
    if existing is not None:
        if statement.is_lenient:
            return f"There is a table {existing} already; it stays as it is."
        raise AlreadyExists(f"There is a table {existing} already. Choose another name.")
    check_catalog(
        warehouse,
        identifier,
        f"Table {identifier} is not created",
        consequence="not know the table",
    )
    create_table(warehouse.store, paths, schema)
    return f"Table {identifier} was created."


def _schema_of(warehouse: Warehouse, statement: TableStatement) -> TableSchema:
    schema = TableSchema(
        id=0,
        fields=statement.columns,
        highest_field_id=_highest(statement.columns),
        partition_keys=statement.partition_keys,
        primary_keys=statement.primary_keys,
        options=Options(statement.options),
        comment=statement.comment,
        time_millis=warehouse.clock(),
    )
    check_table(schema)
    return schema


def check_table(schema: TableSchema) -> None:
    """Refuse what Paimon makes no table of [SchemaValidation].

    Raises:
        InvalidInput: With what is wrong.
    """
    problem = None
    for field in schema.fields:
        if _is_reserved(field.name):
            problem = f"Column {field.name!r} has a name that Paimon keeps for itself."
        is_key = field.name in (*schema.primary_keys, *schema.partition_keys)
        if is_key and isinstance(field.type, _NO_KEYS):
            problem = f"Column {field.name!r} is {field.type} and cannot be a key."
    if len(set(schema.primary_keys)) < len(schema.primary_keys):
        problem = "A column is in the primary key twice."
    mode = schema.bucket_mode
    buckets = schema.num_buckets
    if buckets == 0 or buckets < -2:
        problem = f"A table has no {buckets} buckets."
    elif mode is BucketMode.HASH_FIXED:
        if not schema.primary_keys and "bucket-key" not in schema.options:
            problem = "A table with buckets and no primary key needs the option 'bucket-key'."
        if schema.primary_keys and not set(schema.partition_keys) <= set(schema.primary_keys):
            problem = "The primary key of a table with buckets must hold its partition keys."
    elif mode is BucketMode.POSTPONE_MODE and not schema.primary_keys:
        problem = "A table without a primary key has no postponed buckets."
    for key in schema.options.read(table_options.BUCKET_KEY) or ():
        if schema.find_field(key) is None:
            problem = f"The bucket key {key!r} is no column."
    if problem is not None:
        raise InvalidInput(problem)


def plan_create(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a table can be made on a catalog branch; raises as its `plan_creation`."""
    statement, branch = _statement_of(call)
    seen = _seen(warehouse, statement, branch)
    with errors_at(statement.target.place):
        if seen is None:
            raise InvalidInput(
                f"{statement.target.identifier} is on no branch of the catalog.",
                kind=ErrorKind.INVALID_NAME,
            )
        schema = _schema_of(warehouse, statement)
        table = statement.target.identifier.in_catalog
        return branch_tables.plan_creation(
            warehouse, seen, call, table, schema, is_lenient=statement.is_lenient
        )


def plan_drop(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a table may go from main, and how, or from a catalog branch.

    Arguments of the call: as of `run_table_statement`.

    Raises:
        InvalidInput: A branch is named.
        NotFound: There is no such table.
        Refused: A branch of it is protected.
        NotAllowed: Another catalog keeps the table.
    """
    statement, branch = _statement_of(call)
    identifier, seen = statement.target.on(branch), _seen(warehouse, statement, branch)
    with errors_at(statement.target.place):
        if seen is not None:
            table_on_it = statement.target.identifier.in_catalog
            return branch_tables.plan_drop(
                warehouse, seen, call, table_on_it, is_lenient=statement.is_lenient
            )
        if not identifier.is_main:
            raise InvalidInput(
                "DROP TABLE drops a table with all its branches. Say DROP BRANCH "
                f"{identifier.branch} ON TABLE {identifier.table_name}, or USE BRANCH main.",
                kind=ErrorKind.UNSUPPORTED,
            )
        try:
            table = target_table(warehouse, statement.target, branch)
        except NotFound:
            if not statement.is_lenient:
                raise
            text = f"There is no table {identifier}; nothing was dropped."
            return nothing_to_do(warehouse, call, f"Drop table {identifier}", text)
        for name in (MAIN_BRANCH, *table.branches.names()):
            check_unprotected(table.on_listed(name), "dropped")
        check_catalog(
            warehouse,
            identifier,
            f"Table {identifier} is not dropped",
            consequence="still list the table, without its files",
        )
    return plan_table_drop(warehouse, call, identifier)


def plan_rename(warehouse: Warehouse, call: ProcedureCall) -> CatalogPlan:
    """Decide whether a table of main, or of a catalog branch, can get another name.

    Arguments of the call: as of `run_table_statement`.

    Raises:
        InvalidInput: A branch is named.
        NotFound: There is no such table, or no database of the new name.
        AlreadyExists: There is a table of the new name.
        Refused: A branch of it is protected.
        NotAllowed: Another catalog keeps the table.
    """
    statement, branch = _statement_of(call)
    renamed = statement.to
    if renamed is None:
        raise InvalidInput("A table is renamed to a name. Say which.", kind=ErrorKind.INVALID_NAME)
    source, target = statement.target.identifier, renamed.identifier
    seen = _seen(warehouse, statement, branch)
    with errors_at(statement.target.place):
        if target.is_of_catalog and (seen is None or target.catalog_branch != seen.branch):
            raise InvalidInput(
                f"{target} is on another branch than the table. A table is renamed on one branch; "
                "a merge brings it to another.",
                kind=ErrorKind.UNSUPPORTED,
            )
        if seen is not None:
            return branch_tables.plan_rename(
                warehouse, seen, call, source.in_catalog, target.in_catalog
            )
        if not (statement.target.on(branch).is_main and target.is_main):
            raise InvalidInput(
                "A table is renamed with all its branches. Name it without a branch, on main.",
                kind=ErrorKind.UNSUPPORTED,
            )
        with errors_at(renamed.place):
            _check_database(warehouse, target)
        table = target_table(warehouse, statement.target, branch)
        existing = _existing(warehouse, target)
        if existing is not None:
            raise AlreadyExists(
                f"{renamed.place}: There is a table {existing} already. Choose another name."
            )
        for name in (MAIN_BRANCH, *table.branches.names()):
            check_unprotected(table.on_listed(name), "renamed")
        for identifier in (source, target):
            check_catalog(
                warehouse,
                identifier,
                f"Table {source} is not renamed",
                consequence="still list the table by its old name, without its files",
            )
    return plan_table_rename(warehouse, call, source, target)


CREATE_TABLE: Final = CatalogProcedure(
    name=str(TableStatementKind.CREATE),
    what="create tables",
    doing="Creating the table.",
    plan=plan_create,
    codec=CREATE_TABLE_JOURNAL,
    finish=branch_tables.finish_creation,
)
"""On a catalog branch; on main a table is one file, which needs no journal."""

DROP_TABLE: Final = CatalogProcedure(
    name=str(TableStatementKind.DROP),
    what="drop tables",
    doing="Dropping the table.",
    plan=plan_drop,
    codec=DROP_TABLE_JOURNAL,
    finish=either_finish(finish_table_drop),
)
RENAME_TABLE: Final = CatalogProcedure(
    name="rename_table",
    what="alter tables",
    doing="Renaming the table.",
    plan=plan_rename,
    codec=RENAME_TABLE_JOURNAL,
    finish=either_finish(finish_table_rename),
)


def _statement_of(call: ProcedureCall) -> tuple[TableStatement, str]:
    """The statement of a call, and the branch of the session."""
    asked = call.request(StatementRequest)
    return parse_table_statement(asked.sql, place_of(asked)), asked.branch


def _seen(warehouse: Warehouse, statement: TableStatement, branch: str) -> CatalogOnBranch | None:
    """The catalog branch that a statement changes, None for main or a branch of a table."""
    return catalog_of(warehouse, statement.target, branch)


def _alter(
    warehouse: Warehouse, call: ProcedureCall, statement: TableStatement, branch: str
) -> str:
    check_role(call.role, Role.EDITOR, "alter tables")
    table = target_table(warehouse, statement.target, branch)
    check_takes_commits(table, "altered")
    before = table.schema()
    changes = [_change_of(change, before) for change in statement.changes]
    _check_options(table, before, statement.changes)
    if table.branch == MAIN_BRANCH:
        # No catalog keeps the schema of another branch.
        check_catalog(
            warehouse,
            table.identifier,
            f"Table {table.identifier} is not altered",
            consequence="still tell of its columns and options as they are now",
        )
    table = made_target(warehouse, call, statement.target, branch, table)
    after = change_schema(table, warehouse.store, changes, now_millis=warehouse.clock())
    if after.id == before.id:
        return f"{table.identifier} has these columns and options already."
    return f"{table.identifier} was altered: it has schema {after.id}."


def _change_of(change: Change, schema: TableSchema) -> SchemaChange:
    match change:
        case AddColumn():
            if _has_row(change.type):
                what = "a column with rows in it is not added"
                raise statement_error(change.column.place, what, ErrorKind.UNSUPPORTED)
            if change.after is not None and schema.find_field(change.after) is None:
                raise statement_error(change.column.place, f"there is no column {change.after!r}")
            if _is_reserved(change.column.name):
                raise statement_error(change.column.place, "Paimon keeps that name for itself")
            return add_column(
                change.column.name,
                change.type,
                comment=change.comment,
                after=change.after,
                first=change.first,
            )
        case DropColumn():
            return drop_column(_known(change.column, schema))
        case RenameColumn():
            return rename_column(_known(change.column, schema), change.to)
        case RetypeColumn():
            return retype_column(_known(change.column, schema), change.type)
        case CommentColumn():
            return comment_column(_known(change.column, schema), change.comment)
        case AllowNull():
            return allow_null(_known(change.column, schema))
        case MoveColumn():
            return move_column(_known(change.column, schema), change.after)
        case SetOptions():
            return set_options(dict(change.options))
        case UnsetOptions():
            return unset_options(change.keys)
        case _:
            assert_never(change)


def _is_reserved(name: str) -> bool:
    return name in _RESERVED or name.startswith("_KEY_")


def _known(column: NamedColumn, schema: TableSchema) -> str:
    if schema.find_field(column.name) is not None:
        return column.name
    raise unknown_column(column, schema.row_type.names)


def _check_options(table: FileStoreTable, schema: TableSchema, changes: Iterable[Change]) -> None:
    """Refuse to change what the rows that exist were written by."""
    touched: dict[str, str | None] = {}
    for change in changes:
        if isinstance(change, SetOptions):
            touched |= change.options
        elif isinstance(change, UnsetOptions):
            touched |= dict.fromkeys(change.keys)
    for key, value in touched.items():
        is_changed = schema.options.get(key) != value
        if key in _FIXED and is_changed and (table.head() is not None or "-key" in key):
            raise Refused(
                f"The option {key!r} cannot change any more: rows were written by it. Make another "
                "table.",
                kind=ErrorKind.INVALID_OPTION,
            )


def _check_database(warehouse: Warehouse, identifier: Identifier) -> None:
    known = warehouse.catalog.databases()
    if identifier.database not in known:
        hint = did_you_mean(nearest_names(identifier.database, known))
        raise NotFound(
            f"There is no database {identifier.database!r}.{hint}",
            kind=ErrorKind.DATABASE_NOT_FOUND,
        )


def _existing(warehouse: Warehouse, identifier: Identifier) -> Identifier | None:
    """The table that has the name already, on that branch or on main."""
    for branch in dict.fromkeys((identifier.branch, MAIN_BRANCH)):
        found = warehouse.find_table(identifier.on_branch(branch))
        if found is not None:
            return found.identifier
    return None


def _path(warehouse: Warehouse, identifier: Identifier) -> str:
    return f"{warehouse.file_io.root}/{identifier.database}.db/{identifier.table}"


def _highest(fields: Iterable[DataField]) -> int:
    """The highest id of columns and of fields inside of them."""
    return max((max(field.id, _highest_in(field.type)) for field in fields), default=-1)


def _highest_in(data_type: DataType) -> int:
    if isinstance(data_type, RowType):
        return _highest(data_type.fields)
    return max(map(_highest_in, parts_of(data_type)), default=-1)


def _has_row(data_type: DataType) -> bool:
    return isinstance(data_type, RowType) or _highest_in(data_type) >= 0
