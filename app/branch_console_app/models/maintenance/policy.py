"""The maintenance policy of a table: where it was set, and the next step of each branch."""

from branch_console.diff.lifecycle.report import LifecycleRow, PolicyReport
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
