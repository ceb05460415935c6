"""A command of a page as the words of the command line that do the same."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from branch_console.procedures.call.call import Argument

_NAMES: Final = {"merge_branch": "merge", "fence_branch": "fence"}
_POSITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "create_branch": ("table", "branch"),
    "rename_branch": ("table", "branch", "to"),
    "protect_branch": ("table", "branch"),
    "drop_branch": ("table", "branch"),
    "replace_main": ("table", "branch"),
    "pin_branch": ("table", "branch"),
    "fence_branch": ("table", "branch"),
    "repair_branch": ("table", "branch"),
    "create_tag": ("table", "tag"),
    "delete_tag": ("table", "tag"),
    "rollback": ("table",),
    "merge_branch": ("branch",),
    "undo": ("operation",),
    "revert": ("table", "operation"),
    "cherry_pick": ("table", "branch", "snapshot"),
}
PREVIEWED: Final = frozenset({*_POSITIONS, "fast_forward"})
"""The procedures that tell their consequences before they run."""
POLICY_FILE: Final = "policy.yaml"
"""Where a policy goes that the command line reads from a file."""
_OPTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("create_branch", "tag"): "--from-tag",
    ("create_branch", "snapshot"): "--from-snapshot",
    ("create_branch", "timestamp"): "--at",
    ("merge_branch", "target"): "--to",
    ("cherry_pick", "target"): "--to",
}


def command_words(
    procedure: str, arguments: Mapping[str, Argument], confirm: str | None = None
) -> tuple[str, ...]:
    """Return the command with its arguments, without the program and the warehouse.

    Args:
        procedure: One of the lifecycle.
        arguments: As the call has them.
        confirm: The name that a person types first.
    """
    first = [name for name in _POSITIONS[procedure] if arguments.get(name) is not None]
    name_of_command = _NAMES.get(procedure, procedure.replace("_", "-"))
    words = [name_of_command, *(str(arguments[name]) for name in first)]
    for name, value in arguments.items():
        if name in first or value is None:
            continue
        words += _option(procedure, name, value)
    return (*words, *(("--confirm", confirm) if confirm is not None else ()))


def _option(procedure: str, name: str, value: Argument) -> list[str]:
    if name in ("protected", "fenced"):
        return [] if value else ["--remove"]
    if name == "policy":
        return ["--policy", POLICY_FILE]
    option = _OPTIONS.get((procedure, name), f"--{name.replace('_', '-')}")
    if isinstance(value, bool):
        return [option] if value else []
    if name == "timestamp" and isinstance(value, int):
        at = datetime.fromtimestamp(value / 1000, UTC)
        return [option, at.isoformat(timespec="milliseconds")]
    return [option, str(value)]
