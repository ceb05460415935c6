"""What a page sends, as the command line writes it: the same call comes out of both."""

import shlex
from collections.abc import Mapping

import pytest

from branch_console.procedures.call.call import Argument
from branch_console_app.models.parts.command_line import command_words


@pytest.mark.parametrize(
    ("procedure", "arguments", "line"),
    [
        (
            "create_branch",
            {"table": "a.t", "branch": "b", "from_branch": "dev", "tag": "q1", "owner": None},
            "create-branch a.t b --from-branch dev --from-tag q1",
        ),
        (
            "create_branch",
            {"table": "a.t", "branch": "b", "empty": True},
            "create-branch a.t b --empty",
        ),
        (
            "create_branch",
            {"table": "a.t", "branch": "b", "timestamp": 1_700_000_000_500},
            "create-branch a.t b --at 2023-11-14T22:13:20.500+00:00",
        ),
        (
            "merge_branch",
            {
                "table": "a.t",
                "branch": "b",
                "target": "main",
                "strict": True,
                "scope": "partition",
                "isolation": None,
            },
            "merge b --table a.t --to main --strict --scope partition",
        ),
        (
            "rename_branch",
            {"table": "a.t", "branch": "b", "to": "c", "update_options": True, "reason": "x y"},
            "rename-branch a.t b c --update-options --reason 'x y'",
        ),
        (
            "protect_branch",
            {"table": "a.t", "branch": "r-*", "protected": True},
            "protect-branch a.t 'r-*'",
        ),
        (
            "protect_branch",
            {"table": "a.t", "branch": "b", "protected": False},
            "protect-branch a.t b --remove",
        ),
        (
            "create_tag",
            {"table": "a.t$branch_b", "tag": "q", "snapshot": 7, "time_retained": "P7D"},
            "create-tag 'a.t$branch_b' q --snapshot 7 --time-retained P7D",
        ),
        (
            "rollback",
            {"table": "a.t", "snapshot": 7, "cut": True},
            "rollback a.t --snapshot 7 --cut",
        ),
        ("undo", {"table": "a.t", "operation": "0a"}, "undo 0a --table a.t"),
    ],
)
def test_a_call_is_a_line(procedure: str, arguments: Mapping[str, Argument], line: str) -> None:
    assert shlex.join(command_words(procedure, arguments)) == line


def test_the_name_to_type_is_an_option() -> None:
    words = command_words("drop_branch", {"table": "a.t", "branch": "b"}, "b")
    assert words == ("drop-branch", "a.t", "b", "--confirm", "b")
