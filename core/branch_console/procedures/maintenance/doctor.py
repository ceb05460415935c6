"""The health of tables: what may break their branches, which rule found it, what remedies it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from branch_console.diff.health.broken_rules import BrokenFile, broken_findings
from branch_console.diff.health.damage_rules import damage_findings
from branch_console.diff.health.finding import HazardSeverity, HealthFinding
from branch_console.diff.health.upkeep_rules import upkeep_findings
from branch_console.errors import PaimonError
from branch_console.format.identifier import MAIN_BRANCH, Identifier
from branch_console.maintenance.references import branch_of_error
from branch_console.procedures.browse.branches import read_branches
from branch_console.procedures.browse.health_facts import Unchecked
from branch_console.procedures.browse.remedies import remedy_statements
from branch_console.procedures.browse.tables import list_table_names
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.broken_files import find_folders, read_broken_files
from branch_console.procedures.maintenance.deep_check import find_damage, undecoded
from branch_console.procedures.maintenance.upkeep import read_upkeep
from branch_console.table.file_store_table import FileStoreTable

HEALTH: Final = pa.schema(
    [
        (name, pa.string())
        for name in ("rule", "severity", "branch", "finding", "breaks", "advice", "evidence")
    ]
    + [("remedies", pa.list_(pa.string()))]
)
"""Findings as rows: the evidence joined by commas, the remedies as statements or commands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHealth:
    """The findings about a table, and the files that could not be checked.

    Attributes:
        findings: The worst first.
        unchecked: Files that could not be read, so that rules about them did not run.
    """

    table: Identifier
    findings: tuple[HealthFinding, ...]
    unchecked: tuple[Unchecked, ...]

    def at_least(self, severity: HazardSeverity) -> tuple[HealthFinding, ...]:
        """The findings that are as bad as that, or worse."""
        return tuple(each for each in self.findings if each.severity.rank >= severity.rank)


def examine(warehouse: Warehouse, table: Identifier, *, is_deep: bool = False) -> TableHealth:
    """Run the rules on a table.

    Args:
        warehouse: The warehouse.
        table: The table; where it is on a branch, the findings of that one alone.
        is_deep: Whether to look at every file, too.

    Raises:
        NotFound: There is no such table or branch.
    """
    reader = read_branches(warehouse, table)
    if not table.is_main:
        reader.check_exists(table.branch)
    handle = warehouse.table(table)
    upkeep, unread = read_upkeep(warehouse, handle)
    findings = [
        *(each for of_branch in reader.health().values() for each in of_branch),
        *upkeep_findings(upkeep),
    ]
    unchecked = [*reader.unchecked, *unread]
    folders: tuple[Unchecked, ...] = ()
    if is_deep:
        try:
            unchecked += undecoded(handle)
            damage = find_damage(warehouse, handle)
            unchecked += damage.unchecked
            for of_branch in damage.branches:
                findings += damage_findings(table.table_name, of_branch)
            folders = find_folders(handle)
        except PaimonError as error:
            unchecked.append(_unchecked(handle, error))
    broken: tuple[BrokenFile, ...] = ()
    try:
        broken = read_broken_files(handle, unchecked)
    except PaimonError as error:
        unchecked.append(_unchecked(handle, error))
    findings += broken_findings(table.table_name, broken)
    named = {each.path for each in broken if table.is_main or each.branch == table.branch}
    health_findings = [each for each in findings if table.is_main or each.branch == table.branch]
    # A branch that is told as half made is told.
    half_made = {name for name, _ in upkeep.half_made}
    return TableHealth(
        table=table,
        findings=tuple(sorted(health_findings, key=lambda each: -each.severity.rank)),
        unchecked=(
            *(
                each
                for each in _each_once(unchecked)
                if each.branch not in half_made and each.error.facts.get("path") not in named
            ),
            *folders,
        ),
    )


def _unchecked(table: FileStoreTable, error: PaimonError) -> Unchecked:
    return Unchecked(branch=branch_of_error(table, error) or MAIN_BRANCH, error=error)


def _each_once(unchecked: Iterable[Unchecked]) -> Iterable[Unchecked]:
    """Several rules fail at one file."""
    return {(each.branch, each.error.message): each for each in unchecked}.values()


def examine_all(warehouse: Warehouse, *, is_deep: bool = False) -> Iterable[TableHealth]:
    """Run the rules on all tables, one after the other; a broken one is not checked."""
    for table in list_table_names(warehouse):
        try:
            yield examine(warehouse, table, is_deep=is_deep)
        except PaimonError as error:
            unchecked = (Unchecked(branch=MAIN_BRANCH, error=error),)
            yield TableHealth(table=table, findings=(), unchecked=unchecked)


def health_rows(health: TableHealth) -> pa.Table:
    """Return the columns of HEALTH: findings, then what was not checked."""
    rows: list[dict[str, object]] = [
        {
            "rule": each.rule,
            "severity": str(each.severity),
            "branch": each.branch,
            "finding": each.text,
            "breaks": each.breaks,
            "advice": each.advice,
            "evidence": ", ".join(each.evidence),
            "remedies": remedy_statements(each),
        }
        for each in health.findings
    ]
    rows += [
        {"severity": "not checked", "branch": each.branch, "finding": each.error.message}
        for each in health.unchecked
    ]
    return pa.Table.from_pylist(rows, schema=HEALTH)
