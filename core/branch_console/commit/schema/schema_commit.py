"""Schemas: a table begins with schema 0, and every change is a new id, made once.

The changes are pure functions of a schema; what they may do follows Paimon's SchemaManager.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from branch_console.commit.base.commit_store import CommitStore
from branch_console.errors import AlreadyExists, CommitConflict, ErrorKind, InvalidInput
from branch_console.format.data_types import (
    AtomicType,
    DataField,
    DataType,
    RowType,
    TypeRoot,
    parts_of,
    with_nullable,
)
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.storage.file_publisher import Published
from branch_console.storage.table_paths import TablePaths
from branch_console.table.file_store_table import FileStoreTable

SchemaChange = Callable[[TableSchema], TableSchema]

_ATTEMPTS = 20
# Each type may be widened to those behind it; decimals and texts have rules of their own.
_NUMBERS = (
    TypeRoot.TINYINT,
    TypeRoot.SMALLINT,
    TypeRoot.INT,
    TypeRoot.BIGINT,
    TypeRoot.FLOAT,
    TypeRoot.DOUBLE,
)
_COLUMN_LISTS = frozenset({"bucket-key", "sequence.field"})
_TEXTS = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR})
_BYTES = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY})


def create_table(store: CommitStore, paths: TablePaths, schema: TableSchema) -> None:
    """Make a table, or a table that exists on a branch only, by its schema 0.

    Raises:
        AlreadyExists: There is one already.
        InvalidInput: The schema has no id 0, no columns, or keys that it cannot have.
    """
    check_new_schema(schema)
    outcome = store.publisher.publish(paths.schema(schema.id), schema.to_json().encode())
    if outcome is Published.WON or store.files.read(paths.schema(0)) == schema.to_json().encode():
        return
    raise AlreadyExists(
        f"There is a table at {paths.root} already. Choose another name.", path=paths.root
    )


def change_schema(
    table: FileStoreTable, store: CommitStore, changes: Sequence[SchemaChange], *, now_millis: int
) -> TableSchema:
    """Apply changes to the newest schema of the table's branch and publish the next id.

    Raises:
        InvalidInput: A change is none that the schema can take.
        CommitConflict: Others kept changing the schema.
    """
    for _ in range(_ATTEMPTS):
        current = table.schema()
        changed = current
        for change in changes:
            changed = change(changed)
        if changed == current:
            return current
        changed = replace(changed, id=current.id + 1, time_millis=now_millis)
        data = changed.to_json().encode()
        path = table.paths.schema(changed.id)
        if store.publisher.publish(path, data) is Published.WON:
            return changed
        if store.files.find(path) == data:
            return changed
    raise CommitConflict(
        f"The schema of {table.identifier} was changed by others at every try. Try again.",
        kind=ErrorKind.COMMIT_CONFLICT,
    )


def withdraw_schemas(
    table: FileStoreTable, store: CommitStore, schemas: Sequence[TableSchema]
) -> None:
    """Take back schemas that were published for a commit that did not come to be.

    They stay where somebody has built on them: altered the table further, or committed with them.
    """
    if not schemas:
        return
    head = table.head()
    in_use = head is not None and head.schema_id >= schemas[0].id
    if in_use or max(table.schemas.ids(), default=-1) > schemas[-1].id:
        return
    ours = {table.paths.schema(each.id): each.to_json().encode() for each in schemas}
    store.remover.remove(
        path for path, data in reversed(ours.items()) if store.files.find(path) == data
    )


def new_schema(
    fields: Sequence[tuple[str, DataType]],
    *,
    partition_keys: Sequence[str] = (),
    primary_keys: Sequence[str] = (),
    options: dict[str, str] | None = None,
    comment: str | None = None,
    time_millis: int = 0,
) -> TableSchema:
    """Return schema 0 of a new table; columns of the primary key become NOT NULL."""
    columns = tuple(
        DataField(
            id=index,
            name=name,
            type=with_nullable(data_type, False) if name in primary_keys else data_type,
        )
        for index, (name, data_type) in enumerate(fields)
    )
    # Fields nested in rows would need ids of their own behind those of the columns.
    if any(_is_nested(column.type) for column in columns):
        raise InvalidInput("A new table with ROW columns must come with its field ids.")
    return TableSchema(
        id=0,
        fields=columns,
        highest_field_id=len(columns) - 1,
        partition_keys=tuple(partition_keys),
        primary_keys=tuple(primary_keys),
        options=Options(options or {}),
        comment=comment,
        time_millis=time_millis,
    )


def check_new_schema(schema: TableSchema) -> None:
    """Refuse what no table can begin with.

    Raises:
        InvalidInput: With what is wrong.
    """
    names = [field.name for field in schema.fields]
    problem = None
    if schema.id != 0:
        problem = f"A table begins with schema 0, not {schema.id}."
    elif not names:
        problem = "A table needs a column."
    elif len(set(names)) < len(names):
        problem = f"Two columns are called {next(n for n in names if names.count(n) > 1)!r}."
    elif missing := [k for k in (*schema.partition_keys, *schema.primary_keys) if k not in names]:
        problem = f"The key column {missing[0]!r} is not a column."
    elif schema.primary_keys and not schema.trimmed_primary_keys:
        problem = "The primary key must have a column that is not a partition key."
    if problem is not None:
        raise InvalidInput(problem)


def add_column(
    name: str,
    data_type: DataType,
    *,
    comment: str | None = None,
    after: str | None = None,
    first: bool = False,
) -> SchemaChange:
    """Return the change that adds a nullable column, at the end or behind another one."""

    def change(schema: TableSchema) -> TableSchema:
        _check_free(schema, name)
        if not data_type.nullable:
            raise InvalidInput(
                f"Column {name!r} cannot be added NOT NULL: the rows that exist have no value."
            )
        field = DataField(
            id=schema.highest_field_id + 1, name=name, type=data_type, description=comment
        )
        fields = list(schema.fields)
        position = 0 if first else len(fields)
        if after is not None:
            position = fields.index(schema.field(after)) + 1
        fields.insert(position, field)
        return replace(schema, fields=tuple(fields), highest_field_id=field.id)

    return change


def drop_column(name: str) -> SchemaChange:
    """Return the change that drops a column that is no key."""

    def change(schema: TableSchema) -> TableSchema:
        field = schema.field(name)
        _check_no_key(schema, name, "dropped")
        if len(schema.fields) == 1:
            raise InvalidInput(f"Column {name!r} is the last one and cannot be dropped.")
        return replace(schema, fields=tuple(each for each in schema.fields if each is not field))

    return change


def rename_column(old: str, new: str) -> SchemaChange:
    """Return the change that renames a column; it keeps its id, and so its values."""

    def change(schema: TableSchema) -> TableSchema:
        field = schema.field(old)
        if old in schema.partition_keys:
            raise InvalidInput(
                f"Column {old!r} is a partition key: its name is in the folders, so it cannot be "
                "renamed."
            )
        _check_free(schema, new)
        renamed = replace(field, name=new)
        return replace(
            schema,
            fields=tuple(renamed if each is field else each for each in schema.fields),
            primary_keys=tuple(new if key == old else key for key in schema.primary_keys),
            options=_renamed_options(schema.options, old, new),
        )

    return change


def retype_column(name: str, data_type: DataType) -> SchemaChange:
    """Return the change that widens a column's type; nullability stays."""

    def change(schema: TableSchema) -> TableSchema:
        field = schema.field(name)
        _check_no_key(schema, name, "given another type")
        wanted = with_nullable(data_type, field.type.nullable)
        if not can_cast(field.type, wanted):
            raise InvalidInput(
                f"Column {name!r} is {field.type} and cannot become {wanted}: values could be lost."
            )
        retyped = replace(field, type=wanted)
        return replace(
            schema, fields=tuple(retyped if each is field else each for each in schema.fields)
        )

    return change


