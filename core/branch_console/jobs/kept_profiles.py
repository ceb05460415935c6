"""Profiles and what was concluded from them, kept beside the jobs.

The profile of a unit is a Parquet file that never changes; the oldest are forgotten when there are
too many. A comparison is a JSON file under the name of the two contents that it compares.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from branch_console.errors import FormatError
from branch_console.jobs.kept_files import forget_oldest, unfinished
from branch_console.quality.comparison import QualityComparison
from branch_console.quality.profile import Profile
from branch_console.quality.profile_codec import profile_from_table, profile_to_table

_MOST_BYTES: Final = 512 << 20
_MOST_COMPARISONS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptProfiles:
    """The profiles of units in a folder."""

    folder: Path

    def find(self, key: str) -> Profile | None:
        """Return a profile, None if it was never made, is forgotten or cannot be read."""
        try:
            return profile_from_table(pq.read_table(self._path(key)))
        except (OSError, pa.ArrowException, FormatError):
            return None

    def holds(self, key: str) -> bool:
        """Whether a profile is kept, though perhaps not readable."""
        return self._path(key).exists()

    def keep(self, key: str, profile: Profile) -> None:
        """Keep a profile."""
        with unfinished(self._path(key)) as draft:
            pq.write_table(profile_to_table(profile), draft, compression="zstd")

    def forget_oldest(self, most_bytes: int = _MOST_BYTES) -> None:
        """Remove the profiles that were made longest ago, until the folder is small enough."""
        files = [(each, each.stat()) for each in self.folder.glob("*.parquet")]
        left = sum(about.st_size for _, about in files)
        for path, about in sorted(files, key=lambda each: each[1].st_mtime_ns):
            if left <= most_bytes:
                return
            path.unlink(missing_ok=True)
            left -= about.st_size

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptQuality:
    """The comparisons in a folder; the newest are kept."""

    folder: Path

    def find(self, name: str) -> QualityComparison | None:
        """Return a comparison, None if it was never made or is of another release."""
        with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            return QualityComparison.from_json(self._path(name).read_text(encoding="utf-8"))
        return None

    def keep(self, name: str, found: QualityComparison) -> None:
        """Keep a comparison, and forget the oldest."""
        with unfinished(self._path(name)) as draft:
            draft.write_text(found.to_json(), encoding="utf-8")
        forget_oldest(self.folder, "*.json", _MOST_COMPARISONS)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"
