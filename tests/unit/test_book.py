"""The README and the documents: a short one first, links that lead somewhere, known commands.

What they cite is there: files, symbols, code that they quote, and the ids of statements and rules.
"""

import ast
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
import typer.main

from branch_console_app.cli.commands import program

_ROOT: Final = Path(__file__).parents[2]
README: Final = _ROOT / "README.md"
DOCUMENTS: Final = (
    README,
    *sorted((_ROOT / "assets").rglob("*.md")),
    *sorted((_ROOT / ".github").rglob("*.md")),
)
_LINK: Final = re.compile(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"")
_CONSOLE: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)
_QUOTED: Final = re.compile(r"```python\n# ((?:core|app|tests)/\S+\.py)\n(.*?)```", re.DOTALL)
_PYTHON: Final = re.compile(r"```python\n(?!# (?:core|app|tests)/)(.*?)```", re.DOTALL)
_SYMBOL: Final = re.compile(r"`((?:\w+\.)?(?=\w*[A-Z_])(?!BRANCH_CONSOLE)[A-Za-z_]{3,})`")
_FOR_CHANGES: Final = ("assets/docs/architecture.md",)
_PATH: Final = re.compile(r"`((?:core|app|tests|assets|\.ci|\.github)/[\w./-]+)`")
# An id is cited in a sentence or a name: `C14`, `test_c14_…`, `M6.1`. Signs beside it are not it.
_ID: Final = re.compile(
    r"(?<![\w.$#%&*/-])(C\d\d|F\d\d|[IKLR]\d{1,2}|M\d{1,2}(?:\.\d)?)(?![\w%]|\.\d)"
)
_RANGE: Final = re.compile(r"\b([CFIKLMR])(\d{1,2})(?:-| to )(?:\1)(\d{1,2})\b")
_IN_NAME: Final = re.compile(r"(?<=_)([cikl]\d{1,2})(?=_)")
_PACKAGE: Final = re.compile(r"^\| `(\w+)` \|[^|]*\|[^|]*\|([^|]*)\|$", re.MULTILINE)
_CODE: Final = re.compile(r"`(\w+)`")
_SVG: Final = "{http://www.w3.org/2000/svg}"
_HEADINGS: Final = ("14", "15")
_DEFINED: Final = re.compile(r"^\| ([CFIKLMR]\d{1,2}(?:\.\d)?) \|", re.MULTILINE)
# What looks like an id and is none.
_OTHERS: Final = re.compile(r"\bF99\b")


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(README.read_text().splitlines()) <= 110


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each.stem)
def test_each_link_leads_to_a_file(document: Path) -> None:
    links = [one or other for one, other in _LINK.findall(document.read_text())]
    lost = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert lost == []


def test_each_document_is_reached_from_the_readme() -> None:
    seen, waiting = set(), [README]
    while waiting:
        document = waiting.pop()
        if document in seen or document.suffix != ".md":
            continue
        seen.add(document)
        for one, other in _LINK.findall(document.read_text()):
            if "://" not in (link := one or other):
                waiting.append((document.parent / link).resolve())
    assert set((_ROOT / "assets/docs").glob("*.md")) - seen == set()


def test_each_command_that_is_printed_is_one_of_the_program() -> None:
    root = typer.main.get_command(program)
    commands = [
        (document.name, command)
        for document in DOCUMENTS
        for block in _CONSOLE.findall(document.read_text())
        for command in _commands(block)
    ]
    assert len(commands) > 50
    wrong = {}
    for name, command in commands:
        try:
            _parse(root, command)
        except Exception as error:  # Of several libraries, and all of them are wrong.
            wrong[f"{name}: {command}"] = f"{error}"
    assert wrong == {}


def test_each_file_that_is_named_is_there() -> None:
    named = {(each.name, path) for each in DOCUMENTS for path in _PATH.findall(each.read_text())}
    assert len(named) > 80
    assert {(name, path) for name, path in named if not (_ROOT / path).exists()} == set()


