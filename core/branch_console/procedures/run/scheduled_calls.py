"""The calls by which a maintenance policy runs by itself: one a task, a time and a table."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from branch_console.diff.lifecycle.policy import MaintenancePolicy, ScheduledTask
from branch_console.format.identifier import Identifier
from branch_console.operations.argument import Argument
from branch_console.operations.declared import REQUESTS
from branch_console.operations.maintenance_requests import (
    ExpireSnapshotsRequest,
    RemoveOrphanFilesRequest,
)
from branch_console.operations.policy_requests import ApplyPolicyRequest
from branch_console.operations.statement_requests import QueryRequest
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.permissions import Role
from branch_console.procedures.run.kept_policies import KeptPolicy
from branch_console.sql.token_reader import quoted_name

ACTOR: Final = "schedule"
"""The actor of calls that run by schedule."""
_REASON: Final = "The maintenance policy has it run by itself."
_EXPIRE_TAGS: Final = "expire_tags"
_PROCEDURES: Final[Mapping[ScheduledTask, str]] = MappingProxyType(
    {
        ScheduledTask.EXPIRE: ExpireSnapshotsRequest.procedure,
        ScheduledTask.TAGS: _EXPIRE_TAGS,
        ScheduledTask.DOCTOR: QueryRequest.procedure,
        ScheduledTask.ORPHANS: RemoveOrphanFilesRequest.procedure,
        ScheduledTask.LIFECYCLE: ApplyPolicyRequest.procedure,
    }
)
SERVED: Final = frozenset(task for task, name in _PROCEDURES.items() if name in REQUESTS)
"""The tasks that this release can run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A task of a policy.

    Attributes:
        table: The table that the policy was set for; None for that of the warehouse.
    """

    table: str | None
    task: ScheduledTask
    cron: str
    zone: str

    @property
    def name(self) -> str:
        """The name by which the job store knows it."""
        return str(self.task) if self.table is None else f"{self.task} of {self.table}"


def schedules_of(policies: Iterable[KeptPolicy]) -> tuple[Schedule, ...]:
    """Return the schedules of policies, but for tasks that this release does not serve."""
    return tuple(
        Schedule(table=kept.table, task=task, cron=cron.text, zone=cron.zone)
        for kept in policies
        for task, cron in kept.policy.schedules.items()
        if task in SERVED
    )


def call_of(
    task: ScheduledTask, table: Identifier, policy: MaintenancePolicy, scheduled_millis: int
) -> ProcedureCall:
    """Return what a task does with a table at one of its times; the same id for the same time."""
    at = datetime.fromtimestamp(scheduled_millis / 1000, UTC)
    place = hashlib.sha256(table.table_name.encode()).hexdigest()[:10]
    return ProcedureCall(
        name=_PROCEDURES[task],
        arguments=_arguments(task, table, policy),
        actor=ACTOR,
        operation_id=f"{task}-{at:%Y%m%dT%H%M%SZ}-{place}",
        # Who set the policy was an operator.
        role=Role.OPERATOR,
    )


def _arguments(
    task: ScheduledTask, table: Identifier, policy: MaintenancePolicy
) -> Mapping[str, Argument]:
    name = table.table_name
    match task:
        case ScheduledTask.EXPIRE:
            return ExpireSnapshotsRequest(
                table=name, branches="all", grace=policy.grace, reason=_REASON
            ).encode()
        case ScheduledTask.ORPHANS:
            return RemoveOrphanFilesRequest(table=name, grace=policy.grace, reason=_REASON).encode()
        case ScheduledTask.LIFECYCLE:
            return ApplyPolicyRequest(table=name, report_only=policy.is_dry_run).encode()
        case ScheduledTask.DOCTOR:
            of_table = f"{quoted_name(table.database)}.{quoted_name(table.table)}"
            return QueryRequest(sql=f"SHOW HEALTH FROM {of_table}").encode()
        case ScheduledTask.TAGS:
            return {"table": name}
