"""The remedies of findings as buttons: what each is called, and how an address names it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from branch_console.diff.health.finding import HealthFinding, Remedy
from branch_console.operations.tag_requests import CreateTagRequest
from branch_console.procedures.browse.remedies import remedy_command, remedy_sql
from branch_console_app.models.jobs.job_titles import job_words
from branch_console_app.models.parts.actions import Form
from branch_console_app.models.parts.command_line import PREVIEWED

_ICONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "fence_branch": ":material/fence:",
        "pin_branch": ":material/keep:",
        "repair_branch": ":material/healing:",
        "create_tag": ":material/sell:",
    }
)
_ICON: Final = ":material/build:"
_MOST_SHOWN: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRemedy:
    """A remedy, by what an address calls it.

    Attributes:
        what: The rule, the branch and the number of the remedy among those of the finding.
    """

    what: str
    remedy: Remedy

    @property
    def is_previewed(self) -> bool:
        """Whether it tells its consequences before it runs, so that a dialog can ask."""
        return self.remedy.procedure in PREVIEWED

    @property
    def statement(self) -> str | None:
        """The remedy in SQL; None if SQL has no statement for it."""
        return remedy_sql(self.remedy)

    @property
    def command(self) -> str:
        """The remedy as a command line."""
        return remedy_command(self.remedy)

    @property
    def form(self) -> Form:
        """The command that it is."""
        procedure = self.remedy.procedure
        return Form(
            procedure=procedure,
            arguments=self.remedy.arguments,
            label=self._label,
            icon=_ICONS.get(procedure, _ICON),
        )

    @property
    def _label(self) -> str:
        procedure = self.remedy.procedure
        if procedure == CreateTagRequest.procedure:
            snapshot = CreateTagRequest.decode(procedure, self.remedy.arguments).snapshot
            if snapshot is not None:
                # A finding may have a tag for each of several snapshots.
                return f"Tag snapshot {snapshot}"
        return job_words(procedure)


def remedies_of(finding: HealthFinding) -> Iterator[NamedRemedy]:
    """Return the remedies of a finding, each with its name."""
    for number, remedy in enumerate(finding.remedies):
        yield NamedRemedy(what=f"{finding.rule}:{number}:{finding.branch}", remedy=remedy)


def split_remedies(
    remedies: Sequence[NamedRemedy],
) -> tuple[tuple[tuple[int, NamedRemedy], ...], tuple[tuple[int, NamedRemedy], ...]]:
    """Split the remedies of a finding into those to show and those to fold, with their numbers.

    A finding may have a tag for each of many snapshots; the newest is most likely to be read.
    """
    numbered = tuple(enumerate(remedies))
    if len(numbered) <= _MOST_SHOWN:
        return numbered, ()
    return numbered[-1:], numbered[:-1]


def find_remedy(findings: Sequence[HealthFinding], what: str | None) -> NamedRemedy | None:
    """Return the remedy that an address names; None if its finding is there no more."""
    named = (each for finding in findings for each in remedies_of(finding))
    return next((each for each in named if each.what == what), None)
