"""The folders from which a process that is not installed imports the project and its tests."""

import os
from pathlib import Path
from typing import Final

PROJECT: Final = Path(__file__).resolve().parents[2]


def python_path(project: Path = PROJECT) -> str:
    """Return the value of PYTHONPATH with which a process imports from a checkout."""
    return os.pathsep.join(str(folder) for folder in (project / "core", project / "app", project))
