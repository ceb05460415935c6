"""The next steps and the cost of a table's branches by its maintenance policy."""

from collections.abc import Mapping

from branch_console.diff.lifecycle.report import PolicyReport, lifecycle_rows, schedule_rows
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.procedures.browse.stale_branches import plan_stale_branches
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.maintenance.storage import read_storage
from branch_console.procedures.run.kept_policies import get_policy
from branch_console.procedures.run.scheduled_calls import SERVED


def read_policy_report(warehouse: Warehouse, table: Identifier) -> PolicyReport:
    """Return the next steps and costs of a table's branches by its maintenance policy.

    Raises:
        NotFound: There is no such table, or no policy for it.
        InvalidInput: The policy cannot be read.
    """
    kept, now = get_policy(warehouse, table), warehouse.clock()
    plans = plan_stale_branches(warehouse, table, kept.policy)
    # All manifests are read for that, which is for nothing if every branch stays.
    is_asked = any(each.step is not None for each in plans)
    return PolicyReport(
        table=table.table_name,
        policy_of=kept.table,
        version=kept.version,
        is_dry_run=kept.policy.is_dry_run,
        branches=lifecycle_rows(plans, now, _exclusive(warehouse, table) if is_asked else {}),
        schedules=schedule_rows(kept.policy, now, served=SERVED),
    )


def _exclusive(warehouse: Warehouse, table: Identifier) -> Mapping[str, int]:
    """The bytes that each branch needs alone; nothing if a branch could not be read.

    What cannot be read may need any file, so that no file is surely needed by one alone.
    """
    try:
        found = read_storage(warehouse, table)
    except PaimonError:
        return {}
    if found.unread:
        return {}
    return {each.owner.name: each.exclusive.byte_count for each in found.cost.owners}
