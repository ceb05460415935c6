"""Schemas of two branches merged: columns by field id, options by key, and ids of the target."""

from dataclasses import replace

import pytest

from branch_console.diff.three_way import ThreeWay
from branch_console.errors import NotFound
from branch_console.format.data_types import ArrayType, DataField, RowType, parse_data_type
from branch_console.format.options import Options
from branch_console.format.table_schema import CURRENT_VERSION, TableSchema
from branch_console.merge.conflict import Conflict, ConflictKind, Take
from branch_console.merge.schema_merge import SchemaMerge, merge_schemas

NOW = 1_700_000_000_000
OURS_TIME, THEIRS_TIME = 10, 20


def column(number: int, name: str, kind: object = "INT", **more: str) -> DataField:
    return DataField(id=number, name=name, type=parse_data_type(kind), **more)


def row(*fields: tuple[int, str, object]) -> dict[str, object]:
    return {
        "type": "ROW",
        "fields": [{"id": each, "name": name, "type": kind} for each, name, kind in fields],
    }


def array(element: object) -> dict[str, object]:
    return {"type": "ARRAY", "element": element}


def highest(fields: tuple[DataField, ...]) -> int:
    inner = [
        each.type.element if isinstance(each.type, ArrayType) else each.type for each in fields
    ]
    rows = [highest(each.fields) for each in inner if isinstance(each, RowType)]
    return max(*(each.id for each in fields), *rows, 0)


ID, NAME, AMOUNT = column(0, "id"), column(1, "name", "STRING"), column(2, "amount")
BASE = TableSchema(
    id=0,
    fields=(ID, NAME, AMOUNT),
    highest_field_id=2,
    partition_keys=(),
    primary_keys=(),
    options=Options({"bucket": "4", "owner": "me"}),
    comment="flights",
)


def of(*fields: DataField, base: TableSchema = BASE, **more: object) -> TableSchema:
    """The schema that one branch made next."""
    changes: dict[str, object] = {"id": base.id + 1, **more}
    if fields:
        changes |= {
            "fields": fields,
            "highest_field_id": max(base.highest_field_id, highest(fields)),
        }
    return replace(base, **changes)  # type: ignore[arg-type]


def merge(
    ours: TableSchema = BASE,
    theirs: TableSchema = BASE,
    *,
    base: TableSchema = BASE,
    used: frozenset[int] | None = None,
    wrote: str = "ours theirs",
    strict: bool = False,
    **more: object,
) -> SchemaMerge:
    """Merge two branches that made one schema each, or none, since the base."""
    ours = ours if ours is base else replace(ours, time_millis=OURS_TIME)
    theirs = theirs if theirs is base else replace(theirs, time_millis=THEIRS_TIME)
    given: dict[str, object] = {
        "target_schemas": {base.id: base, ours.id: ours},
        "source_schemas": {base.id: base, theirs.id: theirs},
        "used_ids": frozenset({theirs.id}) if used is None else used,
        "ours_wrote": "ours" in wrote,
        "theirs_wrote": "theirs" in wrote,
        "strict": strict,
        "table": "db.t",
        "time_millis": NOW,
    }
    sides = ThreeWay(base=base, ours=ours, theirs=theirs)
    return merge_schemas(sides, **{**given, **more})  # type: ignore[arg-type]


def final(merged: SchemaMerge) -> TableSchema:
    assert merged.conflicts == ()
    return merged.schemas[-1]


def only_conflict(merged: SchemaMerge) -> Conflict:
    (conflict,) = merged.conflicts
    assert (merged.schemas, merged.id_map, merged.field_ids) == ((), {}, {})
    assert conflict.subject.table == "db.t"
    assert conflict.advice.endswith(".")
    return conflict


def told(conflict: Conflict) -> tuple[str, str, str]:
    return conflict.sides.base, conflict.sides.ours, conflict.sides.theirs


