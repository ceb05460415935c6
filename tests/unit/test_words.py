"""The code keeps to the words of `assets/docs/words.md`; the old dialect names nothing more.

A docstring begins with a verb or with the noun of what it describes, never with a question.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_architecture import modules, nodes

# Who runs these has parsed all modules for those.
pytestmark = pytest.mark.xdist_group("architecture")

ROOT = Path(__file__).parents[2]

# These meant several things each. As words of a longer name they are gone, too.
DIALECT = frozenset(
    (
        *("told", "taken_in", "descent", "stretch", "meeting", "landing", "wanted_rows"),
        *("own_commit", "let_go", "lies_on", "would_be"),
    )
)
# As a name of its own it says neither who looks nor at what; `look_again` is a verb that does.
ALONE = frozenset({"look", "looks"})
# These ask for the noun or leave it out: "What is read.", "Of the table.", "Those that expire."
QUESTIONS = frozenset({"what", "what's", "whatever", "whose", "of", "that", "those"})
_SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
_PARTS = re.compile(rf"(?:^|_)(?:{'|'.join(sorted(DIALECT))})(?:_|$)")


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module gives: of classes, functions, arguments, fields and variables."""
    for node in nodes(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.alias(asname=str(name)):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, node.lineno


def is_banned(name: str) -> bool:
    """Whether a name is, or has as a part, a word of the dialect; classes are read word by word."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    return snake in ALONE or _PARTS.search(snake) is not None


def docstrings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every docstring of a module: of itself, of its classes and functions, and of names."""
    for node in nodes(tree):
        if not isinstance(node, _SCOPES):
            continue
        for index, statement in enumerate(node.body):
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))) if index == 0 or isinstance(
                    node.body[index - 1], _ASSIGNMENTS
                ):
                    yield text, statement.lineno


def first_word(text: str) -> str:
    """The first word of a docstring, in small letters and without what follows it."""
    words = text.split()
    return words[0].strip(".,:;!?").lower() if words else ""


def test_no_identifier_is_of_the_old_dialect() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for _, path, tree in modules()
        for name, line in identifiers(tree)
        if is_banned(name)
    ]
    assert found == []


def test_no_module_is_called_by_a_word_of_the_old_dialect() -> None:
    assert [str(path.relative_to(ROOT)) for _, path, _ in modules() if is_banned(path.stem)] == []


def test_no_docstring_begins_with_a_question_or_half_a_genitive() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {text.splitlines()[0]}"
        for _, path, tree in modules()
        for text, line in docstrings(tree)
        if first_word(text) in QUESTIONS
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('"""What is read."""', ["what"]),
        ('def f():\n    """Of the table."""', ["of"]),
        ('class C:\n    """Those."""\n    x = 1\n    """That of x."""', ["those", "that"]),
        ('X: int = 1\n"""Whose it is."""', ["whose"]),
        ('"""Return it."""\nx = """What is no docstring"""\nprint(x)', ["return"]),
    ],
)
def test_docstrings_of_modules_functions_classes_and_names_are_read(
    source: str, words: list[str]
) -> None:
    assert [first_word(text) for text, _ in docstrings(ast.parse(source))] == words


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("told", True),
        ("is_told", True),
        ("_TOLD", True),
        ("lies_on", True),
        ("let_go_staged_rows", True),
        ("Descent", True),
        ("TakenIn", True),
        ("LOOKS", True),
        ("_look", True),
        ("look_again", False),
        ("stretched", False),
        ("retold", False),
        ("landing_page", True),
    ],
)
def test_a_name_of_the_old_dialect_is_found(name: str, is_found: bool) -> None:
    assert is_banned(name) is is_found
