from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branch_console.errors import FormatError, InvalidInput
from branch_console.format.data_types import DataType, data_type_to_json, parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.format.lineage_event import LineageEvent
from branch_console.format.receipt import Receipt
from branch_console.format.snapshot import Snapshot
from branch_console.format.table_schema import TableSchema
from branch_console.format.tag import Tag
from branch_console.format.values.arrow_types import to_arrow
from tests.property.format.strategies import (
    broken,
    declared_types,
    lineage_events,
    receipts,
    snapshots,
    table_schemas,
    tags,
)


def _read_tag(text: str | bytes) -> Tag:
    return Tag.from_json("a tag", text)


KINDS: list[Any] = [
    pytest.param(table_schemas(), TableSchema.from_json, id="schema"),
    pytest.param(snapshots, Snapshot.from_json, id="snapshot"),
    pytest.param(lineage_events, LineageEvent.from_json, id="lineage event"),
    pytest.param(receipts, Receipt.from_json, id="receipt"),
    pytest.param(tags.map(lambda tag: _read_tag(tag.to_json())), _read_tag, id="tag"),
]


@pytest.mark.parametrize(("values", "read"), KINDS)
@given(data=st.data())
def test_values_come_back(
    values: st.SearchStrategy[Any], read: Callable[[str | bytes], Any], data: st.DataObject
) -> None:
    value = data.draw(values)
    assert read(value.to_json()) == value
    assert read(value.to_json()).to_json() == value.to_json()


@pytest.mark.parametrize(("values", "read"), KINDS)
@given(data=st.data())
def test_broken_texts_give_a_value_or_a_format_error(
    values: st.SearchStrategy[Any], read: Callable[[str | bytes], Any], data: st.DataObject
) -> None:
    text = data.draw(values).to_json().encode()
    with suppress(FormatError):
        read(data.draw(broken(text)))


@given(tags)
def test_tags_keep_their_times(tag: Tag) -> None:
    read = Tag.from_json(tag.name, tag.to_json())
    assert read == tag


@given(declared_types)
def test_types_come_back_and_have_an_arrow_type(data_type: DataType) -> None:
    assert parse_data_type(data_type_to_json(data_type)) == data_type
    assert to_arrow(data_type) is not None


@given(st.text(max_size=30))
def test_any_text_is_a_type_or_a_format_error(text: str) -> None:
    with suppress(FormatError):
        assert to_arrow(parse_data_type(text)) is not None


@given(st.text(max_size=30))
def test_any_text_is_a_name_that_comes_back_or_is_refused(text: str) -> None:
    with suppress(InvalidInput):
        identifier = Identifier.parse(text)
        assert Identifier.parse(identifier.full_name) == identifier