class TestIds:
    """Which schemas are published, with which ids."""

    def test_nothing_changed_publishes_nothing(self) -> None:
        merged = merge()
        assert merged == SchemaMerge(schemas=(), final_id=0, id_map={0: 0}, field_ids={})

    def test_what_only_the_target_did_stays_its_schema(self) -> None:
        merged = merge(of(ID, NAME), used=frozenset({0}), wrote="")
        assert (merged.schemas, merged.final_id, merged.id_map) == ((), 1, {0: 0})

    def test_the_schema_of_the_source_becomes_the_final_one(self) -> None:
        theirs = of(ID, NAME, AMOUNT, column(3, "note"))
        merged = merge(theirs=theirs)
        assert final(merged) == replace(theirs, time_millis=NOW)
        assert (merged.final_id, merged.id_map) == (1, {1: 1})
        assert len(merged.schemas) == 1

    def test_two_different_schemas_of_one_id_are_registered_behind_each_other(self) -> None:
        merged = merge(
            of(ID, NAME, AMOUNT, column(3, "note")), of(ID, NAME, AMOUNT, column(3, "price"))
        )
        hidden, visible = merged.schemas
        assert (hidden.id, visible.id, merged.final_id) == (2, 3, 3)
        assert hidden.fields == (ID, NAME, AMOUNT, column(4, "price"))
        assert visible.fields == (ID, NAME, AMOUNT, column(3, "note"), column(4, "price"))
        assert {each.highest_field_id for each in merged.schemas} == {4}
        assert {each.time_millis for each in merged.schemas} == {NOW}
        assert (merged.id_map, merged.field_ids) == ({1: 2}, {3: 4})

    def test_a_schema_that_no_file_uses_is_not_registered(self) -> None:
        merged = merge(
            of(ID, NAME, AMOUNT, column(3, "note")),
            of(ID, NAME, AMOUNT, column(3, "price")),
            used=frozenset({0}),
        )
        assert [each.id for each in merged.schemas] == [2]
        assert merged.id_map == {0: 0}

    def test_equal_content_is_reused(self) -> None:
        grown = of(ID, NAME, AMOUNT, column(3, "note"))
        merged = merge(grown, grown)
        assert (merged.schemas, merged.final_id, merged.id_map) == ((), 1, {1: 1})

    def test_a_used_schema_in_between_is_hidden_though_the_final_one_lacks_its_column(self) -> None:
        passing = replace(of(ID, NAME, AMOUNT, column(3, "passing")), time_millis=7)
        theirs = replace(of(ID, NAME, AMOUNT, base=passing), time_millis=8)
        merged = merge(
            theirs=theirs,
            used=frozenset({1, 2}),
            source_schemas={0: BASE, 1: passing, 2: theirs},
        )
        hidden, visible = merged.schemas
        assert merged.id_map == {1: 1, 2: 0}
        assert hidden.fields == passing.fields
        # The latest schema counts on behind the hidden column: its id is never given again.
        assert (visible.fields, visible.highest_field_id) == (BASE.fields, 3)
        assert merged.final_id == 2

    def test_two_used_schemas_of_one_content_are_registered_once(self) -> None:
        note = column(3, "note")
        first = replace(of(ID, NAME, AMOUNT, note), time_millis=7)
        second = replace(of(ID, NAME, note, base=first), time_millis=8)
        third = replace(first, id=3, time_millis=9)
        merged = merge(
            of(ID, NAME, AMOUNT, column(3, "price")),
            third,
            used=frozenset({1, 3}),
            source_schemas={0: BASE, 1: first, 2: second, 3: third},
        )
        assert merged.id_map == {1: 2, 3: 2}
        assert [each.id for each in merged.schemas] == [2, 3]

    def test_new_schemas_come_after_hidden_ones_of_the_target(self) -> None:
        ours = replace(BASE, id=5, comment="x", time_millis=3)
        merged = merge(
            ours,
            of(ID, NAME, AMOUNT, column(3, "note")),
            target_schemas={0: BASE, 4: replace(BASE, id=4, highest_field_id=8), 5: ours},
        )
        hidden, visible = merged.schemas
        assert (hidden.id, visible.id) == (6, 7)
        assert visible.fields[-1] == column(9, "note")

    def test_an_old_version_is_written_as_the_current_one(self) -> None:
        theirs = replace(of(ID, NAME), version=1)
        assert final(merge(theirs=theirs, wrote="")).version == CURRENT_VERSION

    def test_a_used_schema_must_exist(self) -> None:
        with pytest.raises(NotFound, match="9"):
            merge(used=frozenset({9}))

    def test_nested_columns_get_new_ids_too(self) -> None:
        merged = merge(
            of(ID, NAME, AMOUNT, column(3, "at", row((4, "x", "INT")))),
            of(ID, NAME, AMOUNT, column(3, "by", array(row((4, "x", "INT"))))),
        )
        assert final(merged).fields[3:] == (
            column(3, "at", row((4, "x", "INT"))),
            column(5, "by", array(row((6, "x", "INT")))),
        )
        assert merged.field_ids == {3: 5, 4: 6}


