"""No value ever crosses columns, whatever two branches did to their schemas before they merge.

The model is small: two branches alter one table in turn, every schema writes a file whose cells
hold the name of the column they belong to, and merges go either way. A reader that works as
Paimon's does (columns of a file by name in its schema, then by field id) must find in each column
of the merged schema its own name, or nothing where the file had no such column.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from branch_console.diff.three_way import ThreeWay
from branch_console.format.data_types import (
    BIGINT,
    INT,
    STRING,
    ArrayType,
    DataField,
    DataType,
    RowType,
)
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.merge.schema_merge import SchemaMerge, merge_schemas

Label: TypeAlias = tuple[str, int]
Cells: TypeAlias = "dict[str, Label | Cells]"

_NAMES = "abcdef"
_TYPES: tuple[DataType, ...] = (INT, BIGINT, STRING)


def fields_of(data_type: DataType) -> tuple[DataField, ...] | None:
    """The fields of a row, also of one in an array."""
    if isinstance(data_type, ArrayType):
        return fields_of(data_type.element)
    return data_type.fields if isinstance(data_type, RowType) else None


def with_fields(data_type: DataType, fields: tuple[DataField, ...]) -> DataType:
    if isinstance(data_type, ArrayType):
        return replace(data_type, element=with_fields(data_type.element, fields))
    assert isinstance(data_type, RowType)
    return replace(data_type, fields=fields)


def walk(
    fields: tuple[DataField, ...], parent: int | None = None
) -> Iterator[tuple[int | None, DataField]]:
    for each in fields:
        yield parent, each
        yield from walk(fields_of(each.type) or (), each.id)


@dataclass
class Branch:
    """A branch of the model: its schemas, what its columns are, and the files it holds."""

    name: str
    schemas: dict[int, TableSchema]
    labels: dict[int, Label]
    files: list[tuple[int, Cells]] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    @property
    def latest(self) -> TableSchema:
        return self.schemas[max(self.schemas)]

    def alter(self, fields: tuple[DataField, ...], highest: int) -> None:
        number = max(self.schemas) + 1
        # No two branches make a schema in the same millisecond.
        time_millis = 2 * number + (self.name == "dev")
        self.schemas[number] = replace(
            self.latest,
            id=number,
            fields=fields,
            highest_field_id=highest,
            time_millis=time_millis,
        )
        for _, each in walk(fields):
            self.labels.setdefault(each.id, (self.name, each.id))

    def write(self) -> None:
        """A file in the newest schema; its cells hold the label of their column."""
        self.files.append((self.latest.id, self._cells(self.latest.fields)))
        self.written.append(len(self.files) - 1)

    def _cells(self, fields: tuple[DataField, ...]) -> Cells:
        cells: Cells = {}
        for each in fields:
            inner = fields_of(each.type)
            cells[each.name] = self.labels[each.id] if inner is None else self._cells(inner)
        return cells


def read(
    cells: Cells, data_fields: tuple[DataField, ...], fields: tuple[DataField, ...]
) -> dict[int, Label | None]:
    """What each column without parts gets from a file, by field id."""
    found: dict[int, Label | None] = {}
    by_id = {each.id: each for each in data_fields}
    for each in fields:
        data_field = by_id.get(each.id)
        value = None if data_field is None else cells[data_field.name]
        inner = fields_of(each.type)
        if inner is None:
            assert not isinstance(value, dict)
            found[each.id] = value
        elif data_field is not None:
            assert isinstance(value, dict)
            found |= read(value, fields_of(data_field.type) or (), inner)
        else:
            found |= {
                number.id: None for _, number in walk(inner) if fields_of(number.type) is None
            }
    return found


# One change: what to do, to which column (by position), with which name and type.
_CHANGES = st.tuples(
    st.sampled_from(["add", "add", "drop", "rename", "rename", "widen", "move", "add row"]),
    st.integers(0, 9),
    st.sampled_from(_NAMES),
    st.sampled_from(_TYPES),
    st.booleans(),
)
Change: TypeAlias = tuple[str, int, str, DataType, bool]


def changed(
    fields: tuple[DataField, ...], change: Change, highest: int
) -> tuple[tuple[DataField, ...], int] | None:
    """The columns after one ALTER TABLE, None where Paimon would refuse it."""
    what, position, name, data_type, goes_inside = change
    target = fields[position % len(fields)]
    inner = fields_of(target.type)
    if goes_inside and inner is not None:
        found = changed(inner, (what, position // 2, name, data_type, False), highest)
        if found is None:
            return None
        new = replace(target, type=with_fields(target.type, found[0]))
        return tuple(new if each is target else each for each in fields), found[1]
    names = {each.name for each in fields}
    others = tuple(each for each in fields if each is not target)
    match what:
        case "add" | "add row" if name not in names:
            number = highest + 1
            if what == "add row":
                part = DataField(id=number + 1, name="a", type=data_type)
                row: DataType = RowType(fields=(part,))
                data_type = ArrayType(element=row) if position % 2 else row
            added = DataField(id=number, name=name, type=data_type)
            at = len(fields) if position % 3 else position % len(fields)
            highest = number + 1 if what == "add row" else number
            return (*fields[:at], added, *fields[at:]), highest
        case "drop" if others and target.id != 0:
            return others, highest
        case "rename" if name not in names:
            return tuple(replace(e, name=name) if e is target else e for e in fields), highest
        case "widen" if target.type == INT and target.id != 0:
            return tuple(replace(e, type=BIGINT) if e is target else e for e in fields), highest
        case "move" if others:
            at = (position * 7) % (len(others) + 1)
            return (*others[:at], target, *others[at:]), highest
    return None


@dataclass
class World:
    """Two branches of one table, what they know of each other's ids, and their last merge base."""

    main: Branch
    dev: Branch
    base: TableSchema
    # Main's field ids by those of dev, as the merges so far told.
    known: dict[int, int] = field(default_factory=dict)
    same: dict[Label, Label] = field(default_factory=dict)

    def label(self, branch: Branch, number: int) -> Label:
        return self.canonical(branch.labels[number])

    def canonical(self, label: Label) -> Label:
        while label in self.same:
            label = self.same[label]
        return label


