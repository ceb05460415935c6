"""The columns of two branches that are the same one, and the ids that they get on the target.

Each branch counts its field ids on its own after the fork, so one id can name two columns. An
earlier merge may have given the source's columns other ids on the target, so one column can have
two ids. Both are resolved here, once, before anything is compared.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final, assert_never

from branch_console.diff.three_way import ThreeWay
from branch_console.format.data_types import (
    ArrayType,
    AtomicType,
    DataField,
    DataType,
    MapType,
    MultisetType,
    RowType,
    VectorType,
)
from branch_console.format.table_schema import TableSchema

_NONE_SHARED: Final = -1
NOTHING_KNOWN: Final[Mapping[int, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldIds:
    """Field ids of the source in the words of the target.

    Attributes:
        shared: The highest id that both branches had before they parted: up to it ids are equal.
        to_target: Target ids by source id, for those above `shared`.
        base: The columns of the base with target ids; without those that neither side can be
            shown to have, so that they count as added by the side that has them.
        ambiguous: Names of columns of the base that may be one of several columns of a side.
        highest: The highest id given on the target, new ones included.
    """

    shared: int
    to_target: Mapping[int, int]
    base: tuple[DataField, ...]
    ambiguous: tuple[str, ...]
    highest: int

    def translate(self, fields: tuple[DataField, ...]) -> tuple[DataField, ...]:
        """Return columns of the source with their ids on the target, nested ones too."""
        return _renumbered(fields, self._on_target)

    def _on_target(self, source_id: int) -> int:
        return source_id if source_id <= self.shared else self.to_target[source_id]


class _Space(Enum):
    """The side whose ids the base has."""

    BOTH = "both"
    TARGET = "target"
    SOURCE = "source"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class _Place:
    """A column and where it stands: in which other column, behind which part of a collection."""

    parent: int | None
    part: str
    field: DataField


def map_field_ids(
    sides: ThreeWay[TableSchema],
    *,
    target_schemas: Mapping[int, TableSchema],
    source_schemas: Mapping[int, TableSchema],
    used_ids: frozenset[int],
    known: Mapping[int, int] = NOTHING_KNOWN,
) -> FieldIds:
    """Find for every column of the source that matters its id on the target.

    Args:
        sides: The latest schemas, and that of the base.
        target_schemas: All schemas of the target by id.
        source_schemas: All schemas of the source by id.
        used_ids: Source schemas that files to be kept use; each is in `source_schemas`.
        known: Target ids by source id, as an earlier merge of these branches gave them.
    """
    shared = _shared_highest(target_schemas, source_schemas)
    targets = (*target_schemas.values(), sides.ours)
    matching = _Matching(shared, {k: v for k, v in known.items() if k > shared})
    space = _space_of(sides.base, shared, target_schemas, source_schemas)
    if space is _Space.SOURCE:
        matching.find_source_columns(sides.base, targets)
    elif space is _Space.TARGET:
        matching.find_target_columns(sides.base, (*source_schemas.values(), sides.theirs))
    base = matching.base_columns(sides.base, space)
    matching.match_additions(sides)
    highest = max(
        *(each.highest_field_id for each in targets), *matching.to_target.values(), shared
    )
    needed = (*(source_schemas[each] for each in used_ids), sides.theirs)
    numbers = {place.field.id for schema in needed for place in _walk(schema.fields)}
    for number in sorted(each for each in numbers if matching.on_target(each) is None):
        # An id that is free on the target stays, so that untouched targets get equal schemas.
        highest = max(highest + 1, number)
        matching.to_target[number] = highest
    return FieldIds(
        shared=shared,
        to_target=MappingProxyType(matching.to_target),
        base=base,
        ambiguous=tuple(matching.ambiguous),
        highest=highest,
    )


class _Matching:
    """Pairs columns of the source with columns of the target, outer ones before inner ones."""

    def __init__(self, shared: int, to_target: dict[int, int]) -> None:
        self._shared = shared
        self.to_target = to_target
        self.ambiguous: list[str] = []

    def on_target(self, source_id: int) -> int | None:
        """The target's id of a column of the source, None if none is known yet."""
        return source_id if source_id <= self._shared else self.to_target.get(source_id)

    def find_source_columns(self, base: TableSchema, targets: Iterable[TableSchema]) -> None:
        """Find on the target the columns that the base has with ids of the source."""
        unknown = [each for each in _walk(base.fields) if self.on_target(each.field.id) is None]
        places = [each for schema in targets if unknown for each in _walk(schema.fields)]
        for place in unknown:
            if self._has_parent(place):
                found = self._free_on_target(place, places)
                self._pair_base_column(place.field, {(place.field.id, each) for each in found})

    def find_target_columns(self, base: TableSchema, sources: Iterable[TableSchema]) -> None:
        """Find on the source the columns that the base has with ids of the target."""
        paired = {*range(self._shared + 1), *self.to_target.values()}
        unknown = [each for each in _walk(base.fields) if each.field.id not in paired]
        places = [each for schema in sources if unknown for each in _walk(schema.fields)]
        for place in unknown:
            found = {
                (each.field.id, place.field.id)
                for each in places
                if self.on_target(each.field.id) is None
                and self._has_parent(each)
                and self._is_same_place(each, place)
            }
            self._pair_base_column(place.field, found)

    def base_columns(self, base: TableSchema, space: _Space) -> tuple[DataField, ...]:
        """Columns of the base in ids of the target, without those that have no pair."""
        match space:
            case _Space.BOTH:
                return base.fields
            case _Space.SOURCE:
                return _renumbered(base.fields, self.on_target)
            case _Space.TARGET:
                paired = set(self.to_target.values())
                return _renumbered(
                    base.fields,
                    lambda each: each if each <= self._shared or each in paired else None,
                )
            case _Space.NEITHER:
                return _renumbered(base.fields, lambda each: each if each <= self._shared else None)
            case _:
                assert_never(space)

    def match_additions(self, sides: ThreeWay[TableSchema]) -> None:
        """Pair columns that both sides added with one name and type at one place."""
        places = list(_walk(sides.ours.fields))
        types = {place.field.id: _shape(place.field.type) for place in places}
        for place in _walk(sides.theirs.fields):
            if self.on_target(place.field.id) is None and self._has_parent(place):
                kind = _shape(place.field.type)
                for target_id in self._free_on_target(place, places):
                    if types[target_id] == kind:
                        self.to_target[place.field.id] = target_id

    def _pair_base_column(self, field: DataField, found: set[tuple[int, int]]) -> None:
        if len(found) > 1:
            self.ambiguous.append(field.name)
        for source_id, target_id in found if len(found) == 1 else ():
            self.to_target[source_id] = target_id

    def _free_on_target(self, theirs: _Place, places: Iterable[_Place]) -> set[int]:
        """Ids at the same place of the target that belong to no column of the source yet."""
        taken = set(self.to_target.values())
        return {
            ours.field.id
            for ours in places
            if ours.field.id > self._shared
            and ours.field.id not in taken
            and self._is_same_place(theirs, ours)
        }

    def _has_parent(self, theirs: _Place) -> bool:
        return theirs.parent is None or self.on_target(theirs.parent) is not None

    def _is_same_place(self, theirs: _Place, ours: _Place) -> bool:
        parent = None if theirs.parent is None else self.on_target(theirs.parent)
        return (parent, theirs.part, theirs.field.name) == (
            ours.parent,
            ours.part,
            ours.field.name,
        )


