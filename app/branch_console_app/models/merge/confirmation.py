"""The sentences that a person reads before a merge begins, in one order whatever is merged."""

from collections.abc import Sequence
from dataclasses import dataclass

from branch_console.procedures.call.consequence import Preview, Weight
from branch_console_app.models.merge.catalog_merge import MergeCounts
from branch_console_app.models.merge.eligibility import Check, CheckState
from branch_console_app.models.merge.fast_forward import FastForwardPreview
from branch_console_app.models.parts.consequence_text import consequence_texts, undo_text
from branch_console_app.models.parts.wording import code, prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The sentences of a dialog that merges, in Markdown.

    Attributes:
        effects: What happens; the first sentence says it with the rows that are known.
        losses: What is removed.
        checks: The checks, what fails first.
        kept: What stays as it is.
        undo: How far it can be undone.
    """

    effects: tuple[str, ...]
    checks: tuple[Check, ...]
    kept: tuple[str, ...]
    undo: str
    losses: tuple[str, ...] = ()

    @classmethod
    def of_merge(cls, preview: Preview, checks: Sequence[Check]) -> "Confirmation":
        """Return the confirmation of a merge of files and rows of one table.

        Args:
            preview: The preview of the command; what blocks it and its rules are among the checks.
            checks: The checks of the merge.
        """
        texts = {
            weight: tuple(
                text
                for each in preview.consequences
                if each.weight is weight and each.rules_of is None
                for text in consequence_texts(each)
            )
            for weight in Weight
        }
        return cls(
            effects=texts[Weight.CHANGES],
            losses=texts[Weight.LOSES],
            checks=tuple(checks),
            kept=texts[Weight.KEEPS],
            undo=undo_text(preview.undo),
        )

    @classmethod
    def of_forward(
        cls, preview: FastForwardPreview, command: Preview, checks: Sequence[Check]
    ) -> "Confirmation":
        """Return the confirmation of a fast-forward: its plan in words, and its command."""
        return cls(
            effects=preview.changes,
            checks=tuple(checks),
            kept=preview.stays,
            undo=undo_text(command.undo),
        )

    @classmethod
    def of_catalog(
        cls, counts: MergeCounts, command: Preview, checks: Sequence[Check]
    ) -> "Confirmation":
        """Return the confirmation of a merge of the catalog: its numbers, and its command."""
        source, target = code(counts.source), code(counts.target)
        return cls(
            effects=(counts.sentence, "All of it arrives, or none of it."),
            losses=tuple(
                prose(each.text) for each in command.consequences if each.weight is Weight.LOSES
            ),
            checks=tuple(checks),
            kept=(f"{source} and the snapshots that {target} has now do not change.",),
            undo=undo_text(command.undo),
        )

    @property
    def shown_checks(self) -> tuple[Check, ...]:
        """The checks that have a line: those with a name, and those that did not pass."""
        return tuple(
            each for each in self.checks if each.name or each.standing is not CheckState.PASSES
        )
