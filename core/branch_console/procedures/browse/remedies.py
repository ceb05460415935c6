"""The remedies of what may break a branch, as people run them."""

import shlex

from branch_console.diff.health.finding import HealthFinding, Remedy
from branch_console.operations.argument import Unserved
from branch_console.operations.declared import REQUESTS
from branch_console.procedures.call.call import argument_text


def remedy_statements(finding: HealthFinding) -> list[str]:
    """Return the remedies of a finding as SQL, or as commands where SQL does not serve them."""
    return [remedy_sql(each) or remedy_command(each) for each in finding.remedies]


def remedy_sql(remedy: Remedy) -> str | None:
    """Return a remedy as SQL, None if SQL does not serve it."""
    if remedy.statement is not None:
        return remedy.statement
    if isinstance(REQUESTS[remedy.procedure].in_sql, Unserved):
        return None
    parts = (argument_text(name, value) for name, value in remedy.arguments.items())
    return f"CALL sys.{remedy.procedure}({', '.join(parts)})"


def remedy_command(remedy: Remedy) -> str:
    """Return a remedy as a command whose arguments need no name."""
    words = (remedy.procedure.replace("_", "-"), *map(str, remedy.arguments.values()))
    return shlex.join(("branch-console", *words))
