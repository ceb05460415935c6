"""Tables that take minutes to make: made beforehand where that is asked for, and kept."""

import hashlib
import inspect
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.benchmarks import synthetic

PLACE: Final = "prepared"
"""The folder of kept tables in the folder of a run; of a run that keeps none it goes in the end."""
_MADE: Final = "made.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTable:
    """A warehouse with one table, complete.

    Attributes:
        warehouse: Its folder.
        expected: The number to be found in it.
    """

    warehouse: Path
    expected: int

    def forget(self) -> None:
        """Have the next run make it again, as this one is about to change it."""
        (self.warehouse.parent / _MADE).unlink()


def prepared(folder: Path, case: object, make: Callable[[Path], int]) -> PreparedTable:
    """Return the table of a case, which is made unless an earlier run left it.

    Args:
        folder: The folder of the run.
        case: The case, whose text tells it from others.
        make: Writes the table into a folder, and returns the number to be found in it.
    """
    # What other code made is not the table of this run.
    sources = (inspect.getfile(make), synthetic.__file__)
    told = [repr(case).encode(), *(Path(each).read_bytes() for each in sources)]
    place = folder / PLACE / hashlib.sha256(b"\0".join(told)).hexdigest()[:16]
    warehouse, made = place / "warehouse", place / _MADE
    if not made.exists():
        # The making of this one was cut off.
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        made.write_text(json.dumps(make(warehouse)), encoding="utf-8")
    return PreparedTable(warehouse=warehouse, expected=json.loads(made.read_text(encoding="utf-8")))