class TestColumns:
    """Columns by field id."""

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    @pytest.mark.parametrize(
        ("ours", "theirs", "expected"),
        [
            pytest.param((NAME, AMOUNT), None, (NAME, AMOUNT), id="drop"),
            pytest.param((ID, NAME), (NAME, AMOUNT), (NAME,), id="drop of two"),
            pytest.param((ID, NAME), (ID, NAME), (ID, NAME), id="drop of one"),
            pytest.param(
                (column(0, "key"), NAME, AMOUNT),
                (ID, column(1, "title", "STRING"), AMOUNT),
                (column(0, "key"), column(1, "title", "STRING"), AMOUNT),
                id="renames",
            ),
            pytest.param(
                (ID, column(1, "label", "STRING"), AMOUNT),
                (ID, column(1, "label", "STRING"), AMOUNT),
                (ID, column(1, "label", "STRING"), AMOUNT),
                id="one rename",
            ),
            pytest.param(
                (column(0, "key"), NAME, AMOUNT),
                (column(0, "id", "BIGINT"), NAME, AMOUNT),
                (column(0, "key", "BIGINT"), NAME, AMOUNT),
                id="rename and type",
            ),
            pytest.param(
                (column(0, "id", description="x"), NAME, AMOUNT),
                (column(0, "id", default_value="7"), NAME, AMOUNT),
                (column(0, "id", description="x", default_value="7"), NAME, AMOUNT),
                id="comment and default",
            ),
            pytest.param(
                (column(0, "id", "INT NOT NULL"), NAME, AMOUNT),
                None,
                (column(0, "id", "INT NOT NULL"), NAME, AMOUNT),
                id="no more nulls",
            ),
            pytest.param((AMOUNT, ID, NAME), None, (AMOUNT, ID, NAME), id="move"),
            pytest.param((AMOUNT, ID, NAME), (AMOUNT, ID, NAME), (AMOUNT, ID, NAME), id="one move"),
            pytest.param((AMOUNT, ID, NAME), (ID, AMOUNT), (AMOUNT, ID), id="a move and a drop"),
        ],
    )
    def test_changes_that_both_stand(
        self,
        swap: bool,
        ours: tuple[DataField, ...],
        theirs: tuple[DataField, ...] | None,
        expected: tuple[DataField, ...],
    ) -> None:
        sides = [of(*ours), BASE if theirs is None else of(*theirs)]
        merged = merge(*reversed(sides) if swap else sides, wrote="", used=frozenset())
        result = merged.schemas[-1] if merged.schemas else sides[1 if swap else 0]
        assert (merged.conflicts, merged.notes) == ((), ())
        assert result.fields == expected

    def test_a_column_added_on_both_sides_is_one(self) -> None:
        merged = merge(
            of(ID, NAME, AMOUNT, column(3, "x"), column(4, "note", "STRING")),
            of(ID, NAME, AMOUNT, column(3, "note", "STRING", default_value="-")),
        )
        hidden, visible = merged.schemas
        assert merged.field_ids == {3: 4}
        assert hidden.fields[-1] == column(4, "note", "STRING", default_value="-")
        assert visible.fields[3:] == (
            column(3, "x"),
            column(4, "note", "STRING", default_value="-"),
        )

    def test_a_row_added_on_both_sides_is_one_with_its_fields(self) -> None:
        ours = of(ID, column(3, "x"), column(4, "at", row((5, "a", "INT"), (6, "b", "INT"))))
        theirs = of(ID, column(3, "at", row((4, "a", "INT"), (5, "b", "INT"))))
        merged = merge(ours, theirs, wrote="")
        assert merged.field_ids == {3: 4, 4: 5, 5: 6}
        assert final(merged).fields == ours.fields

    @pytest.mark.parametrize(("ours", "theirs"), [("INT", "STRING"), ("INT", "INT NOT NULL")])
    def test_one_name_with_two_types_is_no_column(self, ours: str, theirs: str) -> None:
        conflict = only_conflict(
            merge(
                of(ID, NAME, AMOUNT, column(3, "note", ours)),
                of(ID, NAME, AMOUNT, column(3, "note", theirs)),
                wrote="",
            )
        )
        assert (conflict.kind, conflict.rule) == (ConflictKind.COLUMN_TYPE, "M6.1")
        assert (conflict.subject.name, conflict.settle_with) == ("note", ())
        assert told(conflict) == ("none", f"note {ours}", f"note {theirs}")

    def test_renamed_on_both_it_has_the_name_of_the_source(self) -> None:
        sides = (of(column(0, "ours"), NAME, AMOUNT), of(column(0, "theirs"), NAME, AMOUNT))
        merged = merge(*sides)
        assert final(merged).fields[0] == column(0, "theirs")
        assert merged.notes == (
            "Column 'id' was renamed on both sides: it becomes 'theirs', as on the source; 'ours' "
            "is gone.",
        )
        conflict = only_conflict(merge(*sides, strict=True))
        assert (conflict.kind, conflict.subject.name) == (ConflictKind.COLUMN_NAME, "id")
        assert told(conflict) == ("id", "ours", "theirs")
        settled = merge(*sides, strict=True, settled={conflict.id: Take.OURS})
        assert final(settled).fields[0] == column(0, "ours")
        assert settled.notes == ("id: settled with ours.",)

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_a_rename_into_an_occupied_name(self, swap: bool) -> None:
        sides = [of(column(0, "note"), NAME, AMOUNT), of(ID, NAME, AMOUNT, column(3, "note"))]
        conflict = only_conflict(merge(*reversed(sides) if swap else sides))
        assert (conflict.kind, conflict.rule) == (ConflictKind.COLUMN_NAME, "M6")
        assert (conflict.subject.name, conflict.settle_with) == ("note", ())
        words = ["note INT", "id INT, note INT"]
        assert told(conflict) == ("id INT", *(reversed(words) if swap else words))

    @pytest.mark.parametrize(
        ("ours", "wrote", "did"),
        [
            (BASE, "ours", "written"),
            (of(ID, NAME, column(2, "amount", "BIGINT")), "", "altered"),
        ],
        ids=["written", "altered"],
    )
    def test_dropped_on_the_source_it_is_dropped(
        self, ours: TableSchema, wrote: str, did: str
    ) -> None:
        merged = merge(ours, of(ID, NAME), wrote=wrote)
        assert final(merged).fields == (ID, NAME)
        assert merged.notes == (
            f"Column 'amount' was dropped on the source and {did} on the target: it is dropped.",
        )
        conflict = only_conflict(merge(ours, of(ID, NAME), wrote=wrote, strict=True))
        assert (conflict.kind, conflict.rule) == (ConflictKind.COLUMN, "M6")
        assert conflict.settle_with == (Take.OURS, Take.THEIRS)
        kept = merge(ours, of(ID, NAME), wrote=wrote, strict=True, settled={conflict.id: Take.OURS})
        assert (kept.schemas[-1] if kept.schemas else ours).fields == ours.fields

    def test_dropped_on_the_target_it_stays_dropped(self) -> None:
        merged = merge(of(ID, NAME), wrote="theirs")
        assert (merged.schemas, merged.final_id) == ((), 1)
        assert merged.notes == (
            "Column 'amount' was dropped on the target and written on the source: it stays "
            "dropped.",
        )
        conflict = only_conflict(merge(of(ID, NAME), wrote="theirs", strict=True))
        assert told(conflict) == ("amount INT", "dropped", "written")
        back = merge(of(ID, NAME), wrote="theirs", strict=True, settled={conflict.id: Take.THEIRS})
        assert final(back).fields == BASE.fields

    def test_dropped_on_the_target_and_altered_on_the_source(self) -> None:
        sides = (of(ID, NAME), of(ID, NAME, column(2, "total")))
        conflict = only_conflict(merge(*sides, wrote=""))
        assert (conflict.kind, conflict.subject.name) == (ConflictKind.COLUMN, "total")
        assert told(conflict) == ("amount INT", "dropped", "total INT")
        back = merge(*sides, settled={conflict.id: Take.THEIRS})
        assert final(back).fields == (ID, NAME, column(2, "total"))
        gone = merge(*sides, settled={conflict.id: Take.OURS})
        assert (gone.schemas[-1] if gone.schemas else sides[0]).fields == (ID, NAME)

    def test_no_column_is_left(self) -> None:
        base = replace(BASE, fields=(ID, NAME))
        conflict = only_conflict(merge(of(ID, base=base), of(NAME, base=base), base=base, wrote=""))
        assert (conflict.kind, conflict.subject.name) == (ConflictKind.COLUMN, None)
        assert told(conflict) == ("id, name", "id", "name")

    def test_two_defaults_are_a_conflict(self) -> None:
        sides = (
            of(column(0, "id", default_value="1"), NAME, AMOUNT),
            of(column(0, "id", default_value="2"), NAME, AMOUNT),
        )
        conflict = only_conflict(merge(*sides))
        assert told(conflict) == ("no default", "default '1'", "default '2'")
        for take, value in ((Take.OURS, "1"), (Take.THEIRS, "2")):
            settled = merge(*sides, used=frozenset(), settled={conflict.id: take})
            result = settled.schemas[-1] if settled.schemas else sides[0]
            assert result.fields[0].default_value == value

    def test_two_comments_are_settled_by_the_source(self) -> None:
        sides = (
            of(column(0, "id", description="a"), NAME, AMOUNT),
            of(column(0, "id", description="b"), NAME, AMOUNT),
        )
        merged = merge(*sides)
        assert final(merged).fields[0].description == "b"
        assert len(merged.notes) == 1
        conflict = only_conflict(merge(*sides, strict=True))
        assert told(conflict) == ("no comment", "comment 'a'", "comment 'b'")

    def test_two_orders_are_settled_by_the_source(self) -> None:
        sides = (of(AMOUNT, ID, NAME), of(NAME, ID, AMOUNT))
        merged = merge(*sides)
        assert final(merged).fields == (NAME, ID, AMOUNT)
        assert len(merged.notes) == 1
        conflict = only_conflict(merge(*sides, strict=True))
        assert told(conflict) == ("id, name, amount", "amount, id, name", "name, id, amount")

    @pytest.mark.parametrize(
        ("ours", "theirs", "expected"),
        [
            ("0 1 2 3", "0 1 2 9", "0 1 2 3 9"),
            ("0 1 2 3", "0 9 1 2", "0 9 1 2 3"),
            ("0 1 2 3", "9 0 1 2", "9 0 1 2 3"),
            ("3 0 1 2", "0 1 2 9", "3 0 1 2 9"),
            ("2 1 0", "0 9 1 2", "2 1 0 9"),
            ("0 1 3 2", "2 0 1 9", "2 0 1 3 9"),
        ],
    )
    def test_new_columns_keep_their_neighbours(self, ours: str, theirs: str, expected: str) -> None:
        names = {each.id: each for each in BASE.fields}

        def fields(order: str, new: int) -> tuple[DataField, ...]:
            return tuple(names.get(int(each), column(new, f"new{each}")) for each in order.split())

        merged = merge(of(*fields(ours, 3)), of(*fields(theirs, 3)), wrote="")
        order = [each.name.removeprefix("new") for each in final(merged).fields]
        found = [{"id": "0", "name": "1", "amount": "2"}.get(each, each) for each in order]
        assert " ".join(found) == expected


