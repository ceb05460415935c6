import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.operations.argument import Unserved
from branch_console.operations.declared import REQUESTS
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.registry import PROCEDURES
from branch_console.sql.not_served import NOT_SERVED
from branch_console.sql.parser import parse_statements
from branch_console.sql.statement import CALLED


@pytest.mark.parametrize(
    ("text", "procedure", "arguments"),
    [
        (
            "MERGE BRANCH dev ON TABLE db.t",
            "merge_branch",
            {"branch": "dev", "target": "main", "table": "db.t"},
        ),
        (
            "merge branch fix-delays to `release 1` on table air.flights",
            "merge_branch",
            {"branch": "fix-delays", "target": "release 1", "table": "air.flights"},
        ),
        (
            "CREATE BRANCH dev ON TABLE db.t FROM TAG v1",
            "create_branch",
            {"branch": "dev", "table": "db.t", "tag": "v1"},
        ),
        (
            "CREATE BRANCH dev ON TABLE db.t FROM SNAPSHOT 7",
            "create_branch",
            {"branch": "dev", "table": "db.t", "snapshot": 7},
        ),
        (
            "CREATE BRANCH dev ON TABLE db.t EMPTY",
            "create_branch",
            {"branch": "dev", "table": "db.t", "empty": True},
        ),
        ("DROP BRANCH dev ON TABLE db.t", "drop_branch", {"branch": "dev", "table": "db.t"}),
        (
            "RELEASE BRANCH `rescue-1` ON TABLE db.t",
            "release_branch",
            {"branch": "rescue-1", "table": "db.t"},
        ),
        (
            "RENAME BRANCH dev TO done ON TABLE db.t",
            "rename_branch",
            {"branch": "dev", "to": "done", "table": "db.t"},
        ),
        (
            "FAST FORWARD BRANCH dev ON TABLE db.t",
            "fast_forward",
            {"branch": "dev", "target": "main", "table": "db.t"},
        ),
        (
            "REPLACE MAIN WITH BRANCH dev ON TABLE db.t",
            "replace_main",
            {"branch": "dev", "table": "db.t"},
        ),
        (
            "CHERRY PICK SNAPSHOT 3 OF BRANCH dev ON TABLE db.t",
            "cherry_pick",
            {"snapshot": 3, "branch": "dev", "target": "main", "table": "db.t"},
        ),
        ("REVERT SNAPSHOT 3 ON TABLE db.t", "revert", {"snapshot": 3, "table": "db.t"}),
        (
            "CALL sys.create_branch(table => 'db.t', branch => 'dev', tag => 'v1')",
            "create_branch",
            {"table": "db.t", "branch": "dev", "tag": "v1"},
        ),
        (
            "CALL sys.merge_branch(table => 'db.t', source_branch => 'dev', strict => true)",
            "merge_branch",
            {"table": "db.t", "branch": "dev", "strict": True},
        ),
        (
            "CALL sys.merge_branch('db.t', 'dev', plan_again => true, wait => '60s')",
            "merge_branch",
            {"table": "db.t", "branch": "dev", "plan_again": True, "wait": "60s"},
        ),
        (
            "CALL sys.rename_branch(table => 'db.t', from_branch => 'a', to_branch => 'b')",
            "rename_branch",
            {"table": "db.t", "branch": "a", "to": "b"},
        ),
        (
            "CALL sys.rollback(table => 'db.t', snapshot => 7, tag => NULL)",
            "rollback",
            {"table": "db.t", "snapshot": 7},
        ),
    ],
)
def test_a_statement_becomes_a_call(
    text: str, procedure: str, arguments: dict[str, object]
) -> None:
    (found,) = parse_statements(f"{text} ;")
    assert (found.procedure, dict(found.arguments)) == (procedure, arguments)
    assert found.text == text
    assert not found.is_dry


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("create_branch('db.t', 'dev', 'v1')", {"branch": "dev", "tag": "v1"}),
        ("create_branch('db.t', 'd', NULL, NULL, snapshot => 3)", {"branch": "d", "snapshot": 3}),
        ("delete_branch('db.t', 'dev')", {"branch": "dev"}),
        ("drop_branch('db.t', 'dev', 'old')", {"branch": "dev", "reason": "old"}),
        ("rename_branch('db.t', 'a', 'b')", {"branch": "a", "to": "b"}),
        ("fast_forward('db.t', 'dev')", {"branch": "dev"}),
        ("merge_branch('db.t', 'dev', 'rel', strict => true)",
         {"branch": "dev", "target": "rel", "strict": True}),
        ("cherry_pick('db.t', 'dev', NULL, 3)", {"branch": "dev", "snapshot": 3}),
        ("revert('db.t', 3)", {"snapshot": 3}),
        ("compact('db.t', 'day=d1')", {"partitions": "day=d1"}),
        ("compact('db.t', NULL, NULL, order_by => NULL)", {}),
        ("create_tag('db.t', 'v1', NULL, 'P1D')", {"tag": "v1", "time_retained": "P1D"}),
        ("delete_tag('db.t', 'v1')", {"tag": "v1"}),
        ("delete_tag('db.t', 'v1,v2')", {"tag": "v1,v2"}),
        ("replace_tag('db.t', 'v1', 3, '7 d')",
         {"tag": "v1", "snapshot": 3, "time_retained": "7 d"}),
        ("create_tag('db.t', 'v1', snapshot_id => 3)", {"tag": "v1", "snapshot": 3}),
        ("rename_tag('db.t', 'v1', 'v2')", {"tag": "v1", "target_tag": "v2"}),
        ("rollback('db.t', 'v1')", {"tag": "v1"}),
        ("rollback('db.t', '7')", {"snapshot": 7}),
        ("rollback('db.t', NULL, 7)", {"snapshot": 7}),
        ("rollback('db.t', snapshot_id => 7)", {"snapshot": 7}),
        ("rollback('db.t', version => NULL, tag => 'v1')", {"tag": "v1"}),
        ("pin_branch('db.t', 'dev')", {"branch": "dev"}),
        ("protect_branch('db.t', 'dev', false)", {"branch": "dev", "protected": False}),
    ],
)  # fmt: skip
def test_arguments_without_names_have_paimons_order(
    arguments: str, told: dict[str, object]
) -> None:
    (found,) = parse_statements(f"CALL sys.{arguments}")
    assert dict(found.arguments) == {"table": "db.t", **told}