def new_world() -> World:
    row = RowType(fields=(DataField(id=3, name="a", type=INT), DataField(id=4, name="b", type=INT)))
    fields = (
        DataField(id=0, name="id", type=INT),
        DataField(id=1, name="a", type=INT),
        DataField(id=2, name="b", type=row),
    )
    first = TableSchema(
        id=0,
        fields=fields,
        highest_field_id=4,
        partition_keys=(),
        primary_keys=(),
        options=Options(),
    )
    labels = {each.id: ("base", each.id) for _, each in walk(fields)}
    return World(
        main=Branch("main", {0: first}, dict(labels)),
        dev=Branch("dev", {0: first}, dict(labels)),
        base=first,
    )


def shape(data_type: DataType) -> object:
    inner = fields_of(data_type)
    if inner is None:
        return data_type
    return type(data_type), [(each.name, shape(each.type)) for each in inner]


def pair_additions(world: World, source: Branch, target: Branch) -> None:
    """Columns that both added with one name and type at one place are one column."""
    theirs = {world.label(source, each.id) for each in all_columns(source)}
    ours = {world.label(target, each.id) for each in all_columns(target)}
    for source_parent, each in walk(source.latest.fields):
        if world.label(source, each.id) in ours:
            continue
        place = None if source_parent is None else world.label(source, source_parent)
        for target_parent, other in walk(target.latest.fields):
            other_place = None if target_parent is None else world.label(target, target_parent)
            if world.label(target, other.id) not in theirs and (
                place,
                each.name,
                shape(each.type),
            ) == (other_place, other.name, shape(other.type)):
                world.same[world.label(source, each.id)] = world.label(target, other.id)


def all_columns(branch: Branch) -> list[DataField]:
    return [each for schema in branch.schemas.values() for _, each in walk(schema.fields)]


def planned(world: World, source: Branch, target: Branch, *, strict: bool = False) -> SchemaMerge:
    known: Mapping[int, int] = world.known
    if source is world.main:
        known = {main: dev for dev, main in world.known.items()}
    return merge_schemas(
        ThreeWay(base=world.base, ours=target.latest, theirs=source.latest),
        target_schemas=target.schemas,
        source_schemas=source.schemas,
        used_ids=frozenset(source.files[each][0] for each in source.written),
        ours_wrote=bool(target.written),
        theirs_wrote=bool(source.written),
        strict=strict,
        table="t",
        time_millis=2 * max(target.schemas) + 1000,
        known_field_ids=known,
    )


def merge(world: World, source: Branch, target: Branch) -> SchemaMerge:
    merged = planned(world, source, target)
    if merged.conflicts:
        assert merged.schemas == ()
        assert merged.final_id == target.latest.id
        return merged
    pair_additions(world, source, target)
    check_ids(merged, target)
    apply(world, source, target, merged)
    check_files(world, target)
    return merged


def check_ids(merged: SchemaMerge, target: Branch) -> None:
    start = max(target.schemas) + 1
    assert [each.id for each in merged.schemas] == [*range(start, start + len(merged.schemas))]
    assert merged.final_id == (merged.schemas[-1].id if merged.schemas else start - 1)
    for schema in merged.schemas:
        numbers = [each.id for _, each in walk(schema.fields)]
        assert len(numbers) == len(set(numbers))
        assert schema.highest_field_id >= max(numbers)
        assert schema.highest_field_id >= target.latest.highest_field_id


