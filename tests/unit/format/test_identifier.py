import re

import pytest

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import (
    Identifier,
    branch_name_problem,
    check_branch_name,
    check_object_name,
)

SPELLINGS = [
    ("db.t", Identifier(database="db", table="t")),
    ("db.t$branch_dev", Identifier(database="db", table="t", branch="dev")),
    ("db.t$files", Identifier(database="db", table="t", system_table="files")),
    (
        "db.t$branch_dev$files",
        Identifier(database="db", table="t", branch="dev", system_table="files"),
    ),
    ("db.my.table", Identifier(database="db", table="my.table")),
]


@pytest.mark.parametrize(("text", "identifier"), SPELLINGS, ids=[text for text, _ in SPELLINGS])
def test_names_are_read_and_written_as_paimon_spells_them(
    text: str, identifier: Identifier
) -> None:
    assert Identifier.parse(text) == identifier
    assert identifier.full_name == str(identifier) == text


@pytest.mark.parametrize("text", ["db.t$branch_main", "db.t$branch_MAIN"])
def test_the_main_branch_may_be_named_but_is_not_shown(text: str) -> None:
    identifier = Identifier.parse(text)
    assert identifier.is_main
    assert identifier.full_name == "db.t"


def test_a_table_on_another_branch_is_the_same_table() -> None:
    identifier = Identifier.parse("db.t$branch_dev$files")
    assert identifier.on_branch("main").full_name == "db.t$files"
    assert identifier.table_name == "db.t"


@pytest.mark.parametrize(
    "text",
    ["", "t", "db.", ".t", "db.t$", "db.t$branch_", "db.t$branch_b$", "db.t$a$b", "d/b.t", "db.."],
)
def test_what_is_no_table_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Identifier.parse(text)
    assert caught.value.kind is ErrorKind.INVALID_NAME


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a/b", "a\\b", "a$b", "a\0b"])
def test_names_that_could_leave_their_folder_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_object_name(name)


@pytest.mark.parametrize("name", ["dev", "fix-1", "a_b", "0x", "A" * 100])
def test_good_branch_names(name: str) -> None:
    assert branch_name_problem(name) is None
    check_branch_name(name)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (" ", "needs a name"),
        ("main", "default branch"),
        ("MAIN", "default branch"),
        ("42", "only digits"),
        ("a" * 101, "100 is the most"),
        ("a b", "only letters"),
        ("-a", "begins with a letter or a digit"),
        (
            "a/b",
            "'a/b' cannot name a branch: a name holds only letters (a-z, A-Z), digits, '_' and",
        ),
        ("größe", "only letters"),
        ("rescue-1", "own branches"),
        ("merge-1", "own branches"),
    ],
)
def test_a_branch_name_that_is_refused_says_why(name: str, problem: str) -> None:
    assert problem in (branch_name_problem(name) or "")
    with pytest.raises(InvalidInput, match=re.escape(problem)) as caught:
        check_branch_name(name)
    assert caught.value.facts["branch"] == name


def test_the_product_may_use_its_own_prefixes() -> None:
    check_branch_name("rescue-1", by_product=True)