def set_options(changes: dict[str, str]) -> SchemaChange:
    """Return the change that sets options of the table."""
    return lambda schema: replace(schema, options=schema.options.merged(changes))


def can_cast(old: DataType, new: DataType) -> bool:
    """Whether Paimon casts values of the old type to the new one by itself."""
    if old == new:
        return True
    if not (isinstance(old, AtomicType) and isinstance(new, AtomicType)):
        return False
    if old.root in _NUMBERS and new.root in _NUMBERS:
        return _NUMBERS.index(old.root) < _NUMBERS.index(new.root)
    if old.root is TypeRoot.DECIMAL and new.root is TypeRoot.DECIMAL:
        scale, new_scale = old.scale or 0, new.scale or 0
        whole = (old.precision or 0) - scale
        return new_scale >= scale and (new.precision or 0) - new_scale >= whole
    for family in (_TEXTS, _BYTES):
        if old.root in family and new.root in family:
            return (new.length or 0) >= (old.length or 0)
    same_root = old.root is new.root
    return same_root and (new.precision or 0) >= (old.precision or 0)


def _renamed_options(options: Options, old: str, new: str) -> Options:
    """Follow a rename in the options that name columns."""
    renamed = {}
    for key, value in options.items():
        # Options of one column, such as fields.amount.aggregate-function.
        own = f"fields.{old}."
        new_key = f"fields.{new}.{key.removeprefix(own)}" if key.startswith(own) else key
        if key in _COLUMN_LISTS:
            columns = [column.strip() for column in value.split(",")]
            listed = ",".join(new if column == old else column for column in columns)
            renamed[new_key] = listed
        else:
            renamed[new_key] = value
    return Options(renamed)


def _check_free(schema: TableSchema, name: str) -> None:
    if not name.strip():
        raise InvalidInput("A column needs a name.", kind=ErrorKind.INVALID_NAME)
    if schema.find_field(name) is not None:
        raise AlreadyExists(f"There is a column {name!r} already. Choose another name.")


def _check_no_key(schema: TableSchema, name: str, what: str) -> None:
    if name in (*schema.primary_keys, *schema.partition_keys):
        raise InvalidInput(f"Column {name!r} is a key and cannot be {what}.")


def _is_nested(data_type: DataType) -> bool:
    return isinstance(data_type, RowType) or any(map(_is_nested, parts_of(data_type)))
