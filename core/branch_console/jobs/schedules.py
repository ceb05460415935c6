"""Schedules of DBOS, as maintenance policies define them, that enqueue ordinary calls.

A schedule belongs to a policy and one of its tasks. At each of its times it enqueues one call for
each table of the policy. The id is made of the task, the time and the table, so the call is one job
however often a worker is killed meanwhile. A time at which no worker ran is skipped, and so is a
time that is handled only after the next one.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dbos import DBOS

from branch_console.diff.lifecycle.policy import ScheduledTask
from branch_console.errors import PaimonError
from branch_console.format.identifier import Identifier
from branch_console.jobs.client import QUEUE
from branch_console.procedures.browse.tables import list_table_names
from branch_console.procedures.call.call import ProcedureCall
from branch_console.procedures.call.warehouse import Warehouse
from branch_console.procedures.run.kept_policies import all_policies, find_own_policy
from branch_console.procedures.run.scheduled_calls import Schedule, call_of, schedules_of

_log = logging.getLogger(__name__)

TICK: Final = "run_schedule"
"""The workflow that enqueues the calls of one time of a schedule."""


class Schedules:
    """The schedules of a job store, kept as the policies of the warehouse say.

    Attributes:
        are_there: Whether something runs by itself.
    """

    def __init__(self, warehouse: Warehouse, start: Callable[[ProcedureCall], object]) -> None:
        """Take the schedules of a warehouse; before DBOS is launched.

        Args:
            warehouse: The warehouse whose policies apply.
            start: Enqueues a call, once for each of its ids.
        """
        self._warehouse = warehouse
        self._tick = _register_tick(warehouse, start)
        self._wanted: tuple[Schedule, ...] | None = None

    @property
    def are_there(self) -> bool:
        """Whether something runs by itself."""
        return bool(self._wanted)

    def follow_policies(self) -> None:
        """Make, change and remove schedules so that they are those of the policies of now.

        Raises:
            InvalidInput: A policy cannot be read.
        """
        wanted = schedules_of(all_policies(self._warehouse))
        if wanted == self._wanted:
            return
        names = {each.name for each in wanted}
        for known in DBOS.list_schedules(workflow_name=TICK):
            if known["schedule_name"] not in names:
                DBOS.delete_schedule(known["schedule_name"])
        DBOS.apply_schedules(
            [
                {
                    "schedule_name": each.name,
                    "workflow_fn": self._tick,
                    "schedule": each.cron,
                    "context": {"table": each.table, "task": str(each.task)},
                    "automatic_backfill": False,
                    "cron_timezone": each.zone,
                    "queue_name": QUEUE,
                }
                for each in wanted
            ]
        )
        self._wanted = wanted


def calls_of(
    warehouse: Warehouse, table: str | None, task: ScheduledTask, scheduled_millis: int
) -> Iterator[ProcedureCall]:
    """Return the calls of one time of a schedule: one for each table that the policy holds for.

    Nothing is left of a time that the next one has overtaken, or of a task that the policy does not
    have any more.

    Args:
        warehouse: The warehouse.
        table: The table that the policy was set for; None for that of the warehouse.
        task: The task.
        scheduled_millis: The time.

    Raises:
        InvalidInput: The policy cannot be read.
    """
    own = None if table is None else Identifier.parse(table)
    kept = find_own_policy(warehouse, own)
    cron = None if kept is None else kept.policy.schedules.get(task)
    if kept is None or cron is None:
        return
    if cron.next_after(scheduled_millis) <= warehouse.clock():
        _log.warning("%s of %s was too late, and was left out", task, _text(scheduled_millis))
        return
    if own is not None:
        # A table that was dropped leaves its policy behind.
        if warehouse.find_table(own) is not None:
            yield call_of(task, own, kept.policy, scheduled_millis)
        return
    with_own = {each.table for each in all_policies(warehouse)}
    for each in list_table_names(warehouse):
        if each.table_name not in with_own:
            yield call_of(task, each, kept.policy, scheduled_millis)


def _register_tick(
    warehouse: Warehouse, start: Callable[[ProcedureCall], object]
) -> Callable[[Any, Any], None]:
    """Tell DBOS how a time of a schedule is carried out."""

    @DBOS.workflow(name=TICK)
    def run_schedule(scheduled: Any, context: Any) -> None:
        DBOS.run_step({"name": "enqueue calls"}, enqueue, _millis(scheduled), dict(context))

    def enqueue(scheduled_millis: int, context: Mapping[str, Any]) -> list[str]:
        # A step that was cut off is repeated: the calls have the same ids again.
        task, table = ScheduledTask(context["task"]), context["table"]
        try:
            calls = list(calls_of(warehouse, table, task, scheduled_millis))
        except PaimonError as error:
            _log.warning("%s of %s: %s", task, _text(scheduled_millis), error.message)
            return []
        for call in calls:
            start(call)
        return [call.operation_id for call in calls]

    return run_schedule


def _millis(scheduled: Any) -> int:
    """Return a time as DBOS hands it over: stored as JSON it is a text."""
    moment = scheduled if isinstance(scheduled, datetime) else datetime.fromisoformat(scheduled)
    return round(moment.timestamp() * 1000)


def _text(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="seconds")
