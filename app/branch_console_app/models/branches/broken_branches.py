"""A branch that cannot be read, in a sentence for people."""

from branch_console.errors import ErrorKind, PaimonError


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
