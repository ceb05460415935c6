"""Facts that all health rules ask for: automatic expiry, shared files, and the remedies."""

from collections.abc import Iterable
from types import MappingProxyType

from branch_console.diff.health.facts import TableFacts
from branch_console.diff.health.finding import (
    ALTER,
    TAG,
    HazardSeverity,
    HealthFinding,
    Remedy,
)
from branch_console.diff.shared_files import SharedFiles, tag_names
from branch_console.format.identifier import BRANCH_MARK, MAIN_BRANCH, Identifier
from branch_console.format.snapshot import Snapshot, SnapshotIdentity
from branch_console.format.tag import Tag


class Judging:
    """A table as its rules are judged.

    Attributes:
        table: The facts about the table.
        branches: The facts about each branch, main first.
        shared: The files that branches hold in common.
    """

    def __init__(self, facts: TableFacts) -> None:
        self.table = facts
        self.branches = facts.branches
        traces = {name: each.trace for name, each in facts.branches.items()}
        unsafe = frozenset(name for name, each in facts.branches.items() if not each.is_fenced)
        self.shared = SharedFiles(traces, facts.lineage, unsafe, facts.count_taken)

    def is_safe(self, branch: str) -> bool:
        """Whether other engines expire nothing on a branch."""
        facts = self.branches.get(branch)
        return facts is None or facts.is_fenced

    def unsafe(self, branch: str, other: str) -> tuple[str, ...]:
        """Return the branches among two on which other engines expire, the other one first."""
        return tuple(each for each in (other, branch) if not self.is_safe(each))

    def judged(
        self,
        rule: str,
        sides: tuple[str, ...],
        *,
        branch: str,
        evidence: tuple[str, ...],
        text: str,
        breaks: str,
        advice: str,
        remedies: tuple[Remedy, ...],
    ) -> HealthFinding:
        """A critical finding; F14 where options keep all sides from expiring by themselves."""
        is_safe = all(map(self.is_safe, sides))
        kept = {each: self.branches[each].kept_by for each in sides}
        if not is_safe and all(kept.values()):
            options = " and ".join(f"{option!r} of {name!r}" for name, option in kept.items())
            verb = "is" if len(kept) == 1 else "are"
            return HealthFinding(
                rule="F14",
                severity=HazardSeverity.CRITICAL,
                branch=branch,
                evidence=(*(f"{name}: {option}" for name, option in kept.items()), rule, *evidence),
                text=f"{text} {options} {verb} all that protects it.",
                breaks="A dedicated compaction job or an explicit expire_snapshots overrides that. "
                f"{breaks}",
                advice=advice,
                remedies=remedies,
            )
        return HealthFinding(
            rule=rule,
            severity=HazardSeverity.INFO if is_safe else HazardSeverity.CRITICAL,
            branch=branch,
            evidence=evidence,
            text=text,
            breaks=breaks if not is_safe else "Its fence keeps other engines from that.",
            advice=advice if not is_safe else "",
            remedies=remedies if not is_safe else (),
        )

    def remedy(self, procedure: str, branch: str | None, **arguments: str | int | bool) -> Remedy:
        """The call of a procedure on this table."""
        named = {} if branch is None else {"branch": branch}
        found = {"table": self.table.table, **named, **arguments}
        return Remedy(procedure=procedure, arguments=MappingProxyType(found))

    def remedy_on(self, procedure: str, branch: str, **arguments: str | int | bool) -> Remedy:
        """The call of a procedure that takes the table with its branch."""
        found = {"table": self._named(branch).full_name, **arguments}
        return Remedy(procedure=procedure, arguments=MappingProxyType(found))

    def unset(self, branch: str, *options: str) -> Remedy:
        """The statement that unsets options of a branch."""
        named, keys = self._named(branch), ", ".join(f"'{each}'" for each in options)
        of_branch = "" if named.is_main else f"{BRANCH_MARK}{branch}"
        parts = (named.database, f"{named.table}{of_branch}")
        name = ".".join(f"`{each.replace('`', '``')}`" for each in parts)
        sql = f"ALTER TABLE {name} UNSET TBLPROPERTIES ({keys})"
        found = MappingProxyType({"sql": sql})
        return Remedy(procedure=ALTER, arguments=found, statement=sql)

    def _named(self, branch: str) -> Identifier:
        return Identifier.parse(self.table.table).on_branch(branch)

    def pin(self, branch: str, snapshot: Snapshot) -> Remedy:
        """The call that tags a snapshot of main for what a branch shares with it."""
        tag = f"shared-{branch}-{snapshot.id}"
        return self.remedy(TAG, None, tag=tag, snapshot=snapshot.id)

    def is_listed_on_main(self, identity: SnapshotIdentity) -> bool:
        """Whether main still has a snapshot in its history."""
        main = self.branches.get(MAIN_BRANCH)
        return main is not None and identity.manifest_lists in main.trace.places


def names_of(tags: Iterable[Tag]) -> str:
    """Name tags in a sentence."""
    return tag_names([tag.name for tag in tags])


def quoted(branches: Iterable[str]) -> str:
    """Name branches in a sentence."""
    return " and ".join(map(repr, branches))


def verb_of(verb: str, number: int) -> str:
    """The form of a verb for one thing or several."""
    return f"{verb}s" if number == 1 else verb