ADDRESS = column(3, "address", row((4, "street", "STRING"), (5, "zip", "INT")))
WITH_ROW = replace(BASE, fields=(ID, ADDRESS), highest_field_id=5)


class TestNestedColumns:
    """Rows inside rows and collections, merged by field id as columns are."""

    @pytest.mark.parametrize("wrap", [lambda kind: kind, array], ids=["row", "array of rows"])
    def test_fields_of_a_row_are_merged(self, wrap: object) -> None:
        def nested(*fields: tuple[int, str, object]) -> DataField:
            return column(3, "address", wrap(row(*fields)))  # type: ignore[operator]

        base = replace(
            BASE,
            fields=(ID, nested((4, "street", "STRING"), (5, "zip", "INT"))),
            highest_field_id=5,
        )
        merged = merge(
            of(ID, nested((4, "line", "STRING"), (5, "zip", "INT"), (6, "x", "INT")), base=base),
            of(
                ID,
                nested((4, "street", "STRING"), (5, "zip", "BIGINT"), (6, "y", "INT")),
                base=base,
            ),
            base=base,
        )
        expected = nested(
            (4, "line", "STRING"), (5, "zip", "BIGINT"), (6, "x", "INT"), (7, "y", "INT")
        )
        assert final(merged).fields == (ID, expected)
        assert merged.field_ids == {6: 7}

    def test_conflicts_inside_a_row_have_its_name(self) -> None:
        zips = (
            column(3, "address", row((4, "street", "STRING"), (5, "zip", "STRING"))),
            column(3, "address", row((4, "street", "STRING"), (5, "zip", "BOOLEAN"))),
        )
        conflict = only_conflict(
            merge(of(ID, zips[0], base=WITH_ROW), of(ID, zips[1], base=WITH_ROW), base=WITH_ROW)
        )
        assert conflict.subject.name == "address.zip"

    def test_parts_of_collections_are_merged(self) -> None:
        def pair(key: str, value: str) -> DataField:
            kind = {"type": "MAP", "key": key, "value": value}
            return column(1, "pair", kind)

        base = replace(BASE, fields=(ID, pair("INT", "INT")))
        merged = merge(
            of(ID, pair("INT", "BIGINT"), base=base),
            of(ID, pair("BIGINT", "INT"), base=base),
            base=base,
        )
        assert final(merged).fields[1] == pair("BIGINT", "BIGINT")

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_elements_that_forbid_null_after_the_other_side_wrote_some(self, swap: bool) -> None:
        base = replace(BASE, fields=(ID, column(1, "list", array("INT"))))
        sides = [of(ID, column(1, "list", array("INT NOT NULL")), base=base), base]
        if swap:
            sides.reverse()
        who = "ours" if swap else "theirs"
        conflict = only_conflict(merge(*sides, base=base, wrote=who))
        assert (conflict.kind, conflict.subject.name) == (ConflictKind.NOT_NULL, "list.element")
        assert merge(*sides, base=base, wrote="").conflicts == ()


