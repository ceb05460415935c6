"""The requests of partitions: those that expire, and those that are complete."""

from collections.abc import Mapping
from dataclasses import dataclass

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.options import parse_duration
from branch_console.operations.agreement import COMMITTED, PREVIEWED
from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request, ResultColumn, SqlProcedure
from branch_console.operations.shared_arguments import (
    option_pairs,
    reason_argument,
    table_argument,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpirePartitionsRequest(
    Request,
    procedure="expire_partitions",
    job=("Expire partitions", "of"),
    terms=COMMITTED,
    sql=(
        SqlProcedure(
            name="expire_partitions",
            order=(
                "table",
                "expiration_time",
                "timestamp_formatter",
                "timestamp_pattern",
                "expire_strategy",
                "max_expires",
                "options",
            ),
            answers=(ResultColumn(name="expired_partitions", nothing="No expired partitions."),),
            can_be_dry=True,
        ),
    ),
    command="expire-partitions",
):
    """Drop the partitions of a branch that are past their time, in one commit.

    For example: branch-console expire-partitions air.flights --expiration-time '90 d' --dry-run
    """

    table: str = table_argument(with_branch=True)
    expiration_time: str | None = argument(
        "How long a partition stays, such as '7 d'; where left out, option "
        "partition.expiration-time.",
        default=None,
        cli="--expiration-time DURATION",
    )
    timestamp_formatter: str | None = argument(
        "How partitions write their time, such as 'yyyyMMdd'; where left out, option "
        "partition.timestamp-formatter, or '2026-01-31' with or without '12:00:00'.",
        default=None,
        cli="--timestamp-formatter FORMATTER",
    )
    timestamp_pattern: str | None = argument(
        "What of a partition tells its time, such as '$day $hour:00:00'; where left out, option "
        "partition.timestamp-pattern, or its first value.",
        default=None,
        cli="--timestamp-pattern PATTERN",
    )
    expire_strategy: str | None = argument(
        "What tells the age of a partition: values-time, its values, or update-time, its newest "
        "file; where left out, option partition.expiration-strategy.",
        default=None,
        cli="--expire-strategy STRATEGY",
    )
    max_expires: int | None = argument(
        "The most partitions that go at once; where left out, option partition.expiration-max-num.",
        default=None,
        cli="--max-expires COUNT",
        least=1,
    )
    options: str | None = argument(
        "Options of the table for this run: 'partition.expiration-time=7 d,…'.",
        default=None,
        cli="--options OPTIONS",
    )
    reason: str | None = reason_argument()

    def expiration_millis(self) -> int | None:
        """Return how long a partition stays, None where nothing is said; raises InvalidInput."""
        if self.expiration_time is None:
            return None
        try:
            return parse_duration(self.expiration_time)
        except ValueError as error:
            raise InvalidInput(
                f"The argument 'expiration_time' of {self.procedure} is "
                f"{self.expiration_time!r}: {error}. No partition expired; write it as '7 d'.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument="expiration_time",
            ) from error

    def option_pairs(self) -> Mapping[str, str]:
        """Return the options of this run by their keys; raises InvalidInput."""
        return option_pairs(self.procedure, self.options, "No partition expired.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkPartitionDoneRequest(
    Request,
    procedure="mark_partition_done",
    job=("Mark partitions as done", "of"),
    terms=PREVIEWED,
    sql=(SqlProcedure(name="mark_partition_done", order=("table", "partitions")),),
    command=Unserved(
        why="A statement asks for it: CALL sys.mark_partition_done('db.t', 'dt=2026-01-31')."
    ),
):
    """Say that partitions are complete, by a file _SUCCESS in the folder of each."""

    table: str = table_argument(with_branch=True)
    partitions: str = argument(
        "The partitions, such as 'dt=2026-01-31,hour=7;dt=2026-02-01,hour=0'."
    )
