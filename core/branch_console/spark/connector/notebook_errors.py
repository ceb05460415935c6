"""Refusals of the data source, as somebody in a notebook meets them.

Spark shows an error of Python as the text of its traceback, which may be a page long.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from branch_console.errors import PaimonError


@contextmanager
def sentence_first() -> Iterator[None]:
    """Have the sentence of an error stand before its traceback, and not behind it alone."""
    try:
        yield
    except PaimonError as error:
        raise _with_sentence_first(error).with_traceback(error.__traceback__) from None


def _with_sentence_first(error: PaimonError) -> PaimonError:
    """An error of the same name that has its own sentence as its cause.

    Python writes the cause first, and one that was never raised without a traceback. Spark takes
    the cause away from errors whose traceback it makes shorter, which must not count here.
    """
    kind = type(error)
    sentence = kind(error.message, kind=error.kind)

    def keep(_self: PaimonError, _cause: BaseException | None) -> None:
        """Leave the cause as it is."""

    members = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__cause__": property(lambda _self: sentence, keep),
    }
    error_type: type[PaimonError] = type(kind.__name__, (kind,), members)
    found = error_type(error.message, kind=error.kind, **error.facts)
    for note in getattr(error, "__notes__", ()):
        found.add_note(note)
    return found
