"""How a command ends: the exit code of each error, also of one that a job reports."""

from typing import Final

from branch_console.errors import (
    AlreadyExists,
    CommitConflict,
    InvalidInput,
    NotAllowed,
    PaimonError,
    Refused,
)

DONE: Final = 0
REFUSED: Final = 1
WRONG_USAGE: Final = 2
FAILED: Final = 3
# What a shell calls a program that Ctrl-C ended.
STOPPED: Final = 130


def exit_code(error: PaimonError) -> int:
    """Return the exit code that an error ends the program with."""
    match error:
        case Refused() | CommitConflict() | NotAllowed() | AlreadyExists():
            return REFUSED
        case InvalidInput():
            return WRONG_USAGE
    return FAILED
