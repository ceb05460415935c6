"""The one tree of errors, so that every surface reports a failure in the same words.

    PaimonError
    ├── NotFound          what was named is not there
    ├── AlreadyExists     the name is taken
    ├── InvalidInput      a name, argument or option that can never be right
    ├── NotAllowed        right, but not for this role or this store
    ├── Refused           right and allowed, but it would lose something
    ├── CommitConflict    somebody else changed what the commit builds on
    ├── FormatError       bytes that are not what Paimon writes
    └── StorageError      the store did not answer as a store should

A message says what happened, to what, and what to do next. `kind` is a stable code; facts are
attributes. Codes are only ever added.
"""

import re
from enum import StrEnum
from typing import Final

# A reason that a library gave may end a sentence of ours that has its own full stop. A path such as
# `../data` is left alone.
_SECOND_FULL_STOP: Final = re.compile(r"(?<=[^\s./])\.\.(?=\s|$)")


class ErrorKind(StrEnum):
    """Stable codes that the command line, the console and receipts show."""

    TABLE_NOT_FOUND = "TABLE_NOT_FOUND"
    BRANCH_NOT_FOUND = "BRANCH_NOT_FOUND"
    TAG_NOT_FOUND = "TAG_NOT_FOUND"
    SNAPSHOT_NOT_FOUND = "SNAPSHOT_NOT_FOUND"
    SCHEMA_NOT_FOUND = "SCHEMA_NOT_FOUND"
    DATABASE_NOT_FOUND = "DATABASE_NOT_FOUND"
    FILE_NOT_FOUND = "FILE_NOT_FOUND"
    JOB_NOT_FOUND = "JOB_NOT_FOUND"
    OPERATION_NOT_FOUND = "OPERATION_NOT_FOUND"
    NAME_TAKEN = "NAME_TAKEN"
    INVALID_NAME = "INVALID_NAME"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    INVALID_OPTION = "INVALID_OPTION"
    UNSUPPORTED = "UNSUPPORTED"
    ROLE_REQUIRED = "ROLE_REQUIRED"
    READ_ONLY = "READ_ONLY"
    TARGET_MOVED = "TARGET_MOVED"
    HEAD_MOVED = "HEAD_MOVED"
    NO_COMMON_HISTORY = "NO_COMMON_HISTORY"
    NOTHING_TO_DO = "NOTHING_TO_DO"
    BRANCH_EMPTY = "BRANCH_EMPTY"
    FILES_IN_USE = "FILES_IN_USE"
    FILES_MISSING = "FILES_MISSING"
    COMMIT_CONFLICT = "COMMIT_CONFLICT"
    BROKEN_FILE = "BROKEN_FILE"
    UNKNOWN_VERSION = "UNKNOWN_VERSION"
    STORE_UNREACHABLE = "STORE_UNREACHABLE"
    STORE_UNSAFE = "STORE_UNSAFE"
    NO_WORKER = "NO_WORKER"
    NO_JAVA = "NO_JAVA"
    INTERRUPTED = "INTERRUPTED"
    CANCELLED = "CANCELLED"
    UNEXPECTED = "UNEXPECTED"
    PROTECTED = "PROTECTED"
    BRANCH_IN_USE = "BRANCH_IN_USE"
    UNDO_BLOCKED = "UNDO_BLOCKED"
    CONFLICTS_OPEN = "CONFLICTS_OPEN"
    GATE_FAILED = "GATE_FAILED"
    RULES_NOT_CHECKED = "RULES_NOT_CHECKED"
    MERGE_CARDINALITY = "MERGE_CARDINALITY"
    LIMIT_REACHED = "LIMIT_REACHED"
    DATABASE_NOT_EMPTY = "DATABASE_NOT_EMPTY"


class PaimonError(Exception):
    """A failure as a sentence for people, with its code and its facts.

    Attributes:
        kind: The stable code.
        facts: The objects of the message, by name, for programs.
    """

    default_kind = ErrorKind.UNEXPECTED

    def __init__(self, message: str, *, kind: ErrorKind | None = None, **facts: object) -> None:
        message = _SECOND_FULL_STOP.sub(".", message)
        super().__init__(message)
        self.message = message
        self.kind = kind or self.default_kind
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (jobs, Spark tasks); the keyword-only kind would be dropped.
        return _rebuild, (type(self), self.message, self.kind, self.facts)


def error_of(class_name: str, message: str, kind: ErrorKind, **facts: object) -> PaimonError:
    """Make an error again of what was kept of it as text; a class of no name here is the base."""
    known = {each.__name__: each for each in PaimonError.__subclasses__()}
    return known.get(class_name, PaimonError)(message, kind=kind, **facts)


def _rebuild(
    cls: type[PaimonError], message: str, kind: ErrorKind, facts: dict[str, object]
) -> PaimonError:
    return cls(message, kind=kind, **facts)


class NotFound(PaimonError):
    """An object that was named does not exist."""

    default_kind = ErrorKind.FILE_NOT_FOUND


class AlreadyExists(PaimonError):
    """The name is taken."""

    default_kind = ErrorKind.NAME_TAKEN


class InvalidInput(PaimonError):
    """A name, argument or option that can never be right."""

    default_kind = ErrorKind.INVALID_ARGUMENT


class NotAllowed(PaimonError):
    """Right, but not for this role or on this store."""

    default_kind = ErrorKind.ROLE_REQUIRED


class Refused(PaimonError):
    """Right and allowed, but it would lose something."""

    default_kind = ErrorKind.TARGET_MOVED


class CommitConflict(PaimonError):
    """Somebody else changed what the commit builds on."""

    default_kind = ErrorKind.COMMIT_CONFLICT


class FormatError(PaimonError):
    """Bytes that are not what Paimon writes; `path` in the facts names the file where known."""

    default_kind = ErrorKind.BROKEN_FILE


class StorageError(PaimonError):
    """The store did not answer as a store should."""

    default_kind = ErrorKind.STORE_UNREACHABLE