def test_a_dry_run_is_said_at_the_end() -> None:
    (found,) = parse_statements("MERGE BRANCH dev ON TABLE db.t DRY RUN")
    assert found.is_dry


def test_the_session_stands_on_a_branch() -> None:
    first, second, third = parse_statements(
        "MERGE BRANCH a ON TABLE db.t;\n-- from here on\nUSE BRANCH dev;"
        "MERGE BRANCH b ON TABLE db.t; REVERT SNAPSHOT 2 ON TABLE db.t"
    )
    assert (first.arguments["target"], second.arguments["target"]) == ("main", "dev")
    assert third.arguments["table"] == "db.t$branch_dev"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DROP BRANCH dev ON TABLE db.t", "dev"),
        ("REPLACE MAIN WITH BRANCH dev ON TABLE db.t", "main"),
        ("CALL sys.delete_branch(table => 'db.t', branch => 'dev')", "dev"),
        (
            "CALL sys.fast_forward(table => 'db.t', branch => 'a', target => 'b', force => true)",
            "b",
        ),
        ("CALL sys.fast_forward(table => 'db.t', branch => 'a', force => true)", None),
        (
            "CALL sys.fast_forward(table => 'db.t', branch => 'a', force => true, "
            "confirm => 'main')",
            "main",
        ),
        ("CALL sys.replace_main(table => 'db.t', branch => 'dev')", None),
        ("CALL sys.replace_main(table => 'db.t', branch => 'dev', confirm => NULL)", None),
        ("CALL sys.replace_main(table => 'db.t', branch => 'dev', confirm => 'main')", "main"),
        ("CALL sys.rollback(table => 'db.t', snapshot => 1, cut => true)", None),
        (
            "CALL sys.rollback(table => 'db.t', snapshot => 1, cut => true, confirm => 'main')",
            "main",
        ),
        ("CALL sys.delete_tag(table => 'db.t', tag => 'v1')", "v1"),
        # What was said to confirm counts before what is named anyway.
        ("CALL sys.drop_branch(table => 'db.t', branch => 'dev', confirm => 'v1')", "v1"),
        ("RELEASE BRANCH `rescue-1` ON TABLE db.t DRY RUN", "rescue-1"),
        ("MERGE BRANCH dev ON TABLE db.t", None),
    ],
)
def test_what_is_taken_away_was_named(text: str, name: str | None) -> None:
    (found,) = parse_statements(text)
    assert found.confirms == name
    assert "confirm" not in found.arguments


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("MERGE BRANCH", "Line 1, column 13", "the end; expected the branch to merge"),
        ("MERGE BRANCH dev ON db.t", "Line 1, column 21", "'db' after ON; expected TABLE"),
        ("MERGE BRANCH dev ON DATABASE", "Line 1, column 29", "the end; expected a database"),
        ("MERGE BRANCH dev ON TABLE db", "Line 1, column 29", "'.' and a table"),
        ("MERGE BRANCH dev ON TABLE db.t NOW", "Line 1, column 32", "the end of the statement"),
        ("USE BRANCH x;\nMERGE dev", "Line 2, column 7", "'dev' after MERGE; expected INTO or"),
        ("USE BRANCH x;\nJOIN dev", "Line 2, column 1", "a statement; there are SELECT, SHOW"),
        ("ALTER TABLE db.t", "Line 1, column 17", "the end; expected RENAME TO, RENAME COLUMN"),
        ("CALL create_branch('db.t')", "column 6", "expected sys. and a procedure, such as CALL"),
        ("CALL sys.shred(table => 'db.t')", "Line 1, column 10", "a procedure; there are"),
        ("CALL sys.undo(table => 'x', tabel => 'y')", "Line 1, column 29", "did you mean table?"),
        (
            "CALL sys.undo(table => 'x', table => 'y')",
            "Line 1, column 29",
            "'table' is given twice.",
        ),
        ("CALL sys.undo(table => 'x', confirm => 'y')", "Line 1, column 29", "an argument; there"),
        ("CALL sys.undo(db, 'op')", "Line 1, column 15", "an argument; there are operation"),
        ("CALL sys.undo(table => 'x', 'op')", "Line 1, column 29", "the one before has a name"),
        (
            "CALL sys.undo('x', 'op', 'z')",
            "Line 1, column 26",
            "the arguments are table, operation",
        ),
        ("CALL sys.undo('x', table => 'y')", "Line 1, column 20", "'table' is given twice."),
        ("CALL sys.undo('x', table => NULL)", "Line 1, column 20", "'table' is given twice."),
        (
            "CALL sys.rename_branch('x', 'a', 'b', to => 'c')",
            "Line 1, column 39",
            "the argument 'to' is given twice: first as 'to_branch'.",
        ),
        (
            "CALL sys.rollback('x', 'v1', tag => 'v2')",
            "Line 1, column 30",
            "the argument 'tag' is given twice: first as 'version'.",
        ),
        (
            "CALL sys.compact('x', NULL, NULL, 'zorder')",
            "column 35",
            "rows keep the order in which",
        ),
        ("CALL sys.compact('x', buckets => '1')", "column 23", "with all its buckets"),
        ("CALL sys.remove_unexisting_files('x', true, 4)", "column 45", "folders are listed"),
        ("CALL sys.compact_database(mode => 'combined')", "column 27", "one after the other"),
        ("CALL sys.create_branch('x', 'y', NULL, true)", "Line 1, column 40", "not served here"),
        ("CALL sys.undo('x' 'op')", "Line 1, column 19", "','"),
        ("CALL sys.revert(table => 'x', snapshot => 1.5)", "Line 1, column 43", "a whole number"),
        ("DROP BRANCH 'dev ON TABLE db.t", "", "cannot be cut into words"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, where: str, what: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_statements(text)
    assert where in error.value.message
    assert what in error.value.message


@pytest.mark.parametrize("name", NOT_SERVED)
def test_what_is_not_served_says_why(name: str) -> None:
    assert name not in CALLED
    with pytest.raises(InvalidInput) as error:
        parse_statements(f"SELECT 1; CALL sys.{name}('db.t')")
    assert error.value.kind is ErrorKind.UNSUPPORTED
    assert error.value.message == (
        f"Line 1, column 20: {name} is not served here: {NOT_SERVED[name]}."
    )


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("rollback('db.t', snapshot_id => 3)", {"snapshot": 3}),
        ("rollback('db.t', SNAPSHOT => 3)", {"snapshot": 3}),
        ("rollback_to('db.t', '', 3)", {"tag": "", "snapshot": 3}),
        ("reset_consumer('db.t', 'etl', 3)", {"consumer": "etl", "next": 3}),
        (
            "reset_consumer('db.t', consumer_id => 'etl', next_snapshot_id => 3)",
            {"consumer": "etl", "next": 3},
        ),
        ("reset_consumer('db.t', CONSUMERID => 'etl', next => NULL)", {"consumer": "etl"}),
        ("clear_consumers('db.t', NULL, excluding_consumers => 'a')", {"excluding": "a"}),
        ("rename_branch('db.t', from_branch => 'a', TO_BRANCH => 'b')", {"branch": "a", "to": "b"}),
    ],
)
def test_arguments_have_the_names_of_both_engines(
    call: str, arguments: dict[str, str | int]
) -> None:
    (found,) = parse_statements(f"CALL sys.{call}")
    assert found.arguments == {"table": "db.t", **arguments}


