"""A request declares its arguments once: what is read, written, refused and served of each."""

import dataclasses
import json
from enum import StrEnum

import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.operations.agreement import Agreement
from branch_console.operations.argument import (
    Argument,
    CommandSyntax,
    DeclaredArgument,
    Unserved,
)
from branch_console.operations.branch_requests import (
    DropBranchRequest,
    FenceBranchRequest,
    RenameBranchRequest,
)
from branch_console.operations.compare_requests import CheckRulesRequest
from branch_console.operations.declared import REQUESTS
from branch_console.operations.isolation import InsertScope, Isolation
from branch_console.operations.merge_requests import (
    CherryPickRequest,
    CompareRowsRequest,
    MergeRequest,
    MergingRequest,
    RevertRequest,
)
from branch_console.operations.request import Request
from branch_console.operations.statement_requests import QueryRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.sql.parser import parse_statements
from branch_console.sql.statement import CALLED

EVERY = [
    pytest.param(request, each, id=f"{name}-{each.name}")
    for name, request in REQUESTS.items()
    for each in request.arguments()
]


def a_value(argument: DeclaredArgument) -> Argument:
    """A value of an argument that is not what is meant where it is left out."""
    if issubclass(argument.kind, StrEnum):
        return next(str(each) for each in argument.kind if each != argument.default)
    if argument.kind is bool:
        return not argument.default
    return 7 if argument.kind is int else f"db.{argument.name}"


def all_of(request: type[Request]) -> dict[str, Argument]:
    return {each.name: a_value(each) for each in request.declared()}


def test_a_request_is_read_from_the_arguments_of_a_call() -> None:
    asked = MergeRequest.decode(
        "merge_branch",
        {"table": "db.t", "branch": "dev", "strict": True, "scope": "partition", "plan_id": "p"},
    )
    assert asked == MergeRequest(
        table="db.t", source="dev", strict=True, scope=InsertScope.PARTITION
    )
    assert asked.target == "main"
    assert asked.isolation is Isolation.SERIALIZABLE


def test_a_revert_keeps_to_the_rows_of_its_snapshot_unless_told_otherwise() -> None:
    asked = RevertRequest.decode("revert", {"table": "db.t$branch_dev", "snapshot": 3})
    assert asked.isolation is Isolation.SNAPSHOT
    assert asked.target is None


@pytest.mark.parametrize("request_class", REQUESTS.values(), ids=REQUESTS)
def test_what_was_written_is_read_again(request_class: type[Request]) -> None:
    full = all_of(request_class)
    read = request_class.decode(request_class.procedure, full)
    assert read.encode() == full
    needed = {each.name: full[each.name] for each in request_class.declared() if each.is_required}
    least = request_class.decode(request_class.procedure, needed)
    usual = {
        each.name: each.default
        for each in request_class.declared()
        if each.kind is str and each.default is not None
    }
    assert least.encode() == needed | usual
    # None is the same as left out, as it is in SQL and for an option that nobody gave.
    absent = dict.fromkeys(full.keys() - needed.keys())
    assert request_class.decode(request_class.procedure, {**needed, **absent}) == least


def test_an_agreement_is_read_beside_the_request() -> None:
    given: dict[str, Argument] = {"branch": "dev", "plan_id": "p", "plan_again": True, "wait": ""}
    assert Agreement.decode("merge_branch", given) == Agreement(plan_id="p", plan_again=True)


