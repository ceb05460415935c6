"""The store of the jobs: made where it is missing, for its owner alone, and told where it fails."""

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from branch_console.errors import StorageError
from branch_console.jobs.kept_files import make_private_file, make_private_folder
from branch_console.jobs.settings import JobSettings
from branch_console.jobs.store_identity import is_file, store_name

APPLICATION: Final = "branch-console"

# DBOS speaks to the store through SQLAlchemy, and makes its tables through the drivers.
_ERRORS: Final = (SQLAlchemyError, sqlite3.Error, OSError)
# How drivers say that a disk is full: SQLite in words of its own.
_FULL: Final = ("database or disk is full", os.strerror(errno.ENOSPC))

_TAKEN_ALONG: Final = "disk I/O error"
_WAITS_SECONDS: Final = (0.2, 1.0)


def prepare_store(settings: JobSettings) -> None:
    """Make the folder and the tables of the job store where they are not there yet.

    Raises:
        StorageError: The folder cannot be made, or the database does not answer.
    """
    try:
        make_private_folder(Path(settings.state_dir))
        if is_file(settings):
            # What SQLite puts beside its file gets the rights of the file.
            make_private_file(Path(store_name(settings)))
    except OSError as error:
        raise StorageError(
            f"The folder of the jobs, {settings.state_dir}, cannot be made: "
            f"{error.strerror or error}. Choose another state directory.",
            path=settings.state_dir,
        ) from error
    with answering(settings):
        _make_tables(settings.jobs_url)


def _make_tables(url: str) -> None:
    for seconds in _WAITS_SECONDS:
        try:
            DBOS.migrate(url)
        except OperationalError as error:
            # A worker whose file was removed still closes it under the same name, and so removes
            # the files that SQLite keeps beside the new one.
            if _TAKEN_ALONG not in str(error.orig):
                raise
            time.sleep(seconds)
        else:
            return
    DBOS.migrate(url)


def open_client(settings: JobSettings) -> DBOSClient:
    """Connect to the jobs; makes their tables where they are not there yet.

    Raises:
        StorageError: The folder cannot be made, or the database does not answer.
    """
    prepare_store(settings)
    with answering(settings):
        return DBOSClient(
            system_database_url=settings.jobs_url,
            application_name=APPLICATION,
            serializer=DBOSPortableJSONSerializer(),
            retry_connection_errors=False,
        )


@contextmanager
def answering(settings: JobSettings) -> Iterator[None]:
    """Tell in a sentence that the job store does not answer.

    Raises:
        StorageError: It does not.
    """
    try:
        yield
    except _ERRORS as error:
        raise _no_answer(settings, error) from error


def _no_answer(settings: JobSettings, error: Exception) -> StorageError:
    # The driver's own words: SQLAlchemy adds the statement and an address to read on.
    reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0].rstrip(".")
    if any(words in reason for words in _FULL):
        return StorageError(
            f"There is no room left for the jobs in {store_name(settings)}: the disk is full. "
            "Nothing was changed. Free some space, then try again.",
            path=store_name(settings),
        )
    remedy = (
        "Move that file away and a new one is made, without the jobs so far"
        if is_file(settings)
        else "Look at the address of the database and whether it runs"
    )
    return StorageError(
        f"The job store {store_name(settings)} cannot be used: {reason}. {remedy}.",
        path=store_name(settings),
    )
