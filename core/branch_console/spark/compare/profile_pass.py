"""The profiles of two states: few rows at once in this process, many in tasks.

Units that both sides have are read once. What was profiled before is taken from where it is kept.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from operator import not_
from typing import Final, Protocol

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.quality.comparison import (
    QualityComparison,
    Scope,
    ScopeComparison,
    compare_profiles,
)
from branch_console.quality.drift import LEAST_ROWS
from branch_console.quality.profile import EXACT, PLACE, SIDE, UNIT, Profile
from branch_console.quality.profile_codec import profile_from_table, profile_to_table
from branch_console.quality.work import QualityWork
from branch_console.spark.compare.profile_parts import PartitionParts, StateParts
from branch_console.spark.compare.profile_units import (
    GroupProfiles,
    ProfiledSide,
    ProfileGroup,
    ProfileTask,
    ProfileUnit,
    plan_groups,
    plan_profile_units,
    profile_sides,
    profile_task,
)
from branch_console.spark.session.arrow_bytes import from_bytes, to_bytes
from branch_console.spark.session.session import Progress, WarmSession
from branch_console.spark.session.unit_tasks import run_units
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import StagedState

SMALL_ROWS: Final = 200_000
"""Up to so many rows are profiled in this process, and exactly."""

_SMALL_BYTES: Final = 64 << 20
SHARED_BYTES: Final = 1 << 30
"""Up to so many bytes of files that both sides have are read without being asked for."""

# What tasks found is added up before more are started: the driver never holds all of it.
_WAVE: Final = 200


class KeptUnits(Protocol):
    """The store of profiles of units."""

    def find(self, key: str) -> Profile | None:
        """Return a profile, None if it is not kept."""

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
    """The counts of what was read so far."""

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
            kept: The store of profiles of units.
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
        """Profile both states, their base and the result of merging them.

        Args:
            table: The table on any branch.
            work: The profiles to make.
            merged: The result of a merge, if `work` asks for it.
            finished_millis: The time that the result reports as its own.

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
        own = [each for each in units if each.is_own]
        shared = [each for each in units if not each.is_own]
        groups = [plan_groups(each, sides, work) for each in (own, shared)]
        is_small = (self._is_small(own), self._is_small(units))
        # What is kept costs nothing, however large the files are that it was made of.
        left = shared if is_small[1] else [each for each in shared if not self._holds(each)]
        reads_shared = work.reads_all or sum(each.size for each in left) <= self._shared_bytes
        parts, partitions = StateParts(work.kinds), PartitionParts(units, work)
        for some, small in zip(groups[: 1 + reads_shared], is_small, strict=False):
            for group, found in self._profiled(task, some, is_small=small):
                parts.add(group, found, EXACT if small else SIDE)
                partitions.add(group, found, EXACT if small else PLACE)
        whole = parts.of(ProfiledSide.BEFORE) if reads_shared else None
        return QualityComparison(
            before=str(work.diff.before.pinned),
            after=str(work.diff.after.pinned),
            base=None if work.base is None else str(work.base.state.pinned),
            scopes=tuple(_scopes(work, parts, whole)),
            drift_map=partitions.drift(whole),
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

    def _profiled(
        self, task: ProfileTask, groups: Sequence[ProfileGroup], *, is_small: bool
    ) -> Iterator[tuple[ProfileGroup, GroupProfiles]]:
        if is_small:
            yield from self._here(task, groups)
            return
        for start in range(0, len(groups), _WAVE):
            yield from self._in_tasks(task, groups[start : start + _WAVE])

    def _here(
        self, task: ProfileTask, groups: Sequence[ProfileGroup]
    ) -> Iterator[tuple[ProfileGroup, GroupProfiles]]:
        for done, group in enumerate(groups):
            self._progress(done, len(groups))
            self._count(group)
            yield group, task.profile(group, EXACT)

    def _in_tasks(
        self, task: ProfileTask, groups: Sequence[ProfileGroup]
    ) -> Iterator[tuple[ProfileGroup, GroupProfiles]]:
        left: list[ProfileGroup] = []
        for group in chain.from_iterable(map(self._apart, groups)):
            known = self._known(group)
            if known is None:
                left.append(replace(group, number=len(left)))
            else:
                self._read.known += len(group.units)
                yield group, known
        if not left:
            return
        answers = run_units(
            self._open_session(),
            left,
            lambda group: {"profiles": _packed(task.profile(group, UNIT))},
            ["profiles"],
            description="profile columns",
            progress=self._progress,
        )
        by_number = {group.number: group for group in left}
        for answer in answers:
            group = by_number[answer["number"]]
            profiles = [
                profile_from_table(from_bytes(each)) for each in pickle.loads(answer["profiles"])
            ]
            for key, profile in zip(group.keys, profiles, strict=True):
                self._kept.keep(key, profile)
            yield group, GroupProfiles.of(profiles, group)
        for group in left:
            self._count(group)

    def _apart(self, group: ProfileGroup) -> Iterator[ProfileGroup]:
        """Take what is kept out of a group whose rows are not compared, to read the rest only."""
        if group.has_key:
            yield group
            return
        is_kept = [self._holds(unit) for unit in group.units]
        for unit in compress(group.units, is_kept):
            yield replace(group, units=(unit,))
        rest = tuple(compress(group.units, map(not_, is_kept)))
        if rest:
            yield replace(group, units=rest)

    def _known(self, group: ProfileGroup) -> GroupProfiles | None:
        found = []
        for key in group.keys:
            profile = self._kept.find(key)
            if profile is None:
                return None
            found.append(profile)
        return GroupProfiles.of(found, group)

    def _count(self, group: ProfileGroup) -> None:
        self._read.units += len(group.units)
        self._read.size += group.size


def _packed(found: GroupProfiles) -> bytes:
    return pickle.dumps([to_bytes(profile_to_table(each)) for each in found.all])


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


def _scopes(
    work: QualityWork, parts: StateParts, whole: Profile | None
) -> Iterator[ScopeComparison]:
    old, new = parts.own()
    # Where one side only added rows, the other has none of its own that these could resemble.
    is_base_whole = whole is not None and old.rows < LEAST_ROWS and new.rows > 0
    base = whole if whole is not None and is_base_whole else old
    yield compare_profiles(
        base, new, work.columns, work.keys, Scope.OWN, is_base_whole=is_base_whole
    )
    if whole is None:
        return
    yield compare_profiles(
        whole, parts.of(ProfiledSide.AFTER), work.columns, work.keys, Scope.WHOLE
    )
    if work.merged is not None:
        columns, merged = work.merged.against(work.columns), parts.of(ProfiledSide.MERGED)
        yield compare_profiles(whole, merged, columns, work.keys, Scope.MERGED)
    if work.base is not None:
        columns, base = work.base.against(work.columns), parts.of(ProfiledSide.BASE)
        yield compare_profiles(
            base, parts.of(ProfiledSide.AFTER), columns, work.keys, Scope.SINCE_BASE
        )
