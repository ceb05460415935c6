"""The health of the branches of the catalog: open operations, lost tables, unclear identities."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from branch_console.catalog.catalog_branch import MemberState
from branch_console.commit.journal import Journal
from branch_console.diff.health.catalog_rules import (
    CatalogFacts,
    catalog_findings,
)
from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.diff.health.open_operations import OpenOperationFacts
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.journals.catalog_merge import MERGE_DIRECTION
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.catalog.catalog_operation import CatalogOperation
from branch_console.procedures.catalog.states import state_of_main
from branch_console.procedures.catalog_merge.turn_back import find_waiting_words

_DIRECTION: Final = "direction"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogHealth:
    """The findings about the branches of the catalog, and the objects that could not be checked.

    Attributes:
        findings: The worst first.
        unchecked: Branches and operations that cannot be read.
    """

    findings: tuple[HealthFinding, ...]
    unchecked: tuple[Unchecked, ...]

    def at_least(self, severity: HazardSeverity) -> tuple[HealthFinding, ...]:
        """The findings that are as bad as that, or worse."""
        return tuple(each for each in self.findings if each.severity.rank >= severity.rank)


def examine_catalog(warehouse: Warehouse) -> CatalogHealth:
    """Look at all branches of the catalog and at its open operations; nothing is written."""
    unchecked: list[Unchecked] = []
    operations = tuple(_open_operations(warehouse, unchecked))
    lost: dict[str, tuple[str, ...]] = {}
    for branch in warehouse.ledger.branches():
        try:
            members = warehouse.on(branch).members()
        except PaimonError as error:
            unchecked.append(Unchecked(branch=branch, error=error))
            continue
        names = tuple(each.name for each in members if each.state is MemberState.LOST)
        if names:
            lost[branch] = names
    # Main is not looked at in the middle of a merge: that would wait for it.
    is_quiet = not operations and warehouse.ledger.newest(MAIN_BRANCH) > 0
    unclear = _unclear_on_main(warehouse, unchecked) if is_quiet else {}
    facts = CatalogFacts(operations=operations, lost=lost, unclear=unclear)
    findings = sorted(catalog_findings(facts), key=lambda each: -each.severity.rank)
    return CatalogHealth(findings=tuple(findings), unchecked=tuple(unchecked))


def _unclear_on_main(warehouse: Warehouse, unchecked: list[Unchecked]) -> dict[str, str]:
    try:
        main = state_of_main(warehouse)
    except PaimonError as error:
        unchecked.append(Unchecked(branch=MAIN_BRANCH, error=error))
        return {}
    return {main.name_of(key) or key: reason for key, reason in main.unclear.items()}


def _open_operations(
    warehouse: Warehouse, unchecked: list[Unchecked]
) -> Iterator[OpenOperationFacts]:
    journal = Journal(warehouse.store, warehouse.ledger.paths)
    found = journal.open_intents()
    unchecked += [Unchecked(branch=None, error=each.error) for each in found.broken]
    for intent in found.readable:
        try:
            turns_back = _reason(journal, intent.operation_id)
            operation = CatalogOperation.find(warehouse, intent.operation_id)
            waits = None if operation is None else find_waiting_words(operation)
        except PaimonError as error:
            unchecked.append(Unchecked(branch=intent.branch, error=error))
            continue
        yield OpenOperationFacts(
            id=intent.operation_id,
            what=intent.procedure.replace("_", " "),
            branch=intent.branch,
            age_millis=max(0, warehouse.clock() - intent.time_millis),
            turns_back=turns_back,
            waits=waits,
        )


def _reason(journal: Journal, operation_id: str) -> str | None:
    """Why an operation takes back what it did; None if it does not."""
    mark = journal.find_step(operation_id, _DIRECTION)
    if mark is None:
        return None
    direction = journal.decode_step(operation_id, _DIRECTION, mark, MERGE_DIRECTION)
    return direction.reason if direction.turns_back else None
