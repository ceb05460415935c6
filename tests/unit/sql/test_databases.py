import pytest

from branch_console.errors import InvalidInput
from branch_console.operations.argument import Argument
from branch_console.sql.parser import parse_statements


@pytest.mark.parametrize(
    ("text", "procedure", "arguments"),
    [
        ("CREATE DATABASE lab", "create_database", {"database": "lab"}),
        (
            "create schema if not exists `my lab` comment 'ours' with dbproperties (a = 1)",
            "create_database",
            {
                "database": "my lab",
                "if_not_exists": True,
                "properties": '{"a": "1", "comment": "ours"}',
            },
        ),
        (
            "CREATE NAMESPACE lab WITH PROPERTIES ('a.b' = 'x') COMMENT 'é'",
            "create_database",
            {"database": "lab", "properties": '{"a.b": "x", "comment": "é"}'},
        ),
        ("DROP DATABASE lab", "drop_database", {"database": "lab"}),
        ("DROP SCHEMA lab RESTRICT", "drop_database", {"database": "lab"}),
        (
            "DROP NAMESPACE IF EXISTS lab CASCADE",
            "drop_database",
            {"database": "lab", "if_exists": True, "cascade": True},
        ),
        (
            "ALTER DATABASE lab RENAME TO field",
            "rename_database",
            {"database": "lab", "to": "field"},
        ),
        (
            "ALTER SCHEMA lab SET DBPROPERTIES ('a' = 'x', b = true)",
            "set_database_properties",
            {"database": "lab", "properties": '{"a": "x", "b": "true"}'},
        ),
        (
            "ALTER DATABASE lab UNSET DBPROPERTIES IF EXISTS ('a', b.c)",
            "set_database_properties",
            {"database": "lab", "properties": '{"a": null, "b.c": null}'},
        ),
        (
            "USE BRANCH dev; CREATE DATABASE lab",
            "create_database",
            {"database": "lab", "branch": "dev"},
        ),
    ],
)
def test_a_statement_about_a_database_becomes_a_procedure(
    text: str, procedure: str, arguments: dict[str, Argument]
) -> None:
    found = parse_statements(text)[-1]
    assert (found.procedure, dict(found.arguments)) == (procedure, arguments)
    assert not found.is_dry


def test_a_dry_run_is_a_word_behind_each() -> None:
    for text in (
        "CREATE DATABASE a",
        "DROP DATABASE a CASCADE",
        "ALTER DATABASE a RENAME TO b",
        "ALTER DATABASE a SET DBPROPERTIES (x = 1)",
    ):
        (found,) = parse_statements(f"{text} DRY RUN")
        assert found.is_dry, text


def test_a_drop_says_itself_what_goes() -> None:
    (found,) = parse_statements("DROP DATABASE lab CASCADE")
    assert found.confirms == "lab"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE DATABASE", "Line 1, column 16: found the end; expected the name of the database."),
        (
            "CREATE DATABASE a.b",
            "Line 1, column 18: a database has one name; name a table in statements about tables.",
        ),
        (
            "CREATE DATABASE a LOCATION '/x'",
            "Line 1, column 19: a database lies in its folder of the warehouse.",
        ),
        ("DROP DATABASE a CASCDE", "Line 1, column 17: found 'CASCDE'; expected the end of"),
        (
            "SELECT 1;\n  ALTER DATABASE a RENMAE TO b",
            "Line 2, column 20: found 'RENMAE'; expected RENAME TO, SET DBPROPERTIES or UNSET",
        ),
        ("CREATE DATABASE a COMMENT 'x' COMMENT 'y'", "a database has one comment"),
        ("CREATE DATABASE a COMMENT 'x' WITH DBPROPERTIES (comment = 'y')", "given twice"),
        ("CREATE DATABASE a WITH DBPROPERTIES (location = 'y')", "'location' is no property here"),
        ("ALTER DATABASE a SET OWNER USER x", "keeps no owners"),
        ("CREATE DATABASE `a$b`", "'a$b' is not a usable name"),
        ("ALTER DATABASE a SET DBPROPERTIES (x = 1, x = 2)", "'x' is given twice"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_statements(text)
    assert message in caught.value.message
    assert "column" in caught.value.message