def _shared_highest(
    target_schemas: Mapping[int, TableSchema], source_schemas: Mapping[int, TableSchema]
) -> int:
    """The highest field id of the schemas that both branches begin with.

    They are copies, with the time they were made: equal content alone may have been made twice.
    Without any, ids tell nothing and columns are paired by name.
    """
    shared = _NONE_SHARED
    for each in sorted(target_schemas.keys() & source_schemas.keys()):
        if target_schemas[each] != source_schemas[each]:
            break
        shared = target_schemas[each].highest_field_id
    return shared


def _space_of(
    base: TableSchema,
    shared: int,
    target_schemas: Mapping[int, TableSchema],
    source_schemas: Mapping[int, TableSchema],
) -> _Space:
    if base.highest_field_id <= shared:
        return _Space.BOTH
    for schemas, space in ((source_schemas, _Space.SOURCE), (target_schemas, _Space.TARGET)):
        if schemas.get(base.id) == base:
            return space
    return _Space.NEITHER


def _walk(
    fields: tuple[DataField, ...], parent: int | None = None, part: str = ""
) -> Iterator[_Place]:
    """All columns, each before those inside it."""
    for field in fields:
        yield _Place(parent, part, field)
        yield from _walk_type(field.type, field.id, "")


def _walk_type(data_type: DataType, parent: int, part: str) -> Iterator[_Place]:
    match data_type:
        case AtomicType():
            return
        case RowType(fields=fields):
            yield from _walk(fields, parent, part)
        case ArrayType(element=element) | MultisetType(element=element):
            yield from _walk_type(element, parent, f"{part}.element")
        case VectorType(element=element):
            yield from _walk_type(element, parent, f"{part}.element")
        case MapType(key=key, value=value):
            yield from _walk_type(key, parent, f"{part}.key")
            yield from _walk_type(value, parent, f"{part}.value")
        case _:
            assert_never(data_type)


def _renumbered(
    fields: tuple[DataField, ...], new_id: Callable[[int], int | None]
) -> tuple[DataField, ...]:
    """Columns with other ids; those that get none are left out."""
    return tuple(
        replace(field, id=number, type=_renumbered_type(field.type, new_id))
        for field in fields
        if (number := new_id(field.id)) is not None
    )


def _renumbered_type(data_type: DataType, new_id: Callable[[int], int | None]) -> DataType:
    match data_type:
        case AtomicType():
            return data_type
        case RowType(fields=fields):
            return replace(data_type, fields=_renumbered(fields, new_id))
        case ArrayType() | MultisetType() | VectorType():
            return replace(data_type, element=_renumbered_type(data_type.element, new_id))
        case MapType(key=key, value=value):
            return replace(
                data_type, key=_renumbered_type(key, new_id), value=_renumbered_type(value, new_id)
            )
        case _:
            assert_never(data_type)


def _shape(data_type: DataType) -> DataType:
    """A type without field ids, to compare what two branches declared on their own."""
    return _renumbered_type(data_type, lambda _: 0)