def test_nothing_is_nothing() -> None:
    assert parse_statements(" ; -- just a comment\n;") == ()


def test_every_called_procedure_names_a_table_or_a_database_or_is_of_the_catalog() -> None:
    named = {"table", "database", "databases"}
    of_tables = [called for name, called in CALLED.items() if "_catalog_" not in name]
    assert all(named & {*called.arguments} for called in of_tables)


def test_the_statement_of_a_receipt_runs_again() -> None:
    arguments = {"table": "db.t", "branch": "it's", "strict": True, "reason": None}
    call = ProcedureCall(
        name="merge_branch",
        arguments={**arguments, "plan_id": "0f"},
        actor="ann",
        operation_id="op",
    )
    (found,) = parse_statements(call.statement)
    assert found.procedure == call.name
    assert found.arguments == {"table": "db.t", "branch": "it's", "strict": True}


def test_every_verb_can_be_called() -> None:
    served = {name for name in PROCEDURES if not isinstance(REQUESTS[name].in_sql, Unserved)}
    assert {called.procedure for called in CALLED.values()} >= served
    assert PROCEDURES.keys() - served == {"warn_branch"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "SELECT count(*) FROM air.planes$branch_dev",
            "Line 1, column 22: a name with '$' stands between backticks; "
            "write air.`planes$branch_dev`.",
        ),
        ("SELECT 1;\nTABLE air$branch_dev.meteo", "write `air$branch_dev`.meteo."),
        ("SELECT * FROM air$tag_v1.planes$files", "write `air$tag_v1`.`planes$files`."),
        ("INSERT INTO air.planes$branch_dev VALUES (1)", "write air.`planes$branch_dev`."),
        ("UPDATE air.t$branch_fix-delays SET a = 1", "write air.`t$branch_fix-delays`."),
        (
            "MERGE INTO air.`planes`$branch_dev t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
            "write air.`planes$branch_dev`.",
        ),
        (
            "SELECT 1; CALL sys.compact(table => air.planes$branch_dev)",
            "an argument of CALL stands between quotes; write 'air.planes$branch_dev'.",
        ),
        ("CALL sys.compact('x'); SHOW TABLES IN air$branch_dev", "write `air$branch_dev`."),
        ("SELECT $1", "there are no parameters that could be filled in."),
    ],
)
def test_a_name_with_a_mark_is_shown_as_it_must_be_written(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        parse_statements(text)
    assert str(error.value).endswith(said)


@pytest.mark.parametrize(("said", "is_dry"), [("true", True), ("false", False), ("NULL", False)])
@pytest.mark.parametrize(
    "call",
    ["remove_orphan_files('db.t', NULL, SAID)", "expire_snapshots('db.t', dry_run => SAID)"],
)
def test_a_call_may_only_tell_what_it_would_do(call: str, said: str, is_dry: bool) -> None:
    (found,) = parse_statements(f"CALL sys.{call.replace('SAID', said)}")
    assert (found.arguments, found.is_dry) == ({"table": "db.t"}, is_dry)
    with pytest.raises(InvalidInput, match="dry_run is true or false, not 1"):
        parse_statements(f"CALL sys.{call.replace('SAID', '1')}")
