"""FileIO: one door to every store, and all calls of fsspec.

Readers are handed a `FileReader`, which holds no way to change anything; publishing and removing
are built on the other half. Local stores skip fsspec where a system call says more.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import fsspec

from branch_console.errors import ErrorKind, InvalidInput, NotFound, PaimonError
from branch_console.storage.durable import make_directory, sync_path, write_synced
from branch_console.storage.parallel_io import map_parallel
from branch_console.storage.regular_files import check_regular, open_regular, read_regular
from branch_console.storage.store_answers import (
    bucket_of,
    etag_of,
    modified_millis,
    no_answer,
    no_bucket,
    not_found,
    says_not_there,
    says_refused,
    says_taken,
)
from branch_console.storage.store_urls import (
    host_of,
    is_of_store,
    local_root,
    open_filesystem,
    safe_path,
)

_T = TypeVar("_T")

_CREATES_EXCLUSIVELY: Final = frozenset(
    {"memory", "s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"},
)
# HDFS renames a file in one step of the name node, which refuses a taken name. Its other client,
# Arrow's behind hdfs://, removes what is in the way and tries again, and so is of no use here.
_RENAMES_EXCLUSIVELY: Final = frozenset({"webhdfs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """The status of a file or directory in a listing; `etag` only if the store has one.

    Attributes:
        is_link: Whether the name is a link, of which the rest tells where it leads.
    """

    path: str
    name: str
    size: int
    is_directory: bool
    modified_millis: int
    etag: str | None = None
    is_link: bool = False


FolderMark: TypeAlias = tuple[int, int, int]
"""Inode, and in nanoseconds the times at which its children and the inode itself last changed.

Another one once a child came or went: who copies a folder may set the first time back, but not the
second.
"""


class FileContents(Protocol):
    """The requests to a store for files of known paths and sizes."""

    @property
    def is_local(self) -> bool:
        """Whether the operating system can open the paths of this store."""

    def native_file(self, path: str) -> str:
        """The path of a file as the operating system opens it; only for a local store.

        Raises:
            NotFound: There is no such file.
            FormatError: It is no regular file, or a link that leads out of the warehouse.
        """

    def read(self, path: str) -> bytes:
        """The whole file.

        Raises:
            NotFound: There is no such file.
            FormatError: It is no regular file, or larger than what is read at once.
            StorageError: The store did not answer.
        """

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of the file; shorter than `length` only at its end."""


class FileReader(FileContents, Protocol):
    """The reading half of a store."""

    def native_path(self, path: str) -> str:
        """The path as the operating system takes it; only for a local store."""

    def url(self, path: str) -> str:
        """The path with its scheme, as Spark and Arrow take it."""

    def path_of(self, location: str) -> str:
        """The path of a URL that metadata holds, such as that of an external data file.

        Raises:
            InvalidInput: It lies in another store.
        """

    def find(self, path: str) -> bytes | None:
        """The whole file, None if there is none; one question where `exists` would be another."""

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Whole files in the order of the paths, fetched in parallel."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of that path."""

    def status(self, path: str) -> FileStatus | None:
        """Return the status of the path, None if there is nothing."""

    def list(self, path: str) -> list[FileStatus]:
        """The direct children by name, temporary ones too; empty if there is no such directory."""

    def names(self, path: str) -> Collection[str]:
        """Their names alone, in any order, where that is all that is wanted."""

    def folder_names(self, path: str) -> Collection[str]:
        """The names of those that are folders, in any order."""

    def folder_marks(self, paths: Sequence[str]) -> Sequence[FolderMark | None]:
        """The marks of folders, which change if a child comes, goes or is renamed.

        None for a folder that is not there, and in a store whose folders do not tell.
        """


