"""Phrases that readers had to read twice stand in no page, command or document any more."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.unit.test_architecture import modules, nodes

# Who runs these has parsed all modules for those.
pytestmark = pytest.mark.xdist_group("architecture")

ROOT: Final = Path(__file__).parents[3]
# Each was replaced by plain words: none may come back in what people read.
PHRASES: Final = (
    "A merge replays on the target",
    "A: from this state",
    "add/add",
    "adopted: only",
    "All its tables; not served",
    "An option settles",
    "Another look",
    "another look",
    "Arrives at",
    "B less A",
    "B: to this state",
    "Branches besides main",
    "Bring what a branch changed",
    "Both histories on one scale",
    "brings back every byte",
    "blank at an end",
    "buckets to compare",
    "by identity and not by number",
    "cannot both stand",
    "Choose a table",
    "Clear first what stands in the way",
    "Codes of the conflicts",
    "columns drifted, ",
    "Columns, keys and options of the target",
    "Columns that drifted: 1 alarm",
    "conditions hold",
    "Data files verified",
    "delete/modify",
    "does all that a merge does before",
    "does not say what kind of change",
    "Eligibility",
    "file rule",
    "Files adopted",
    "Files replayed",
    "First clear what",
    "Gates ",
    "Have as conflicts",
    "How the conflicts are settled decides",
    "how many alarms it is worth",
    "has no hole",
    "How the fork is known",
    "inferred from files",
    "is inferred from its files",
    "is none that an operation kept",
    "is like that",
    "It settles",
    "Keep this rule",
    "keys that both sides may have",
    "Lay a file over",
    "lets rows that the target added meet",
    "List rows and cells that a merge finds",
    "Look at the decisions",
    "Look at the merged result",
    "Made from",
    "may meet a delete",
    "modify/modify",
    "Named by",
    "needs another look",
    "No conflict is like",
    "No login: everyone who opens",
    "not judged yet",
    "nothing of either",
    "Nothing stands in the way",
    "newly fails: ",
    "Only rows tell",
    "Other branches stay usable",
    "Publish despite failing",
    "Override the gate",
    "plan again while",
    "Read the files of both",
    "Records of one key may be",
    "Report overridden changes",
    "replayed: both",
    "Rest of this group",
    "Rows since the fork",
    "Rows that come",
    "Rows that go",
    "Rows that the target added meet",
    "Same as:",
    "Serializable: such",
    "Settled by",
    "Stands in the way",
    "Take whole rows",
    "Tell from metadata alone",
    "The branch that changes.",
    "The branch that comes in.",
    "to be watched",
    "to compare: only",
    "to write again:",
    "Undo works until main moves",
    "units that only",
    "Ways out:",
    "What it changes is known after",
    "What one commit of the source did",
    "What the rules decide against",
    "Where rows that the target added",
    "Whether they meet",
    "While neither head moves",
    "why bounds",
    "Why bounds",
    "Why it is published all the same",
    "Would be removed from",
)
# Read from journals and policies of before, and written nowhere.
STORED: Final = (
    ("core/branch_console/merge/conflict.py", "add/add"),
    ("core/branch_console/merge/conflict.py", "delete/modify"),
    ("core/branch_console/merge/conflict.py", "file rule"),
    ("core/branch_console/merge/conflict.py", "modify/modify"),
)


def test_no_text_for_readers_has_a_phrase_that_was_replaced() -> None:
    found = {
        (str(path.relative_to(ROOT)), phrase)
        for path, text in _texts()
        for phrase in PHRASES
        if phrase in text
    }
    assert found == set(STORED)


def _texts() -> Iterator[tuple[Path, str]]:
    for _, path, tree in modules():
        yield from ((path, text) for text in _literals(tree))
    documents = [*(ROOT / "assets/docs").glob("*.md")]
    for path in (ROOT / "README.md", *documents):
        if path.name not in ("style.md", "statements.md"):  # these are for those who write code
            yield path, path.read_text()


def _literals(tree: ast.Module) -> Iterator[str]:
    """All texts of a module but its docstrings, which are statements of their own."""
    docstrings = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)
