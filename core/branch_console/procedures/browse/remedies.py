"""The remedies of what may break a branch, as the statements that carry them out."""

from branch_console.diff.health.finding import HealthFinding
from branch_console.procedures.call.call import argument_text


def remedy_statements(finding: HealthFinding) -> list[str]:
    """Return the remedies of a finding as SQL."""
    return [
        f"CALL sys.{each.procedure}("
        + ", ".join(argument_text(name, value) for name, value in each.arguments.items())
        + ")"
        for each in finding.remedies
    ]
