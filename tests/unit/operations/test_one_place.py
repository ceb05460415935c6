"""The arguments of a procedure are declared in `operations`: no other module names them again."""

import ast
from collections.abc import Collection, Iterator

import pytest

from branch_console.operations.agreement import GRANTED, SEEN, Agreement
from branch_console.operations.declared import REQUESTS
from tests.unit.test_architecture import modules, nodes

# Who runs these has parsed all modules for those.
pytestmark = pytest.mark.xdist_group("architecture")

# A key of what stages hand on and of receipts, besides the argument of that name.
SHARED_WORDS = frozenset({"plan_id"})
# A remedy is no call, and the page asks which table any statement would change.
BY_KEY = frozenset({"branch_console.diff.health.finding", "branch_console_app.views.sql"})
CALL = "branch_console.procedures.call.call"
WITHOUT_NAMES = ("branch_console.procedures", "branch_console.jobs", "branch_console_app")


def test_no_module_asks_a_call_for_an_argument_by_its_name() -> None:
    asking = {
        module
        for module, tree in _that_say({"arguments"})
        for node in nodes(tree)
        if (isinstance(node, ast.Subscript) and _is_arguments(node.value, node.slice))
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
            and _is_arguments(node.func.value, node.args[0])
        )
    }
    assert asking - {CALL} == BY_KEY


def _is_arguments(value: ast.expr, key: ast.expr) -> bool:
    names_them = isinstance(value, ast.Attribute) and value.attr == "arguments"
    return names_them and isinstance(key, ast.Constant) and isinstance(key.value, str)


def _that_say(words: Collection[str]) -> Iterator[tuple[str, ast.Module]]:
    """The modules whose text has one of the words: to look for it in all of them takes seconds."""
    for module, path, tree in modules():
        text = path.read_text(encoding="utf-8")
        if any(each in text for each in words):
            yield module, tree


def test_an_argument_of_two_words_stands_where_it_is_declared() -> None:
    # Names of one word, such as `table`, are words of much else.
    names = {each.name for request in REQUESTS.values() for each in request.arguments()}
    names = {each for each in names if "_" in each} - SHARED_WORDS
    assert {"without_callbacks", "from_branch", "time_retained"} <= names
    named = {
        (module, node.value)
        for module, tree in _that_say(names)
        if module.startswith(WITHOUT_NAMES)
        for node in nodes(tree)
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert named == set()


def test_every_term_is_declared_and_taken_by_a_procedure() -> None:
    declared = {each.name for each in Agreement.declared()}
    taken = {name for request in REQUESTS.values() for name in request.terms}
    assert taken == declared
    assert declared >= SEEN | GRANTED
    own = {each.name for request in REQUESTS.values() for each in request.declared()}
    assert own & declared == set()
