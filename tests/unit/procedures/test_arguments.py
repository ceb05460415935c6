"""Arguments that a procedure does not have are refused before anything is done."""

import json

import pytest

from branch_console.errors import InvalidInput
from branch_console.operations.declared import REQUESTS
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.dispatch import RUNNERS
from branch_console.sql.parser import parse_statements
from branch_console.sql.statement import CALLED, CONFIRM, DRY_RUN, EITHER

ARGUMENTS = {
    name: {argument.name for argument in request.arguments()} for name, request in REQUESTS.items()
}


def test_every_procedure_declares_its_arguments() -> None:
    assert set(REQUESTS) == set(RUNNERS)


@pytest.mark.parametrize("name", sorted(RUNNERS))
def test_a_misspelt_argument_is_refused_with_the_nearest(name: str) -> None:
    for argument in ARGUMENTS[name]:
        wrong = argument[:1] + argument[2:] + "x"
        with pytest.raises(InvalidInput, match=f"{name} has no argument '{wrong}'") as error:
            ProcedureCall(name=name, arguments={wrong: "1"}, actor="a", operation_id="o")
        assert "Nothing was done" in error.value.message
        ProcedureCall(name=name, arguments={argument: "1"}, actor="a", operation_id="o")


def test_strict_is_offered_for_strcit() -> None:
    with pytest.raises(InvalidInput, match=r"Did you mean 'strict'\?"):
        ProcedureCall(name="merge_branch", arguments={"strcit": True}, actor="a", operation_id="o")


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("create_branch", "plan_again"),
        ("drop_branch", "decisions"),
        ("create_tag", "reason"),
        ("pin_branch", "reason"),
    ],
)
def test_what_no_procedure_would_read_is_refused(name: str, argument: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} has no argument '{argument}'"):
        ProcedureCall(name=name, arguments={argument: "x"}, actor="a", operation_id="o")


def test_a_call_of_an_earlier_version_stays_readable() -> None:
    text = json.dumps(
        {"name": "merge_branch", "arguments": {"old": 1}, "actor": "a", "operation_id": "o"}
    )
    call = ProcedureCall.from_json(text)
    assert call.arguments == {"old": 1}
    assert ProcedureCall.from_json(call.to_json()) == call
    assert "old => 1" in call.statement


def test_statements_give_arguments_that_there_are() -> None:
    for called in CALLED.values():
        given = set(called.arguments.values()) - {CONFIRM, DRY_RUN, EITHER}
        assert given <= ARGUMENTS[called.procedure]
        assert {each for pair in called.either.values() for each in pair} <= given
    for text in (
        "SELECT 1",
        "SHOW TABLES",
        "INSERT INTO db.t VALUES (1)",
        "MERGE INTO db.t USING db.s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "CREATE TABLE db.t (a INT)",
        "ALTER TABLE db.t RENAME COLUMN a TO b",
        "CREATE BRANCH b ON TABLE db.t FROM SNAPSHOT 3",
        "MERGE BRANCH b ON TABLE db.t",
        "REVERT SNAPSHOT 3 ON TABLE db.t",
        "CHERRY PICK SNAPSHOT 3 OF BRANCH b ON TABLE db.t",
    ):
        for statement in parse_statements(text):
            assert set(statement.arguments) <= ARGUMENTS[statement.procedure]
