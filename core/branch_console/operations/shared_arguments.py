"""Arguments that many procedures have, with the same words for each."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.identifier import MAIN_BRANCH
from branch_console.format.options import parse_duration
from branch_console.operations.argument import WrittenAs, argument

_GRACE_MILLIS: Final = 600_000

CHANGES_NO_PLAN: Final = frozenset({"plan_id", "reason", "owner"})
"""The plan itself, and words for people: a preview stays the same whatever they say."""


def table_argument(*, with_branch: bool = False) -> Any:
    """Declare the table that a procedure changes.

    Args:
        with_branch: Whether its name says which branch is meant, too.
    """
    written = WrittenAs.TABLE_AND_BRANCH if with_branch else WrittenAs.TABLE
    help_text = "database.table, or database.table$branch_NAME."
    return argument(help_text, cli="TABLE", written=written)


def branch_argument(
    help_text: str = "The name of the branch.", *, sql: tuple[str, ...] = ()
) -> Any:
    """Declare the branch that a procedure is about."""
    return argument(help_text, json="branch", cli="BRANCH", sql=sql or None)


def reason_argument() -> Any:
    """Declare the reason that the ledger keeps."""
    return argument("Shown in the receipt and in the activity.", default=None)


def grace_argument(
    help_text: str = "How long undo can bring the branch back before its files go: '10 min' where "
    "left out; '0 s' removes them at once.",
) -> Any:
    """Declare how long what leaves a table can be brought back."""
    return argument(help_text, default=None, cli="--grace DURATION")


def grace_millis_of(procedure: str, grace: str | None, unchanged: str) -> int:
    """Return a grace in milliseconds.

    Args:
        procedure: The procedure, for the message.
        grace: The requested grace.
        unchanged: The sentence of the refusal about what is unchanged.

    Raises:
        InvalidInput: It is no duration.
    """
    if grace is None:
        return _GRACE_MILLIS
    try:
        return parse_duration(grace)
    except ValueError as error:
        raise InvalidInput(
            f"The argument 'grace' of {procedure} is {grace!r}: {error}. Write it as '10 min'. "
            f"{unchanged}",
            kind=ErrorKind.INVALID_ARGUMENT,
            argument="grace",
        ) from error


def target_argument() -> Any:
    """Declare the branch that a merge changes."""
    return argument(
        "The target branch, which receives the changes.",
        default=MAIN_BRANCH,
        sql=("target", "target_branch"),
        cli="--to TARGET",
    )


def strict_argument() -> Any:
    """Declare whether what a merge would only report is a conflict."""
    return argument(
        "Stop on changes that the merge rules would drop, instead of listing them.",
        default=False,
    )


def policy_argument(help_text: str = "A YAML file that settles conflicts of rows.") -> Any:
    """Declare the policy of a merge."""
    return argument(
        help_text,
        default=None,
        cli="--policy FILE",
        written=WrittenAs.FILE,
    )


def time_millis_of(procedure: str, argument: str, text: str | None, unchanged: str) -> int | None:
    """Return a time in milliseconds, None where none was said.

    Args:
        procedure: The procedure, for the message.
        argument: The argument that says it.
        text: The time, without a zone one of this machine, as in Paimon.
        unchanged: The sentence of the refusal about what is unchanged.

    Raises:
        InvalidInput: It is no time.
    """
    if text is None:
        return None
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"The argument {argument!r} of {procedure} is {text!r}, which is no time. Write it as "
            f"'2026-01-31 12:00:00'. {unchanged}",
            kind=ErrorKind.INVALID_ARGUMENT,
            argument=argument,
        ) from error


def option_pairs(procedure: str, text: str | None, unchanged: str) -> Mapping[str, str]:
    """Return the options of one run by their keys.

    Args:
        procedure: The procedure, for the message.
        text: The given text, such as `snapshot.expire.limit=100,write-only=true`.
        unchanged: The sentence of the refusal about what is unchanged.

    Raises:
        InvalidInput: It is none of that kind.
    """
    pairs = [each.partition("=") for each in (text or "").split(",") if each.strip()]
    if not all(equals and key.strip() for key, equals, _ in pairs):
        raise InvalidInput(
            f"The argument 'options' of {procedure} must be pairs such as "
            f"'snapshot.expire.limit=100', not {text!r}. {unchanged}",
            kind=ErrorKind.INVALID_ARGUMENT,
            argument="options",
        )
    return {key.strip(): value.strip() for key, _, value in pairs}
