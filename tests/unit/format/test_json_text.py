import json

import pytest

from branch_console.errors import FormatError
from branch_console.format.json_text import JsonObject, to_pretty_json, without_nulls


def test_json_is_laid_out_as_paimons_writer_does() -> None:
    value = {"a": 1, "ключ": "wert", "b": [1, 2], "c": [], "d": {}, "e": [{"f": None}, {"g": "/"}]}
    assert to_pretty_json(value) == (
        '{\n  "a" : 1,\n  "ключ" : "wert",\n  "b" : [ 1, 2 ],\n  "c" : [ ],\n  "d" : { },\n'
        '  "e" : [ {\n    "f" : null\n  }, {\n    "g" : "/"\n  } ]\n}'
    )
    assert json.loads(to_pretty_json(value)) == value


def test_absent_and_null_are_the_same() -> None:
    raw = JsonObject.parse('{"a": null}', "thing")
    assert raw.find("a", int) is raw.find("b", int) is None
    assert raw.texts("a") == ()
    assert raw.text_map("a") == {}
    assert without_nulls({"a": None, "b": 0, "c": ""}) == {"b": 0, "c": ""}


def test_values_of_a_map_of_text_become_text_as_in_java() -> None:
    raw = JsonObject.parse('{"a": {"x": "1", "y": true, "z": 2, "n": null}}', "thing")
    assert raw.text_map("a") == {"x": "1", "y": "true", "z": "2"}


@pytest.mark.parametrize("text", ["", "nothing", "[1]", '"a"', '{"a": 1'])
def test_text_that_is_no_object_names_what_it_should_be(text: str) -> None:
    with pytest.raises(FormatError, match="The thing is not"):
        JsonObject.parse(text, "thing")


@pytest.mark.parametrize("depth", [251, 900, 100_000])
def test_text_that_is_too_deep_says_so(depth: int) -> None:
    for text in (
        f'{{"a": {"[" * (depth - 1)}{"]" * (depth - 1)}}}',
        '{"a": ' * depth + "1" + "}" * depth,
    ):
        with pytest.raises(FormatError, match="The thing is nested more than 250 levels deep"):
            JsonObject.parse(text, "thing")
    JsonObject.parse('{"a": ' * 250 + "1" + "}" * 250, "thing")


@pytest.mark.parametrize("text", ["true", "1.0", '"1"', "[]", "9223372036854775808", "1" * 5000])
def test_what_is_no_64_bit_number_is_none(text: str) -> None:
    with pytest.raises(FormatError, match="The thing"):
        JsonObject.parse(f'{{"a": {text}}}', "thing").get("a", int)
