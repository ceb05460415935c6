"""What stores answer: times and versions in their several forms, and a name that is taken."""

from datetime import UTC, datetime
from typing import Any

import pytest

from branch_console.errors import ErrorKind
from branch_console.storage.store_answers import (
    etag_of,
    modified_millis,
    no_answer,
    no_bucket,
    says_not_there,
    says_refused,
    says_taken,
)


@pytest.mark.parametrize(
    ("row", "millis"),
    [
        ({"mtime": 1.5}, 1500),
        ({"LastModified": datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)}, 2000),
        ({"modificationTime": 4000}, 4000),
        ({"updated": "1970-01-01T00:00:03.250Z"}, 3250),
        ({}, 0),
    ],
)
def test_times_come_as_seconds_dates_or_text(row: dict[str, Any], millis: int) -> None:
    assert modified_millis(row) == millis


def test_a_version_has_a_name_where_the_store_gives_one() -> None:
    assert etag_of({"ETag": '"abc"'}) == '"abc"'
    assert etag_of({"etag": None, "md5Hash": "x"}) == "x"
    assert etag_of({}) is None


class Answer(Exception):
    """An error of a store's package, which carries the response."""

    def __init__(self, code: int) -> None:
        super().__init__(f"answer {code}")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": code}}


class Status(Exception):
    """An error of Azure's client."""

    def __init__(self, code: int) -> None:
        super().__init__(f"status {code}\nRequestId:7")
        self.status_code = code


def test_a_failed_precondition_means_taken_however_it_is_wrapped() -> None:
    wrapped = OSError(5, "At least one of the pre-conditions you specified did not hold")
    wrapped.__cause__ = Answer(412)
    assert says_taken(wrapped)
    assert says_taken(FileExistsError())


@pytest.mark.parametrize("error", [OSError(5, "x"), Answer(409), Answer(503), TimeoutError()])
def test_no_other_failure_means_taken(error: Exception) -> None:
    assert not says_taken(error)


def test_an_error_names_the_file_and_the_reason_once() -> None:
    error = no_answer("b/x", OSError("The bucket is gone."))
    assert error.message == (
        "The store did not answer for b/x: The bucket is gone. Check access and connection."
    )
    assert error.kind is ErrorKind.STORE_UNREACHABLE
    assert "PermissionError. Check the key" in no_answer("b/x", PermissionError()).message


def test_a_store_that_refuses_access_is_told_from_one_that_does_not_answer() -> None:
    assert says_refused(Answer(403))
    assert says_refused(PermissionError())
    assert says_refused(Status(403))
    assert not says_refused(Answer(412))
    assert "refuses access to b/x: answer 401" in no_answer("b/x", Answer(401)).message
    assert no_answer("b/x", Status(403)).message.endswith(
        "status 403. Check the key and what it may do."
    )


def test_what_is_not_there_is_told_from_what_does_not_answer() -> None:
    wrapped = OSError(5, "x")
    wrapped.__cause__ = Status(404)
    assert says_not_there(wrapped)
    assert says_not_there(FileNotFoundError())
    assert not says_not_there(Answer(403))
    assert not says_not_there(OSError(5, "x"))
    assert "bucket or container 'b' does not exist" in no_bucket("b/x/y").message
