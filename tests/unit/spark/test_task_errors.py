"""Errors of ours keep their kind, their message and their facts through a text of Spark."""

import traceback
from collections.abc import Iterator

import pytest

from branch_console.errors import ErrorKind, FormatError, InvalidInput, PaimonError
from branch_console.spark.session.task_errors import error_of_task, with_kinds

RAISED = [
    InvalidInput('No `é` of {"a": 1}.', kind=ErrorKind.UNSUPPORTED, path="/a b", at=object()),
    FormatError("data-1 cannot be read:\nit is gone."),
    PaimonError("It took too long.", kind=ErrorKind.LIMIT_REACHED, seconds=7),
]


def failing(error: Exception) -> Iterator[int]:
    yield 1
    raise error


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_an_error_is_told_by_the_text_of_its_traceback(error: PaimonError) -> None:
    with pytest.raises(type(error)) as raised:
        list(with_kinds(failing(error)))
    text = "".join(traceback.format_exception(raised.value))
    found = error_of_task(RuntimeError(f"Job aborted:\n{text}\n\n\tat org.apache.spark"))
    assert type(found) is type(error)
    assert (found.message, found.kind) == (error.message, error.kind)
    facts = {name: value for name, value in error.facts.items() if name != "at"}
    assert found.facts == facts


@pytest.mark.parametrize(
    "text", ["", "branch-console raised: {}", "branch-console raised: {nothing}", "KeyError: 0"]
)
def test_other_texts_tell_none(text: str) -> None:
    assert error_of_task(RuntimeError(text)) is None


def test_errors_of_others_stay_as_they_are() -> None:
    with pytest.raises(KeyError) as raised:
        list(with_kinds(failing(KeyError(0))))
    assert not hasattr(raised.value, "__notes__")
