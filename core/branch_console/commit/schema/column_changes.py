"""Further changes of a schema: comments, nulls, order of columns, options that go."""

from dataclasses import replace

from branch_console.commit.schema.schema_commit import SchemaChange
from branch_console.format.data_types import DataField, with_nullable
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema


def comment_column(name: str, comment: str) -> SchemaChange:
    """Return the change that gives a column another comment."""
    return lambda schema: _replaced(schema, replace(schema.field(name), description=comment))


def allow_null(name: str) -> SchemaChange:
    """Return the change that lets a column be null; keys never are."""

    def change(schema: TableSchema) -> TableSchema:
        field = schema.field(name)
        if name in schema.primary_keys:
            return schema
        return _replaced(schema, replace(field, type=with_nullable(field.type, True)))

    return change


def move_column(name: str, after: str | None) -> SchemaChange:
    """Return the change that puts a column behind another one, or to the front."""

    def change(schema: TableSchema) -> TableSchema:
        field = schema.field(name)
        fields = [each for each in schema.fields if each is not field]
        at = 0 if after is None else fields.index(schema.field(after)) + 1
        return replace(schema, fields=(*fields[:at], field, *fields[at:]))

    return change


def unset_options(keys: tuple[str, ...]) -> SchemaChange:
    """Return the change that takes options back to their defaults."""
    return lambda schema: replace(
        schema,
        options=Options({key: text for key, text in schema.options.items() if key not in keys}),
    )


def _replaced(schema: TableSchema, field: DataField) -> TableSchema:
    return replace(
        schema,
        fields=tuple(field if each.id == field.id else each for each in schema.fields),
    )
