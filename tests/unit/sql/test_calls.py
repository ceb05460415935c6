"""Which functions and options a statement may name, and where it is told that it may not."""

import pytest

from branch_console.errors import InvalidInput
from branch_console.sql.query import parse_query

_RUN = (
    "SELECT abs(1), `count`(*), system.builtin.abs(1), builtin.Upper('x')",
    "WITH x (a, b) AS (SELECT 1, 2) SELECT * EXCEPT (a) FROM x",
    "SELECT * FROM db.t AS u(a, b) JOIN (VALUES (1, 2)) v (a, c) USING (a)",
    "SELECT count(*) FILTER (WHERE a IN (1)) OVER (PARTITION BY (a) ORDER BY (b)) FROM db.t",
    "SELECT a FROM db.t GROUP BY GROUPING SETS ((a), ()) HAVING (count(*) > 1) ORDER BY (a)",
    "SELECT a FROM db.t GROUP BY CUBE (a) UNION ALL (SELECT 2)",
    "SELECT CAST(a AS DECIMAL(10, 2)), TRY_CAST(b AS CHAR (3)), c::VARCHAR(4) FROM db.t",
    "SELECT EXTRACT(YEAR FROM d), TRIM(BOTH (x) FROM y), POSITION('a' IN b) FROM db.t",
    "SELECT OVERLAY(a PLACING 'b' FROM 3), SUBSTRING(a FROM 2 FOR (3)), LEFT(a, 1) FROM db.t",
    "SELECT a NOT IN (1, 2), NOT (a), a AND (b) OR (c), a LIKE ANY ('x', 'y') FROM db.t",
    "SELECT a BETWEEN (1) AND (2), a IS DISTINCT FROM (b), EXISTS (SELECT 1) FROM db.t",
    "SELECT CASE WHEN (a) THEN (b) ELSE (c) END, CASE (a) WHEN 1 THEN 2 END FROM db.t",
    "SELECT * FROM db.t TABLESAMPLE (10 PERCENT) REPEATABLE (3)",
    "SELECT * FROM db.t PIVOT (sum(a) FOR b IN (1, 2))",
    "SELECT * FROM db.t UNPIVOT (v FOR n IN (a, b))",
    "SELECT x FROM db.t LATERAL VIEW OUTER explode(array(1)) e AS x",
    "SELECT listagg(a, ',') WITHIN GROUP (ORDER BY a), any_value(a) IGNORE NULLS FROM db.t",
    "SELECT transform(a, x -> x + 1), aggregate(a, 0, (s, x) -> s + x) FROM db.t",
    "SELECT sum(a) OVER w FROM db.t WINDOW w AS (PARTITION BY b ROWS BETWEEN 1 PRECEDING AND (2) "
    "FOLLOWING)",
    "SELECT timestampadd(YEAR, 1, d), date_diff(DAY, a, b), INTERVAL (3) DAY FROM db.t",
    "SELECT /*+ BROADCAST(t), REPARTITION(3, a) */ * FROM db.t",
    "SELECT from_json(a, 'x INT', map('mode', 'FAILFAST')), to_csv(b, map('SEP', ';')) FROM db.t",
    "SELECT from_json(a, schema_of_json('{}', map('allowComments', 'true'))) FROM db.t",
    "SELECT '${env:HOME}', user, t.current_user FROM db.t",
)


@pytest.mark.parametrize("sql", _RUN)
def test_words_that_call_nothing_and_judged_functions_stand(sql: str) -> None:
    parse_query(sql)


@pytest.mark.parametrize(
    ("sql", "offset", "said"),
    [
        ("SELECT frobnicate(1)", 7, "frobnicate is not among the functions"),
        ("SELECT regexp_extrct('a', 'b')", 7, "regexp_extract"),
        ("SELECT a, `reflect`('x')", 10, "reflect calls any method of Java"),
        ("SELECT abs(xpath_int('<a/>', 'a'))", 11, "xpath_int can read files"),
        ("SELECT mydb.abs(1)", 12, "mydb.abs is no function of Spark itself"),
        ("SELECT `values`(1)", 7, "values is not among the functions"),
        ("SELECT * FROM db.t WHERE a IN (SELECT input_file_name())", 38, "where files lie"),
        ("SELECT * FROM db.t ORDER BY java_method('a', 'b')", 28, "java_method calls"),
        ("SELECT current_user", 7, "current_user tells the account"),
        ("SELECT from_csv(a, 'b INT', map('path', 'x')) FROM db.t", 7, "no option 'path'"),
        ("SELECT from_csv(a, 'b INT', map(k, 'x')) FROM db.t", 7, "plain texts"),
        ("SELECT to_json(a, b) FROM db.t", 7, "plain texts"),
        ("SELECT from_xml(a, 'b', map('rowValidationXSDPath', 'x'))", 7, "rowValidationXSDPath"),
        (
            "SELECT /*+ REPARTITION(reflect('a')) */ * FROM db.t",
            23,
            "calls reflect, but takes only",
        ),
    ],
)
def test_what_nobody_has_judged_is_refused_at_its_place(sql: str, offset: int, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_query(sql)
    assert said in error.value.message
    assert error.value.message.startswith(f"Line 1, column {offset + 1}: ")
