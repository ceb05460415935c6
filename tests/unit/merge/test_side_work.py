"""What a side did to a table, as previews of many tables say it."""

import pytest

from branch_console.diff.schema_diff import ChangeKind, SchemaChange, SchemaVerdict
from branch_console.diff.table_operation import TableOperation
from branch_console.merge.side_work import SideWork, change_words
from tests.unit.merge.test_schema_merge import AMOUNT, BASE, ID, NAME, column, merge, of


def change(kind: ChangeKind) -> SchemaChange:
    return SchemaChange(
        kind=kind,
        subject="fare",
        before="price",
        after="fare",
        verdict=SchemaVerdict.COMPATIBLE,
        reason="",
    )


@pytest.mark.parametrize("kind", ChangeKind)
def test_each_change_of_a_schema_completes_the_source(kind: ChangeKind) -> None:
    words = change_words(change(kind))
    assert words.split()[0] in {"added", "dropped", "renamed", "moved", "changed", "set", "removed"}
    (operation,) = SideWork(schema=(change(kind),)).operations
    is_property = kind.startswith("option") or kind is ChangeKind.TABLE_COMMENT
    assert operation is (TableOperation.PROPERTIES if is_property else TableOperation.COLUMN)


def test_a_renamed_column_and_a_wider_one_are_told_by_their_names() -> None:
    merged = merge(of(ID, NAME, AMOUNT, column(3, "x")), of(column(0, "key", "BIGINT"), NAME))
    assert [change_words(each) for each in merged.did.theirs] == [
        "dropped column 'amount'",
        "renamed column 'id' to 'key'",
        "changed column 'key' from INT to BIGINT",
    ]
    assert [change_words(each) for each in merged.did.ours] == ["added column 'x'"]


def test_columns_that_got_one_id_on_both_sides_are_two() -> None:
    # The first merge brought 'fare' as id 4, as the target has given id 3 itself.
    base = of(ID, NAME, AMOUNT, column(3, "fare"))
    ours = of(ID, NAME, AMOUNT, column(3, "seats"), column(4, "fare"), id=2)
    theirs = of(ID, NAME, AMOUNT, column(3, "price"), id=2)
    merged = merge(
        ours,
        theirs,
        base=base,
        known_field_ids={3: 4},
        target_schemas={0: BASE, 2: ours},
        source_schemas={0: BASE, 1: base, 2: theirs},
    )
    (renamed,) = merged.did.theirs
    assert change_words(renamed) == "renamed column 'fare' to 'price'"
    assert [change_words(each) for each in merged.did.ours] == ["added column 'seats'"]


def test_what_collides_is_told_too() -> None:
    merged = merge(of(column(0, "a"), NAME, AMOUNT), of(NAME, AMOUNT), strict=True)
    assert merged.conflicts
    assert [change_words(each) for each in merged.did.theirs] == ["dropped column 'id'"]
