"""The statements that there are, and the procedures that other programs call by name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

Value: TypeAlias = str | int | bool | None
"""What an argument of a procedure is."""

QUERY: Final = "query"
"""The procedure that answers a query."""

COMPACT: Final = "compact"
"""The procedure that writes a table's files anew."""

CONFIRM: Final = "confirm"
"""The argument of a call that names what is taken away, as it is typed elsewhere."""

VERSION: Final = "version"
"""The argument of Paimon that is a snapshot id where it is all digits, else the name of a tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement that became a procedure with arguments.

    Attributes:
        text: As it was written.
        is_dry: Whether it only tells what it would do.
        confirms: The name that the statement itself says of what it takes away, for procedures
            that ask for it.
    """

    text: str
    procedure: str
    arguments: Mapping[str, Value]
    is_dry: bool = False
    confirms: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A procedure that `CALL sys.…` knows: our name of it and of its arguments.

    Attributes:
        order: The names of the arguments that need not be named, first to last. Those that
            `arguments` lacks are Paimon's, and not served here.
        confirms: The arguments that name what is taken away, the first that is given. One of them
            is `CONFIRM`, which is told nobody else.
    """

    procedure: str
    arguments: Mapping[str, str]
    order: tuple[str, ...] = ()
    confirms: tuple[str, ...] = ()


def _same(procedure: str, *names: str, **renamed: str) -> Called:
    arguments = {**{name: name for name in names}, **renamed}
    return Called(procedure=procedure, arguments=MappingProxyType(arguments), order=names)


def _in_order(order: str, called: Called) -> Called:
    """A procedure of Paimon's, whose arguments have Paimon's order [the PARAMETERS in Spark]."""
    return replace(called, order=tuple(order.split()))


def _taking(called: Called, named_by: str | None = None) -> Called:
    """A procedure that may take something away, which `CONFIRM` or another argument names."""
    return replace(
        called,
        arguments=MappingProxyType({**called.arguments, CONFIRM: CONFIRM}),
        confirms=(CONFIRM,) if named_by is None else (CONFIRM, named_by),
    )


# Paimon's names and arguments [Paimon Spark procedures], beside them ours: what a receipt calls its
# statement runs again.
CALLED: Final[Mapping[str, Called]] = MappingProxyType(
    {
        "create_branch": _in_order(
            "table branch tag ignoreifexists",
            _same(
                "create_branch", "table", "branch", "tag", "snapshot", "timestamp", "empty",
                "from_branch", "owner", "reason", "fence",
            ),
        ),
        "delete_branch": _in_order(
            "table branch",
            _taking(_same("drop_branch", "table", "branch", "reason"), named_by="branch"),
        ),
        "drop_branch": _taking(
            _same("drop_branch", "table", "branch", "reason"), named_by="branch"
        ),
        "rename_branch": _in_order(
            "table from_branch to_branch",
            _same(
                "rename_branch", "table", "branch", "to", "reason", "update_options",
                "without_callbacks", from_branch="branch", to_branch="to",
            ),
        ),
        "protect_branch": _same("protect_branch", "table", "branch", "protected", "reason"),
        "pin_branch": _same("pin_branch", "table", "branch", "twin"),
        # It answers with rows, as SHOW HEALTH does.
        "doctor": _same(QUERY, "table"),
        "fence_branch": _same("fence_branch", "table", "branch", "fenced", "reason"),
        "repair_branch": _same("repair_branch", "table", "branch", "reason"),
        "replace_main": _taking(
            _same("replace_main", "table", "branch", "reason", "without_callbacks")
        ),
        "fast_forward": _in_order(
            "table branch",
            _taking(
                _same(
                    "fast_forward", "table", "branch", "target", "force", "override_gate",
                    "without_callbacks",
                ),
                named_by="target",
            ),
        ),
        "merge_branch": _in_order(
            "table source_branch target_branch",
            _same(
                "merge_branch", "table", "branch", "target", "strict", "scope", "isolation",
                "policy", "reason", "override_gate", "without_callbacks", "plan_again", "wait",
                source_branch="branch", target_branch="target",
            ),
        ),
        "cherry_pick": _same(
            "cherry_pick", "table", "branch", "target", "snapshot", "reason", "override_gate",
            "without_callbacks", source_branch="branch", target_branch="target",
        ),
        "revert": _same(
            "revert", "table", "snapshot", "operation", "reason", "override_gate",
            "without_callbacks",
        ),
        "undo": _in_order(
            "table operation", _same("undo", "table", "operation", "without_callbacks")
        ),
        "compact": _in_order(
            "table partitions compact_strategy order_strategy order_by where options "
            "partition_idle_time buckets",
            _same(COMPACT, "table", "partitions", "without_callbacks"),
        ),
        "create_tag": _in_order(
            "table tag snapshot time_retained",
            _same(
                "create_tag", "table", "tag", "snapshot", "time_retained", "replace",
                "without_callbacks",
            ),
        ),
        "delete_tag": _in_order(
            "table tag",
            _taking(
                _same("delete_tag", "table", "tag", "reason", "without_callbacks"), named_by="tag"
            ),
        ),
        "rollback": _in_order(
            "table version snapshot tag",
            _taking(
                _same(
                    "rollback", "table", "snapshot", "tag", "cut", "reason",
                    "without_callbacks", version=VERSION, snapshot_id="snapshot",
                )
            ),
        ),
    }
)  # fmt: skip
