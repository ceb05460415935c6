"""What a job says of the error that ended it."""

import pytest

from branch_console.errors import ErrorKind
from branch_console.jobs.progress import JobState
from branch_console_app.cli.exit_codes import FAILED, REFUSED, WRONG_USAGE, exit_code
from tests.console.pretend import job


@pytest.mark.parametrize(
    ("error_class", "state", "code"),
    [
        ("Refused", JobState.REFUSED, REFUSED),
        ("AlreadyExists", JobState.REFUSED, REFUSED),
        ("InvalidInput", JobState.REFUSED, WRONG_USAGE),
        ("NotFound", JobState.REFUSED, FAILED),
        ("FormatError", JobState.FAILED, FAILED),
        ("ErrorKind", JobState.FAILED, FAILED),
        # Jobs that ended before the class was kept.
        (None, JobState.REFUSED, REFUSED),
        (None, JobState.CANCELLED, FAILED),
    ],
)
def test_the_error_of_a_job_is_of_the_class_that_ended_it(
    error_class: str | None, state: JobState, code: int
) -> None:
    ended = job("j1", state=state, error=ErrorKind.INVALID_ARGUMENT, error_class=error_class)
    failure = ended.failure()
    assert exit_code(failure) == code
    assert (failure.kind, failure.facts["job"]) == (ErrorKind.INVALID_ARGUMENT, "j1")