@pytest.mark.parametrize(
    ("request_class", "given", "message"),
    [
        (RenameBranchRequest, {"to": "b"}, "rename_branch needs the argument 'branch'. Name it"),
        (RenameBranchRequest, {"branch": "", "to": "b"}, "needs the argument 'branch'"),
        (RenameBranchRequest, {"branch": 1, "to": "b"}, "'branch' of rename_branch must be text."),
        (FenceBranchRequest, {"branch": "b", "fenced": "no"}, "must be true or false."),
        (CherryPickRequest, {"branch": "b"}, "cherry_pick needs the argument 'snapshot'"),
        (CherryPickRequest, {"branch": "b", "snapshot": "3"}, "must be a whole number."),
        (CherryPickRequest, {"branch": "b", "snapshot": True}, "must be a whole number."),
        (MergeRequest, {"branch": "b", "scope": "row"}, "must be table or partition, not 'row'."),
        (MergeRequest, {"branch": "b", "isolation": 1}, "serializable or snapshot, not 1."),
        (QueryRequest, {"sql": "SELECT 1", "limit": -1}, "'limit' of query must be 0 or more"),
        (CheckRulesRequest, {"version": 3}, "'version' of check_rules must be text."),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    request_class: type[Request], given: dict[str, Argument], message: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        request_class.decode(request_class.procedure, {"table": "db.t", **given})
    assert message in error.value.message
    assert error.value.kind is ErrorKind.INVALID_ARGUMENT


def test_a_call_is_read_as_the_request_of_its_procedure() -> None:
    given: dict[str, Argument] = {"table": "db.t", "branch": "dev", "plan_id": "p"}
    call = ProcedureCall(name="compare_rows", arguments=given, actor="a", operation_id="o")
    assert call.request(MergingRequest) == CompareRowsRequest(table="db.t", source="dev")
    assert call.agreement == Agreement(plan_id="p")
    again = call.agreeing(Agreement(heads="h", plan_again=False))
    assert again.arguments == {**given, "heads": "h"}
    assert again.request(CompareRowsRequest) == call.request(MergeRequest)


def test_another_request_keeps_what_was_agreed_to_as_far_as_it_takes_it() -> None:
    call = ProcedureCall(
        name="merge_branch",
        arguments={"table": "db.t", "branch": "dev", "heads": "3:4", "plan_id": "p"},
        actor="ada",
        operation_id="o",
    )
    policy = dataclasses.replace(call.request(MergeRequest), policy="rows: row")
    assert call.asking(policy).arguments == {
        **call.arguments, "target": "main", "policy": "rows: row",
    }  # fmt: skip
    drop = call.asking(DropBranchRequest(table="db.t", branch="dev"))
    assert (drop.name, drop.actor) == ("drop_branch", "ada")
    assert drop.arguments == {"table": "db.t", "branch": "dev", "plan_id": "p"}


@pytest.mark.parametrize("reason", ["", " "])
def test_a_gate_is_not_overridden_without_words(reason: str) -> None:
    with pytest.raises(InvalidInput, match=r"with a reason only\. Say why"):
        Agreement.decode("merge_branch", {"override_gate": reason})


def test_how_long_to_wait_is_read_as_a_duration() -> None:
    assert Agreement(wait="2min").wait_millis == 120_000
    assert Agreement().wait_millis is None
    with pytest.raises(InvalidInput, match="told as 60s or 5min, not 'soon'"):
        _ = Agreement(wait="soon").wait_millis


def test_a_stored_call_is_read_whatever_a_release_of_before_wrote_into_it() -> None:
    stored = {
        "name": "drop_branch",
        "arguments": {"table": "db.t", "branch": "dev", "plan_again": None, "gone": 1},
        "actor": "ada",
        "operation_id": "7",
    }
    call = ProcedureCall.from_json(json.dumps(stored))
    assert call.request(DropBranchRequest) == DropBranchRequest(table="db.t", branch="dev")
    assert call.role == "operator"
    assert json.loads(call.to_json()) == {**stored, "role": "operator"}


@pytest.mark.parametrize("request_class", REQUESTS.values(), ids=REQUESTS)
def test_a_request_is_a_frozen_value_of_keywords(request_class: type[Request]) -> None:
    parameters = request_class.__dataclass_params__  # type: ignore[attr-defined]
    assert parameters.frozen
    assert all(field.kw_only for field in dataclasses.fields(request_class))  # type: ignore[arg-type]
    value = request_class.decode(request_class.procedure, all_of(request_class))
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize(("request_class", "argument"), EVERY)
def test_every_argument_is_served_or_says_why_not(
    request_class: type[Request], argument: DeclaredArgument
) -> None:
    assert argument.help.endswith(".")
    if isinstance(argument.sql, Unserved):
        assert argument.sql.why.endswith(".")
    elif not isinstance(request_class.in_sql, Unserved):
        # `doctor` is the query of one table; a query says itself.
        names = {name for known in request_class.in_sql for name in CALLED[known.name].arguments}
        assert {*argument.sql} <= names or request_class is QueryRequest
    if isinstance(argument.command, Unserved):
        assert argument.command.why.endswith(".")
    elif argument.default is True:
        assert argument.command.options


@pytest.mark.parametrize("request_class", REQUESTS.values(), ids=REQUESTS)
def test_what_a_command_leaves_to_other_doors_is_one_of_its_arguments(
    request_class: type[Request],
) -> None:
    served = {
        each.name for each in request_class.arguments() if isinstance(each.command, CommandSyntax)
    }
    assert request_class.not_in_command.keys() <= served
    assert all(why.endswith(".") for why in request_class.not_in_command.values())
    for door in (request_class.in_sql, request_class.command):
        assert not isinstance(door, Unserved) or door.why.endswith(".")


CALLED_BY_NAME = [
    name
    for name, each in REQUESTS.items()
    if not isinstance(each.in_sql, Unserved) and each is not QueryRequest
]


@pytest.mark.parametrize("name", CALLED_BY_NAME)
def test_what_a_receipt_calls_its_statement_runs_again(name: str) -> None:
    request_class = REQUESTS[name]
    given = {
        each.name: a_value(each)
        for each in request_class.arguments()
        if not isinstance(each.sql, Unserved)
    }
    seen = {each.name: "seen" for each in request_class.arguments() if each.name not in given}
    call = ProcedureCall(name=name, arguments={**given, **seen}, actor="a", operation_id="o")
    (statement,) = parse_statements(call.statement)
    assert (statement.procedure, dict(statement.arguments)) == (name, given)
