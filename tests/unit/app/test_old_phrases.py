"""Phrases that readers had to read twice stand in no page, command or document any more."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
# Each was replaced by plain words: none may come back in what people read.
PHRASES: Final = (
    "A merge replays on the target",
    "An option settles",
    "Another look",
    "another look",
    "Arrives at",
    "B less A",
    "Branches besides main",
    "Bring what a branch changed",
    "Choose a table",
    "Clear first what stands in the way",
    "cannot both stand",
    "Columns that drifted: 1 alarm",
    "Data files verified",
    "First clear what",
    "Have as conflicts",
    "How the fork is known",
    "It settles",
    "Keep this rule",
    "Lay a file over",
    "lets rows that the target added meet",
    "Look at the merged result",
    "Nothing stands in the way",
    "No login: everyone who opens",
    "Only rows tell",
    "Override the gate",
    "Read the files of both",
    "Rest of this group",
    "Rows since the fork",
    "Same as:",
    "Stands in the way",
    "Tell from metadata alone",
    "The branch that changes.",
    "The branch that comes in.",
    "Undo works until main moves",
    "Ways out:",
    "While neither head moves",
    "Why bounds",
    "Why it is published all the same",
    "Would be removed from",
    "brings back every byte",
    "buckets to compare",
    "does all that a merge does before",
    "how many alarms it is worth",
    "inferred from files",
    "may meet a delete",
    "plan again while",
    "to be watched",
    "why bounds",
)


def test_no_text_for_readers_has_a_phrase_that_was_replaced() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {phrase}"
        for path, text in _texts()
        for phrase in PHRASES
        if phrase in text
    }
    assert found == set()


def _texts() -> Iterator[tuple[Path, str]]:
    for folder in ("app", "core"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from ((path, text) for text in _literals(ast.parse(path.read_text())))
    documents = [*(ROOT / "assets/docs").glob("*.md")]
    for path in (ROOT / "README.md", *documents):
        if path.name not in ("style.md", "statements.md"):  # these are for those who write code
            yield path, path.read_text()


def _literals(tree: ast.Module) -> Iterator[str]:
    """All texts of a module but its docstrings, which are statements of their own."""
    nodes = list(ast.walk(tree))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)
