"""The quality rules that an operator overrode, as receipts, merges and the feed mark them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from branch_console.errors import PaimonError
from branch_console.format.journals.written import GateOverride
from branch_console.quality.findings import GateReport, findings_of
from branch_console_app.models.parts.wording import code, listed


@dataclass(frozen=True, slots=True, kw_only=True)
class OverriddenRules:
    """The rules that did not let a result pass, and who published it nevertheless.

    Attributes:
        rules: The names of the rules, the gravest first.
    """

    rules: tuple[str, ...]
    actor: str
    reason: str

    @classmethod
    def of_gate(cls, gate: Mapping[str, Any] | None) -> Self | None:
        """Return what the gate of a receipt says of it; None if nobody overrode a rule."""
        override = None if gate is None else GateOverride.of_gate(gate)
        if gate is None or override is None:
            return None
        report = GateReport(digest="", findings=findings_of(gate["findings"]))
        return cls(
            rules=tuple(each.name for each in report.blocking),
            actor=override.actor,
            reason=override.reason,
        )

    @classmethod
    def find_in(cls, gate: Mapping[str, Any] | None) -> Self | None:
        """Return the same for a list; None also if the gate is broken, which spoils one line."""
        try:
            return cls.of_gate(gate)
        except (PaimonError, KeyError, TypeError, ValueError):
            return None

    def reason_beside(self, reason: str | None) -> str | None:
        """Return why they were overridden; None if that is the reason of the operation itself."""
        return None if self.reason == reason else self.reason

    @property
    def mark(self) -> str:
        """Name the rules in Markdown: ``rule `tail` overridden``."""
        named = listed([code(each) for each in self.rules], most=1)
        return f"rule {named} overridden" if named else "quality rules overridden"
