"""Statements that read: what they answer, what is said of wrong ones, what Spark never sees."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ParseException

from branch_console.errors import ErrorKind, InvalidInput, NotFound, PaimonError
from branch_console.jobs.results import KeptAnswers
from branch_console.procedures.call.call import Argument, ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.statement.query import answer_query
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.read.sql_engine import check_reads_only
from branch_console.spark.session.session import WarmSession
from branch_console.sql.answer import Answer
from tests.support.warehouses import FixtureWarehouse


class Sql:
    """Queries of one warehouse."""

    def __init__(self, session: WarmSession, warehouse: Warehouse, expected: Any) -> None:
        self._warehouse = warehouse
        self._rows = SparkRowEngine(lambda: session, warehouse.file_io)
        self._expected = expected

    def __call__(self, sql: str, **arguments: Argument) -> Answer:
        call = ProcedureCall(
            name="query", arguments={"sql": sql, **arguments}, actor="test", operation_id="op"
        )
        return answer_query(self._warehouse, self._rows, call, lambda done, total: None)

    def rows(self, sql: str, **arguments: Argument) -> list[tuple[Any, ...]]:
        found = self(sql, **arguments).rows
        return [tuple(row.values()) for row in found.to_pylist()]

    def paimon(self, table: str, branch: str = "main") -> list[tuple[Any, ...]]:
        """The rows as Paimon itself returned them."""
        return [tuple(row) for row in self._expected[table]["on"][branch]["rows"]]


@pytest.fixture(scope="module")
def sql(session: WarmSession, warehouse_200: FixtureWarehouse) -> Sql:
    warehouse = Warehouse.open(str(warehouse_200.path), read_only=True)
    return Sql(session, warehouse, warehouse_200.expected)


def test_every_branch_is_a_table(sql: Sql) -> None:
    name = "fixtures.branches_diverged"
    main, nested = sql.paimon(name), sql.paimon(name, "nested")
    diverged = sql.paimon(name, "diverged")
    other = "fixtures.`branches_diverged$branch_{}`"
    assert Counter(sql.rows(f"SELECT * FROM {name}")) == Counter(main)
    assert Counter(sql.rows(f"SELECT * FROM {other.format('nested')}")) == Counter(nested)
    assert sql.rows(f"SELECT * FROM {other.format('empty')}") == []
    assert Counter(sql.rows(f"SELECT * FROM {name}", branch="diverged")) == Counter(diverged), (
        "the branch of the session"
    )
    # Branches beside each other, in one query.
    joined = sql.rows(
        f"WITH ours AS (SELECT * FROM {other.format('diverged')}) "
        f"SELECT n.id, n.name, o.name FROM {other.format('nested')} n LEFT JOIN ours o "
        "ON n.id = o.id WHERE n.amount > (SELECT min(amount) FROM ours) ORDER BY n.id"
    )
    names = {row[0]: row[1] for row in diverged}
    least = min(row[2] for row in diverged)
    assert joined == sorted((row[0], row[1], names.get(row[0])) for row in nested if row[2] > least)
    only = sql.rows(
        f"SELECT id FROM {other.format('nested')} EXCEPT SELECT id FROM {other.format('diverged')}"
    )
    assert set(only) == {(row[0],) for row in nested} - {(row[0],) for row in diverged}


@pytest.mark.depth("full")
def test_versions_times_and_columns_travel(sql: Sql) -> None:
    def ids(version: str, table: str = "fixtures.branches_ahead") -> list[int]:
        return [row[0] for row in sql.rows(f"SELECT id FROM {table} {version} ORDER BY id")]

    assert ids("VERSION AS OF 1") == ids("FOR VERSION AS OF '1'")
    assert ids("VERSION AS OF 'ahead.4'") == ids("", "fixtures.`branches_ahead$branch_ahead`")
    assert ids("VERSION AS OF 'base'") == [1, 2]
    table = "fixtures.`append$snapshots`"
    moments = sql.rows(f"SELECT snapshot_id, commit_time FROM {table} ORDER BY 1")
    for number, moment in moments:
        by_time = ids(f"TIMESTAMP AS OF '{moment}'", "fixtures.append")
        assert by_time == ids(f"VERSION AS OF {number}", "fixtures.append")
        for expression in (
            f"TIMESTAMP '{moment}'",
            f"CAST('{moment}' AS TIMESTAMP)",
            f"to_timestamp('{moment}') + INTERVAL 0 SECONDS",
        ):
            assert by_time == ids(f"TIMESTAMP AS OF {expression}", "fixtures.append"), expression
    for now in ("current_timestamp()", "current_timestamp", "date_add(current_date(), 1)"):
        assert ids(f"TIMESTAMP AS OF {now}", "fixtures.append") == ids("", "fixtures.append")
    # A column that the head no longer has, by the schema of then.
    assert sql("SELECT * FROM fixtures.evolution VERSION AS OF 'first-schema'").rows.num_rows
    same = sql("SELECT append.id, fixtures.append.name, append.id FROM fixtures.append").rows
    assert same.column_names == ["id", "name", "id (2)"]


@pytest.mark.depth("full")
def test_options_behind_a_table_choose_what_is_read(sql: Sql) -> None:
    name = "fixtures.branches_diverged"
    main, nested = sql.paimon(name), sql.paimon(name, "nested")
    hint = "/*+ OPTIONS('branch' = 'nested') */"
    for options in (hint, "/*+ options(`scan.branch` = 'nested') */", "WITH (branch = 'nested')"):
        assert Counter(sql.rows(f"SELECT * FROM {name} {options}")) == Counter(nested), options
    # Options win over the branch of the session, each table having its own.
    assert Counter(sql.rows(f"SELECT * FROM {name} {hint}", branch="diverged")) == Counter(nested)
    both = f"SELECT id FROM {name} {hint} EXCEPT SELECT id FROM {name}"
    assert set(sql.rows(both)) == {row[:1] for row in nested} - {row[:1] for row in main}
    answer = sql(f"SELECT * FROM {name} {hint}")
    assert [(each.table, each.branch) for each in answer.reads] == [(name, "nested")]

    def ids(asked: str) -> list[int]:
        return [row[0] for row in sql.rows(f"SELECT id FROM fixtures.append {asked} ORDER BY id")]

    table = "fixtures.`append$snapshots`"
    for number, moment in sql.rows(f"SELECT snapshot_id, commit_time FROM {table} ORDER BY 1"):
        expected = ids(f"VERSION AS OF {number}")
        millis = int(moment.timestamp() * 1000)
        for key, value in (
            ("scan.snapshot-id", number),
            ("scan.version", number),
            ("scan.timestamp-millis", millis),
            ("scan.timestamp", moment),
        ):
            assert ids(f"/*+ OPTIONS('{key}' = '{value}') */") == expected, key
    tag = "fixtures.branches_ahead /*+ OPTIONS('scan.tag-name' = 'base') */"
    assert [row[0] for row in sql.rows(f"SELECT id FROM {tag} ORDER BY id")] == [1, 2]

    # Changes are rows as those of any state: for columns, conditions and joins.
    changed = "fixtures.append /*+ OPTIONS('incremental-between' = '1,2') */"
    first = "fixtures.append VERSION AS OF 1"
    expected = sql.rows(
        f"SELECT id FROM fixtures.append VERSION AS OF 2 EXCEPT SELECT id FROM {first}"
    )
    assert sorted(sql.rows(f"SELECT id FROM {changed} WHERE id IS NOT NULL")) == sorted(expected)
    assert sql.rows(f"SELECT count(*) FROM {changed} c JOIN {first} f USING (id)") == [(0,)]
    read = sql(f"SELECT id FROM {changed}").reads[0]
    assert (read.snapshot_id, read.asked) == (2, "incremental-between 1,2")


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("append /*+ OPTIONS('scan.bucket' = '1') */", "'scan.bucket'"),
        ("append /*+ OPTIONS('scan.snapshot-id'='1', 'scan.tag-name'='v') */", "'scan.tag-name'"),
        ("append VERSION AS OF 1 /*+ OPTIONS('scan.version' = '1') */", "Give one of them"),
        ("append /*+ OPTIONS('branch' = 'a', 'scan.branch' = 'b') */", "'scan.branch'"),
        ("`append$branch_a` /*+ OPTIONS('branch' = 'b') */", "'b'"),
        (
            "append VERSION AS OF 1 /*+ OPTIONS('incremental-between' = '1,2') */",
            "Give one of them",
        ),
        ("append /*+ OPTIONS('incremental-between'='1,2', 'scan.version'='1') */", "contradict"),
        ("append /*+ OPTIONS('incremental-between'='1,2', 'scan.fallback-branch'='b') */", "contr"),
        ("append /*+ OPTIONS('incremental-between' = '2,1') */", "earlier one first"),
        ("append /*+ OPTIONS('incremental-between' = '1,99') */", "those from 1 to"),
        ("append /*+ OPTIONS('incremental-between' = 'v,w') */", "two of one kind"),
        ("append /*+ OPTIONS('incremental-between-scan-mode' = 'diff') */", "no option names any"),
        ("append /*+ OPTIONS('scan.snapshot-id' = 'first') */", "'first'"),
        ("append /*+ OPTIONS('branch' = 'nobody') */", "nobody"),
        ("append /*+ OPTIONS('scan.tag-name' = '../x') */", "'../x'"),
        ("`append$files` /*+ OPTIONS('scan.snapshot-id' = '1') */", "does not travel"),
        ("`append$files` /*+ OPTIONS('scan.fallback-branch' = 'b') */", "shows one branch"),
        ("append /*+ OPTIONS('BRANCH' = 'dev') */", "Did you mean 'branch'"),
    ],
)
def test_options_that_are_not_honoured_are_refused(sql: Sql, table: str, named: str) -> None:
    with pytest.raises((InvalidInput, NotFound)) as error:
        sql(f"SELECT * FROM fixtures.{table}")
    assert named in error.value.message
    assert error.value.message.startswith("Line 1, column")


@pytest.mark.depth("full")
def test_spark_honours_its_own_hints(sql: Sql) -> None:
    both = "fixtures.append a JOIN fixtures.append VERSION AS OF 1 b ON a.id = b.id"
    plans = {hint: sql(f"SELECT /*+ {hint}(b) */ a.id FROM {both}").plan for hint in JOINS}
    assert all(JOINS[hint] in plan for hint, plan in plans.items()), plans


JOINS = {
    "BROADCAST": "BroadcastHashJoin",
    "MERGE": "SortMergeJoin",
    "SHUFFLE_HASH": "ShuffledHashJoin",
}


@pytest.mark.depth("full")
def test_what_readers_leave_out_is_not_asked_for(sql: Sql) -> None:
    keyed, parted = "fixtures.key_levels", "fixtures.append_partitioned"
    found = sql.rows(
        f"SELECT * FROM {keyed} WHERE id >= 100 AND 103 > id AND name <> 'x' "
        f"UNION ALL SELECT * FROM {keyed} VERSION AS OF 'compacted' k WHERE k.id IN (1, 2, -7)"
    )
    assert Counter(found[:3]) == Counter(r for r in sql.paimon(keyed) if 100 <= r[0] < 103)
    assert {row[0] for row in found[3:]} == {1, 2}
    for condition, wanted in (
        ("day = '2024-01-02' AND region = 'us'", lambda r: r[:2] == ("2024-01-02", "us")),
        (
            "day BETWEEN '2024-01-01' AND '2024-01-02'",
            lambda r: r[0] in ("2024-01-01", "2024-01-02"),
        ),
        ("day = '' OR id = 2", lambda r: r[0] == "" or r[2] == 2),
        ("(ID = 4)", lambda r: r[2] == 4),
        ("id = 99999999999", lambda r: False),
        ("id = '4'", lambda r: r[2] == 4),
    ):
        rows = sql.rows(f"SELECT * FROM {parted} WHERE {condition}")
        assert Counter(rows) == Counter(filter(wanted, sql.paimon(parted))), condition


def test_system_tables_are_tables(sql: Sql) -> None:
    name = "fixtures.branches_diverged"
    found = sql.rows("SELECT branch_name FROM fixtures.`branches_diverged$branches` ORDER BY 1")
    assert [row[0] for row in found] == ["behind", "diverged", "empty", "evolved", "nested"]
    on_branch = sql(
        "SELECT s.snapshot_id, f.file_path "
        "FROM fixtures.`branches_diverged$branch_nested$snapshots` s "
        "JOIN fixtures.`branches_diverged$branch_nested$files` f ON s.snapshot_id > 2"
    )
    assert on_branch.rows.num_rows
    assert {(read.table, read.branch) for read in on_branch.reads} == {
        (f"{name}$snapshots", "nested"),
        (f"{name}$files", "nested"),
    }


def test_an_answer_ends_at_its_bound_and_says_so(sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkRowEngine, "most_rows", 2)
    found = sql("SELECT id FROM fixtures.append", limit=3)
    assert (found.rows.num_rows, found.has_more) == (2, True)
    assert found.notes == (
        "The answer ends at 2 rows, as many as one may have. Read less, or raise the setting "
        "query_rows.",
    )
    assert sql("SELECT id FROM fixtures.append", limit=1).notes == ()
    assert sql("SELECT 1").notes == ()


@pytest.mark.depth("full")
def test_what_is_read_and_left_out_is_told(sql: Sql) -> None:
    found = sql("SELECT * FROM fixtures.append a JOIN other.solo s", branch="evolved", limit=4)
    assert found.notes == (
        "fixtures.append has no branch 'evolved': main is read.",
        "other.solo has no branch 'evolved': main is read.",
    )
    assert (found.rows.num_rows, found.has_more) == (4, True)
    whole = sql("SELECT DISTINCT id FROM fixtures.append VERSION AS OF 1", limit=2)
    assert (whole.rows.num_rows, whole.has_more) == (2, False)
    assert [(read.branch, read.snapshot_id, read.asked) for read in whole.reads] == [
        ("main", 1, "1")
    ]
    assert "== Physical Plan ==" in whole.plan


def test_types_that_arrow_lacks_are_shown_as_text(sql: Sql) -> None:
    found = sql("SELECT INTERVAL 2 MONTH a, parse_json('{\"x\": 1}') b, NULL c, 1.50BD d").rows
    assert [str(value) for value in found.to_pylist()[0].values()] == [
        "INTERVAL '2' MONTH", '{"x":1}', "None", "1.50",
    ]  # fmt: skip


WRONG = [
    (
        "SELECT * FROM fixtures.appendd",
        "Line 1, column 15: There is no table fixtures.appendd. Did you mean 'fixtures.append'",
    ),
    (
        "SELECT * FROM nowhere.append",
        "Line 1, column 15: There is no database 'nowhere'. Did you mean 'fixtures.append'?",
    ),
    ("SELECT * FROM append", "Line 1, column 15: 'append' names no table; write database.table"),
    (
        "SELECT 1 FROM\n fixtures.`branches_diverged$branch_evolvd`",
        "has no branch 'evolvd'. Did you mean 'evolved'?",
    ),
    (
        "SELECT idd FROM fixtures.append",
        "Line 1, column 8: A column, variable, or function parameter with name `idd`",
    ),
    (
        "SELECT a.id,\n  b.nme /* not this */ FROM fixtures.append a, fixtures.append b",
        "Line 2, column 3: A column",
    ),
    (
        "SELECT id FROM fixtures.append a JOIN other.solo b ON a.id = b.id",
        "Line 1, column 8: Reference `id` is ambiguous",
    ),
    (
        "SELECT id + array(1) FROM fixtures.append",
        'Line 1, column 8: Cannot resolve "(id + array(1))" due to data type',
    ),
    ("SELECT id FROM fixtures.append GROUP BY nam", "Line 1, column 41: A column"),
    (
        "SELECT\n\n1 / (id - id) FROM fixtures.append",
        "Line 3, column 1: Division by zero. Use `try_divide` to tolerate divisor",
    ),
    ("SELECT nofn(id) FROM fixtures.append", "Line 1, column 8: nofn is not among the functions"),
    ("SELECT (SELECT id FROM fixtures.append)", "More than one row returned by a subquery"),
    ("SELECT id FRM fixtures.append", "Line 1, column 15: 'fixtures' cannot stand there"),
    (
        "SELECT * FROM fixtures.append VERSION AS OF 99",
        "Line 1, column 15: Branch 'main' has no snapshot 99",
    ),
    (
        "SELECT * FROM fixtures.append VERSION AS OF 'v'",
        "Line 1, column 15: fixtures.append has no tag or snapshot 'v'",
    ),
    (
        "SELECT * FROM fixtures.append TIMESTAMP AS OF '1999-01-01'",
        "Line 1, column 15: fixtures.append has no snapshot at or before",
    ),
    (
        "SELECT * FROM fixtures.append TIMESTAMP AS OF 'soon'",
        "Line 1, column 47: a time is a text such as",
    ),
    (
        "SELECT * FROM fixtures.append TIMESTAMP AS OF id + INTERVAL 1 DAY",
        "Line 1, column 47: the time of a table is told without columns",
    ),
    (
        "SELECT * FROM fixtures.append TIMESTAMP AS OF now() - INTERVAL 100 YEARS",
        "Line 1, column 15: fixtures.append has no snapshot at or before",
    ),
    (
        "SELECT * FROM fixtures.append TIMESTAMP AS OF CAST(NULL AS DATE)",
        "Line 1, column 15: CAST(NULL AS DATE) is null, which is no time.",
    ),
    (
        "SELECT * FROM fixtures.append TIMESTAMP AS OF array(1)",
        "Line 1, column 15: ",
    ),
    (
        "SELECT * FROM fixtures.`append$audit_log`",
        "Line 1, column 15: The system table 'audit_log' is not read here.",
    ),
]


def test_what_is_wrong_is_one_line_with_its_place(sql: Sql) -> None:
    for text, wanted in WRONG:
        with pytest.raises((InvalidInput, NotFound)) as error:
            sql(text)
        message = error.value.message
        assert wanted in message, text
        assert "\n" not in message, text
        assert error.value.kind is not ErrorKind.UNEXPECTED, text


FORBIDDEN = (
    "SELECT reflect('java.lang.System', 'getProperty', 'user.dir')",
    "SELECT JAVA_METHOD ('java.lang.System', 'exit')",
    "SELECT `try_reflect`('java.lang.System', 'exit')",
    "SELECT system.builtin.reflect('java.lang.System', 'exit')",
    "SELECT IDENTIFIER('reflect')('java.lang.System')",
    "SELECT TRANSFORM(1) USING 'cat' AS x",
    "SELECT * FROM parquet.`/etc/passwd`",
    "SELECT * FROM IDENTIFIER('parquet.`/etc/passwd`')",
    "SELECT * FROM v WHERE EXISTS (SELECT 1 FROM text.`/etc/passwd`)",
    "SELECT * FROM spark_catalog.default.v",
    "WITH x AS (SELECT 1) INSERT INTO v SELECT * FROM x",
    "FROM v INSERT INTO w SELECT *",
    "CREATE TABLE x (a INT)",
    "SET spark.sql.ansi.enabled = false",
    "ADD JAR '/tmp/x.jar'",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "BEGIN SELECT 1; END",
    "SELECT * FROM STREAM v",
    "CACHE TABLE v",
)


def test_only_what_reads_tables_reaches_spark(sql: Sql, session: WarmSession) -> None:
    """Our reading refuses it, and so does the question to Spark's own parser by itself."""
    for text in FORBIDDEN:
        with pytest.raises(PaimonError):
            sql(text)
        try:
            check_reads_only(session.spark, text, frozenset({"v"}))
        except InvalidInput:
            continue
        except ParseException:
            continue  # Spark cannot read it either
        pytest.fail(f"Spark would run {text}")
    with pytest.raises(InvalidInput, match="read_files is not among the functions"):
        sql("SELECT * FROM read_files('/etc')")
    assert sql.rows("SELECT transform(array(1, 2), x -> x + 1)") == [([2, 3],)]


def test_an_answer_is_kept_whole_or_in_part(sql: Sql, tmp_path: Path) -> None:
    kept = KeptAnswers(folder=tmp_path / "answers")
    answer = sql("SELECT id, id AS id FROM range(100000)", limit=90_000)
    kept.keep("op-1", answer)
    again, first = kept.read("op-1"), kept.read("op-1", most=1_000)
    assert again.rows.equals(answer.rows.replace_schema_metadata(None))
    assert (first.rows.num_rows, first.has_more, first.plan) == (1_000, True, answer.plan)
    with pytest.raises(NotFound, match="Run it again"):
        kept.read("../op-2")
    for number in range(105):
        kept.keep(f"later-{number}", sql_of_one_row(answer))
    with pytest.raises(NotFound):
        kept.read("op-1")


def sql_of_one_row(answer: Answer) -> Answer:
    return Answer(rows=answer.rows.slice(0, 1), has_more=False, plan="")
