"""The maintenance policy of a table: where it was set, and the next step of each branch."""

import hashlib

from branch_console.diff.lifecycle.report import LifecycleRow, PolicyReport
from branch_console.operations.policy_requests import ApplyPolicyRequest
from branch_console.procedures.call.consequence import Preview, changes
from branch_console.procedures.call.permissions import Role
from branch_console_app.models.parts.wording import NOT_READ, count, plural


def policy_words(report: PolicyReport) -> str:
    """Say whose policy holds, and whether its schedules change anything."""
    whose = "of the warehouse" if report.policy_of is None else "of this table"
    does = (
        "Stale branches are only reported."
        if report.is_dry_run
        else "Stale branches are warned of, archived and dropped as it says."
    )
    return f"The policy {whose} holds, version {report.version}. {does}"


def step_badge(row: LifecycleRow) -> str:
    """Write what becomes of a branch as a badge with a glyph."""
    if row.step is None:
        return ":green-badge[✓ stays]"
    colour = "orange" if row.is_due else "gray"
    return f":{colour}-badge[{'△' if row.is_due else '…'} {row.step}]"


def age_words(row: LifecycleRow) -> str:
    """Write for how long nobody has used a branch; what is not known is a dash."""
    return NOT_READ if row.age_days is None else plural(row.age_days, "day")


def ahead_words(row: LifecycleRow) -> str:
    """Write how many commits were merged nowhere; what is not known is a dash."""
    return count(row.ahead)


def policy_preview(report: PolicyReport) -> Preview | None:
    """Return what the policy does to branches that are due now; None if none is."""
    due = [row for row in report.branches if row.is_due]
    if not due:
        return None
    consequences = tuple(changes(row.sentence) for row in due)
    facts = repr([(report.table, report.version), *(row.sentence for row in due)])
    return Preview(
        procedure=ApplyPolicyRequest.procedure,
        title=f"Apply the maintenance policy to {report.table}",
        plan_id=hashlib.sha256(facts.encode()).hexdigest()[:16],
        consequences=consequences,
        typed_name=str(len(due)),
        role=Role.OPERATOR,
        undo="Undo takes back each step by itself; each has a receipt.",
    )
