"""Findings of a schema merge: conflicts, their resolutions, and changes that are only reported."""

from collections.abc import Mapping
from typing import Final

from branch_console.diff.three_way import ThreeWay
from branch_console.merge.conflict import Conflict, ConflictKind, Subject, Take

EITHER_SIDE: Final = (Take.OURS, Take.THEIRS)


class SchemaFindings:
    """Gathers conflicts and notes of one table while its schemas are merged."""

    def __init__(self, *, table: str, strict: bool, settled: Mapping[str, Take]) -> None:
        self.conflicts: list[Conflict] = []
        self.notes: list[str] = []
        self._table = table
        self._strict = strict
        self._settled = settled

    def note(self, text: str) -> None:
        """Report something that stands; each sentence once."""
        if text not in self.notes:
            self.notes.append(text)

    def conflict(
        self,
        kind: ConflictKind,
        rule: str,
        name: str | None,
        sides: ThreeWay[str],
        advice: str,
        settle_with: tuple[Take, ...] = (),
    ) -> Take | None:
        """Record a conflict, or return how it was settled.

        Args:
            kind: The kind of the conflict.
            rule: The id of the rule.
            name: The name of the column or option; None for the table.
            sides: The values of each side, in words.
            advice: The advice.
            settle_with: The choices that settle it.
        """
        found = Conflict(
            kind=kind,
            rule=rule,
            subject=Subject(table=self._table, name=name),
            sides=sides,
            settle_with=settle_with,
            advice=advice,
        )
        take = self._settled.get(found.id)
        if take in settle_with:
            self.note(f"{found.subject}: settled with {take}.")
            return take
        self.conflicts.append(found)
        return None

    def stands(
        self,
        take: Take,
        kind: ConflictKind,
        rule: str,
        name: str | None,
        sides: ThreeWay[str],
        text: str,
        warning: str = "",
    ) -> Take:
        """Let one side stand and report it; strict makes it a conflict.

        Args:
            take: The side that stands, and is returned but where the other was chosen.
            kind: The kind of the conflict.
            rule: The id of the rule.
            name: The name of the column or option; None for the table.
            sides: The values of each side, in words.
            text: The report, and the advice of the conflict.
            warning: Another fact to know before settling the conflict.
        """
        if not self._strict:
            self.note(text)
            return take
        advice = f"{text} {warning}".rstrip()
        return self.conflict(kind, rule, name, sides, advice, EITHER_SIDE) or take


def comment_text(comment: str | None) -> str:
    """Write a comment of a table or a column as a side of a conflict."""
    return "no comment" if comment is None else f"comment {comment!r}"