class TestTypes:
    """Rule M6.1: a type widens and never narrows."""

    @staticmethod
    def merge_types(base: str, ours: str, theirs: str, wrote: str = "ours theirs") -> SchemaMerge:
        start = replace(BASE, fields=(column(0, "x", base),))
        return merge(
            of(column(0, "x", ours), base=start),
            of(column(0, "x", theirs), base=start),
            base=start,
            wrote=wrote,
            used=frozenset(),
        )

    @pytest.mark.parametrize(
        ("base", "ours", "theirs", "expected"),
        [
            ("INT", "INT", "BIGINT", "BIGINT"),
            ("INT", "BIGINT", "INT", "BIGINT"),
            ("INT", "BIGINT", "BIGINT", "BIGINT"),
            ("SMALLINT", "INT", "BIGINT", "BIGINT"),
            ("VARCHAR(2)", "VARCHAR(3)", "STRING", "STRING"),
            ("INT", "STRING", "STRING", "STRING"),
        ],
    )
    def test_the_wider_type_stands(self, base: str, ours: str, theirs: str, expected: str) -> None:
        merged = self.merge_types(base, ours, theirs)
        assert merged.conflicts == ()
        result = merged.schemas[-1].fields[0].type if merged.schemas else parse_data_type(ours)
        assert result == parse_data_type(expected)

    @pytest.mark.parametrize(
        ("base", "ours", "theirs", "settle_with"),
        [
            ("SMALLINT", "BIGINT", "INT", (Take.OURS,)),
            ("BIGINT", "BIGINT", "INT", (Take.OURS,)),
            ("BIGINT", "INT", "BIGINT", (Take.THEIRS,)),
            ("INT", "INT", "STRING", ()),
            ("INT", "STRING", "INT", ()),
            ("INT", "DOUBLE", "BIGINT", ()),
            ("DECIMAL(4, 2)", "DECIMAL(8, 2)", "DECIMAL(6, 4)", ()),
        ],
    )
    def test_types_that_are_a_conflict(
        self, base: str, ours: str, theirs: str, settle_with: tuple[Take, ...]
    ) -> None:
        conflict = only_conflict(self.merge_types(base, ours, theirs))
        assert (conflict.kind, conflict.rule) == (ConflictKind.COLUMN_TYPE, "M6.1")
        assert told(conflict) == (base, ours, theirs)
        assert (conflict.subject.name, conflict.settle_with) == ("x", settle_with)

    def test_a_type_that_holds_both_is_advised(self) -> None:
        merged = self.merge_types("DECIMAL(4, 2)", "DECIMAL(8, 2)", "DECIMAL(6, 4)")
        assert "DECIMAL(10, 4) holds the values of both" in only_conflict(merged).advice
        merged = self.merge_types("INT", "INT", "STRING")
        assert "No type holds both" in only_conflict(merged).advice

    @pytest.mark.parametrize("ours", ["INT", "STRING"])
    def test_the_target_may_narrow_where_the_source_wrote_nothing(self, ours: str) -> None:
        assert self.merge_types("BIGINT", ours, "BIGINT", wrote="ours").conflicts == ()

    def test_a_settled_type_is_the_wide_one(self) -> None:
        start = replace(BASE, fields=(column(0, "x", "BIGINT"),))
        narrow = of(column(0, "x", "INT"), base=start)
        conflict = only_conflict(merge(narrow, start, base=start))
        merged = merge(narrow, start, base=start, settled={conflict.id: Take.THEIRS})
        assert final(merged).fields == start.fields
        # What does not settle it is not taken.
        assert merge(narrow, start, base=start, settled={conflict.id: Take.OURS}).conflicts


