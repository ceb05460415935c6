"""Rows that were counted, kept beside the jobs: of units of files and of states.

A count is a small JSON file under the name of what was counted.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from branch_console.diff.rows.row_figure import RowCounts
from branch_console.jobs.kept_files import forget_oldest, unfinished

COUNTS: Final = "counts"
"""The folder of counts, in that of the jobs."""

_MOST_ROWS: Final = 20_000
_MOST_COUNTS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCounts:
    """The counts in a folder; the newest are kept."""

    folder: Path

    @property
    def units(self) -> "KeptRows":
        """The rows of units of files."""
        return KeptRows(folder=self.folder / "units")

    @property
    def states(self) -> "KeptRows":
        """The rows of single states."""
        return KeptRows(folder=self.folder / "states")

    def find_state(self, key: str) -> int | None:
        """Return the rows of a state, None if nobody has counted them here."""
        return self.states.find(key)

    def find(self, name: str) -> RowCounts | None:
        """Return the rows of two states, None if nobody has counted them here."""
        with suppress(TypeError):
            return RowCounts(**_read(self.folder / f"{name}.json"))
        return None

    def keep(self, name: str, counts: RowCounts) -> None:
        """Keep the rows of two states, and forget the oldest."""
        _write(self.folder / f"{name}.json", asdict(counts))
        forget_oldest(self.folder, "*.json", _MOST_COUNTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRows:
    """The rows of units of files, or of states, in a folder."""

    folder: Path

    def find(self, key: str) -> int | None:
        """Return how many rows there are, None if nobody has counted them here."""
        rows = _read(self.folder / f"{key}.json").get("rows")
        return rows if isinstance(rows, int) else None

    def keep(self, key: str, rows: int) -> None:
        """Keep how many rows there are."""
        _write(self.folder / f"{key}.json", {"rows": rows})

    def forget_oldest(self) -> None:
        """Remove the counts that were made longest ago."""
        forget_oldest(self.folder, "*.json", _MOST_ROWS)


def _read(path: Path) -> dict[str, int]:
    with suppress(OSError, ValueError):
        found: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
        return found
    return {}


def _write(path: Path, values: Mapping[str, int]) -> None:
    with unfinished(path) as draft:
        draft.write_text(json.dumps(values), encoding="utf-8")
