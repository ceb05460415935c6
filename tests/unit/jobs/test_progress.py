"""What a job says of the error that ended it."""

import pytest

from branch_console.errors import ErrorKind
from branch_console.jobs.progress import JobState, TargetMove
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


@pytest.mark.parametrize(
    ("state", "stage", "outcome", "target_is"),
    [
        (JobState.QUEUED, {}, {}, "unchanged"),
        (JobState.RUNNING, {"step": "verify files", "target_is": "unchanged"}, {}, "unchanged"),
        (JobState.INTERRUPTED, {"step": "publish", "target_is": "not known"}, {}, "not known"),
        (JobState.FAILED, {}, {"target_is": "not known"}, "not known"),
        (JobState.FAILED, {}, {"target_is": "moved"}, "moved"),
        # An error that nobody expected ends a job without an outcome: its last stage counts.
        (JobState.FAILED, {"target_is": "unchanged"}, {"message": "KeyError"}, "unchanged"),
        # Jobs of releases that did not keep it.
        (JobState.REFUSED, {}, {"error": "FILES_MISSING"}, "unchanged"),
        (JobState.FAILED, {}, {"error": "STORE_UNREACHABLE"}, "not known"),
        (JobState.INTERRUPTED, {"step": "publish", "state": "publishing"}, {}, "not known"),
        (JobState.CANCELLED, {"step": "verify files"}, {}, "unchanged"),
        (JobState.DONE, {}, {"receipt_id": "op"}, "moved"),
        (JobState.DONE, {}, {"receipt_id": None}, "unchanged"),
    ],
)
def test_a_job_tells_whether_it_changed_its_target(
    state: JobState, stage: dict[str, object], outcome: dict[str, object], target_is: str
) -> None:
    assert TargetMove.of(state, stage, outcome) == target_is