STRICT_NEW = column(3, "must", "INT NOT NULL")
FILLED_NEW = column(3, "must", "INT NOT NULL", default_value="0")
STRICT_OLD = column(2, "amount", "INT NOT NULL")


class TestNulls:
    """Rule M6.2: columns that forbid null, and rows written without them."""

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    @pytest.mark.parametrize(
        "fields",
        [(ID, NAME, AMOUNT, STRICT_NEW), (ID, NAME, STRICT_OLD)],
        ids=["new column", "nullability"],
    )
    def test_rows_without_a_value_conflict(self, fields: tuple[DataField, ...], swap: bool) -> None:
        sides = [of(*fields), BASE]
        writer, other = ("ours", "theirs") if swap else ("theirs", "ours")
        sides = sides[::-1] if swap else sides
        conflict = only_conflict(merge(*sides, wrote=writer))
        assert (conflict.kind, conflict.rule) == (ConflictKind.NOT_NULL, "M6.2")
        assert conflict.subject.name == fields[-1].name
        assert f"The {'target' if swap else 'source'} wrote rows" in conflict.advice
        assert merge(*sides, wrote=other).conflicts == ()

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_a_default_fills_them(self, swap: bool) -> None:
        sides = [of(ID, NAME, AMOUNT, FILLED_NEW), BASE]
        merged = merge(*reversed(sides) if swap else sides)
        gaps = (merged.ours_gaps, merged.theirs_gaps)
        assert merged.conflicts == ()
        assert gaps == ((("must",), ()) if swap else ((), ("must",)))

    def test_nested_columns_are_asked_too(self) -> None:
        strict = column(3, "address", row((4, "street", "STRING"), (5, "zip", "INT NOT NULL")))
        conflict = only_conflict(
            merge(of(ID, strict, base=WITH_ROW), WITH_ROW, base=WITH_ROW, wrote="theirs")
        )
        assert (conflict.kind, conflict.subject.name) == (ConflictKind.NOT_NULL, "address.zip")

    def test_both_sides_may_forbid_null(self) -> None:
        strict = of(ID, NAME, STRICT_OLD)
        merged = merge(strict, strict)
        assert (merged.conflicts, merged.ours_gaps, merged.theirs_gaps) == ((), (), ())


