"""The profiles of two states: few rows at once in this process, many in tasks.

Units that both sides have are read once. What was profiled before is taken from where it is kept.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from core.errors import ErrorKind, InvalidInput
from core.quality.comparison import QualityComparison, Scope, ScopeComparison, compare_profiles
from core.quality.drift import LEAST_ROWS
from core.quality.profile import EXACT, SIDE, UNIT, Profile, merge_profiles
from core.quality.profile_codec import profile_from_table, profile_to_table
from core.quality.work import QualityWork
from core.spark.profile_units import (
    ProfileTask,
    ProfileUnit,
    Side,
    plan_profile_units,
    profile_sides,
    profile_task,
)
from core.spark.session import Progress, WarmSession
from core.spark.table_bytes import from_bytes, to_bytes
from core.spark.unit_tasks import run_units
from core.storage.file_io import FileIO
from core.table.file_store_table import FileStoreTable
from core.table.table_state import StagedState

SMALL_ROWS: Final = 200_000
"""Up to so many rows are profiled in this process, and exactly."""

_SMALL_BYTES: Final = 64 << 20
SHARED_BYTES: Final = 1 << 30
"""Up to so many bytes of files that both sides have are read without being asked for."""

_Parts: TypeAlias = dict[frozenset[Side], Profile]
"""The profiles of rows by the sides that show them."""

# What tasks found is added up before more are started: the driver never holds all of it.
_WAVE: Final = 200


class KeptUnits(Protocol):
    """Where profiles of units are kept."""

    def find(self, key: str) -> Profile | None:
        """Return a profile, None where it is not kept."""

    def holds(self, key: str) -> bool:
        """Whether a profile is kept, without reading it."""

    def keep(self, key: str, profile: Profile) -> None:
        """Keep a profile."""


class NothingKept:
    """Keeps no profile."""

    def find(self, key: str) -> Profile | None:
        """Return None."""

    def holds(self, key: str) -> bool:
        """Return False."""
        return False

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
        self,
        table: FileStoreTable,
        work: QualityWork,
        *,
        merged: StagedState | None = None,
        finished_millis: int,
    ) -> QualityComparison:
        """Profile both states, and what merging them would leave, and compare them.

        Args:
            table: The table on any branch.
            work: What is profiled.
            merged: What a merge would leave, where `work` speaks of it.
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
        sides = profile_sides(table, work, merged)
        task = profile_task(self._store, sides, work)
        units = plan_profile_units(self._store, sides, work)
        own = [each for each in units if not each.is_shared]
        shared = [each for each in units if each.is_shared]
        is_small = (self._is_small(own), self._is_small(units))
        # What is kept costs nothing, however large the files are that it was made of.
        left = shared if is_small[1] else [each for each in shared if not self._holds(each)]
        reads_shared = work.reads_all or sum(each.size for each in left) <= self._shared_bytes
        found = self._parts(task, own, work, is_small=is_small[0])
        if reads_shared:
            found |= self._parts(task, shared, work, is_small=is_small[1])
        return QualityComparison(
            before=str(work.diff.before.pinned),
            after=str(work.diff.after.pinned),
            scopes=tuple(_scopes(work, found, reads_shared=reads_shared)),
            open_conflicts=None if work.merged is None else work.merged.open_conflicts,
            units_read=self._read.units,
            units_known=self._read.known,
            bytes_read=self._read.size,
            notes=_notes(work, reads_shared=reads_shared),
            finished_millis=finished_millis,
        )

    def _holds(self, unit: ProfileUnit) -> bool:
        return self._kept.holds(unit.key)

    def _is_small(self, units: Sequence[ProfileUnit]) -> bool:
        rows, size = (sum(each.rows for each in units), sum(each.size for each in units))
        return rows <= self._small_rows and size <= _SMALL_BYTES

    def _parts(
        self,
        task: ProfileTask,
        units: Iterable[ProfileUnit],
        work: QualityWork,
        *,
        is_small: bool,
    ) -> _Parts:
        groups: dict[frozenset[Side], list[ProfileUnit]] = {}
        for each in units:
            groups.setdefault(each.sides, []).append(each)
        return {
            owners: self._profiled(task, group, work, is_small=is_small)
            for owners, group in groups.items()
        }

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
_NOT_MERGED: Final = (
    "The merged result is compared as a whole only: let the files of both sides be read too."
)


def _notes(work: QualityWork, *, reads_shared: bool) -> tuple[str, ...]:
    notes = [*work.notes, *(() if reads_shared else (_NOT_WHOLE,))]
    if work.merged is not None:
        notes += [*work.merged.notes, *(() if reads_shared else (_NOT_MERGED,))]
    return tuple(notes)


def _scopes(work: QualityWork, found: _Parts, *, reads_shared: bool) -> Iterator[ScopeComparison]:
    def of(is_wanted: Callable[[frozenset[Side]], bool]) -> Profile:
        parts = [profile for owners, profile in found.items() if is_wanted(owners)]
        return merge_profiles(parts, work.kinds, EXACT)

    old = of(lambda owners: Side.BEFORE in owners and Side.AFTER not in owners)
    new = of(lambda owners: Side.AFTER in owners and Side.BEFORE not in owners)
    whole = of(lambda owners: Side.BEFORE in owners) if reads_shared else None
    # Where one side only added rows, the other has none of its own that these could resemble.
    is_base_whole = whole is not None and old.rows < LEAST_ROWS and new.rows > 0
    base = whole if whole is not None and is_base_whole else old
    yield compare_profiles(
        base, new, work.columns, work.keys, Scope.OWN, is_base_whole=is_base_whole
    )
    if whole is None:
        return
    after = of(lambda owners: Side.AFTER in owners)
    yield compare_profiles(whole, after, work.columns, work.keys, Scope.WHOLE)
    if work.merged is not None:
        merged = of(lambda owners: Side.MERGED in owners)
        columns = work.merged.against(work.columns)
        yield compare_profiles(whole, merged, columns, work.keys, Scope.MERGED)
