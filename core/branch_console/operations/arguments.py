"""The arguments of each procedure, declared once: a call that names another one is refused.

An argument that nobody reads is a wish that is not granted, such as a misspelt `strict`.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.near_names import did_you_mean, nearest_names

_BRANCH: Final = frozenset({"table", "branch"})
_PREVIEWED: Final = frozenset({"plan_id"})
"""Says which preview somebody agreed to."""
_DECIDED: Final = _PREVIEWED | {"plan_again", "decisions"}
"""Lets the run plan again, where nothing else is decided on."""
_STATEMENT: Final = frozenset({"sql", "branch", "line", "column"})
_CHANGED: Final = _DECIDED | {"table", "reason"}
_COMMITTED: Final = _CHANGED | {"without_callbacks"}
"""Paimon calls others after such a procedure."""
_MERGED: Final = _COMMITTED | {
    "target", "strict", "scope", "isolation", "policy", "override_gate", "heads", "wait",
}  # fmt: skip
_COMPARED: Final = frozenset({"table", "a", "b"})

ARGUMENTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "build_demo": frozenset({"data"}),
        "check_rules": _COMPARED | {"version", "rules"},
        "cherry_pick": _MERGED | {"branch", "snapshot"},
        "compact": frozenset({"table", "partitions", "without_callbacks"}),
        "compare_quality": _COMPARED | {"whole", "merged"},
        "compare_rows": _MERGED | {"branch"},
        "compare_states": _COMPARED,
        "count_rows": _COMPARED,
        "create_branch": _CHANGED
        | {"branch", "tag", "snapshot", "timestamp", "empty", "from_branch", "owner", "fence"},
        "create_tag": _COMMITTED | {"tag", "snapshot", "time_retained", "replace"},
        "delete_tag": _COMMITTED | {"tag"},
        "drop_branch": _CHANGED | {"branch"},
        "dry_run_merge": _MERGED | {"branch"},
        "fast_forward": _BRANCH
        | _PREVIEWED
        | {"target", "force", "override_gate", "without_callbacks"},
        "fence_branch": _CHANGED | {"branch", "fenced"},
        "merge_branch": _MERGED | {"branch"},
        "pin_branch": _CHANGED | {"branch", "twin"},
        "protect_branch": _CHANGED | {"branch", "protected"},
        "query": _STATEMENT | {"table", "limit"},
        "recover": frozenset({"table"}),
        "rename_branch": _CHANGED | {"branch", "to", "update_options", "without_callbacks"},
        "repair_branch": _CHANGED | {"branch"},
        "replace_main": _COMMITTED | {"branch"},
        "revert": _MERGED | {"snapshot", "operation"},
        "rollback": _COMMITTED | {"snapshot", "tag", "cut"},
        "undo": _COMMITTED | {"operation"},
        **dict.fromkeys(
            ("insert_rows", "overwrite_rows", "update_rows", "delete_rows", "merge_into"),
            _STATEMENT | {"table", "without_callbacks"},
        ),
        **dict.fromkeys(
            ("create_table", "drop_table", "alter_table"), _STATEMENT | {"table"}
        ),
    }
)  # fmt: skip
"""By the name of the procedure, as `branch_console.procedures.dispatch` knows it."""


def takes_argument(procedure: str, argument: str) -> bool:
    """Whether a procedure has an argument."""
    return argument in ARGUMENTS.get(procedure, ())


def check_arguments(procedure: str, names: Iterable[str]) -> None:
    """Refuse arguments that a procedure does not have.

    Raises:
        InvalidInput: It has no such argument; the message offers the nearest.
    """
    known = ARGUMENTS.get(procedure)
    for name in names:
        if known is not None and name not in known:
            near = did_you_mean(nearest_names(name, known, most=1))
            raise InvalidInput(
                f"{procedure} has no argument {name!r}.{near} It has {', '.join(sorted(known))}. "
                "Nothing was done.",
                kind=ErrorKind.INVALID_ARGUMENT,
                argument=name,
            )