class TestKeys:
    """Keys must be the same columns with the same types."""

    @pytest.mark.parametrize(
        ("changes", "what"),
        [
            ({"primary_keys": ("id",)}, "primary key"),
            ({"partition_keys": ("id",)}, "partition key"),
        ],
    )
    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_other_keys_conflict(self, changes: dict[str, object], what: str, swap: bool) -> None:
        sides = [of(**changes), BASE]  # type: ignore[arg-type]
        conflict = only_conflict(merge(*reversed(sides) if swap else sides))
        assert (conflict.kind, conflict.rule) == (ConflictKind.KEYS, "M10")
        assert told(conflict) == (("none", "none", "id") if swap else ("none", "id", "none"))
        assert what in conflict.advice

    @pytest.mark.parametrize("keys", ["primary_keys", "partition_keys"])
    def test_another_type_of_a_key_conflicts(self, keys: str) -> None:
        base = replace(BASE, **{keys: ("id",)})  # type: ignore[arg-type]
        theirs = of(column(0, "id", "BIGINT"), NAME, AMOUNT, base=base)
        assert only_conflict(merge(base, theirs, base=base)).kind is ConflictKind.KEYS

    def test_another_type_of_the_bucket_key_conflicts(self) -> None:
        base = replace(BASE, options=Options({"bucket": "2", "bucket-key": "id"}))
        theirs = of(column(0, "id", "BIGINT"), NAME, AMOUNT, base=base)
        assert only_conflict(merge(base, theirs, base=base)).kind is ConflictKind.KEYS

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_a_renamed_key_is_the_same(self, swap: bool) -> None:
        base = replace(BASE, primary_keys=("id", "name"), partition_keys=("name",))
        sides = [of(column(0, "key"), NAME, AMOUNT, base=base, primary_keys=("key", "name")), base]
        merged = merge(*reversed(sides) if swap else sides, base=base, used=frozenset())
        result = merged.schemas[-1] if merged.schemas else sides[0]
        assert (result.primary_keys, result.partition_keys) == (("key", "name"), ("name",))


def options(**changes: str | None) -> TableSchema:
    values = {**BASE.options, **{key.replace("_", "-"): value for key, value in changes.items()}}
    return of(options=Options({key: value for key, value in values.items() if value is not None}))


