"""Faults of the branches of the catalog: F30 to F32, from facts that were read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from branch_console.diff.health.finding import RECOVER, HazardSeverity, HealthFinding, Remedy
from branch_console.diff.health.open_operations import OpenOperationFacts, open_operation
from branch_console.format.identifier import MAIN_BRANCH

_RECOVER: Final = Remedy(procedure=RECOVER, arguments={})


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFacts:
    """Facts about all branches of the catalog.

    Attributes:
        operations: The operations without an end.
        lost: Tables by branch whose table branch was made and is gone, or whose base is gone.
        unclear: Tables of main of which several folders may be the one, with the reason.
    """

    operations: Sequence[OpenOperationFacts]
    lost: Mapping[str, Sequence[str]]
    unclear: Mapping[str, str]


def catalog_findings(facts: CatalogFacts) -> Iterator[HealthFinding]:
    """Yield what is wrong, operations first."""
    yield from map(_open_operation, facts.operations)
    for branch, names in sorted(facts.lost.items()):
        yield HealthFinding(
            rule="F31",
            severity=HazardSeverity.CRITICAL,
            branch=branch,
            evidence=tuple(names),
            text=f"Tables are lost on it: {', '.join(names)}. Nobody dropped them there.",
            breaks="They cannot be read on the branch, and block a merge of it.",
            advice="Put the folders back from a copy, or drop the tables on the branch.",
        )
    for name, reason in sorted(facts.unclear.items()):
        yield HealthFinding(
            rule="F32",
            severity=HazardSeverity.WARNING,
            branch=MAIN_BRANCH,
            evidence=(name,),
            text=f"Nothing tells which folder is {name}. {reason}",
            breaks="Merges and new branches leave it out or stop at it.",
            advice="Move a folder that is a copy away from the warehouse.",
        )


def _open_operation(facts: OpenOperationFacts) -> HealthFinding:
    name = f"Operation {facts.id} ({facts.what})"
    if facts.turns_back is not None:
        return HealthFinding(
            rule="F30",
            severity=HazardSeverity.CRITICAL,
            branch=facts.branch,
            evidence=(facts.id,),
            text=facts.waits
            or f"{name} was cut off half taken back: it turned back, because {facts.turns_back}",
            breaks="Until it ends, other merges into the branch wait and are refused.",
            advice="" if facts.waits else "Recovery goes on with it.",
            remedies=(_RECOVER,),
        )
    return open_operation("F30", facts, _RECOVER)
