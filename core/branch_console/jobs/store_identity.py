"""The identity of a job store, so that another store in its place is not mistaken for it.

A removed or replaced store looks like an empty one. So each process remembers the identity of the
store that it opened, and the worker's heartbeat names the store it takes its jobs from.
"""

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from branch_console.jobs.settings import JobSettings

_SQLITE: Final = "sqlite:///"


def is_file(settings: JobSettings) -> bool:
    """Whether the jobs are kept in a file of this machine, and not by a server."""
    return settings.jobs_url.startswith(_SQLITE)


def store_name(settings: JobSettings) -> str:
    """Return the address of the job store, without its password."""
    url = settings.jobs_url
    if is_file(settings):
        return url.removeprefix(_SQLITE)
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    return f"{host}:{parts.port}{parts.path}" if parts.port else f"{host}{parts.path}"


def store_identity(settings: JobSettings) -> str:
    """Return what tells the job store that is there now from any other, with its name first.

    A file that was removed, or replaced by another one, has another identity. A database on a
    server is known by its address: it ends its connections when it is dropped.
    """
    name = store_name(settings)
    if not is_file(settings):
        return name
    try:
        found = Path(name).stat()
    except OSError:
        return f"{name} none"
    return f"{name} {found.st_dev}-{found.st_ino}"


def name_in(identity: str) -> str:
    """Return the name of the store in an identity."""
    return identity.rpartition(" ")[0] or identity
