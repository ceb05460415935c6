"""Rule files: what is read from them, and the line of each thing that is wrong."""

from decimal import Decimal

import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.data_types import parse_data_type
from branch_console.format.identifier import Identifier
from branch_console.procedures.run.rule_evaluation import read_rules
from branch_console.quality.rule_sql import count_query
from branch_console.quality.rules import RuleKind, Severity
from tests.support.table_files import a_schema

TABLE = Identifier.parse("db.t")
HEAD = "table: db.t\nrules:\n"

# The third line of a file, and what is said of it.
BROKEN = {
    "  - {rule: not_null, columns: [a]}": "Line 3: rules[1] has no 'id'.",
    "  - {id: a, rule: not_null}": "Line 3: rules[1] has no 'columns'.",
    "  - {id: a, rule: not_null, columns: []}": "rules[1].columns should name columns, each once.",
    "  - {id: a, rule: not_null, columns: a}": "rules[1].columns should be a list.",
    "  - {id: a, rule: not_null, columns: [a], min: 1}": "rules[1].min is not known",
    "  - {id: a, columns: [a]}": "rules[1] has no 'rule'.",
    "  - {id: a, rule: not_nul, columns: [a]}": "rules[1].rule is 'not_nul'; it may be not_null",
    "  - {id: a, rule: in_range, column: a}": "rules[1] has neither 'min' nor 'max'.",
    "  - {id: a, rule: row_count_between}": "rules[1] has neither 'min' nor 'max'.",
    "  - {id: a, rule: row_count_between, min: -1}": "should be a number of rows",
    "  - {id: a, rule: row_count_between, min: 5, max: 4}": "rules[1].min is above 'max'.",
    "  - {id: a, rule: in_range, column: a, min: 5, max: 1}": "rules[1].min is above 'max'.",
    "  - {id: a, rule: in_range, column: a, min: 1e3, max: 999.5}": "rules[1].min is above 'max'.",
    "  - {id: a, rule: freshness, max_age: soon}": "such as 90m, 24h or 7d",
    "  - {id: a, rule: sql, query: SELECT 1}": "rules[1].query should read {table}.",
    "  - {id: a, rule: unique, columns: [a], min_pass_rate: 2}": "a share from 0 to 1",
    "  - {id: a, rule: unique, columns: [a], min_pass_rate: NaN}": "a share from 0 to 1",
    "  - {id: a, rule: unique, columns: [a], severity: error}": "it may be block, warn, info",
    "  - {id: a, rule: unique, columns: [a], strict: 1}": "should be true or false",
    "  - {id: a, rule: unique, columns: [a], where: ' '}": "rules[1].where is blank.",
    "  - {id: a, rule: foreign_key, columns: [a]}": "which is not served yet",
    "  - [": "The rule file is no YAML in line",
}
# Conditions and queries that would see more than the rows of the table that is judged.
UNSAFE = (
    "where: 'a > 1) OR (b'",
    "where: 'a > 1) UNION (SELECT * FROM db.other WHERE (1 = 1'",
    "where: 'a IN (SELECT a FROM db.other)'",
    "where: 'a > 1; DROP TABLE db.t'",
    "where: 'a > 1 --'",
    'where: \'reflect("java.lang.System", "exit", 1)\'',
)
QUERIES = (
    "SELECT * FROM {table} JOIN db.other",
    "SELECT * FROM {table} VERSION AS OF 1",
    "SELECT * FROM db.`t$branch_dev` WHERE '{table}' = ''",
    "SELECT * FROM db.`t$files` WHERE '{table}' = ''",
    "INSERT INTO {table} VALUES (1)",
    "SELECT 1 AS `{table}`",
    "SELECT FROM {table} WHERE",
)
# Places are those of what somebody wrote, and never of the query that is made of it.
PLACES = {
    "where: 'a >'": "Line 1, column 4: the condition is not complete.",
    'where: "a > 1 AND\\n  b BETWEEN 1"': "Line 2, column 14: the condition is not complete.",
    "where: 'a = = 1'": (
        "Line 1, column 5: '=' cannot stand there (what stands before it is not complete)."
    ),
    "where: 'a > 1 GROUP BY a'": (
        "Line 1, column 7: 'GROUP BY' cannot stand there (what stands before it is complete)."
    ),
    "where: 'a > 1; b'": "Line 1, column 6: ';' cannot stand in a condition.",
    "where: 'a > 1 -- cents'": (
        "'a > 1 -- cents' ends with a comment, which would hide what is behind it. Leave it out."
    ),
    'where: "a > \'x"': ("Line 1, column 5: the text cannot be cut into words: ' is not closed."),
    "where: 'a > /* cents'": "The text cannot be cut into words: a comment in it is not closed.",
    "where: 'a > reflect(1)'": (
        "Line 1, column 5: reflect calls any method of Java, so it is not run here."
    ),
    'query: "SELECT * FROM {table}\\nWHERE `a = 1"': (
        "Line 2, column 7: the text cannot be cut into words: ` is not closed."
    ),
    'query: "SELECT FROM {table} WHERE"': (
        "Line 1, column 21: 'WHERE' cannot stand there (what stands before it is not complete)."
    ),
    'query: "SELECT * FROM {table} x\\nJOIN {table} y ON x.a = = y.a"': (
        "Line 2, column 25: '=' cannot stand there (what stands before it is not complete)."
    ),
}