class TestOptions:
    """Rule P, per key."""

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    @pytest.mark.parametrize(
        ("ours", "theirs", "expected"),
        [
            ("me", "you", "you"),
            ("me", None, None),
            ("you", "you", "you"),
            (None, None, None),
        ],
    )
    def test_a_change_of_one_side_or_of_both_alike(
        self, swap: bool, ours: str | None, theirs: str | None, expected: str | None
    ) -> None:
        sides = [options(owner=ours), options(owner=theirs)]
        merged = merge(*reversed(sides) if swap else sides, used=frozenset())
        result = merged.schemas[-1] if merged.schemas else sides[1 if swap else 0]
        assert (merged.conflicts, result.options.get("owner")) == ((), expected)

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    @pytest.mark.parametrize(
        ("ours", "theirs"), [("you", "her"), ("you", None)], ids=["set x set", "set x unset"]
    )
    def test_two_changes_conflict(self, ours: str, theirs: str | None, swap: bool) -> None:
        sides = [options(owner=ours), options(owner=theirs)]
        sides = sides[::-1] if swap else sides
        conflict = only_conflict(merge(*sides))
        assert (conflict.kind, conflict.rule) == (ConflictKind.OPTION, "M7")
        assert conflict.subject.name == "owner"
        words = [side.options.get("owner", "unset") for side in sides]
        assert told(conflict) == ("me", *words)
        for take, side in ((Take.OURS, sides[0]), (Take.THEIRS, sides[1])):
            merged = merge(*sides, used=frozenset(), settled={conflict.id: take})
            result = merged.schemas[-1] if merged.schemas else sides[0]
            assert result.options == side.options

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    @pytest.mark.parametrize(
        "key",
        [
            "bucket",
            "merge-engine",
            "sequence.field",
            "bucket-key",
            "sequence.field.sort-order",
            "fields.amount.aggregate-function",
            "fields.default-aggregate-function",
        ],
    )
    def test_structure_may_not_differ_at_all(self, key: str, swap: bool) -> None:
        sides = [of(options=BASE.options.merged({key: "amount"})), BASE]
        if key == "bucket":
            sides[0] = options(bucket="8")
        found = merge(*reversed(sides) if swap else sides).conflicts
        (conflict,) = [each for each in found if each.kind is ConflictKind.OPTION]
        assert (conflict.subject.name, conflict.settle_with) == (key, ())

    def test_structure_may_change_on_both_alike(self) -> None:
        assert merge(options(bucket="8"), options(bucket="8")).conflicts == ()

    def test_deletion_vectors_are_structure_of_tables_with_a_key(self) -> None:
        base = replace(BASE, primary_keys=("id",))
        changes = {"deletion-vectors.enabled": "true"}
        theirs = of(base=base, options=base.options.merged(changes))
        assert only_conflict(merge(base, theirs, base=base)).kind is ConflictKind.OPTION
        theirs = of(options=BASE.options.merged(changes))
        assert final(merge(theirs=theirs)).options == theirs.options

    def test_an_aggregate_of_a_new_column_comes_with_it(self) -> None:
        key = "fields.total.aggregate-function"
        theirs = of(ID, NAME, AMOUNT, column(3, "total"), options=BASE.options.merged({key: "sum"}))
        assert final(merge(theirs=theirs)).options[key] == "sum"
        ours = of(ID, NAME, AMOUNT, column(3, "x"), column(4, "total"))
        assert final(merge(ours, theirs)).options[key] == "sum"

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_options_follow_a_renamed_column(self, swap: bool) -> None:
        before = {
            "sequence.field": "amount, id",
            "fields.amount.ignore-retract": "true",
            "fields.amount.sequence-group": "name",
        }
        after = {
            "sequence.field": "total, id",
            "fields.total.ignore-retract": "true",
            "fields.total.sequence-group": "name",
        }
        base = replace(BASE, options=Options(before))
        renamed = of(ID, NAME, column(2, "total"), base=base, options=Options(after))
        other = of(base=base, options=base.options.merged({"owner": "you"}))
        sides = [other, renamed] if swap else [renamed, other]
        merged = merge(*sides, base=base)
        assert final(merged).options == {**after, "owner": "you"}

    def test_an_option_goes_with_its_column(self) -> None:
        ours = of(options=BASE.options.merged({"fields.amount.ignore-retract": "true"}))
        merged = merge(ours, of(ID, NAME), wrote="")
        assert final(merged).options == BASE.options
        assert merged.notes == ("Option 'fields.amount.ignore-retract' goes with its column.",)

    @pytest.mark.parametrize("swap", [False, True], ids=["as written", "mirrored"])
    def test_the_structure_of_a_dropped_column_goes_with_it(self, swap: bool) -> None:
        changes = {
            "fields.amount.aggregate-function": "sum",
            "fields.id.sequence-group": "name,amount",
        }
        base = replace(BASE, options=Options(changes))
        dropped = of(ID, NAME, base=base, options=Options({"fields.id.sequence-group": "name"}))
        sides = [dropped, base] if swap else [base, dropped]
        merged = merge(*sides, base=base, wrote="", used=frozenset())
        result = merged.schemas[-1] if merged.schemas else sides[0]
        assert (merged.conflicts, result.options) == ((), dropped.options)

    def test_a_sequence_group_without_columns_is_none(self) -> None:
        changes = {"fields.group.sequence-group": "name"}
        ours = of(ID, NAME, AMOUNT, column(3, "group"), options=BASE.options.merged(changes))
        merged = merge(ours, of(ID, AMOUNT), wrote="")
        assert final(merged).options == BASE.options
        assert merged.notes == ("Option 'fields.group.sequence-group' goes with its column.",)

    @pytest.mark.parametrize(
        "key",
        [
            "branch",
            "scan.fallback-branch",
            "scan.primary-branch",
            "snapshot.num-retained.min",
            "snapshot.time-retained",
            "snapshot.expire.limit",
            "changelog.time-retained",
            "tag.num-retained-max",
            "write-only",
        ],
    )
    def test_options_of_one_branch_stay_with_it(self, key: str) -> None:
        changed = of(options=BASE.options.merged({key: "1"}))
        merged = merge(theirs=changed, used=frozenset())
        assert merged.schemas == ()
        assert merged.notes == (
            f"Option '{key}' is about the source branch itself: it is not merged.",
        )
        kept = merge(changed, used=frozenset())
        assert (kept.schemas, kept.final_id, kept.notes) == ((), 1, ())
        conflict = only_conflict(merge(theirs=changed, strict=True))
        assert told(conflict) == ("unset", "unset", "1")
        taken = merge(theirs=changed, strict=True, settled={conflict.id: Take.THEIRS})
        assert final(taken).options == changed.options

    def test_the_comment_of_the_table(self) -> None:
        assert final(merge(theirs=of(comment="x"))).comment == "x"
        sides = (of(comment="x"), of(comment="y"))
        merged = merge(*sides)
        assert (final(merged).comment, len(merged.notes)) == ("y", 1)
        conflict = only_conflict(merge(*sides, strict=True))
        assert told(conflict) == ("comment 'flights'", "comment 'x'", "comment 'y'")
        kept = merge(*sides, strict=True, used=frozenset(), settled={conflict.id: Take.OURS})
        assert (kept.schemas, kept.conflicts) == ((), ())