class FileIO:
    """A store through fsspec, rooted at a warehouse.

    Paths are the store's own, without a scheme (`/tmp/wh/db.db/t`, `bucket/wh/db.db/t`). Anything
    may be read, as data files can lie outside the warehouse; changes stay below `root`.
    """

    def __init__(self, filesystem: Any, scheme: str, root: str, host: str = "") -> None:
        self._filesystem = filesystem
        self._scheme = scheme
        self._host = host
        self.root = root

    @staticmethod
    def for_url(url: str, options: Mapping[str, object] | None = None) -> FileIO:
        """Open the store of a warehouse URL.

        Args:
            url: A plain path, `file://…`, `memory://…` or any scheme that fsspec knows.
            options: Passed on to fsspec, such as `key`, `secret` and `endpoint_url`.

        Raises:
            InvalidInput: The URL is empty, has `..`, an unknown scheme, or needs an extra.
        """
        if not url.strip():
            raise InvalidInput("The warehouse has no URL. Give a folder or a store's URL.")
        scheme, separator, _ = url.partition("://")
        if not separator:
            scheme = "file"
        safe_path(url)
        if scheme in ("file", "local"):
            root = local_root(url)
            return LocalFileIO(fsspec.filesystem("file"), "file", root)
        filesystem = open_filesystem(scheme, url, options or {})
        root = str(filesystem._strip_protocol(url)).rstrip("/")
        return _KINDS.get(scheme, FileIO)(filesystem, scheme, root, host_of(url))

    @property
    def scheme(self) -> str:
        """The scheme of the store's URLs."""
        return self._scheme

    @property
    def is_local(self) -> bool:
        """Whether the operating system can open the paths of this store."""
        return False

    @property
    def creates_exclusively(self) -> bool:
        """Whether `create` is one request that an existing file makes fail."""
        return self._scheme in _CREATES_EXCLUSIVELY

    @property
    def renames_exclusively(self) -> bool:
        """Whether `rename` is one step that an existing file makes fail."""
        return self._scheme in _RENAMES_EXCLUSIVELY

    def native_path(self, path: str) -> str:
        """The path as the operating system takes it; only for a local store."""
        raise InvalidInput(f"{self.url(path)} is not on this machine. Fetch it first.", path=path)

    def native_file(self, path: str) -> str:
        """The path of a regular file as the operating system opens it; only for a local store."""
        return self.native_path(path)

    def url(self, path: str) -> str:
        """The path with its scheme, as Spark and Arrow take it."""
        return f"{self._scheme}://{self._host}{path}"

    def path_of(self, location: str) -> str:
        """The path of a URL that metadata holds; raises InvalidInput if another store has it."""
        if not is_of_store(location, self._scheme):
            raise InvalidInput(
                f"{location} lies in another store than the table ({self._scheme}), which cannot "
                "be read here yet. Use Paimon for this table.",
                kind=ErrorKind.UNSUPPORTED,
                path=location,
            )
        return str(self._filesystem._strip_protocol(location))

    def read(self, path: str) -> bytes:
        """The whole file; raises NotFound or StorageError."""
        return self._ask(path, lambda: self._whole(safe_path(path)))

    def find(self, path: str) -> bytes | None:
        """The whole file, None if there is none."""
        try:
            return self.read(path)
        except NotFound:
            return None

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of the file; shorter than `length` only at its end."""
        return self._ask(
            path,
            lambda: bytes(
                self._filesystem.cat_file(safe_path(path), start=offset, end=offset + length)
            ),
        )

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Whole files in the order of the paths, fetched in parallel."""
        return map_parallel(self, self.read, paths)

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of that path."""
        return self.status(path) is not None

    def status(self, path: str) -> FileStatus | None:
        """Return the status of the path, None if there is nothing."""
        try:
            return _status(self._ask(path, lambda: self._filesystem.info(safe_path(path))))
        except NotFound:
            return None

    def list(self, path: str) -> list[FileStatus]:
        """The direct children by name, temporary ones too; empty if there is no such directory."""
        try:
            rows = self._ask(path, lambda: self._rows(safe_path(path)))
        except NotFound:
            return []
        own = path.rstrip("/")
        found = (_status(row) for row in rows)
        return sorted((each for each in found if each.path != own), key=lambda each: each.name)

    def names(self, path: str) -> Collection[str]:
        """Their names alone, in any order."""
        return [each.name for each in self.list(path)]

    def folder_names(self, path: str) -> Collection[str]:
        """The names of those that are folders, in any order."""
        return [each.name for each in self.list(path) if each.is_directory]

    def folder_marks(self, paths: Sequence[str]) -> Sequence[FolderMark | None]:
        """None for each: a folder of an object store is no more than the start of some names."""
        return [None] * len(paths)

    def create(self, path: str, data: bytes) -> None:
        """Make a file that must not exist yet.

        Raises:
            FileExistsError: The path is taken, perhaps by this very request, sent twice.
            StorageError: Nothing was made, and nothing will be: access is refused, or the bucket
                is not there. Any other error leaves open what happened.
        """
        self.check_inside(path)
        if not self.creates_exclusively:
            # Good enough for data files, whose names nobody else makes; commits are published.
            if self.exists(path):
                raise FileExistsError(path)
            self.replace(path, data)
            return
        try:
            self._filesystem.pipe_file(safe_path(path), data, mode="create")
        except Exception as error:  # a store's package raises its own classes
            if says_taken(error):
                raise FileExistsError(path) from error
            if says_refused(error):
                raise no_answer(path, error) from error
            if says_not_there(error) and not self._has_bucket(path):
                raise no_bucket(path) from error
            raise

    def replace(self, path: str, data: bytes) -> None:
        """Write a file, in place of another if there is one."""
        self.check_inside(path)
        self._ask(path, lambda: self._filesystem.pipe_file(safe_path(path), data))

    def rename(self, from_path: str, to_path: str) -> None:
        """Give a file another name; what a taken one does is up to the store."""
        self.check_inside(from_path)
        self.check_inside(to_path)
        self._ask(from_path, lambda: self._filesystem.mv(from_path, to_path))

    def remove(self, path: str) -> bool:
        """Remove one file; False if the store tells that there was none."""
        self.check_inside(path)
        try:
            self._ask(path, lambda: self._filesystem.rm_file(safe_path(path)))
        except NotFound:
            return False
        return True

    def remove_empty_directory(self, path: str) -> bool:
        """Remove a directory that holds nothing; object stores have none and answer False."""
        self.check_inside(path)
        return False

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it; object stores have none."""
        self.check_inside(path)

    def check_inside(self, path: str) -> None:
        """Raise InvalidInput if a change of that path would leave the warehouse."""
        if not safe_path(path).startswith(f"{self.root}/") and path != self.root:
            raise InvalidInput(
                f"{path} lies outside the warehouse {self.root}. Nothing was changed.",
                path=path,
            )

    def _has_bucket(self, path: str) -> bool:
        """Whether there is what holds the path; yes where the store does not tell.

        A file that is sent in parts may not be found either, as it is whole by now.
        """
        try:
            return bool(self._filesystem.exists(bucket_of(path)))
        except Exception:  # a store's package raises its own classes
            return True

    def _whole(self, path: str) -> bytes:
        return bytes(self._filesystem.cat_file(path))

    def _rows(self, path: str) -> Iterable[Mapping[str, Any]]:
        """Return the store's lines on the direct children; perhaps one on the folder itself."""
        rows: list[dict[str, Any]] = self._filesystem.ls(path, detail=True)
        return rows

    def _ask(self, path: str, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except PaimonError:
            raise
        except (FileNotFoundError, NotADirectoryError) as error:
            raise not_found(path) from error
        except Exception as error:  # a store's package raises its own classes
            raise no_answer(path, error) from error


class MemoryFileIO(FileIO):
    """The store of fsspec's `memory://`, which lives and dies with the process."""

    # fsspec asks and then creates; writers of one process are its only writers.
    _creating = threading.Lock()

    def create(self, path: str, data: bytes) -> None:
        """Make a file that must not exist yet; raises FileExistsError."""
        with self._creating:
            super().create(path, data)


class S3FileIO(FileIO):
    """A bucket that speaks S3, asked once where its package would ask twice."""

    def _whole(self, path: str) -> bytes:
        # Else the size is asked for first, to fetch what is large in parts.
        return bytes(self._filesystem.cat_file(path, max_concurrency=1))

    def _rows(self, path: str) -> Iterable[Mapping[str, Any]]:
        # Else what lies beside a folder that is not there is listed, which may be a file: of a
        # table all its partitions.
        found = fsspec.asyn.sync(self._filesystem.loop, self._filesystem._lsdir, path)
        rows: list[dict[str, Any]] = found
        return rows


class LocalFileIO(FileIO):
    """The file system of this machine, by plain system calls.

    Metadata is many small files: a path object for each costs more than what is asked about it.
    """

    @property
    def is_local(self) -> bool:
        """Whether the operating system can open the paths of this store."""
        return True

    @property
    def creates_exclusively(self) -> bool:
        """A local file is published by a link instead, which also makes it appear whole."""
        return False

    def native_path(self, path: str) -> str:
        """The path as the operating system takes it."""
        return safe_path(path)

    def native_file(self, path: str) -> str:
        """The path of a regular file as the operating system takes it."""

        def find() -> str:
            check_regular(safe_path(path), self.root)
            return path

        return self._ask(path, find)

    def read(self, path: str) -> bytes:
        """The whole file; raises NotFound or StorageError."""
        return self._ask(path, lambda: read_regular(safe_path(path), self.root))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of the file; shorter than `length` only at its end."""

        def read() -> bytes:
            descriptor = open_regular(safe_path(path), self.root)
            with os.fdopen(descriptor, "rb") as file:
                file.seek(offset)
                return file.read(length)

        return self._ask(path, read)

    def status(self, path: str) -> FileStatus | None:
        """Return the status of the path, None if there is nothing."""

        def ask() -> FileStatus:
            found = os.lstat(safe_path(path))
            is_link = stat.S_ISLNK(found.st_mode)
            if is_link:
                found = _stat_local(path)
            return _local_status(path, path.rpartition("/")[2], found, is_link=is_link)

        try:
            return self._ask(path, ask)
        except NotFound:
            return None

    def list(self, path: str) -> list[FileStatus]:
        """The direct children by name, temporary ones too; empty if there is no such directory."""

        def scan() -> Iterable[FileStatus]:
            with os.scandir(safe_path(path)) as entries:
                for entry in entries:
                    is_link = entry.is_symlink()
                    try:
                        found = _stat_local(entry.path) if is_link else entry.stat()
                    except FileNotFoundError:
                        continue  # removed since the listing began, or a dangling link
                    child = f"{path.rstrip('/')}/{entry.name}"
                    yield _local_status(child, entry.name, found, is_link=is_link)

        try:
            return self._ask(path, lambda: sorted(scan(), key=lambda each: each.name))
        except NotFound:
            return []

    def names(self, path: str) -> Collection[str]:
        """Their names alone, in any order; nothing is asked about each of them."""
        try:
            return self._ask(path, lambda: os.listdir(safe_path(path)))  # noqa: PTH208
        except NotFound:
            return []

    def folder_names(self, path: str) -> Collection[str]:
        """The names of those that are folders, in any order; a listing tells which they are."""

        def scan() -> Collection[str]:
            with os.scandir(safe_path(path)) as entries:
                return [entry.name for entry in entries if entry.is_dir()]

        try:
            return self._ask(path, scan)
        except NotFound:
            return []

    def folder_marks(self, paths: Sequence[str]) -> Sequence[FolderMark | None]:
        """The marks of folders, which change if a child comes, goes or is renamed."""
        return [_mark_of(safe_path(path)) for path in paths]

    def create(self, path: str, data: bytes) -> None:
        """Make a file that must not exist yet; raises FileExistsError."""
        self.check_inside(path)
        target = Path(path)
        # Data files are made here, and a commit that names one must not outlive it.
        make_directory(target.parent)
        write_synced(target, data)
        sync_path(target.parent)

    def replace(self, path: str, data: bytes) -> None:
        """Write a file, in place of another if there is one, so that readers see either."""
        self.check_inside(path)

        def write() -> None:
            temporary = Path(temporary_beside(path))
            try:
                temporary.write_bytes(data)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

        self._ask(path, write)

    def rename(self, from_path: str, to_path: str) -> None:
        """Give a file another name, in place of what has it."""
        self.check_inside(from_path)
        self.check_inside(to_path)
        self._ask(from_path, lambda: os.replace(from_path, to_path))  # noqa: PTH105

    def remove(self, path: str) -> bool:
        """Remove one file; False if there was none."""
        self.check_inside(path)
        try:
            self._ask(path, lambda: os.unlink(path))  # noqa: PTH108
        except NotFound:
            return False
        return True

    def remove_empty_directory(self, path: str) -> bool:
        """Remove a directory that holds nothing; False if it holds something or is not there."""
        self.check_inside(path)
        try:
            Path(path).rmdir()
        except OSError:
            return False
        return True

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it."""
        self.check_inside(path)
        self._ask(path, lambda: Path(path).mkdir(parents=True, exist_ok=True))


_KINDS: Final = {"memory": MemoryFileIO, "s3": S3FileIO, "s3a": S3FileIO}


def temporary_beside(path: str) -> str:
    """A path beside another that nobody else makes and every Paimon reader ignores."""
    return temporaries_beside([path])[0]


def temporaries_beside(paths: Iterable[str]) -> list[str]:
    """The same for each of some different paths."""
    mark = uuid.uuid4()
    split = (path.rpartition("/") for path in paths)
    return [f"{folder}/.{name}.{mark}.tmp" for folder, _, name in split]


def _status(row: Mapping[str, Any]) -> FileStatus:
    path = str(row["name"]).rstrip("/")
    return FileStatus(
        path=path,
        name=path.rsplit("/", 1)[-1],
        size=int(row.get("size") or 0),
        is_directory=row["type"] == "directory",
        modified_millis=modified_millis(row),
        etag=etag_of(row),
    )


def _mark_of(path: str) -> FolderMark | None:
    # One system call and one tuple: a table may have thousands of branches.
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None  # whoever looks into the folder is told why
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _stat_local(path: str) -> os.stat_result:
    try:
        return os.stat(path)  # noqa: PTH116  # no path object for each of many small files
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        # A ring of links spoils nothing but itself; who reads it is told.
        return os.lstat(path)


def _local_status(
    path: str, name: str, found: os.stat_result, *, is_link: bool = False
) -> FileStatus:
    return FileStatus(
        path=path,
        name=name,
        size=found.st_size,
        is_directory=stat.S_ISDIR(found.st_mode),
        modified_millis=found.st_mtime_ns // 1_000_000,
        etag=f"{found.st_ino:x}-{found.st_mtime_ns:x}",
        is_link=is_link,
    )
