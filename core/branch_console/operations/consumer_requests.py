"""The requests of consumers: streaming readers, and where they read on."""

from dataclasses import dataclass

from branch_console.operations.agreement import PREVIEWED
from branch_console.operations.argument import argument
from branch_console.operations.request import Request, SqlProcedure
from branch_console.operations.shared_arguments import reason_argument, table_argument


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetConsumerRequest(
    Request,
    procedure="reset_consumer",
    job=("Reset a consumer", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(
            name="reset_consumer",
            order=("table", "consumerId", "nextSnapshotId"),
            can_be_dry=True,
        ),
    ),
):
    """Let a streaming reader read on at another snapshot, or take away what it keeps.

    For example: branch-console reset-consumer air.flights etl --next 12 --dry-run
    """

    table: str = table_argument(with_branch=True)
    consumer: str = argument(
        "The id of the consumer.", cli="CONSUMER", sql=("consumer", "consumerId", "consumer_id")
    )
    next_snapshot: int | None = argument(
        "The snapshot that it reads next; where left out, the consumer goes, and keeps no snapshot "
        "from expiring any more.",
        default=None,
        json="next",
        cli="--next ID",
        least=1,
        sql=("next", "nextSnapshotId", "next_snapshot_id"),
    )
    reason: str | None = reason_argument()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearConsumersRequest(
    Request,
    procedure="clear_consumers",
    job=("Clear consumers", "of"),
    terms=PREVIEWED,
    sql=(
        SqlProcedure(
            name="clear_consumers",
            order=("table", "includingConsumers", "excludingConsumers"),
            can_be_dry=True,
        ),
    ),
):
    """Take away streaming readers of a branch, and with them what they keep from expiring.

    For example: branch-console clear-consumers air.flights --including 'test-.*' --dry-run
    """

    table: str = table_argument(with_branch=True)
    including: str | None = argument(
        "Only consumers whose whole id matches this regular expression; all where left out.",
        default=None,
        cli="--including REGEX",
        sql=("including", "includingConsumers", "including_consumers"),
    )
    excluding: str | None = argument(
        "Not those whose whole id matches this one.",
        default=None,
        cli="--excluding REGEX",
        sql=("excluding", "excludingConsumers", "excluding_consumers"),
    )
    reason: str | None = reason_argument()
