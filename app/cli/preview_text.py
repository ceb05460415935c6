"""The consequences of a call, as lines."""

from typing import Annotated, Final

import typer

from app.cli.output import print_line
from core.procedures.preview import Preview

DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Tell the consequences; change nothing.")
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
