"""Columns that have one id on the source and another on the target, as earlier merges left them."""

from dataclasses import replace

import pytest

from branch_console.diff.three_way import ThreeWay
from branch_console.format.data_types import INT, DataField, RowType
from branch_console.format.options import Options
from branch_console.format.table_schema import TableSchema
from branch_console.merge.conflict import ConflictKind
from branch_console.merge.field_ids import FieldIds, map_field_ids
from branch_console.merge.schema_merge import SchemaMerge, merge_schemas


def columns(text: str) -> tuple[DataField, ...]:
    """`a:0 b:1` as columns."""
    pairs = (each.split(":") for each in text.split())
    return tuple(DataField(id=int(number), name=name, type=INT) for name, number in pairs)


def schema(number: int, text: str, *, highest: int | None = None, time: int = 0) -> TableSchema:
    fields = columns(text)
    return TableSchema(
        id=number,
        fields=fields,
        highest_field_id=highest or max(each.id for each in fields),
        partition_keys=(),
        primary_keys=(),
        options=Options(),
        time_millis=time,
    )


FIRST = schema(0, "id:0")
# The target gave id 1 to `y`; the source gave it to `x`, which became 2 here in a first merge.
TARGET = (
    FIRST,
    schema(1, "id:0 y:1", time=10),
    schema(2, "id:0 x:2", time=11),
    schema(3, "id:0 y:1 x:2", time=11),
)
SOURCE = (FIRST, schema(1, "id:0 x:1", time=20))
KNOWN = {1: 2}


def by_id(schemas: tuple[TableSchema, ...]) -> dict[int, TableSchema]:
    return {each.id: each for each in schemas}


def mapped(
    base: TableSchema,
    ours: tuple[TableSchema, ...],
    theirs: tuple[TableSchema, ...],
    known: dict[int, int] | None = None,
) -> FieldIds:
    return map_field_ids(
        ThreeWay(base=base, ours=ours[-1], theirs=theirs[-1]),
        target_schemas=by_id(ours),
        source_schemas=by_id(theirs),
        used_ids=frozenset({theirs[-1].id}),
        known=known or {},
    )


def merged(
    base: TableSchema,
    ours: tuple[TableSchema, ...],
    theirs: tuple[TableSchema, ...],
    known: dict[int, int] | None = None,
) -> SchemaMerge:
    return merge_schemas(
        ThreeWay(base=base, ours=ours[-1], theirs=theirs[-1]),
        target_schemas=by_id(ours),
        source_schemas=by_id(theirs),
        used_ids=frozenset({theirs[-1].id}),
        ours_wrote=True,
        theirs_wrote=True,
        strict=False,
        table="t",
        time_millis=99,
        known_field_ids=known or {},
    )


def test_ids_are_shared_up_to_where_the_branches_parted() -> None:
    found = mapped(FIRST, TARGET[:2], SOURCE)
    assert (found.shared, dict(found.to_target), found.highest) == (0, {1: 2}, 2)
    assert found.base == FIRST.fields
    assert found.translate(SOURCE[-1].fields) == columns("id:0 x:2")


def test_schemas_of_equal_content_made_twice_are_not_shared() -> None:
    passing = (FIRST, schema(1, "id:0 x:1", time=10), schema(2, "id:0", highest=1, time=11))
    found = mapped(FIRST, passing, SOURCE)
    # On the target `x` is gone, with its values; the one of the source is another.
    assert (found.shared, dict(found.to_target)) == (0, {1: 2})


def test_branches_without_a_common_schema_share_no_id() -> None:
    ours, theirs = schema(0, "id:0 a:1", time=1), schema(0, "a:0 id:1", time=2)
    found = mapped(theirs, (ours,), (theirs,))
    assert (found.shared, dict(found.to_target)) == (-1, {0: 1, 1: 0})


def test_ids_that_are_free_on_the_target_stay() -> None:
    theirs = (FIRST, schema(1, "id:0 b:7 a:5", time=20))
    assert dict(mapped(FIRST, (FIRST,), theirs).to_target) == {5: 5, 7: 7}
    taken = (FIRST, schema(1, "id:0", highest=5, time=10))
    assert dict(mapped(FIRST, taken, theirs).to_target) == {5: 6, 7: 7}


