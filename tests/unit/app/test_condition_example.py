"""The example in the filter of compared rows."""

from branch_console_app.models.compare.rows import condition_example
from tests.console.pretend import schema


def test_the_example_names_a_number_of_the_table_that_is_no_key() -> None:
    assert condition_example(schema(keys=("flight",))) == "dep_delay > 60"
    wind = schema(columns={"origin": "STRING", "wind speed": "DOUBLE", "gust": "DOUBLE"})
    assert condition_example(wind) == "gust > 60"


def test_a_table_without_such_a_number_is_asked_for_a_value() -> None:
    names = schema(columns={"id": "INT", "name": "STRING"}, keys=("id",))
    assert condition_example(names) == "name is not null"