def test_each_rule_is_read_with_its_line() -> None:
    first, second, third = read_rules(
        f"{HEAD}"
        "  - {id: key, rule: unique, columns: [a, 'b c'], severity: block, strict: true}\n"
        "  - id: amount\n"
        "    rule: in_range\n"
        "    column: amount\n"
        "    min: -1.50\n"
        "    max: 1e3\n"
        "    strict_max: true\n"
        "    min_pass_rate: 0.999\n"
        "    where: state <> 'test'\n"
        "  - {id: fresh, rule: freshness, max_age: 90m, severity: info}\n",
        TABLE,
    ).rules
    assert (first.line, first.columns, first.severity) == (3, ("a", "b c"), Severity.BLOCK)
    assert first.strict
    assert (second.line, second.kind, second.severity) == (4, RuleKind.IN_RANGE, Severity.WARN)
    assert (second.low, second.high, second.min_pass_rate) == ("-1.50", "1e3", Decimal("0.999"))
    said = "amount >= -1.50 and < 1e3 where state <> 'test' in at least 99.9% of the rows"
    assert second.text == said
    assert (third.line, third.max_age_millis, third.text) == (
        12,
        5_400_000,
        "last commit at most 1.5 h old",
    )


def test_what_is_wrong_is_told_with_its_line() -> None:
    for text, said in BROKEN.items():
        with pytest.raises(InvalidInput) as refused:
            read_rules(f"{HEAD}{text}\n", TABLE)
        assert said in refused.value.message, text


def test_what_is_not_served_is_refused_by_name() -> None:
    for text in (f"{HEAD}  - {{id: a, rule: foreign_key}}", "table: db.t\ndrift: {gate: warn}"):
        with pytest.raises(InvalidInput) as refused:
            read_rules(text, TABLE)
        assert refused.value.kind is ErrorKind.UNSUPPORTED


def test_a_file_is_for_one_table_and_names_each_rule_once() -> None:
    with pytest.raises(InvalidInput, match=r"Line 1: table is 'db\.u', and the file is kept for"):
        read_rules("table: db.u\nrules: []", TABLE)
    rule = "  - {id: a, rule: not_null, columns: [a]}\n"
    with pytest.raises(InvalidInput, match=r"Line 4: rules\[2\] has the id 'a' of another rule"):
        read_rules(HEAD + rule + rule, TABLE)
    assert read_rules("", TABLE).rules == ()


