"""The README and the documents: a short one first, links that lead somewhere, known commands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main

from branch_console_app.cli.commands import program

_ROOT: Final = Path(__file__).parents[2]
README: Final = _ROOT / "README.md"
DOCUMENTS: Final = (README, *sorted((_ROOT / "assets").rglob("*.md")))
_LINK: Final = re.compile(r"\]\(([^)#\s]+)[^)]*\)|src=\"([^\"]+)\"")
_CONSOLE: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)


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