@pytest.mark.parametrize("known", [KNOWN, {}], ids=["known", "by name"])
class TestTheNextMerge:
    """The base is now a schema of the source, with the source's ids."""

    def test_a_renamed_column_is_renamed_on_the_target(self, known: dict[int, int]) -> None:
        theirs = (*SOURCE, schema(2, "id:0 w:1", time=21))
        found = merged(SOURCE[-1], TARGET, theirs, known)
        assert found.schemas[-1].fields == columns("id:0 y:1 w:2")
        assert found.field_ids == KNOWN

    def test_a_dropped_column_is_dropped_on_the_target(self, known: dict[int, int]) -> None:
        theirs = (*SOURCE, schema(2, "id:0", highest=1, time=21))
        found = merged(SOURCE[-1], TARGET, theirs, known)
        assert found.schemas[-1].fields == columns("id:0 y:1")

    def test_a_column_that_the_target_renamed_keeps_its_name(self, known: dict[int, int]) -> None:
        ours = (*TARGET, schema(4, "id:0 y:1 q:2", time=12))
        found = merged(SOURCE[-1], ours, SOURCE, known)
        assert (found.schemas, found.final_id, found.id_map) == ((), 4, {1: 2})

    def test_a_new_column_gets_a_new_id(self, known: dict[int, int]) -> None:
        theirs = (*SOURCE, schema(2, "id:0 x:1 z:2", time=21))
        found = merged(SOURCE[-1], TARGET, theirs, known)
        assert found.schemas[-1].fields == columns("id:0 y:1 x:2 z:3")
        assert found.field_ids == {1: 2, 2: 3}

    def test_merging_back_knows_the_columns_of_the_other_branch(
        self, known: dict[int, int]
    ) -> None:
        back = {target: source for source, target in known.items()}
        ours = (*SOURCE, schema(2, "id:0 w:1", time=21))
        found = merged(SOURCE[-1], ours, TARGET, back)
        assert found.schemas[-1].fields == columns("id:0 y:2 w:1")
        assert found.field_ids == {1: 2, 2: 1}


def test_a_name_that_several_columns_had_is_asked_about() -> None:
    ours = (
        *TARGET[:2],
        schema(2, "id:0 x:1", time=12),
        schema(3, "id:0 q:1", time=13),
        schema(4, "id:0 q:1 x:2", time=14),
    )
    theirs = (*SOURCE, schema(2, "id:0 w:1", time=21))
    found = merged(SOURCE[-1], ours, theirs)
    (conflict,) = found.conflicts
    assert (conflict.kind, conflict.subject.name) == (ConflictKind.COLUMN, "x")
    assert "cannot be told" in conflict.advice
    known = merged(SOURCE[-1], ours, theirs, KNOWN)
    assert known.schemas[-1].fields == columns("id:0 q:1 w:2")


def test_what_the_base_has_by_ids_of_a_third_branch_counts_as_added() -> None:
    third = replace(schema(1, "id:0 x:1 t:2"), time_millis=30)
    ours, theirs = (FIRST, schema(1, "id:0 t:1 x:2", time=10)), (*SOURCE,)
    found = mapped(third, ours, theirs)
    assert found.base == FIRST.fields
    assert dict(found.to_target) == {1: 2}
    assert merged(third, ours, theirs).schemas[-1].fields == columns("id:0 t:1 x:2")


def test_known_ids_of_shared_columns_are_left_alone() -> None:
    found = mapped(FIRST, TARGET[:2], SOURCE, {0: 7, 1: 5})
    assert dict(found.to_target) == {1: 5}
    assert found.highest == 5


def test_a_known_column_is_not_paired_again_by_its_name() -> None:
    ours = (*TARGET, schema(4, "id:0 y:1 q:2 x:3", time=12))
    found = merged(SOURCE[-1], ours, SOURCE, KNOWN)
    assert (found.schemas, found.final_id, found.field_ids) == ((), 4, KNOWN)


def test_a_field_of_a_new_row_is_no_column_of_its_name() -> None:
    inner = DataField(id=2, name="y", type=INT)
    at = DataField(id=1, name="at", type=RowType(fields=(inner,)))
    theirs = replace(SOURCE[-1], fields=(*FIRST.fields, at), highest_field_id=2)
    found = mapped(FIRST, TARGET[:2], (FIRST, theirs))
    assert dict(found.to_target) == {1: 2, 2: 3}