def test_sql_of_people_sees_the_judged_rows_and_nothing_else() -> None:
    cells = [f"rule: not_null, columns: [a], {where}" for where in UNSAFE]
    cells += [f'rule: sql, query: "{query}"' for query in QUERIES]
    for cell in cells:
        with pytest.raises(InvalidInput) as refused:
            read_rules(f"{HEAD}  - {{id: a, {cell}}}\n", TABLE)
        said = "Line 3: the SQL of rule 'a' cannot be used:"
        assert refused.value.message.startswith(said), cell


def test_what_is_wrong_in_sql_is_told_with_its_place_in_what_was_written() -> None:
    for cell, said in PLACES.items():
        rule = "sql" if cell.startswith("query") else "not_null, columns: [a]"
        with pytest.raises(InvalidInput) as refused:
            read_rules(f"{HEAD}  - {{id: a, rule: {rule}, {cell}}}\n", TABLE)
        told = f"Line 3: the SQL of rule 'a' cannot be used: {said}"
        assert refused.value.message == told, cell


def test_bounds_that_are_texts_are_compared_as_texts() -> None:
    for ends in ("min: '10', max: '9'", "min: 2024-01-01, max: 2024-02-01", "min: -1, max: 1e3"):
        cell = f"rule: in_range, column: a, {ends}"
        (rule,) = read_rules(f"{HEAD}  - {{id: a, {cell}}}\n", TABLE).rules
        assert rule.low is not None
    text = f"{HEAD}  - {{id: a, rule: in_range, column: a, min: '10', max: '9'}}\n"
    rules = read_rules(text, TABLE).rules
    for kind, is_fine in (("STRING", True), ("INT", False), ("DOUBLE", False)):
        schema = a_schema(0, [("a", parse_data_type(kind))])
        if is_fine:
            assert "'10'" in count_query(rules, schema, TABLE, 0)
            continue
        with pytest.raises(InvalidInput, match="'min' is '10' and above 'max'"):
            count_query(rules, schema, TABLE, 0)


def test_a_bound_that_a_column_cannot_hold_is_compared_as_the_number_that_it_is() -> None:
    schema = a_schema(0, [("d", parse_data_type("DECIMAL(38, 10)")), ("i", parse_data_type("INT"))])
    cells = {
        "column: d, min: 1.00000000004": "`d` <= (1.0000000000)",
        "column: d, max: 0.99999999996": "`d` > (0.9999999999)",
        "column: d, min: -1.00000000004": "`d` <= (-1.0000000001)",
        "column: d, max: 1, strict_max: true": "`d` >= (1.0000000000)",
        "column: d, min: 1e40": "`d` IS NOT NULL",
        "column: d, max: 1e40": "false",
        "column: d, min: -1e40": "false",
        "column: d, max: -1e40": "`d` IS NOT NULL",
        "column: i, min: 1.5": "`i` <= (1)",
        "column: i, max: 6.999": "`i` > (6)",
    }
    for text, fails in cells.items():
        rules = read_rules(f"{HEAD}  - {{id: a, rule: in_range, {text}}}\n", TABLE).rules
        assert f"({fails}))" in count_query(rules, schema, TABLE, 0), text
    sets = {
        "1, 2.00": "`i` NOT IN ((1), (2.00))",
        "1, 2.5": "`i` NOT IN ((1))",
        "1e12": "`i` IS NOT NULL",
    }
    for values, fails in sets.items():
        text = f"{HEAD}  - {{id: a, rule: in_set, column: i, values: [{values}]}}\n"
        assert f"({fails}))" in count_query(read_rules(text, TABLE).rules, schema, TABLE, 0), values


def test_no_message_names_the_classes_of_a_parser() -> None:
    for where in ("a >", "a BETWEEN 1", "CASE WHEN a", "NOT", "a.", "a LIKE", "x ->"):
        with pytest.raises(InvalidInput) as refused:
            read_rules(
                f"{HEAD}  - {{id: a, rule: not_null, columns: [a], where: '{where}'}}\n", TABLE
            )
        assert "<class" not in refused.value.message, where
        assert "not complete" in refused.value.message, where
