"""URLs and paths of stores: what they may look like, and which package opens them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import fsspec

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.storage.store_answers import no_answer

# The optional dependency that brings the fsspec package of a scheme.
_EXTRAS: Final = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "abfs": "abfs",
    "abfss": "abfs",
    "az": "abfs",
    "oss": "oss",
}
_S3: Final = frozenset({"s3", "s3a"})
# Their URLs have a host before the path; those of other stores have it in the path.
_HAVE_A_HOST: Final = frozenset({"hdfs", "viewfs", "webhdfs"})

# Schemes that name the same store, by the one of them that stands for all.
_SAME: Final = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfss": "abfs",
    "az": "abfs",
    "local": "file",
}


def is_of_store(location: str, scheme: str) -> bool:
    """Whether a URL or a plain path lies in a store whose URLs have that scheme."""
    found = location.partition(":")[0] if ":" in location.partition("/")[0] else scheme
    return _SAME.get(found, found) == _SAME.get(scheme, scheme)


def safe_path(path: str) -> str:
    """Return the path; refuse `..` and zero bytes.

    Raises:
        InvalidInput: It has a segment `..` or a zero byte.
    """
    if (".." in path and ".." in path.split("/")) or "\0" in path:
        raise InvalidInput(
            f"The path {path!r} would leave the warehouse. Use a name without '..'.",
            kind=ErrorKind.INVALID_NAME,
            path=path,
        )
    return path


def host_of(url: str) -> str:
    """The part of a URL that stands before the store's paths, empty for most stores."""
    parts = urlsplit(url)
    return parts.netloc if parts.scheme in _HAVE_A_HOST else ""


def local_root(url: str) -> str:
    """The absolute path of a local URL or of a plain path."""
    path = url
    # Hadoop writes a local path with one slash behind the scheme.
    for prefix in ("file://", "local://", "file:"):
        path = path.removeprefix(prefix)
    return str(Path(path).expanduser().absolute()).rstrip("/")


def open_filesystem(scheme: str, url: str, options: Mapping[str, object]) -> Any:
    """The fsspec file system of a URL.

    Raises:
        InvalidInput: Nothing has that scheme, or what has it is not installed.
        StorageError: The store did not answer.
    """
    extra = _EXTRAS.get(scheme)
    try:
        of_url = fsspec.get_filesystem_class(scheme)._get_kwargs_from_urls(url)
        # A cached listing would hide what other writers published.
        found = fsspec.filesystem(scheme, use_listings_cache=False, **{**of_url, **options})
        if scheme in _S3 and found.session is None:
            from branch_console.storage.s3_session import new_session  # noqa: PLC0415  # needs the extra

            found.session = new_session(found.kwargs)
    except ImportError as error:
        remedy = f'pip install "paimon-branch-console[{extra}]"' if extra else str(error)
        raise InvalidInput(
            f"{url} needs a package that is not installed. Install it: {remedy}.",
            kind=ErrorKind.UNSUPPORTED,
            scheme=scheme,
            extra=extra,
        ) from error
    except ValueError as error:
        raise InvalidInput(
            f"No store has the scheme {scheme!r} of {url}. Use a path, s3, gs, abfs or oss.",
            kind=ErrorKind.UNSUPPORTED,
            scheme=scheme,
        ) from error
    except Exception as error:
        raise no_answer(url, error) from error
    return found
