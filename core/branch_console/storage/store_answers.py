"""Answers of stores in our words: rows of listings, and errors of their packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from branch_console.errors import ErrorKind, NotFound, StorageError

_TIMES: Final = ("mtime", "LastModified", "last_modified", "updated", "created")
_ETAGS: Final = ("ETag", "etag", "md5Hash")
_REFUSED: Final = frozenset({401, 403})
_PRECONDITION_FAILED: Final = 412
_NOT_FOUND: Final = 404


def modified_millis(row: Mapping[str, Any]) -> int:
    """When a listed file was changed; 0 if the store does not tell."""
    if row.get("modificationTime") is not None:
        return int(row["modificationTime"])  # HDFS counts milliseconds
    modified = next((row[key] for key in _TIMES if row.get(key) is not None), 0)
    # Stores answer with seconds, a datetime, or RFC 3339 text.
    if hasattr(modified, "timestamp"):
        return int(modified.timestamp() * 1000)
    if isinstance(modified, str):
        return int(datetime.fromisoformat(modified).timestamp() * 1000)
    return int(modified * 1000)


def etag_of(row: Mapping[str, Any]) -> str | None:
    """Return the store's id of this version of a listed file."""
    etag = next((row[key] for key in _ETAGS if row.get(key)), None)
    return None if etag is None else str(etag)


def not_found(path: str) -> NotFound:
    """The error for a file that is not there."""
    return NotFound(f"There is no file {path}.", kind=ErrorKind.FILE_NOT_FOUND, path=path)


def no_answer(path: str, error: BaseException) -> StorageError:
    """The error for a request that failed, whatever the store's package raised."""
    # Azure's client tells of the request in lines of their own.
    reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
    if says_refused(error):
        message = f"The store refuses access to {path}: {reason}. Check the key and what it may do."
    else:
        message = f"The store did not answer for {path}: {reason}. Check access and connection."
    return StorageError(message, path=path)


def bucket_of(path: str) -> str:
    """Return the bucket or container of a path of an object store."""
    return path.lstrip("/").partition("/")[0]


def no_bucket(path: str) -> StorageError:
    """The error for a file that cannot be made because there is nothing to hold it."""
    return StorageError(
        f"{path} was not written: the bucket or container {bucket_of(path)!r} does not exist. "
        "Make it, or correct the address.",
        path=path,
    )


def says_refused(error: BaseException) -> bool:
    """Whether the store knows the request and does not allow it, so that it changed nothing."""
    return any(
        isinstance(each, PermissionError) or _status_code(each) in _REFUSED
        for each in _chain(error)
    )


def says_taken(error: BaseException) -> bool:
    """Whether a refused create means that the path is taken.

    Stores that speak S3 differ in the details of a failed precondition, and not all of them are
    known to the package that asks.
    """
    return any(
        isinstance(each, FileExistsError) or _status_code(each) == _PRECONDITION_FAILED
        for each in _chain(error)
    )


def says_not_there(error: BaseException) -> bool:
    """Whether what the request is about, or what should hold it, does not exist."""
    return any(
        isinstance(each, FileNotFoundError) or _status_code(each) == _NOT_FOUND
        for each in _chain(error)
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _status_code(error: BaseException) -> int | None:
    """The status of the HTTP answer, by the names that botocore, gcsfs and Azure's client use."""
    response = getattr(error, "response", None)
    metadata = response.get("ResponseMetadata", {}) if isinstance(response, Mapping) else {}
    codes = (
        metadata.get("HTTPStatusCode"),
        getattr(error, "status_code", None),
        getattr(error, "code", None),
    )
    return next((each for each in codes if isinstance(each, int)), None)
