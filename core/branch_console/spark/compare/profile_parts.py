"""Profiles of units, added up by the sides that show their rows, and by partition."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from branch_console.format.partition_path import partition_words
from branch_console.format.table_schema import TableSchema
from branch_console.format.values.binary_row import decode_row
from branch_console.quality.drift_map import MOST_PARTITIONS, DriftMap
from branch_console.quality.partition_drift import compare_partition
from branch_console.quality.profile import EXACT, ColumnKind, Detail, Profile, merge_profiles
from branch_console.quality.work import QualityWork
from branch_console.spark.compare.profile_units import (
    GroupProfiles,
    ProfiledSide,
    ProfileGroup,
    ProfileUnit,
)

_HELD: Final = 200
"""So many profiles are held before they become one: memory never holds all of them."""

_HELD_OF_PARTITION: Final = 8


class SideParts:
    """Rows that the same sides show are profiled together, so that each is added up once."""

    def __init__(self, kinds: Mapping[str, ColumnKind], held: int = _HELD) -> None:
        """Begin with no rows.

        Args:
            kinds: The columns.
            held: How many profiles are held before they become one.
        """
        self._kinds = kinds
        self._held = held
        self._parts: dict[frozenset[ProfiledSide], list[Profile]] = {}
        self._details: dict[frozenset[ProfiledSide], Detail] = {}

    def add(self, sides: frozenset[ProfiledSide], profile: Profile, detail: Detail) -> None:
        """Take a profile of rows that some sides show; of the sum `detail` is kept."""
        self._details[sides] = detail
        parts = self._parts.setdefault(sides, [])
        parts.append(profile)
        if len(parts) >= self._held:
            self._add_up(sides)

    def of(self, side: ProfiledSide) -> Profile:
        """The profile of all that a side shows."""
        chosen = [each for each in self._parts if side in each]
        for each in chosen:
            self._add_up(each)
        return merge_profiles([self._parts[each][0] for each in chosen], self._kinds, EXACT)

    def _add_up(self, sides: frozenset[ProfiledSide]) -> None:
        parts = self._parts[sides]
        if len(parts) > 1:
            self._parts[sides] = [merge_profiles(parts, self._kinds, self._details[sides])]


class StateParts:
    """The profiles of groups, and the rows that only one of two states has."""

    def __init__(self, kinds: Mapping[str, ColumnKind], held: int = _HELD) -> None:
        """Begin with no rows; see `SideParts`."""
        self._units = SideParts(kinds, held)
        self._own = SideParts(kinds, held)

    def add(self, group: ProfileGroup, found: GroupProfiles, detail: Detail) -> None:
        """Take what was found of a group; of the sum `detail` is kept."""
        for unit, profile in zip(group.units, found.units, strict=True):
            self._units.add(unit.sides, profile, detail)
            shown = unit.sides & {ProfiledSide.BEFORE, ProfiledSide.AFTER}
            if found.own is None and len(shown) == 1:
                self._own.add(shown, profile, detail)
        for side, rows in zip(
            (ProfiledSide.BEFORE, ProfiledSide.AFTER), found.own or (), strict=False
        ):
            self._own.add(frozenset([side]), rows, detail)

    def of(self, side: ProfiledSide) -> Profile:
        """The profile of all that a side shows."""
        return self._units.of(side)

    def own(self) -> tuple[Profile, Profile]:
        """The profiles of what only the first, and only the second state shows."""
        return self._own.of(ProfiledSide.BEFORE), self._own.of(ProfiledSide.AFTER)


class PartitionParts:
    """The same for the partitions in which most rows differ; no others are looked at."""

    def __init__(self, units: Sequence[ProfileUnit], work: QualityWork) -> None:
        """Choose among the partitions of the units of a comparison."""
        self._work = work
        self._schema = work.diff.after.schema
        rows: Counter[bytes] = Counter()
        if _is_partitioned_alike(work.diff.before.schema, self._schema):
            for each in units:
                if each.is_own and each.sides != {ProfiledSide.MERGED}:
                    rows[each.partition] += each.rows
        self._parts = {
            partition: StateParts(work.kinds, _HELD_OF_PARTITION)
            for partition, _ in rows.most_common(MOST_PARTITIONS)
        }
        self._left_out = len(rows) - len(self._parts)

    def add(self, group: ProfileGroup, found: GroupProfiles, detail: Detail) -> None:
        """Take the profiles of a group; of the sum `detail` is kept."""
        parts = self._parts.get(group.partition)
        if parts is None:
            return
        if detail is not EXACT:
            # Many of them are held at once, of each partition some.
            small = [merge_profiles([each], self._work.kinds, detail) for each in found.all]
            found = GroupProfiles.of(small, group)
        parts.add(group, found, detail)

    def drift(self, whole: Profile | None) -> DriftMap | None:
        """Compare each partition; None for a table without partitions, or if none differs.

        Args:
            whole: All of A; None if what both sides have was not read.
        """
        if not self._parts:
            return None
        types = self._schema.partition_type.types
        # In a partition its own columns are constant.
        keys = self._schema.partition_keys
        columns = [each for each in self._work.columns if each.name not in keys]
        found = [
            compare_partition(
                partition_words(decode_row(partition, types), self._schema),
                parts.own(),
                None if whole is None else parts.of(ProfiledSide.BEFORE),
                whole,
                columns,
                self._work.keys,
            )
            for partition, parts in self._parts.items()
        ]
        worst = sorted(found, key=lambda each: (-each.severity, each.partition))
        return DriftMap(partitions=tuple(worst), left_out=self._left_out)


def _is_partitioned_alike(before: TableSchema, after: TableSchema) -> bool:
    return bool(after.partition_keys) and before.partition_keys == after.partition_keys
