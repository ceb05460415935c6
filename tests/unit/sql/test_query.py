"""What is read of a query before anybody runs it."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.sql.parser import parse_statements
from branch_console.sql.query import parse_query
from branch_console.sql.writes import parse_write


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("SELECT f.a, air.f.b FROM air.f VERSION AS OF 7", "SELECT f.a, f.b FROM v0 AS `f`"),
        (
            "SELECT date_format(a, 'HH:mm:ss.SSS') /* c */ FROM a.`b$branch_c` x -- \\\n",
            "SELECT date_format(a, 'HH:mm:ss.SSS') FROM v0 x",
        ),
        (
            "WITH c AS (FROM a.b SELECT c) SELECT count(*) FROM c, d.e TABLESAMPLE (9 ROWS)",
            "WITH c AS (FROM v0 AS `b` SELECT c) SELECT count(*) FROM c, "
            "v1 TABLESAMPLE (9 ROWS) AS `e`",
        ),
        (
            "SELECT * FROM ((VALUES (1)) AS x(a) JOIN d.t VERSION AS OF 1 AS y ON x.a = y.b)",
            "SELECT * FROM ((VALUES (1)) AS x(a) JOIN v0 AS y ON x.a = y.b)",
        ),
        (
            "SELECT * FROM d.t VERSION AS OF 1 UNPIVOT INCLUDE NULLS (v FOR n IN (a, b)) AS z",
            "SELECT * FROM v0 AS `t` UNPIVOT INCLUDE NULLS (v FOR n IN (a, b)) AS z",
        ),
        (
            "SELECT * FROM d.t VERSION AS OF 'x' PIVOT (count(*) FOR g IN (1, 2))",
            "SELECT * FROM v0 AS `t` PIVOT (count(*) FOR g IN (1, 2))",
        ),
        (
            "SELECT * FROM d.t TIMESTAMP AS OF now() - INTERVAL 1 DAY AS y JOIN d.t FOR TIMESTAMP "
            "AS OF to_date('2026-01-31') ON y.a = t.a",
            "SELECT * FROM v0 AS y JOIN v1 AS `t` ON y.a = t.a",
        ),
        ("SELECT 'it''s', R'\\', 10L FROM a.b b", "SELECT 'it''s', R'\\', 10L FROM v0 b"),
    ],
)
def test_only_tables_change(text: str, over: str) -> None:
    query = parse_query(text)
    assert query.over([f"v{n}" for n in range(len(query.references))]).text == over


def test_places_lead_back_to_the_text() -> None:
    text = "SELECT\n  x.a, -- of x\n  nope FROM air.flights VERSION AS OF 'v' x"
    rewritten = parse_query(text).over(["a_rather_long_view"])
    assert str(rewritten.place_of(rewritten.text.index("nope"))) == "Line 3, column 3"
    assert str(rewritten.place_of(rewritten.text.index("a_rather"))) == "Line 3, column 13"
    inside = rewritten.within("SELECT * FROM (", ")")
    assert str(inside.place_of(inside.text.index("nope"))) == "Line 3, column 3"


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT a FROM d.t WHERE B > 1", ("a", "B")),
        ("SELECT count(*) FROM d.t", ("a",)),
        ("SELECT a.* FROM d.t a", ("a", "B", "c")),
        ("SELECT a FROM d.t NATURAL JOIN d.u", ("a", "B", "c")),
        ("SELECT a FROM d.t PIVOT (sum(B) FOR x IN (1))", ("a", "B", "c")),
        ("SELECT 1 FROM d.t JOIN d.u USING (c)", ("c",)),
        ("SELECT COUNT(*) FILTER (WHERE c > 1), `count`(ALL *) OVER () FROM d.t", ("c",)),
        ("SELECT count(*, c) FROM d.t", ("a", "B", "c")),
        ("SELECT count(* EXCEPT (c)) FROM d.t", ("a", "B", "c")),
        ("SELECT count(DISTINCT *) FROM d.t", ("a", "B", "c")),
        ("SELECT count(x.*) FROM d.t x", ("a", "B", "c")),
        ("SELECT count(struct(*)) FROM d.t", ("a", "B", "c")),
        ("SELECT p FROM d.t AS x(p, q, r)", ("a", "B", "c")),
        ("SELECT count(*) FROM d.t x(p)", ("a", "B", "c")),
        ("SELECT p FROM (d.t) AS x(p, q, r)", ("a", "B", "c")),
        ("SELECT p FROM (d.t JOIN d.u) AS x(p, q)", ("a", "B", "c")),
        ("SELECT a FROM d.t VERSION AS OF 1 AS x(a, c)", ("a", "B", "c")),
        ("SELECT a FROM d.u |> CROSS JOIN d.t", ("a", "B", "c")),
        ("SELECT n FROM d.t LATERAL VIEW explode(a) v AS n", ("a",)),
        ("WITH x(p) AS (SELECT a FROM d.t) SELECT p FROM x", ("a",)),
    ],
)
def test_columns_that_no_word_names_are_left_out(text: str, columns: tuple[str, ...]) -> None:
    assert parse_query(text).columns_of(["a", "B", "c"]) == columns


def test_names_are_equal_where_spark_takes_them_for_equal() -> None:
    dotless, long_s = "\u0131", "\u017f"
    columns = parse_query("SELECT i, `S` FROM d.t").columns_of(["a", dotless, long_s])
    assert columns == (dotless, long_s)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("SELECT a FROM d.t x WHERE 1 < x.a AND b IN ('p', 'q')", "a > 1, b in p q"),
        ("SELECT a FROM d.t WHERE (c BETWEEN -1 AND 3) AND d <> 2", "c <= 3, c >= -1"),
        ("SELECT a FROM d.t WHERE a = 1 OR b = 2", ""),
        ("SELECT a FROM d.t WHERE NOT (a = 1) AND b NOT IN (1)", ""),
        ("SELECT a FROM d.t JOIN d.u WHERE a = 1", ""),
        ("SELECT a FROM d.t TABLESAMPLE (3 ROWS) WHERE a = 1", ""),
        ("SELECT x FROM d.t AS t(x) WHERE x = 1", ""),
        ("SELECT a FROM d.t WHERE a = 'it\\'s' AND b = 1.5", ""),
        ("FROM d.t |> LIMIT 3 |> WHERE a = 1", ""),
    ],
)
def test_rows_are_left_out_where_all_conditions_are_plain(text: str, asked: str) -> None:
    found = [each for part in parse_query(text).comparisons.values() for each in part]
    told = ", ".join(f"{f.column} {f.sign} {' '.join(map(str, f.values))}" for f in found)
    assert told == asked


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT * FROM flights", "Line 1, column 15: 'flights' names no table"),
        ("SELECT 1;\nSELECT 2", "One statement"),
        ("SELECT (((", "Line 1, column"),
        ("SELECT :x FROM d.t", "there are no parameters"),
        ("SELECT 1 WHERE " + "(" * 3_000 + "1" + ")" * 3_000, "nested too deeply"),
        ("SELECT " + "x" * 100_001, "characters"),
        ("SELECT 'open", "cannot be cut into words"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM d.t WHERE a = 1) OR (1 = 1",
        "DELETE FROM d.t WHERE a = 1 UNION SELECT 1 FROM d.u",
        "UPDATE d.t SET a = 1), (2",
        "UPDATE d.t SET a = 1 FROM d.u",
        "INSERT INTO d.t SELECT 1 INTO x",
    ],
)
def test_a_condition_is_nothing_but_a_condition(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_write(text)


@pytest.mark.depth("full")
def test_long_and_deep_statements_are_read_or_refused_in_a_sentence() -> None:
    chain = parse_query("SELECT * FROM db.t WHERE " + " AND ".join(["a = 1"] * 5_000))
    (compared,) = chain.comparisons.values()
    assert len(compared) == 5_000
    for text in (
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
        "SELECT " + "NOT " * 5_000 + "a FROM db.t",
        "SELECT " + "CASE WHEN a THEN " * 500 + "1" + " END" * 500 + " FROM db.t",
        "CREATE TABLE db.t (a " + "ARRAY<" * 400 + "INT" + ">" * 400 + ")",
        "CREATE TABLE db.t (a " + "STRUCT<x: " * 51 + "INT" + ">" * 51 + ")",
        "SELECT " + "a, " * 400_000 + "1 FROM db.t",
        "SELECT '" + "x" * 200_000 + "'",
    ):
        with pytest.raises(InvalidInput) as error:
            parse_statements(text)
        assert "\n" not in error.value.message
        assert len(error.value.message) < 300