def apply(world: World, source: Branch, target: Branch, merged: SchemaMerge) -> None:
    """What publishing the merge does to the target; adopted files keep their bytes."""
    for source_id, target_id in merged.field_ids.items():
        label = world.label(source, source_id)
        if target_id in target.labels:
            assert world.label(target, target_id) == label
        target.labels[target_id] = label
        pair = (source_id, target_id) if source is world.dev else (target_id, source_id)
        world.known[pair[0]] = pair[1]
    target.schemas |= {each.id: each for each in merged.schemas}
    for each in source.written:
        schema_id, cells = source.files[each]
        target.files.append((merged.id_map[schema_id], cells))
    source.written.clear()
    target.written.clear()
    world.base = source.latest


def check_files(world: World, branch: Branch) -> None:
    """Each column reads its own values from every file, and all of them."""
    final = branch.latest
    for schema_id, cells in branch.files:
        held = {world.canonical(each) for each in leaves(cells)}
        for number, value in read(cells, branch.schemas[schema_id].fields, final.fields).items():
            label = world.label(branch, number)
            assert (world.canonical(value) if value else None) == (label if label in held else None)


def leaves(cells: Cells) -> Iterator[Label]:
    for value in cells.values():
        if isinstance(value, dict):
            yield from leaves(value)
        else:
            yield value


# What one branch does before a merge: changes, each followed by a write or not.
_WORK = st.lists(st.tuples(_CHANGES, st.booleans()), max_size=5)


def work(branch: Branch, steps: list[tuple[Change, bool]]) -> None:
    for change, writes in steps:
        found = changed(branch.latest.fields, change, branch.latest.highest_field_id)
        if found is not None:
            branch.alter(*found)
        if writes:
            branch.write()


@given(ours=_WORK, theirs=_WORK)
def test_values_stay_in_their_columns(
    ours: list[tuple[Change, bool]], theirs: list[tuple[Change, bool]]
) -> None:
    world = new_world()
    work(world.main, ours)
    work(world.dev, theirs)
    merge(world, world.dev, world.main)


@given(rounds=st.lists(st.tuples(_WORK, _WORK, st.booleans()), min_size=2, max_size=4))
def test_values_stay_in_their_columns_through_merges_both_ways(
    rounds: list[tuple[list[tuple[Change, bool]], list[tuple[Change, bool]], bool]],
) -> None:
    world = new_world()
    for ours, theirs, is_back in rounds:
        work(world.main, ours)
        work(world.dev, theirs)
        source, target = (world.main, world.dev) if is_back else (world.dev, world.main)
        merge(world, source, target)


@given(ours=_WORK, theirs=_WORK)
def test_a_second_merge_needs_no_schema(
    ours: list[tuple[Change, bool]], theirs: list[tuple[Change, bool]]
) -> None:
    world = new_world()
    work(world.main, ours)
    work(world.dev, theirs)
    if not merge(world, world.dev, world.main).conflicts:
        again = merge(world, world.dev, world.main)
        assert (again.schemas, again.conflicts) == ((), ())


@given(theirs=_WORK)
def test_an_untouched_target_gets_the_schema_of_the_source(
    theirs: list[tuple[Change, bool]],
) -> None:
    world = new_world()
    work(world.dev, theirs)
    merge(world, world.dev, world.main)
    assert world.main.latest.fields == world.dev.latest.fields


@given(ours=_WORK, theirs=_WORK)
def test_strict_stops_where_there_is_something_to_report(
    ours: list[tuple[Change, bool]], theirs: list[tuple[Change, bool]]
) -> None:
    world = new_world()
    work(world.main, ours)
    work(world.dev, theirs)
    lenient = planned(world, world.dev, world.main)
    strict = planned(world, world.dev, world.main, strict=True)
    assert bool(strict.conflicts) == bool(lenient.conflicts or lenient.notes)
    assert strict.notes == ()
    if not strict.conflicts:
        assert strict == lenient


@given(ours=_WORK, theirs=_WORK)
def test_clean_merges_of_the_two_directions_agree(
    ours: list[tuple[Change, bool]], theirs: list[tuple[Change, bool]]
) -> None:
    world = new_world()
    work(world.main, ours)
    work(world.dev, theirs)
    there = planned(world, world.dev, world.main, strict=True)
    back = planned(world, world.main, world.dev, strict=True)
    assert bool(there.conflicts) == bool(back.conflicts)
    if not there.conflicts:
        merged = [
            each.schemas[-1] if each.schemas else branch.latest
            for each, branch in ((there, world.main), (back, world.dev))
        ]
        assert columns_of(merged[0].fields) == columns_of(merged[1].fields)


def columns_of(fields: tuple[DataField, ...]) -> dict[str, object]:
    """Columns by name, without ids and order: those follow the target."""
    return {
        each.name: columns_of(inner) if (inner := fields_of(each.type)) else str(each.type)
        for each in fields
    }
