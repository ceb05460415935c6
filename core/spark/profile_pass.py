"""The profiles of two states: few rows at once in this process, many in tasks.

Units that both sides have are read once. What was profiled before is taken from where it is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from core.errors import ErrorKind, InvalidInput
from core.quality.comparison import QualityComparison, Scope, ScopeComparison, compare_profiles
from core.quality.drift import LEAST_ROWS
from core.quality.profile import EXACT, SIDE, UNIT, Profile, merge_profiles
from core.quality.profile_codec import profile_from_table, profile_to_table
from core.quality.work import QualityWork
from core.spark.profile_units import (
    ProfileTask,
    ProfileUnit,
    plan_profile_units,
    profile_task,
)
from core.spark.session import Progress, WarmSession
from core.spark.table_bytes import from_bytes, to_bytes
from core.spark.unit_tasks import run_units
from core.storage.file_io import FileIO
from core.table.file_store_table import FileStoreTable

SMALL_ROWS: Final = 200_000
"""Up to so many rows are profiled in this process, and exactly."""

_SMALL_BYTES: Final = 64 << 20
SHARED_BYTES: Final = 1 << 30
"""Up to so many bytes of files that both sides have are read without being asked for."""

# What tasks found is added up before more are started: the driver never holds all of it.
_WAVE: Final = 200


class KeptUnits(Protocol):
    """Where profiles of units are kept."""

    def find(self, key: str) -> Profile | None:
        """Return a profile, None where it is not kept."""

    def keep(self, key: str, profile: Profile) -> None:
        """Keep a profile."""


class NothingKept:
    """Keeps no profile."""

    def find(self, key: str) -> Profile | None:
        """Return None."""

    def keep(self, key: str, profile: Profile) -> None:
        """Do nothing."""


@dataclass(slots=True)
class _Read:
    """What was read so far."""

    units: int = 0
    known: int = 0
    size: int = 0


class ProfilePass:
    """Profiles the units of two states."""

    def __init__(
        self,
        store: FileIO,
        open_session: Callable[[], WarmSession],
        kept: KeptUnits,
        progress: Progress = lambda done, total: None,
        *,
        small_rows: int = SMALL_ROWS,
        shared_bytes: int = SHARED_BYTES,
    ) -> None:
        """Make a pass.

        Args:
            store: The store of the table.
            open_session: Gives Spark, where that is needed.
            kept: Where profiles of units are kept.
            progress: Called with units done and units known; what it raises stops the pass.
            small_rows: Up to how many rows are profiled in this process.
            shared_bytes: How much of what both sides have is read without being asked for.
        """
        self._store = store
        self._open_session = open_session
        self._kept = kept
        self._progress = progress
        self._small_rows = small_rows
        self._shared_bytes = shared_bytes
        self._read = _Read()

    def compare(
        self, table: FileStoreTable, work: QualityWork, *, finished_millis: int
    ) -> QualityComparison:
        """Profile both states, and compare them.

        Args:
            table: The table on any branch.
            work: What is profiled.
            finished_millis: What the result says of when it was made.

        Raises:
            FormatError: A file is missing or cannot be read.
            InvalidInput: The rows of such a table cannot be read here, or no column is compared.
        """
        if not work.columns:
            raise InvalidInput(
                "The two sides have no column in common, so that there is nothing to compare.",
                kind=ErrorKind.UNSUPPORTED,
            )
        task = profile_task(self._store, table, work)
        units = plan_profile_units(self._store, table, work)
        own = [each for each in units if not each.is_shared]
        shared = [each for each in units if each.is_shared]
        reads_shared = work.reads_all or sum(each.size for each in shared) <= self._shared_bytes
        is_small = self._is_small(own)
        old, new = (
            self._profiled(
                task, [each for each in own if each.is_after == is_after], work, is_small=is_small
            )
            for is_after in (False, True)
        )
        both = None
        if reads_shared:
            both = self._profiled(task, shared, work, is_small=self._is_small(units))
        return QualityComparison(
            before=str(work.diff.before.pinned),
            after=str(work.diff.after.pinned),
            scopes=tuple(_scopes(work, old, new, both)),
            units_read=self._read.units,
            units_known=self._read.known,
            bytes_read=self._read.size,
            notes=work.notes if reads_shared else (*work.notes, _NOT_WHOLE),
            finished_millis=finished_millis,
        )

    def _is_small(self, units: Sequence[ProfileUnit]) -> bool:
        rows, size = (sum(each.rows for each in units), sum(each.size for each in units))
        return rows <= self._small_rows and size <= _SMALL_BYTES

    def _profiled(
        self,
        task: ProfileTask,
        units: Sequence[ProfileUnit],
        work: QualityWork,
        *,
        is_small: bool,
    ) -> Profile:
        if is_small:
            return merge_profiles(list(self._here(task, units)), work.kinds, EXACT)
        whole: list[Profile] = []
        for start in range(0, len(units), _WAVE):
            found = self._in_tasks(task, units[start : start + _WAVE])
            whole = [merge_profiles([*whole, *found], work.kinds, SIDE)]
        return merge_profiles(whole, work.kinds, SIDE)

    def _here(self, task: ProfileTask, units: Sequence[ProfileUnit]) -> Iterator[Profile]:
        for done, unit in enumerate(units):
            self._progress(done, len(units))
            self._read.units += 1
            self._read.size += unit.size
            yield task.profile(unit, EXACT)

    def _in_tasks(self, task: ProfileTask, units: Sequence[ProfileUnit]) -> list[Profile]:
        known = {unit.number: self._kept.find(unit.key) for unit in units}
        found = [each for each in known.values() if each is not None]
        left = [unit for unit in units if known[unit.number] is None]
        self._read.known += len(found)
        if not left:
            return found
        answers = run_units(
            self._open_session(),
            left,
            lambda unit: {"profile": to_bytes(profile_to_table(task.profile(unit, UNIT)))},
            ["profile"],
            description="profile columns",
            progress=self._progress,
        )
        keys = {unit.number: unit.key for unit in left}
        for answer in answers:
            profile = profile_from_table(from_bytes(answer["profile"]))
            self._kept.keep(keys[answer["number"]], profile)
            found.append(profile)
        self._read.units += len(left)
        self._read.size += sum(unit.size for unit in left)
        return found


_NOT_WHOLE: Final = (
    "Files that both sides have were not read: only rows of files that one side has are compared."
)


def _scopes(
    work: QualityWork, old: Profile, new: Profile, both: Profile | None
) -> Iterator[ScopeComparison]:
    whole = None
    if both is not None:
        kinds = work.kinds
        whole = tuple(merge_profiles([each, both], kinds, EXACT) for each in (old, new))
    # Where one side only added rows, the other has none of its own that these could resemble.
    is_base_whole = whole is not None and old.rows < LEAST_ROWS and new.rows > 0
    base = whole[0] if whole and is_base_whole else old
    yield compare_profiles(
        base, new, work.columns, work.keys, Scope.OWN, is_base_whole=is_base_whole
    )
    if whole:
        yield compare_profiles(whole[0], whole[1], work.columns, work.keys, Scope.WHOLE)
