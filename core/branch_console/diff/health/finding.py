"""A fault of a branch, in words for people and with the call that mends it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

FENCE: Final = "fence_branch"
PIN: Final = "pin_branch"
TAG: Final = "create_tag"
UNTAG: Final = "delete_tag"
REPAIR: Final = "repair_branch"
MERGE: Final = "merge_branch"
EXPIRE: Final = "expire_snapshots"
ORPHANS: Final = "remove_orphan_files"
RESET: Final = "reset_consumer"
ROLLBACK: Final = "rollback"
UNEXISTING: Final = "remove_unexisting_files"
UNDO: Final = "undo"
DROP: Final = "drop_branch"
RELEASE: Final = "release_branch"
ALTER: Final = "alter_table"
CREATE: Final = "create_branch"
RECOVER: Final = "recover"
_ONLY_ADDS: Final = frozenset({ALTER, CREATE, FENCE, PIN, RECOVER, REPAIR, TAG})


class HazardSeverity(StrEnum):
    """How bad a finding is, from the least to the worst."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """A number that rises with how bad it is."""
        return list(HazardSeverity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A call that remedies a finding.

    Attributes:
        statement: What it is in SQL where that is no CALL.
    """

    procedure: str
    arguments: Mapping[str, str | int | bool]
    statement: str | None = None

    @property
    def only_adds(self) -> bool:
        """Whether it deletes nothing and changes no row, so that it may run without a question."""
        return self.procedure in _ONLY_ADDS


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFinding:
    """A fault of a branch.

    Attributes:
        rule: The id of the rule, such as `F02`.
        branch: The branch that tells of it.
        evidence: The tags, snapshots, options and branches that it rests on.
        text: The finding, as a sentence.
        breaks: The damage and its time, as a sentence.
        advice: The advice, as a sentence.
        remedies: Calls that do it, each of which is needed; none if only people can.
    """

    rule: str
    severity: HazardSeverity
    branch: str
    evidence: tuple[str, ...]
    text: str
    breaks: str
    advice: str
    remedies: tuple[Remedy, ...] = ()

    @property
    def sentences(self) -> str:
        """All of it, for people."""
        return " ".join(each for each in (self.text, self.breaks, self.advice) if each)

    @property
    def needs_repair(self) -> bool:
        """Whether a repair of the branch is among the remedies."""
        return any(each.procedure == REPAIR for each in self.remedies)

    @property
    def needs_pin(self) -> bool:
        """Whether a pin of the branch is among the remedies."""
        return any(each.procedure == PIN for each in self.remedies)

    def fences(self, branch: str) -> bool:
        """Whether a fence of a branch is among the remedies."""
        return any(
            each.procedure == FENCE and each.arguments["branch"] == branch for each in self.remedies
        )
