"""Metadata that never changes is fetched once a machine.

Manifests and their lists carry a uuid in their name: the path is the key. Snapshots, schemas and
tags are known by path, size and time of one listing, as a rollback may reuse a path. A local store
is read in place.
"""

from __future__ import annotations

import copy
import hashlib
import logging
import os
import shutil
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, cast

from branch_console.errors import FormatError
from branch_console.format.bounds import MOST_JSON_BYTES
from branch_console.storage import parallel_io
from branch_console.storage.file_io import FileReader, FileStatus, FolderMark
from branch_console.storage.listed_once import ListedOnce
from branch_console.storage.manifest_count import note_read
from branch_console.storage.shelf import Shelf

_T = TypeVar("_T")
_R = TypeVar("_R")
_K = TypeVar("_K")
_Answers: TypeAlias = Mapping[_K, tuple[FolderMark, _T]]

_log = logging.getLogger(__name__)
_DEFAULT_MAX_BYTES: Final = 4 << 30
_MAX_DECODED: Final = 20_000
_KEPT_AFTER_CLEANING: Final = 0.8
# Another process may be about to open what it has just looked up.
_UNTOUCHABLE_SECONDS: Final = 60.0
# The coarsest clock of a file system that keeps the times of its folders.
_TICK_NANOS: Final = 2_000_000_000
_MAX_TABLES: Final = 100


