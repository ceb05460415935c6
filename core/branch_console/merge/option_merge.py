"""The options of two branches merged key by key, where column names follow their columns.

Paimon renames a column in the options too, so options are compared by field id: a rename on one
side is no change of `sequence.field`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from branch_console.diff.schema_diff import harm_of_option
from branch_console.diff.three_way import ThreeWay, Unresolved, each_side, settle
from branch_console.format import options as table_options
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind, Take
from branch_console.merge.schema_findings import EITHER_SIDE, SchemaFindings

_RULE: Final = "M7"
# What an option says of one branch: which branch stands behind it, how long its snapshots last,
# who compacts and expires it. None of it is a change to the table.
_OF_ONE_BRANCH: Final = frozenset(
    {
        table_options.BRANCH.key,
        *(each.key for each in table_options.BRANCH_OPTIONS),
        table_options.WRITE_ONLY.key,
        "changelog.num-retained.min",
        "changelog.num-retained.max",
        "changelog.time-retained",
    }
)
_OF_ONE_BRANCH_PREFIXES: Final = ("snapshot.", "tag.")
_COLUMN_LISTS: Final = frozenset(
    {table_options.BUCKET_KEY.key, table_options.SEQUENCE_FIELD.key, "rowkind.field"}
)
_FIELDS: Final = "fields."
_SEQUENCE_GROUP: Final = "sequence-group"
# Around a field id in place of a column's name; no name holds it.
_MARK: Final = "\0"
_MARKED: Final = re.compile(f"{_MARK}(\\d+){_MARK}")


def merge_options(
    schemas: ThreeWay[TableSchema], names: Mapping[int, str], findings: SchemaFindings
) -> Options:
    """Merge options by rule P: a change of one side stands, two different ones conflict.

    Options that lay out or merge rows may not differ at all, unless they are about a column that
    one side added. Options about a branch itself stay as the target has them.

    Args:
        schemas: The sides, with field ids of the target.
        names: The names of the merged columns, by field id.
        findings: Collects conflicts and notes.

    References:
        Merge rule M7; Paimon SchemaManager.applyRenameColumnsToOptions.
    """
    sides_fields = (*schemas.base.fields, *schemas.theirs.fields, *schemas.ours.fields)
    known = {**{field.id: field.name for field in sides_fields}, **names}
    sides = each_side(schemas, _by_id)
    merged: dict[str, str] = {}
    for key in sorted(sides.base.keys() | sides.ours.keys() | sides.theirs.keys()):
        values = each_side(sides, partial(_value_of, key, names))
        option = _Option(
            key=key,
            name=_with_names(key, known),
            values=values,
            texts=each_side(values, partial(_value_text, known)),
        )
        value = _merge_option(option, schemas, names, findings)
        is_left = names.keys() >= _columns_in(key)
        if (value is not None and not is_left) or (key in sides.ours and values.ours is None):
            findings.note(f"Option {option.name!r} goes with its column.")
        elif value is not None:
            merged[option.name] = _with_names(value, known)
    return Options(merged)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """One option on three sides; `key` and `values` with marks, `name` and `texts` to be read."""

    key: str
    name: str
    values: ThreeWay[str | None]
    texts: ThreeWay[str]


def _merge_option(
    option: _Option,
    schemas: ThreeWay[TableSchema],
    names: Mapping[int, str],
    findings: SchemaFindings,
) -> str | None:
    values = option.values
    if values.ours == values.theirs:
        return values.ours
    if option.key in _OF_ONE_BRANCH or option.key.startswith(_OF_ONE_BRANCH_PREFIXES):
        return _merge_branch_option(option, findings)
    harm = _harm(option.key, schemas, names)
    if harm is not None:
        findings.conflict(
            ConflictKind.OPTION,
            _RULE,
            option.name,
            option.texts,
            f"{option.name!r} must be the same on both sides: {harm}.",
        )
        return None
    value = settle(values)
    if value is not Unresolved.CONFLICT:
        return value
    take = findings.conflict(
        ConflictKind.OPTION,
        _RULE,
        option.name,
        option.texts,
        f"Both sides changed {option.name!r}: choose one value.",
        EITHER_SIDE,
    )
    return values.theirs if take is Take.THEIRS else values.ours


def _merge_branch_option(option: _Option, findings: SchemaFindings) -> str | None:
    values = option.values
    if values.theirs == values.base:
        return values.ours
    take = findings.stands(
        Take.OURS,
        ConflictKind.OPTION,
        _RULE,
        option.name,
        option.texts,
        f"Option {option.name!r} is about the source branch itself: it is not merged.",
    )
    return values.theirs if take is Take.THEIRS else values.ours


def _harm(key: str, schemas: ThreeWay[TableSchema], names: Mapping[int, str]) -> str | None:
    """Return the harm if the sides differed in this option, as a clause; None if there is none."""
    if key == table_options.DELETION_VECTORS_ENABLED.key and schemas.ours.primary_keys:
        return "new rows would be hidden until the next compaction, or deleted ones come back"
    columns = _columns_in(key)
    before = {field.id for field in schemas.base.fields}
    # Of a column that one side added or dropped the other has no say.
    is_of_both = not columns or not (columns.isdisjoint(before) or columns - names.keys())
    return harm_of_option(key) if is_of_both else None


def _value_of(key: str, names: Mapping[int, str], options: Mapping[str, str]) -> str | None:
    """An option's value, without the dropped columns of a sequence group."""
    value = options.get(key)
    if value is None or not key.endswith(_SEQUENCE_GROUP):
        return value
    left = [each for each in value.split(",") if names.keys() >= _columns_in(each)]
    return ",".join(left) or None


def _value_text(names: Mapping[int, str], value: str | None) -> str:
    return "unset" if value is None else _with_names(value, names) or "an empty text"


def _columns_in(text: str) -> set[int]:
    return {int(each) for each in _MARKED.findall(text)}


def _by_id(schema: TableSchema) -> dict[str, str]:
    """Options with marks in place of the names of columns, in keys and values."""
    marks = {field.name: f"{_MARK}{field.id}{_MARK}" for field in schema.fields}
    return dict(_marked_option(key, value, marks) for key, value in schema.options.items())


def _marked_option(key: str, value: str, marks: Mapping[str, str]) -> tuple[str, str]:
    columns, _, suffix = key.removeprefix(_FIELDS).rpartition(".")
    is_of_columns = key.startswith(_FIELDS) and bool(columns)
    has_columns = key in _COLUMN_LISTS or (is_of_columns and suffix == _SEQUENCE_GROUP)
    return (
        f"{_FIELDS}{_marked(columns, marks)}.{suffix}" if is_of_columns else key,
        _marked(value, marks) if has_columns else value,
    )


def _marked(columns: str, marks: Mapping[str, str]) -> str:
    # Blanks stay: an option that nobody changed is not written anew.
    return ",".join(
        name.replace(name.strip(), marks.get(name.strip(), name.strip()))
        for name in columns.split(",")
    )


def _with_names(text: str, names: Mapping[int, str]) -> str:
    return _MARKED.sub(lambda found: names[int(found[1])], text)
