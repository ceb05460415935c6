"""A command takes what its request declares: words, options, their help, and what a page writes."""

from pathlib import Path

import pytest
import typer

from branch_console.errors import InvalidInput
from branch_console.operations.argument import Argument, DeclaredArgument, WrittenAs
from branch_console.operations.declared import REQUESTS
from branch_console.operations.merge_requests import MergeRequest
from branch_console.operations.request import Request
from branch_console_app.cli.request_options import AskedRequest, takes
from branch_console_app.models.parts.command_line import POLICY_FILE, command_words
from tests.unit.operations.test_requests import a_value

COMMANDS = {name: request for name, request in REQUESTS.items() if isinstance(request.command, str)}
POLICY = "rows: row\n"


def asked_by(request: type[Request], *words: str) -> AskedRequest[Request]:
    """What a command of a request would ask for."""
    seen = []
    commands = typer.Typer()

    @commands.command()
    @takes(request)
    def run(asked: AskedRequest[Request], again: bool = False) -> int:
        assert not again
        seen.append(asked)
        return 0

    typer.main.get_command(commands)(list(words), standalone_mode=False)
    (asked,) = seen
    return asked


def value_of(argument: DeclaredArgument) -> Argument:
    match argument.written:
        case WrittenAs.TABLE | WrittenAs.TABLE_AND_BRANCH:
            return "db.t"
        case WrittenAs.FILE:
            return POLICY
        case WrittenAs.TIME:
            return 1_700_000_000_500
        case WrittenAs.SEVERAL:
            return "one,two"
        case WrittenAs.PLAIN:
            return a_value(argument)


def words_behind(
    request: type[Request], given: dict[str, Argument], confirm: str | None = None
) -> tuple[str, ...]:
    """The words of a command behind its name, which may be that of a group and one in it."""
    name = str(request.command).split()
    words = command_words(request.procedure, given, confirm)
    assert list(words[: len(name)]) == name
    return words[len(name) :]


@pytest.mark.parametrize("request_class", COMMANDS.values(), ids=COMMANDS)
def test_what_a_page_writes_as_a_command_is_the_same_call(
    request_class: type[Request], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(POLICY_FILE).write_text(POLICY, encoding="utf-8")
    given = {each.name: value_of(each) for each, _ in request_class.in_command()}
    confirm = "main" if request_class.confirmed_by else None
    asked = asked_by(request_class, *words_behind(request_class, given, confirm))
    assert asked.arguments == given
    assert asked.confirm == confirm
    if "table" in given:
        assert str(asked.named_table.full_name) == "db.t"


@pytest.mark.parametrize("request_class", COMMANDS.values(), ids=COMMANDS)
def test_a_command_asks_for_nothing_that_was_not_said(
    request_class: type[Request], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(POLICY_FILE).write_text(POLICY, encoding="utf-8")
    required = {
        each.name: value_of(each) for each, _ in request_class.in_command() if each.is_required
    }
    asked = asked_by(request_class, *words_behind(request_class, required))
    said = {name: value for name, value in asked.arguments.items() if value is not None}
    assert said == required | {
        # A default that the help shows is said as it stands there.
        each.name: each.default
        for each, _ in request_class.in_command()
        if each.kind is str and each.default is not None
    }


def test_a_branch_is_named_beside_the_table_or_in_its_name() -> None:
    request = REQUESTS["rollback"]
    beside = asked_by(request, "db.t", "--branch", "dev")
    assert beside.arguments["table"] == asked_by(request, "db.t$branch_dev").arguments["table"]
    with pytest.raises(InvalidInput, match="name two branches"):
        asked_by(request, "db.t$branch_dev", "--branch", "fix")


def test_an_option_of_what_is_true_says_no() -> None:
    assert (
        asked_by(REQUESTS["create_branch"], "db.t", "b", "--no-fence").arguments["fence"] is False
    )
    assert command_words("create_branch", {"table": "db.t", "branch": "b", "fence": False}) == (
        "create-branch", "db.t", "b", "--no-fence",
    )  # fmt: skip


def test_a_choice_is_one_of_those_that_the_request_names() -> None:
    asked = asked_by(MergeRequest, "dev", "--table", "db.t", "--scope", "partition")
    assert asked.arguments["scope"] == "partition"
    with pytest.raises(typer.TyperException, match="'table', 'partition'"):
        asked_by(MergeRequest, "dev", "--scope", "row")


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01"])
def test_a_time_that_is_none_is_refused(time: str) -> None:
    with pytest.raises(InvalidInput, match=f"'{time}' is no time"):
        asked_by(REQUESTS["create_branch"], "db.t", "b", "--at", time)
