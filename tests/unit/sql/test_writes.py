"""Statements that write, as users of Spark and Flink type them, and what is said of wrong ones."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.format.data_types import DataField, parse_data_type
from branch_console.sql.defaults import default_expression
from branch_console.sql.parser import parse_statements
from branch_console.sql.writes import WriteKind, parse_write


@pytest.mark.parametrize(
    ("partition", "values", "columns"),
    [
        ("()", {}, []),
        ("(g = 'x', h)", {"g": "x"}, ["g", "h"]),
        ("(h, G = 3)", {"G": 3}, ["h", "G"]),
        ("(g, h)", None, ["g", "h"]),
        ("(g = 'x', h = NULL)", {"g": "x", "h": None}, ["g", "h"]),
    ],
)
def test_a_partition_gives_values_to_some_of_its_columns(
    partition: str, values: dict[str, object] | None, columns: list[str]
) -> None:
    found = parse_write(f"INSERT OVERWRITE d.t PARTITION {partition} SELECT 1")
    assert found.partition == values
    assert [each.name for each in found.partition_columns] == columns


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ("VALUES (1, DEFAULT)", [1]),
        ("VALUES (default, upper('x'), 'DEFAULT'), (2, 'x', Default)", [0, 2]),
        ("VALUES (CASE WHEN true THEN 1 END, DEFAULT)", [1]),
        ("VALUES (array(1, 2), (3, 4), DEFAULT)", [2]),
        ("SELECT t.default, `default` FROM d.t", []),
    ],
)
def test_a_row_asks_for_the_default_of_a_column(rows: str, columns: list[int]) -> None:
    found = parse_write(f"INSERT INTO d.t {rows}")
    assert list(found.defaults.values()) == columns
    given = found.query.replacing({at: f"<{number}>" for at, number in found.defaults.items()})
    written = given.over(["u"] * len(given.references)).text
    assert all(f"<{number}>" in written for number in columns), written
    assert "NULL" not in written


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE d.t SET v = DEFAULT, w = 1 WHERE k = 1",
        "MERGE INTO d.t USING d.s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = default, w = 1",
    ],
)
def test_an_update_asks_for_the_default_of_a_column(text: str) -> None:
    found = parse_write(text)
    clauses = () if found.merge is None else found.merge.clauses
    values = found.assignments or clauses[0].values or ()
    assert [(column.name, part is None) for column, part in values] == [("v", True), ("w", False)]


@pytest.mark.parametrize(
    ("kind", "default", "expression"),
    [
        ("INT", None, "NULL"),
        ("INT NOT NULL", "7", "CAST('7' AS INT)"),
        ("VARCHAR(8)", "it's", "'it\\'s'"),
        ("DECIMAL(8, 2)", "1.50", "CAST('1.50' AS DECIMAL(8, 2))"),
        ("TIMESTAMP(3)", "2026-01-31 12:00:00", "CAST('2026-01-31 12:00:00' AS TIMESTAMP_NTZ)"),
        ("BYTES", "ab", "CAST('ab' AS BINARY)"),
    ],
)
def test_a_default_is_an_expression_of_the_type_of_its_column(
    kind: str, default: str | None, expression: str
) -> None:
    field = DataField(id=0, name="c", type=parse_data_type(kind), default_value=default)
    assert default_expression(field) == expression


@pytest.mark.parametrize(
    ("text", "values"),
    [("TRUNCATE TABLE d.t", {}), ("TRUNCATE TABLE d.t PARTITION (g = 'x')", {"g": "x"})],
)
def test_truncate_puts_no_row_in_the_place_of_all(text: str, values: dict[str, str]) -> None:
    found = parse_write(text)
    assert (found.kind, found.partition) == (WriteKind.OVERWRITE, values)
    assert found.query.text.endswith("FROM d.t WHERE false")


@pytest.mark.parametrize("words", ["", "EXTENDED", "FORMATTED", "COST", "PLAN FOR"])
def test_a_plan_is_asked_for_in_the_words_of_spark_and_flink(words: str) -> None:
    (found,) = parse_statements(f"EXPLAIN {words} SELECT 1")
    assert found.procedure == "query"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ALTER TABLE d.t SET k = 'v'", "column 21: found 'k' after SET; expected ('key'"),
        ("ALTER TABLE d.t RESET k", "column 23: found 'k' after RESET; expected ('key')"),
        ("ALTER TABLE d.t RENAME u", "column 24: found 'u' after RENAME; expected TO or COLUMN"),
        ("ALTER TABLE d.t DROP PARTITION (a = 1)", "'PARTITION' after DROP; expected COLUMN"),
        ("ALTER TABLE d.t ALTER COLUMN c DROP", "the end after DROP; expected NOT NULL"),
        ("DELETE d.t WHERE a = 1", "column 8: found 'd' after DELETE; expected FROM"),
        ("INSERT d.t VALUES (1)", "found 'd' after INSERT; expected INTO or OVERWRITE"),
        ("TRUNCATE d.t", "found 'd' after TRUNCATE; expected TABLE"),
        ("TRUNCATE TABLE d.t PARTITION ()", "removed from a partition by its values"),
        ("TRUNCATE TABLE d.t PARTITION (g)", "removed from a partition by its values"),
        ("DROP d.t", "found 'd' after DROP; expected TABLE, DATABASE or BRANCH"),
        ("USE d", "found 'd' after USE; expected BRANCH"),
        ("SHOW CREATE d.t", "found 'd' after CREATE; expected TABLE"),
    ],
)
def test_no_error_names_as_missing_what_stands_there(text: str, told: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_statements(text)
    assert told in error.value.message


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO d.t {} VALUES (1)",
        "INSERT OVERWRITE d.t {} PARTITION (a = 1) SELECT 1",
        "UPDATE d.t {} AS x SET a = 1",
        "DELETE FROM d.t {}",
        "MERGE INTO d.t {} USING d.s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "TRUNCATE TABLE d.t {}",
    ],
)
def test_a_statement_says_why_it_goes_on_without_callbacks(text: str) -> None:
    assert parse_write(text.format("")).target.without_callbacks is None
    hint = "/*+ OPTIONS('without-callbacks' = 'by hand', 'branch' = 'dev') */"
    found = parse_write(text.format(hint)).target
    assert (found.without_callbacks, found.identifier.branch) == ("by hand", "dev")
    with pytest.raises(InvalidInput, match="'without-callbacks' needs a reason as its value"):
        parse_write(text.format("/*+ OPTIONS('without-callbacks' = ' ') */"))
