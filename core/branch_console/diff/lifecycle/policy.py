"""How branches grow old and what runs by itself, as a file that people keep.

    version: 1
    defaults: { stale_after: 30 d, archive_after: 60 d, drop_after: 90 d, unmerged: warn }
    rules:
      - { branches: "tmp-*", stale_after: 3 d, drop_after: 7 d, unmerged: archive }
      - { branches: "release-*", never: [archive, drop] }
      - { branches: "rescue-*", release_after: 30 d }
    maintenance: { expire: "0 */6 * * *", lifecycle: "0 4 * * *", zone: Europe/Berlin,
                   grace: 10 min, dry_run: true }

The first rule whose pattern matches a branch decides on it, with the defaults for what it leaves
out. A branch is warned about, archived and dropped in this order: an age that comes from the
defaults gives way where the rule has the branch at another step earlier, or at that one later.
Errors name the line and the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

from branch_console.diff.lifecycle.cron import Cron
from branch_console.format.options import parse_duration
from branch_console.format.yaml_part import YamlPart

_VERSION: Final = "1"
_DEFAULTS: Final = "defaults"
_SHORTEST_MILLIS: Final = 1_000


class LifecycleStep(StrEnum):
    """The steps for a branch that nobody commits to; a branch goes up the first three in turn."""

    WARN = "warn"
    ARCHIVE = "archive"
    DROP = "drop"
    RELEASE = "release"


LADDER: Final = (LifecycleStep.WARN, LifecycleStep.ARCHIVE, LifecycleStep.DROP)
"""The steps of a branch, each of which comes before the next one."""

_KEYS: Final[Mapping[LifecycleStep, str]] = MappingProxyType(
    {
        LifecycleStep.WARN: "stale_after",
        LifecycleStep.ARCHIVE: "archive_after",
        LifecycleStep.DROP: "drop_after",
        LifecycleStep.RELEASE: "release_after",
    }
)


class ScheduledTask(StrEnum):
    """Scheduled work, table by table."""

    EXPIRE = "expire"
    TAGS = "tags"
    DOCTOR = "doctor"
    ORPHANS = "orphans"
    LIFECYCLE = "lifecycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleRule:
    """The rule that decides when branches with matching names are warned about, archived, dropped.

    Attributes:
        branches: The pattern of the names; None for the defaults.
        line: The line of the rule in the policy file.
        ages: The age from which each step is due, in milliseconds, rising along the ladder. A step
            without an age is never due.
        unmerged: The last step for a branch with commits that were merged nowhere.
        never: Steps that are left out, together with all later steps.
    """

    branches: str | None = None
    line: int = 1
    ages: Mapping[LifecycleStep, int] = field(default_factory=lambda: MappingProxyType({}))
    unmerged: LifecycleStep = LifecycleStep.WARN
    never: frozenset[LifecycleStep] = frozenset()

    @property
    def name(self) -> str:
        """The name of the rule in reports."""
        return _DEFAULTS if self.branches is None else f"{self.branches} (line {self.line})"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenancePolicy:
    """The policy file of tables: rules for stale branches, and schedules of maintenance tasks.

    Attributes:
        defaults: The rule for branches that match no other rule.
        rules: The rules by pattern; the first that matches decides.
        schedules: When each task runs.
        zone: The zone that the schedules are written in.
        grace: How long an expiry or a cleaning can be undone; None for the default.
        is_dry_run: Whether scheduled runs only report stale branches.
    """

    defaults: StaleRule = StaleRule()
    rules: tuple[StaleRule, ...] = ()
    schedules: Mapping[ScheduledTask, Cron] = field(default_factory=lambda: MappingProxyType({}))
    zone: str = "UTC"
    grace: str | None = None
    is_dry_run: bool = True

    @classmethod
    def from_yaml(cls, text: str) -> "MaintenancePolicy":
        """Read a policy file.

        Raises:
            InvalidInput: It is no YAML, or something in it is not known; it names line and key.
        """
        root = _Part.parse(text)
        return cls() if root is None else _policy(root)

    def rule_for(self, branch: str) -> StaleRule:
        """Return the rule that decides on a branch."""
        matching = (each for each in self.rules if fnmatchcase(branch, each.branches or ""))
        return next(matching, self.defaults)


class _Part(YamlPart):
    """A part of a policy file."""

    what: ClassVar[str] = "the maintenance policy"

    def duration(self) -> int:
        """A time span in milliseconds."""
        try:
            found = parse_duration(self.text())
        except ValueError:
            found = 0
        if found < _SHORTEST_MILLIS or self.text().strip().isdigit():
            raise self.error(f"is {self.text()!r}; it should be a time span, such as 30 d or 12 h")
        return found

    def pattern(self) -> str:
        """A pattern of branch names."""
        found = self.text().strip()
        if not found:
            raise self.error("is blank; it should be a pattern of names, such as 'tmp-*'")
        return found

    def step(self) -> LifecycleStep:
        """A step of the ladder."""
        found = self.text()
        if found not in LADDER:
            raise self.error(f"is {found!r}; it may be {', '.join(LADDER)}")
        return LifecycleStep(found)

    def cron(self, zone: str) -> Cron:
        """An expression of cron."""
        try:
            return Cron.parse(self.text(), zone)
        except ValueError as error:
            raise self.error(f"is {self.text()!r}: {error}") from error

    def zone(self) -> str:
        """The name of a time zone."""
        name = self.text()
        try:
            ZoneInfo(name)
        except (ValueError, OSError, LookupError) as error:
            raise self.error(f"is {name!r}; it should be a time zone, such as Europe/Berlin") from (
                error
            )
        return name

    def grace(self) -> str:
        """How long something can be undone, as the requests take it."""
        text = self.text()
        try:
            parse_duration(text)
        except ValueError as error:
            raise self.error(f"is {text!r}: {error}; it may be 10 min, or 0 s") from error
        if text.strip().isdigit():
            raise self.error(f"is {text!r}, without a unit; it may be 10 min, or 0 s")
        return text


def _policy(root: _Part) -> MaintenancePolicy:
    fields = root.fields("version", _DEFAULTS, "rules", "maintenance")
    if root.get(fields, "version").text() != _VERSION:
        raise fields["version"].error(f"is not {_VERSION}, the one that is known")
    defaults = _rule(fields[_DEFAULTS], None) if _DEFAULTS in fields else StaleRule()
    rules = (
        tuple(_rule(each, defaults) for each in fields["rules"].parts())
        if "rules" in fields
        else ()
    )
    if "maintenance" not in fields:
        return MaintenancePolicy(defaults=defaults, rules=rules)
    parts = fields["maintenance"].fields(*ScheduledTask, "zone", "grace", "dry_run")
    zone = parts["zone"].zone() if "zone" in parts else MaintenancePolicy().zone
    return MaintenancePolicy(
        defaults=defaults,
        rules=rules,
        schedules=MappingProxyType(
            {task: parts[task].cron(zone) for task in ScheduledTask if task in parts}
        ),
        zone=zone,
        grace=parts["grace"].grace() if "grace" in parts else None,
        is_dry_run=parts["dry_run"].flag() if "dry_run" in parts else True,
    )


def _rule(part: _Part, defaults: StaleRule | None) -> StaleRule:
    """Read a rule, or the defaults if there are none yet."""
    ladder = tuple(_KEYS[step] for step in LADDER)
    if defaults is None:
        fields = part.fields(*ladder, "unmerged")
        return StaleRule(
            line=part.line, ages=_ages(fields, {}), unmerged=_unmerged(fields, StaleRule())
        )
    fields = part.fields("branches", *_KEYS.values(), "unmerged", "never")
    return StaleRule(
        branches=part.get(fields, "branches").pattern(),
        line=part.line,
        ages=_ages(fields, defaults.ages),
        unmerged=_unmerged(fields, defaults),
        never=_never(fields["never"]) if "never" in fields else frozenset(),
    )


def _unmerged(fields: Mapping[str, _Part], defaults: StaleRule) -> LifecycleStep:
    return fields["unmerged"].step() if "unmerged" in fields else defaults.unmerged


def _never(part: _Part) -> frozenset[LifecycleStep]:
    found = frozenset(each.step() for each in part.parts())
    for step, following in pairwise(LADDER):
        if step in found and following not in found:
            raise part.error(
                f"names {step} without {following}, which comes only after it; name both"
            )
    return found


def _ages(
    fields: Mapping[str, _Part], defaults: Mapping[LifecycleStep, int]
) -> Mapping[LifecycleStep, int]:
    """The age of each step: its own, or that of the defaults as far as the own ages let it."""
    own = {step: fields[key].duration() for step, key in _KEYS.items() if key in fields}
    found: dict[LifecycleStep, int] = {}
    if LifecycleStep.RELEASE in own:
        found[LifecycleStep.RELEASE] = own[LifecycleStep.RELEASE]
    for place, step in enumerate(LADDER):
        earlier = [own[each] for each in LADDER[:place] if each in own]
        later = [own[each] for each in LADDER[place + 1 :] if each in own]
        if step in own:
            if own[step] < max(earlier, default=0):
                raise fields[_KEYS[step]].error("is less than the age of a step before it")
            found[step] = own[step]
        elif step in defaults or later:
            age = max([*earlier, defaults.get(step, 0)])
            found[step] = min([age, *later]) if step in defaults else min(later)
    return MappingProxyType(found)
