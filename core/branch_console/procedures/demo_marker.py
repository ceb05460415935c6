"""The mark of a demo warehouse, which callers can check without knowing how the demo is built."""

from pathlib import Path
from typing import Final

MARKER: Final = "branch-console-demo.json"
"""Stands in the warehouse's root once the demo is complete."""


def is_complete(folder: Path) -> bool:
    """Whether a local folder holds a demo that was built to its end."""
    return (folder / MARKER).is_file()