def test_each_symbol_that_contributors_are_led_to_is_there() -> None:
    texts = [(_ROOT / name).read_text() for name in (".github/CONTRIBUTING.md", *_FOR_CHANGES)]
    named = {each.rpartition(".")[2] for text in texts for each in _SYMBOL.findall(text)}
    assert len(named) > 30
    words = [option for each in sorted(named) for option in ("-e", each)]
    found = subprocess.run(
        ["git", "grep", "-howF", *words, "--", "*.py"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert named - set(found.stdout.split()) == set()


@pytest.mark.parametrize(
    "decision", sorted((_ROOT / "assets/decisions").glob("*.md")), ids=lambda each: each.stem[:4]
)
def test_a_decision_is_a_page(decision: Path) -> None:
    assert len(decision.read_text().split()) <= 650


def test_what_is_quoted_stands_in_its_file() -> None:
    quoted = [each for one in DOCUMENTS for each in _QUOTED.findall(one.read_text())]
    assert len(quoted) >= 5
    for path, text in quoted:
        there = {_code(node) for node in ast.walk(ast.parse((_ROOT / path).read_text()))}
        lost = [ast.unparse(node) for node in ast.parse(text).body if _code(node) not in there]
        assert lost == [], path


def test_the_packages_and_rooms_of_the_architecture_are_those_of_the_code() -> None:
    text = (_ROOT / "assets/docs/architecture.md").read_text()
    told = {name: set(_CODE.findall(rooms)) for name, rooms in _PACKAGE.findall(text)}
    top = _ROOT / "core/branch_console"
    found = {each.stem: _rooms(each) for each in top.iterdir() if _is_package(each)}
    found["branch_console_app"] = _rooms(_ROOT / "app/branch_console_app")
    assert told == found


@pytest.mark.parametrize("picture", ["tower", "merge-walk"])
def test_a_picture_names_packages_that_are_there(picture: str) -> None:
    drawn = ElementTree.parse(_ROOT / f"assets/{picture}.svg").getroot()
    names = [text.text for text in drawn.iter(f"{_SVG}text") if text.get("font-size") in _HEADINGS]
    contracts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in contracts["contracts"] if each["name"] == "The tower"]
    tower = [each.strip().removeprefix("branch_console.") for each in "|".join(layers).split("|")]
    assert len(names) >= 7
    assert names == tower if picture == "tower" else set(names) <= set(tower)


@pytest.mark.depth("full")
def test_each_program_runs_on_the_demo(demo_warehouse: Path, tmp_path: Path) -> None:
    """But for those of notebooks, which `test_the_notebook_examples_run` gives a session."""
    folder = shutil.copytree(demo_warehouse, tmp_path / "warehouse")
    ran = []
    for document in DOCUMENTS:
        names: dict[str, Any] = {}
        blocks = _PYTHON.findall(document.read_text()) if document.stem != "notebooks" else ()
        for block in blocks:
            code = block.replace("./warehouse", str(folder))
            exec(compile(code, str(document), "exec"), names)
        ran += [document.stem] * len(blocks)
    assert ran.count("api") == 4


def test_each_id_is_defined_once_and_cited_and_each_cited_one_is_defined() -> None:
    defined = [
        id
        for name in ("statements.md", "operations.md")
        for id in _DEFINED.findall((_ROOT / "assets/docs" / name).read_text())
    ]
    assert len(defined) > 100
    assert sorted(set(defined)) == sorted(defined)
    cited = dict(_citations())
    assert {id: place for id, place in cited.items() if id not in defined} == {}
    assert set(defined) - cited.keys() == set()


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").exists() or (path.suffix == ".py" and path.stem != "__init__")


def _rooms(package: Path) -> set[str]:
    inside = package.iterdir() if package.is_dir() else ()
    return {each.name for each in inside if (each / "__init__.py").exists()}


def _code(node: ast.AST) -> str:
    """A node as text, without the docstring, which may be worded anew."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        node = type(node)(**{**dict(ast.iter_fields(node)), "body": node.body[1:]})
    return ast.dump(node)


def _citations() -> Iterator[tuple[str, str]]:
    """Ids in code and its names, and in documents but where they are defined."""
    listed = subprocess.run(
        ["git", "ls-files", "core", "app", "tests", "assets", "README.md", ".github"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in listed:
        path = _ROOT / name
        if path.suffix == ".py" and path.exists() and path != Path(__file__):
            source = path.read_text()
            yield from ((id.upper(), name) for id in _IN_NAME.findall(source))
            yield from ((id, name) for id in _ids(source))
        elif path.suffix == ".md" and path.exists():
            text = re.sub(r"^\| [A-Z]\d.*$", "", path.read_text(), flags=re.MULTILINE)
            yield from ((id, name) for id in _ids(text))


def _ids(text: str) -> Iterator[str]:
    text = _OTHERS.sub("", text)
    yield from _ID.findall(text)
    for letter, first, last in _RANGE.findall(text):
        width = 2 if letter in "CF" else 1
        yield from (f"{letter}{each:0{width}}" for each in range(int(first), int(last) + 1))


def _commands(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            for each in line[2:].split(" && "):
                if each.startswith("branch-console "):
                    # A shell drops the backslash before these between double quotes.
                    yield re.sub(r"\\([`$])", r"\1", each.removeprefix("branch-console "))


def _parse(root: Any, command: str) -> None:
    """Parse a command as the program does, down to the last sub-command, and run nothing."""
    arguments = shlex.split(command, comments=True)
    context = root.make_context("branch-console", arguments, resilient_parsing=False)
    while hasattr(context.command, "resolve_command"):
        name, inner, rest = context.command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        context = inner.make_context(name, rest, parent=context)
