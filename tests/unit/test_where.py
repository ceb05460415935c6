"""The map of the code says where things are: each line of it names a file and a symbol in it."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"\| (.+\?) \| `([\w/]+\.py)` \| `([\w.]+)` \|")


def defines(tree: ast.Module | ast.ClassDef, symbol: str) -> bool:
    """Whether a module or a class holds a function or a class, or that one of it."""
    first, _, rest = symbol.partition(".")
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == first:
            return not rest or (isinstance(node, ast.ClassDef) and defines(node, rest))
    return False


def test_each_question_leads_to_a_symbol_that_is_there() -> None:
    text = (ROOT / "assets" / "docs" / "where.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| Where")]
    found = [LINE.fullmatch(row) for row in rows]
    assert len(rows) >= 20
    missing = []
    for row, match in zip(rows, found, strict=True):
        assert match is not None, row
        path = ROOT / match[2]
        if not path.exists() or not defines(ast.parse(path.read_text("utf-8")), match[3]):
            missing.append(row)
    assert missing == []
