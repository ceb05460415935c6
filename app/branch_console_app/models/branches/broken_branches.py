"""A branch that cannot be read: why, and what each way to drop it means for expiry."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from branch_console.errors import ErrorKind, PaimonError
from branch_console_app.models.parts.actions import DroppedFiles

FATES_OF_BROKEN: Final[Mapping[DroppedFiles, str]] = MappingProxyType(
    {
        DroppedFiles.STAY: "Expiry stays blocked until the rescue branch is released.",
        DroppedFiles.LATER: "Expiry works again after this period. Until then, undo brings the "
        "branch back.",
        DroppedFiles.NOW: "Expiry works again at once. There is no undo.",
    }
)
"""How each way to drop a branch that cannot be read leaves the expiry of its table."""


def blocks_expiry(error: PaimonError) -> bool:
    """Whether a branch with this error may need any file, so that none leaves its table.

    One without a schema may be without snapshots too, and then it needs no file.
    """
    return error.kind in {ErrorKind.FILES_MISSING, ErrorKind.BROKEN_FILE}


def effect_sentence(error: PaimonError, *, is_rescue: bool) -> str:
    """Say what else a branch that cannot be read affects, and how that ends."""
    if is_rescue:
        return (
            "Expiry of the table is blocked until it is released. You can release it now. The drop "
            "can then no longer be undone."
        )
    if blocks_expiry(error):
        return (
            "Other branches are not affected, but expiry of the table is blocked until this one is "
            "restored, or dropped with its files."
        )
    return "Other branches are not affected."


def broken_sentence(error: PaimonError) -> str:
    """Say why a branch cannot be read, in words that need no knowledge of its files."""
    match error.kind:
        case ErrorKind.SCHEMA_NOT_FOUND:
            return "This branch has no schema files, so it cannot be read."
        case ErrorKind.FILES_MISSING:
            return "Files that this branch needs are missing, so it cannot be read."
        case ErrorKind.BROKEN_FILE:
            return "A file of this branch is damaged, so it cannot be read."
        case ErrorKind.STORE_UNREACHABLE:
            return "The store did not answer, so this branch cannot be read now."
        case _:
            return "This branch cannot be read."
