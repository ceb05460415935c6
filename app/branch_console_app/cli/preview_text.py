"""The consequences of a call as lines, and what it takes to run it all the same."""

import shlex
from collections.abc import Callable
from typing import Annotated, Final

import typer

from branch_console.errors import ErrorKind, PaimonError, Refused
from branch_console.procedures.call.consequence import Preview
from branch_console_app.cli.output import print_line

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Tell the consequences; change nothing.")
]
ConfirmOption = Annotated[
    str | None,
    typer.Option(
        "--confirm",
        metavar="NAME",
        help="The name that the consequences ask to repeat before this runs.",
    ),
]

_DETAILS_SHOWN: Final = 20


def print_preview(preview: Preview) -> None:
    """Print what a call would do."""
    print_line(preview.title)
    for each in preview.consequences:
        print_line(f"  {each.weight:<8} {each.text}")
        for detail in each.details[:_DETAILS_SHOWN]:
            print_line(f"           {detail}")
        if len(each.details) > _DETAILS_SHOWN:
            print_line(f"           … {len(each.details) - _DETAILS_SHOWN:,} more")
    print_line(f"  {'role':<8} {preview.role}")
    print_line(f"  {'undo':<8} {preview.undo}")


def confirm_words(name: str) -> str:
    """Write how a command is told the name."""
    return shlex.join(["--confirm", name])


def refusal_of(
    preview: Preview,
    confirm: str | None,
    *,
    dry_run: bool,
    words: Callable[[str], str] = confirm_words,
) -> PaimonError | None:
    """Return why a call does not run: what stands in the way, or a name that was not given.

    Args:
        preview: The preview of the call.
        confirm: The name that was given.
        dry_run: Whether nothing is to be run.
        words: How the name is given where the call was written.
    """
    if preview.blocks:
        texts = " ".join(each.text for each in preview.blocks)
        return Refused(f"{preview.title} is refused. {texts}", kind=preview.blocks[0].kind)
    if dry_run or preview.typed_name is None or preview.typed_name == confirm:
        return None
    return Refused(
        f"{preview.title}: nothing was changed. Where the consequences are right, add "
        f"{words(preview.typed_name)}.",
        kind=ErrorKind.INVALID_ARGUMENT,
    )
