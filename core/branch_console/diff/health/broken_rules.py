"""F21: schemas, snapshots, tags and consumers that cannot be decoded, with what remedies that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from branch_console.diff.health.finding import (
    DROP,
    RELEASE,
    REPAIR,
    RESET,
    UNTAG,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.diff.history_move import count
from branch_console.format.identifier import MAIN_BRANCH, RESERVED_PREFIXES, Identifier

_MOST_NAMED: Final = 3
_FIRST_REPAIR: Final = "What cannot be decoded may hide more: ask again after that."


class BrokenKind(StrEnum):
    """The kind of a file of a branch that cannot be decoded."""

    SCHEMA = "schema"
    SNAPSHOT = "snapshot"
    CHANGELOG = "changelog"
    TAG = "tag"
    BASE_TAG = "base tag"
    CONSUMER = "consumer"

    @property
    def is_needed(self) -> bool:
        """Whether the branch needs files of this kind to be read."""
        return self in {BrokenKind.SCHEMA, BrokenKind.SNAPSHOT, BrokenKind.CHANGELOG}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenFile:
    """A file of a branch that cannot be decoded.

    Attributes:
        name: Its number, or the name of the tag or consumer.
        message: The reason, as a sentence that names the path.
        has_copy: Whether the same file lies whole elsewhere in the table.
        id_before: For the newest snapshot of a branch, the id of the one before it; None for other
            files, and where there is none.
    """

    branch: str
    kind: BrokenKind
    name: str
    path: str
    message: str
    has_copy: bool = False
    id_before: int | None = None


def broken_findings(table: str, files: Sequence[BrokenFile]) -> Iterator[HealthFinding]:
    """Yield a finding for each branch that has such files.

    Args:
        table: Its name, for remedies.
        files: Those files, in the order of their branches.
    """
    for branch in dict.fromkeys(each.branch for each in files):
        yield _finding(table, branch, [each for each in files if each.branch == branch])


def _finding(table: str, branch: str, files: Sequence[BrokenFile]) -> HealthFinding:
    remedies = tuple(_remedies(table, branch, files))
    named = "; ".join(each.message.removesuffix(".") for each in files[:_MOST_NAMED])
    return HealthFinding(
        rule="F21",
        severity=HazardSeverity.CRITICAL,
        branch=branch,
        evidence=tuple(each.path for each in files),
        text=f"{count(len(files), 'file')} cannot be decoded: {named}.",
        breaks="Whoever reads there fails now, and no file can leave the table.",
        advice=_advice(branch, files),
        remedies=remedies,
    )


def _is_lost(each: BrokenFile) -> bool:
    return each.kind.is_needed and not each.has_copy


def _advice(branch: str, files: Sequence[BrokenFile]) -> str:
    parts = []
    if any(map(_is_lost, files)):
        parts.append("Restore it from a copy of the warehouse.")
        ids_before = [
            each.id_before for each in files if _is_lost(each) and each.id_before is not None
        ]
        if branch != MAIN_BRANCH:
            parts.append("Where there is none, drop the branch with reclaim.")
        elif len(ids_before) == sum(map(_is_lost, files)):
            parts.append(_without_newest(ids_before[0]))
    elif all(each.has_copy for each in files):
        parts.append("The same lies whole elsewhere in the table: have it written again.")
    elif any(each.kind is BrokenKind.BASE_TAG for each in files if not each.has_copy):
        parts.append("Restore the base tag from a copy of the warehouse.")
    else:
        parts.append("Go on without what cannot be restored.")
    return " ".join((*parts, _FIRST_REPAIR))


def _without_newest(id_before: int) -> str:
    """Say how main goes on without its newest snapshot, given the id of the one before it.

    Paimon trusts LATEST while no snapshot follows the one that it names
    [HintFileUtils.findLatest]; without the hint it lists the folder. The next commit then gets
    the id of the lost snapshot: a reader that has passed that id skips the commit silently.
    """
    again = id_before + 1
    return (
        "Where there is none, stop all writers and streaming readers first. Then move it and the "
        f"file LATEST beside it out of the table: main then ends with snapshot {id_before}, and "
        "what was committed since is lost. Afterwards, reset each consumer whose next snapshot is "
        f"after {again} to {again}, and let other streaming readers begin there: the next commit "
        "takes that id again."
    )


def _remedies(table: str, branch: str, files: Sequence[BrokenFile]) -> Iterator[Remedy]:
    if branch != MAIN_BRANCH and any(map(_is_lost, files)):
        # What else is broken there leaves with the branch.
        yield _removal(table, branch)
        return
    if any(each.has_copy for each in files):
        yield _call(REPAIR, table=table, branch=branch)
    on_branch = Identifier.parse(table).on_branch(branch).full_name
    for each in files:
        if each.kind is BrokenKind.TAG and not each.has_copy:
            yield _call(UNTAG, table=on_branch, tag=each.name)
        elif each.kind is BrokenKind.CONSUMER:
            yield _call(RESET, table=on_branch, consumer=each.name)


def _removal(table: str, branch: str) -> Remedy:
    if branch.startswith(RESERVED_PREFIXES):
        return _call(RELEASE, table=table, branch=branch)
    return _call(DROP, table=table, branch=branch, reclaim=True)


def _call(procedure: str, **arguments: str | bool) -> Remedy:
    return Remedy(procedure=procedure, arguments=MappingProxyType(arguments))
