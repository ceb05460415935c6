"""The codec of each procedure, by its name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from branch_console.errors import ErrorKind, FormatError
from branch_console.format.journals.branches import (
    CREATE_JOURNAL,
    DROP_JOURNAL,
    FENCE_JOURNAL,
    PIN_JOURNAL,
    PROTECT_JOURNAL,
    RENAME_JOURNAL,
    REPAIR_JOURNAL,
)
from branch_console.format.journals.codec import Codec
from branch_console.format.journals.history import (
    FORWARD_JOURNAL,
    REPLACE_JOURNAL,
    ROLLBACK_JOURNAL,
)
from branch_console.format.journals.merge import MERGE_JOURNAL
from branch_console.format.journals.rows import STAGED_ROWS_JOURNAL, WRITE_JOURNAL
from branch_console.format.journals.tags import TAG_JOURNAL, UNTAG_JOURNAL
from branch_console.format.journals.undo import UNDO_JOURNAL

JOURNALS: Final[Mapping[str, Codec[Any]]] = MappingProxyType(
    {
        "cherry_pick": MERGE_JOURNAL,
        "create_branch": CREATE_JOURNAL,
        "create_tag": TAG_JOURNAL,
        "delete_tag": UNTAG_JOURNAL,
        "drop_branch": DROP_JOURNAL,
        "fast_forward": FORWARD_JOURNAL,
        "fence_branch": FENCE_JOURNAL,
        "merge_branch": MERGE_JOURNAL,
        "pin_branch": PIN_JOURNAL,
        "protect_branch": PROTECT_JOURNAL,
        "rename_branch": RENAME_JOURNAL,
        "repair_branch": REPAIR_JOURNAL,
        "replace_main": REPLACE_JOURNAL,
        "revert": MERGE_JOURNAL,
        "rollback": ROLLBACK_JOURNAL,
        "stage_rows": STAGED_ROWS_JOURNAL,
        "undo": UNDO_JOURNAL,
        "write_rows": WRITE_JOURNAL,
    }
)


def codec_of(procedure: str) -> Codec[Any]:
    """Return the codec of a procedure.

    Raises:
        FormatError: Only a newer release has such a procedure.
    """
    codec = JOURNALS.get(procedure)
    if codec is None:
        raise FormatError(
            f"A newer release made an operation {procedure!r}, whose journal this one cannot read. "
            "Nothing was changed. Upgrade Branch Console, then run: branch-console recover.",
            kind=ErrorKind.UNKNOWN_VERSION,
            procedure=procedure,
        )
    return codec
