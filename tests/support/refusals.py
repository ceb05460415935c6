"""Messages of refusals, each provoked, as a golden file holds them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from branch_console.errors import PaimonError
from tests.support.golden import Golden

Refusal: TypeAlias = tuple[str, Callable[[], object]]
"""What is tried, and the try."""


def write_refusals(golden: Golden, folder: Path, name: str, cases: Iterator[Refusal]) -> None:
    """Compare what people are told with a golden file.

    Args:
        golden: The golden files.
        folder: A path that differs with each run, and is left out.
        name: Of the file.
        cases: What is tried. A text that a try returns, such as a preview, is what is told.
    """
    parts = [f"{what}\n  {_message(tried)}\n" for what, tried in cases]
    golden.check(f"refusals/{name}.txt", "\n".join(parts).replace(str(folder), ""))


def _message(tried: Callable[[], object]) -> str:
    try:
        found = tried()
    except PaimonError as error:
        return f"{type(error).__name__} {error.kind}: {error.message}"
    return found if isinstance(found, str) else "NOT REFUSED"
