"""The schemas that a merge publishes on the target, and which of them each source file uses.

A data file names its schema by an id that means something on its own branch only, and its columns
are found by their names there and then by field id. So schemas of the source that files use are
published on the target with ids of the target, before the merged one that queries see.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from branch_console.diff.schema_diff import SchemaChange, diff_schemas
from branch_console.diff.three_way import ThreeWay, Unresolved, each_side, settle
from branch_console.errors import ErrorKind, NotFound
from branch_console.format import options as table_options
from branch_console.format.data_types import DataType, with_nullable
from branch_console.format.table_schema import CURRENT_VERSION, TableSchema
from branch_console.merge.column_merge import ColumnRules, find_gaps, merge_columns
from branch_console.merge.conflict import Conflict, ConflictKind, Take
from branch_console.merge.field_ids import NOTHING_KNOWN, FieldIds, map_field_ids
from branch_console.merge.option_merge import merge_options
from branch_console.merge.schema_findings import SchemaFindings, comment_text

_COLUMNS: Final = "M6"
_KEYS: Final = "M10"
_KEYS_OF: Final[Mapping[str, Callable[[TableSchema], tuple[str, ...]]]] = {
    "primary key": lambda schema: schema.primary_keys,
    "partition key": lambda schema: schema.partition_keys,
    "bucket key": lambda schema: schema.options.read(table_options.BUCKET_KEY),
}
_NOTHING_DONE: Final[ThreeWay[tuple[SchemaChange, ...]]] = ThreeWay(base=(), ours=(), theirs=())
_NOTHING_SETTLED: Final[Mapping[str, Take]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaMerge:
    """The merged schema of one table.

    Attributes:
        schemas: New schemas to publish on the target, by rising id: those that only files use
            first, the merged one last. Empty if the target needs none, or there are conflicts.
        final_id: The schema of the merge snapshot; the target's own if nothing changes.
        id_map: Target schema by source schema, for every used one. Empty with conflicts.
        field_ids: Target field ids by source field id, where the branches gave them on their own.
            The next merge of these branches needs them to know renamed columns again.
        ours_gaps: New columns that forbid null and have a default which rows that the target
            wrote since the base need: their files have no value.
        theirs_gaps: The same for rows that the source wrote.
        is_settled: Whether conflicts were settled: a merge notes that, also if it leaves the
            target as it is, so that the next one does not ask again.
        did: The changes of each side since the base, under the ids of the target.
        conflicts: The conflicts that stop the merge.
        notes: What stands though both sides may care, in sentences; strict makes conflicts of
            most.
    """

    schemas: tuple[TableSchema, ...]
    final_id: int
    id_map: Mapping[int, int]
    field_ids: Mapping[int, int]
    ours_gaps: tuple[str, ...] = ()
    theirs_gaps: tuple[str, ...] = ()
    is_settled: bool = False
    did: ThreeWay[tuple[SchemaChange, ...]] = _NOTHING_DONE
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()


def merge_schemas(
    sides: ThreeWay[TableSchema],
    *,
    target_schemas: Mapping[int, TableSchema],
    source_schemas: Mapping[int, TableSchema],
    used_ids: frozenset[int],
    ours_wrote: bool,
    theirs_wrote: bool,
    strict: bool,
    table: str,
    time_millis: int,
    known_field_ids: Mapping[int, int] = NOTHING_KNOWN,
    settled: Mapping[str, Take] = _NOTHING_SETTLED,
) -> SchemaMerge:
    """Merge columns by field id, options by key, and the table's comment.

    Args:
        sides: The latest schemas of both branches, and the schema of the base.
        target_schemas: All schemas of the target by id, those that only files use too.
        source_schemas: All schemas of the source by id.
        used_ids: Schemas of the source that adopted or replayed files use.
        ours_wrote: Whether the target wrote rows since the base.
        theirs_wrote: Whether the source did.
        strict: Makes conflicts of what would only be reported.
        table: Named in conflicts.
        time_millis: When the new schemas are said to be made.
        known_field_ids: `field_ids` of earlier merges of this source into this target.
        settled: How conflicts were settled, by their id.

    Raises:
        NotFound: A used schema is not among the source's.

    References:
        Merge rules M7, M6.1 and M6.2.
    """
    _check_used(used_ids, source_schemas)
    findings = SchemaFindings(table=table, strict=strict, settled=settled)
    ids = map_field_ids(
        sides,
        target_schemas=target_schemas,
        source_schemas=source_schemas,
        used_ids=used_ids,
        known=known_field_ids,
    )
    on_target = ThreeWay(
        base=replace(sides.base, fields=ids.base),
        ours=sides.ours,
        theirs=_on_target(sides.theirs, ids),
    )
    _report_ambiguous(ids, on_target, findings)
    rules = ColumnRules(ours_wrote=ours_wrote, theirs_wrote=theirs_wrote, findings=findings)
    columns = each_side(on_target, lambda side: side.fields)
    fields = merge_columns(columns, rules)
    gaps = find_gaps(fields, columns, rules)
    names = {field.id: field.name for field in fields}
    _check_keys(on_target, findings)
    merged = TableSchema(
        id=sides.ours.id,
        fields=fields,
        highest_field_id=ids.highest,
        partition_keys=_renamed(on_target.ours, sides.ours.partition_keys, names),
        primary_keys=_renamed(on_target.ours, sides.ours.primary_keys, names),
        options=merge_options(on_target, names, findings),
        comment=_merge_comment(on_target, findings),
    )
    notes = tuple(findings.notes)
    did = each_side(on_target, lambda side: diff_schemas(on_target.base, side).changes)
    if findings.conflicts:
        return SchemaMerge(
            schemas=(),
            final_id=sides.ours.id,
            id_map={},
            field_ids={},
            did=did,
            conflicts=tuple(findings.conflicts),
            notes=notes,
        )
    used = {each: _on_target(source_schemas[each], ids) for each in sorted(used_ids)}
    schemas, id_map, final_id = _place(merged, used, sides.ours, target_schemas)
    return SchemaMerge(
        schemas=tuple(replace(each, time_millis=time_millis) for each in schemas),
        final_id=final_id,
        id_map=id_map,
        field_ids=dict(ids.to_target),
        ours_gaps=gaps.ours,
        theirs_gaps=gaps.theirs,
        is_settled=bool(settled),
        did=did,
        notes=notes,
    )


def _check_used(used_ids: frozenset[int], source_schemas: Mapping[int, TableSchema]) -> None:
    missing = sorted(used_ids - source_schemas.keys())
    if missing:
        raise NotFound(
            f"Files of the source use schemas that it does not have: {missing}.",
            kind=ErrorKind.SCHEMA_NOT_FOUND,
        )


def _on_target(schema: TableSchema, ids: FieldIds) -> TableSchema:
    return replace(schema, fields=ids.translate(schema.fields))


def _report_ambiguous(
    ids: FieldIds, sides: ThreeWay[TableSchema], findings: SchemaFindings
) -> None:
    for name in ids.ambiguous:
        findings.conflict(
            ConflictKind.COLUMN,
            _COLUMNS,
            name,
            each_side(sides, lambda side: ", ".join(field.name for field in side.fields)),
            f"It cannot be told which column {name!r} of the last merge is: a branch has had "
            "several of that name, and the record of that merge is missing. Bring it back.",
        )


def _check_keys(sides: ThreeWay[TableSchema], findings: SchemaFindings) -> None:
    """Keys are laid down in files, buckets and folders, so their columns and types must agree."""
    for what, keys_of in _KEYS_OF.items():
        ours, theirs = _key_columns(keys_of, sides.ours), _key_columns(keys_of, sides.theirs)
        if ours == theirs:
            continue
        findings.conflict(
            ConflictKind.KEYS,
            _KEYS,
            None,
            each_side(each_side(sides, keys_of), lambda keys: ", ".join(keys) or "none"),
            f"Both sides must have the same {what}, with the same types.",
        )


def _key_columns(
    keys_of: Callable[[TableSchema], tuple[str, ...]], schema: TableSchema
) -> tuple[tuple[int, DataType], ...]:
    fields = (schema.field(key) for key in keys_of(schema))
    return tuple((field.id, with_nullable(field.type, True)) for field in fields)


def _renamed(
    schema: TableSchema, keys: tuple[str, ...], names: Mapping[int, str]
) -> tuple[str, ...]:
    """Key columns of a schema by their merged names; a dropped one is a conflict by now."""
    return tuple(names.get(schema.field(key).id, key) for key in keys)


def _merge_comment(sides: ThreeWay[TableSchema], findings: SchemaFindings) -> str | None:
    comments = each_side(sides, lambda side: side.comment)
    comment = settle(comments)
    if comment is not Unresolved.CONFLICT:
        return comment
    take = findings.stands(
        Take.THEIRS,
        ConflictKind.COLUMN,
        _COLUMNS,
        None,
        each_side(comments, comment_text),
        "The table's comment was changed on both sides: the source's stands.",
    )
    return comments.ours if take is Take.OURS else comments.theirs


def _place(
    merged: TableSchema,
    used: Mapping[int, TableSchema],
    ours: TableSchema,
    target_schemas: Mapping[int, TableSchema],
) -> tuple[tuple[TableSchema, ...], dict[int, int], int]:
    """Give ids of the target: new schemas, target id by used source id, and the final id."""
    targets = [*(target_schemas[each] for each in sorted(target_schemas)), ours]
    next_id = max(each.id for each in targets) + 1
    new: list[TableSchema] = []
    id_map: dict[int, int] = {}
    of_final: list[int] = []
    for source_id, schema in used.items():
        found = next((each for each in (*targets, *new) if _is_same(each, schema)), None)
        if found is None and _is_same(merged, schema):
            of_final.append(source_id)
            continue
        if found is None:
            found = replace(schema, id=next_id + len(new))
            new.append(found)
        id_map[source_id] = found.id
    # Paimon takes the highest id for the table's schema, so the merged one comes after the others
    # even where the target had it already.
    if new or not _is_same(merged, ours):
        new.append(replace(merged, id=next_id + len(new)))
    final_id = new[-1].id if new else ours.id
    id_map |= dict.fromkeys(of_final, final_id)
    published = (
        replace(each, version=CURRENT_VERSION, highest_field_id=merged.highest_field_id)
        for each in new
    )
    return tuple(published), id_map, final_id


def _is_same(left: TableSchema, right: TableSchema) -> bool:
    """Whether two schemas have one fingerprint; most differ in the first thing compared."""
    return (
        left.fields == right.fields
        and left.options == right.options
        and (left.partition_keys, left.primary_keys) == (right.partition_keys, right.primary_keys)
        and left.comment == right.comment
    )
