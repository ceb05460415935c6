"""Expected results kept as files: compared exactly, renewed by `pytest --update-golden`."""

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "golden" / "expected"


class Golden:
    """The expected files of the tests; with `update` they are written instead of compared."""

    def __init__(self, folder: Path = FOLDER, *, update: bool = False) -> None:
        self.folder = folder
        self.update = update

    def check(self, name: str, actual: str) -> None:
        """Compare text with the expected file of this name."""
        path = self.folder / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        assert path.exists(), f"{path} is not there; run `pytest --update-golden` and review it."
        assert actual == path.read_text(encoding="utf-8"), f"{name} differs from {path}"

    def check_json(self, name: str, actual: Any) -> None:
        """Compare a value with the expected file of this name, as indented JSON."""
        self.check(name, json.dumps(to_plain(actual), indent=2, ensure_ascii=False) + "\n")


def to_plain(value: Any) -> Any:
    """A value as JSON can hold it: dates and times as ISO text, bytes as hex, numbers kept."""
    match value:
        case Decimal():
            return str(value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {str(key): to_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [to_plain(item) for item in value]
        case _:
            return value
