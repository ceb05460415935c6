"""Errors of ours that tasks raise, with their kind and message for whoever waits for the tasks.

Spark carries an error out of Python as the text of its traceback alone. A note of the error is part
of that text, and has what the text lacks.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from branch_console.errors import ErrorKind, PaimonError, error_of

T = TypeVar("T")

_SIGN: Final = "branch-console raised: "
_NOTE: Final = re.compile(re.escape(_SIGN) + r"(\{.*\})")


def with_kinds(rows: Iterable[T]) -> Iterator[T]:
    """Yield the rows of a task; an error of ours keeps its kind when it leaves Spark."""
    try:
        yield from rows
    except PaimonError as error:
        facts = {name: value for name, value in error.facts.items() if isinstance(value, str | int)}
        found = {"name": type(error).__name__, "message": error.message, "kind": error.kind}
        error.add_note(_SIGN + json.dumps({**found, "facts": facts}))
        raise


def error_of_task(error: BaseException) -> PaimonError | None:
    """The error of ours that made a task fail, None if another did."""
    note = _NOTE.search(str(error))
    if note is None:
        return None
    try:
        kinds = json.loads(note[1])
        kind = ErrorKind(kinds["kind"])
        return error_of(kinds["name"], kinds["message"], kind, **kinds["facts"])
    except (ValueError, KeyError, TypeError):
        return None  # a text of somebody's that looks like it
