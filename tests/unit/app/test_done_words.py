import pytest

from branch_console.operations.argument import Argument
from branch_console.sql.statement import Statement
from branch_console_app.models.jobs.done_words import branch_left, done_words

OF = {"table": "air.planes"}
RENAMED = Statement(procedure="rename_branch", arguments={**OF, "branch": "dev", "to": "work"})
CREATED = Statement(
    procedure="create_branch", arguments={**OF, "branch": "dev", "from_branch": "main"}
)
UNDO = {"operation": "a" * 32}


@pytest.mark.parametrize(
    ("procedure", "arguments", "undone", "words", "branch"),
    [
        ("create_branch", {**OF, "branch": "dev"}, None, "Branch `dev` created.", "dev"),
        ("drop_branch", {**OF, "branch": "dev"}, None, "Branch `dev` dropped.", None),
        (
            "rename_branch",
            {**OF, "branch": "dev", "to": "work"},
            None,
            "Branch `dev` renamed to `work`.",
            "work",
        ),
        ("protect_branch", {**OF, "branch": "dev"}, None, "Branch `dev` is now protected.", "dev"),
        (
            "protect_branch",
            {**OF, "branch": "dev", "protected": False},
            None,
            "Branch `dev` is no longer protected.",
            "dev",
        ),
        (
            "protect_branch",
            {**OF, "branch": "rel-*"},
            None,
            "Branches `rel-*` are now protected.",
            None,
        ),
        ("replace_main", {**OF, "branch": "dev"}, None, "Main replaced by `dev`.", "main"),
        ("undo", UNDO, RENAMED, "Undone: rename branch `dev` to `work`.", "dev"),
        ("undo", UNDO, CREATED, "Undone: create branch `dev`.", "main"),
        ("merge_branch", {**OF, "branch": "dev"}, None, "Merge `dev` into `main`: done.", "main"),
        ("count_rows", {}, None, "Count rows: done.", None),
    ],
)
def test_an_act_is_told_as_what_it_did_and_leads_to_its_branch(
    procedure: str,
    arguments: dict[str, Argument],
    undone: Statement | None,
    words: str,
    branch: str | None,
) -> None:
    assert done_words(procedure, arguments, undone) == words
    assert branch_left(procedure, arguments, undone) == branch