class MetadataCache:
    """A folder of fetched files, bounded by dropping what was used longest ago.

    Several processes may share it: a file gets its name when it is whole, and one that vanishes
    is fetched again.
    """

    def __init__(self, directory: str | Path, max_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        self._directory = Path(directory)
        self._max_bytes = max_bytes
        self._unaccounted = max_bytes  # the first fetch looks at what earlier processes left
        self._lock = threading.Lock()

    @staticmethod
    def temporary(max_bytes: int = _DEFAULT_MAX_BYTES) -> MetadataCache:
        """A cache that goes with the process."""
        directory = tempfile.mkdtemp(prefix="branch-console-")
        cache = MetadataCache(directory, max_bytes)
        weakref.finalize(cache, shutil.rmtree, directory, ignore_errors=True)
        return cache

    def get(self, key: str, fetch: Callable[[], bytes]) -> bytes:
        """The bytes kept under the key, fetched if there are none."""
        target = self._file(key)
        try:
            data = target.read_bytes()
        except FileNotFoundError:
            data = fetch()
            self._keep(target, data)
            return data
        _touch(target)
        return data

    def file(self, key: str, fetch: Callable[[], bytes]) -> str:
        """The path of a local file with the bytes of the key, fetched if there is none."""
        target = self._file(key)
        if target.exists():
            _touch(target)
        else:
            self._keep(target, fetch())
        return str(target)

    def _file(self, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self._directory / digest[:2] / digest

    def _keep(self, target: Path, data: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4()}.tmp")
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        with self._lock:
            self._unaccounted += len(data)
            is_due = self._unaccounted > self._max_bytes * (1 - _KEPT_AFTER_CLEANING)
            if is_due:
                self._unaccounted = 0
        if is_due:
            self._clean(keep=target)

    def _clean(self, keep: Path) -> None:
        files = []
        for path in self._directory.glob("??/*"):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            files.append((found.st_mtime, found.st_size, path))
        total = sum(size for _, size, _ in files)
        if total <= self._max_bytes:
            return
        newest_to_drop = time.time() - _UNTOUCHABLE_SECONDS
        for used, size, path in sorted(files):
            if total <= self._max_bytes * _KEPT_AFTER_CLEANING or used > newest_to_drop:
                break
            if path != keep:
                path.unlink(missing_ok=True)
                total -= size
        _log.debug("metadata cache %s holds %d bytes", self._directory, total)


class MetadataReader:
    """A reader that knows which files never change: fetches those once, decodes those once."""

    def __init__(self, reader: FileReader, cache: MetadataCache | None = None) -> None:
        self.files: FileReader = reader
        self._cache = cache
        if cache is None and not reader.is_local:
            self._cache = MetadataCache.temporary()
        self._decoded: Shelf[tuple[str, object], object] = Shelf(_MAX_DECODED)
        self._of_folders: Shelf[tuple[str, object], object] = Shelf(_MAX_TABLES)

    def read_immutable(self, path: str) -> bytes:
        """A file whose name is never used twice, such as a manifest."""
        if self._cache is None or self.files.is_local:
            return self.files.read(path)
        return self._cache.get(self._key(path), lambda: self.files.read(path))

    def find_status(self, path: str) -> FileStatus | None:
        """Return the status of a small file; a remote file is read at once, for `decode`.

        Its bytes take no longer than its status, and the status describes the version that was
        read.
        """
        if self._cache is None or self.files.is_local:
            return self.files.status(path)
        data = self.files.find(path)
        if data is None:
            return None
        status = FileStatus(
            path=path,
            name=path.rpartition("/")[2],
            size=len(data),
            is_directory=False,
            modified_millis=0,
            etag=hashlib.sha256(data).hexdigest(),
        )
        self._cache.get(self._version_key(status), lambda: data)
        return status

    def decode(self, status: FileStatus, decoder: Callable[[bytes], _T]) -> _T:
        """Return the result of `decoder` for the version of a file that a listing saw.

        `decoder` is a pure function of the bytes with immutable results. Each version is decoded
        once a process; errors are not remembered. Raises FormatError for a file that is larger than
        any engine writes.
        """
        if status.size > MOST_JSON_BYTES:
            raise FormatError(f"it has {status.size:,} bytes; {MOST_JSON_BYTES:,} are the most")
        key = (self._version_key(status), decoder)
        return self._kept(key, lambda: decoder(self._read_version(status)))

    def known(self, path: str, what: object) -> object | None:
        """Return the cached value of a file whose name is used once, None if there is none."""
        return self._decoded.find((self._key(path), what))

    def keep(self, path: str, what: object, value: object) -> None:
        """Keep what a file holds for good, as nobody makes another one of its name.

        Or all files of a folder in which that is true of each.
        """
        self._decoded.put((self._key(path), what), value)

    def of_folders(
        self,
        home: str,
        folders: Mapping[_K, str],
        what: object,
        make: Callable[[_K], _T | None],
    ) -> Mapping[_K, _T | None]:
        """Decode the children of some folders, again only after one came, went or was renamed.

        For questions about each branch of a table, whose answer may be as old as this call: one
        look at a folder costs a tenth of a listing. A store far away has no folders that tell, and
        a folder that changed just now may change again within the same tick of its clock.

        Args:
            home: The folder that they all lie in.
            folders: The folders, by what `make` is called with.
            what: The question.
            make: Returns the answer; None, which is not kept, where it cannot be told.
        """
        settled = time.time_ns() - _TICK_NANOS
        marks = self.files.folder_marks([*folders.values()])
        key = (home, what)
        kept = cast("_Answers[_K, _T]", self._of_folders.find(key) or {})
        found: dict[_K, _T | None] = {}
        missed: dict[_K, FolderMark | None] = {}
        for each, mark in zip(folders, marks, strict=True):
            known = kept.get(each)
            if known is not None and known[0] == mark:
                found[each] = known[1]
            else:
                missed[each] = mark
        if missed:
            made = dict(zip(missed, self.map_parallel(make, [*missed]), strict=True))
            found.update(made)
            fresh = {
                each: (mark, answer)
                for each, answer in made.items()
                if answer is not None and (mark := missed[each]) is not None and mark[1] < settled
            }
            if fresh:
                both = {**kept, **fresh}
                self._of_folders.put(key, {each: both[each] for each in folders if each in both})
        return found

    @contextmanager
    def listing_once(self, without: Collection[str] = ()) -> Iterator[MetadataReader]:
        """A reader of the same store that lists each folder once while the block runs.

        For one decision, which asks for the same folders in many places. Behind the block it looks
        anew like any other: what is published is held against what there is then.

        Args:
            without: The paths of files that count as gone already while the block runs.
        """
        files = ListedOnce(self.files, without)
        reader = copy.copy(self)
        reader.files = files
        try:
            yield reader
        finally:
            files.look_anew()

    def map_parallel(self, call: Callable[[_T], _R], items: Sequence[_T]) -> list[_R]:
        """Call for each item, in parallel where the store is far away."""
        return parallel_io.map_parallel(self.files, call, items)

    def both(self, one: Callable[[], _T], other: Callable[[], _R]) -> tuple[_T, _R]:
        """Return the results of two calls, in parallel if the store is far away."""
        return parallel_io.both(self.files, one, other)

    def asking(self) -> AbstractContextManager[parallel_io.Asking]:
        """As `both`, for any number of calls."""
        return parallel_io.asking(self.files)

    def local_files(self, paths: Sequence[str]) -> list[str]:
        """Paths on this machine with the bytes of immutable files: in place where they are."""
        if self._cache is None or self.files.is_local:
            return [self.files.native_file(path) for path in paths]
        cache = self._cache

        def fetched(path: str) -> str:
            file = cache.file(self._key(path), lambda: self.files.read(path))
            note_read(path)
            return file

        return self.map_parallel(fetched, paths)

    def _kept(self, key: tuple[str, object], make: Callable[[], _T]) -> _T:
        known = self._decoded.find(key)
        if known is None:
            known = make()
            self._decoded.put(key, known)
        return cast(_T, known)

    def _read_version(self, status: FileStatus) -> bytes:
        if self._cache is None or self.files.is_local:
            return self.files.read(status.path)
        return self._cache.get(self._version_key(status), lambda: self.files.read(status.path))

    def _key(self, path: str) -> str:
        return self.files.url(path)

    def _version_key(self, status: FileStatus) -> str:
        version = f"{status.size}|{status.modified_millis}|{status.etag}"
        return f"{self.files.url(status.path)}|{version}"


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except FileNotFoundError:
        _log.debug("%s left the cache while it was used", path)
