"""Files that a directory numbers or names: `snapshot-7`, `schema-0`, `tag-v1`.

One listing finds them all. A file that cannot be decoded spoils itself only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast

from branch_console.errors import ErrorKind, FormatError, NotFound, PaimonError
from branch_console.format.bounds import MOST_ID
from branch_console.format.snapshot import Snapshot
from branch_console.storage.file_io import FileStatus
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.table_paths import TablePaths

T = TypeVar("T")

_MOST_DIGITS: Final = len(str(MOST_ID))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState(Generic[T]):
    """A file of a listing: what it holds, or why that cannot be told."""

    name: str
    path: str
    modified_millis: int
    value: T | None = None
    error: PaimonError | None = None


def list_prefixed(reader: MetadataReader, directory: str, prefix: str) -> dict[str, FileStatus]:
    """The files of a directory by their name without the prefix, in name order."""
    return {
        status.name.removeprefix(prefix): status
        for status in reader.files.list(directory)
        if status.name.startswith(prefix) and not status.is_directory
    }


def list_numbered(reader: MetadataReader, directory: str, prefix: str) -> dict[int, FileStatus]:
    """The files of a directory by their number, rising; other names are ignored, as Paimon does."""
    found = list_prefixed(reader, directory, prefix)
    numbers = {int(text): status for text, status in found.items() if _is_number(text)}
    return dict(sorted(numbers.items()))


def list_numbers(reader: MetadataReader, directory: str, prefix: str) -> tuple[int, ...]:
    """The numbers alone, rising; nothing is asked about each file, so a folder counts as one."""
    return tuple(sorted(map(int, filter(_is_number, _list_rests(reader, directory, prefix)))))


def newest_numbered(
    reader: MetadataReader, directory: str, prefix: str, *, least: int = 0
) -> FileStatus | None:
    """The file of a directory with the highest number from `least` on, or None."""
    if not reader.files.is_local:
        # What a store far away lists it tells all about.
        return _newest_listed(reader, directory, prefix, least)
    rests = _list_rests(reader, directory, prefix)
    newest = max(filter(str.isdecimal, rests), key=int, default="")
    if not newest:
        return None
    if _is_number(newest) and int(newest) >= least:
        status = reader.files.status(f"{directory}/{prefix}{newest}")
        if status is not None and not status.is_directory:
            return status
    # Gone since, a folder, or no number as Paimon writes it: a whole listing settles it.
    return _newest_listed(reader, directory, prefix, least)


def _list_rests(reader: MetadataReader, directory: str, prefix: str) -> list[str]:
    """Return the parts after the prefix in the names of a directory, in any order."""
    start = len(prefix)
    return [name[start:] for name in reader.files.names(directory) if name.startswith(prefix)]


def _newest_listed(
    reader: MetadataReader, directory: str, prefix: str, least: int
) -> FileStatus | None:
    found = list_numbered(reader, directory, prefix)
    newest = max(found, default=-1)
    return found[newest] if newest >= least else None


def decode(reader: MetadataReader, status: FileStatus, decoder: Callable[[bytes], T]) -> T:
    """The content of a file of a listing.

    Raises:
        NotFound: It is gone since the listing.
        FormatError: It cannot be decoded; the message and `path` name the file.
    """
    try:
        return reader.decode(status, decoder)
    except FormatError as error:
        if error.facts.get("path") == status.path:
            raise  # it says itself which file it is
        raise naming_file(error, status.path) from error


def decode_states(
    reader: MetadataReader, statuses: dict[str, FileStatus], decoder: Callable[[bytes], T]
) -> tuple[FileState[T], ...]:
    """Return the content of each listed file, or its error; files gone since are left out."""
    states = reader.map_parallel(
        lambda item: _state_of(reader, *item, decoder), list(statuses.items())
    )
    return tuple(each for each in states if each is not None)


def states_of_immutable(
    reader: MetadataReader, directory: str, prefix: str, decoder: Callable[[bytes], T]
) -> tuple[FileState[T], ...]:
    """Return the content of each file of a directory by name, if no name is ever used twice.

    As `decode_states` of a listing; on a local store only files that are new are looked at, and
    where none came or went the very same tuple is returned.
    """
    if not reader.files.is_local:
        return decode_states(reader, list_prefixed(reader, directory, prefix), decoder)

    rests = _list_rests(reader, directory, prefix)
    key = f"{directory}/{prefix}"
    kept = cast("_Decoded[T] | None", reader.known(key, decoder))
    known = kept or _Decoded(states={}, inorder=())
    before = known.states
    fresh = [rest for rest in rests if rest not in before]
    if not fresh and len(rests) == len(before):
        return known.inorder
    there = set(rests)
    # Nearly all of it is in order already, which a listing is not.
    names = sorted([*filter(there.__contains__, before), *fresh])
    found = [before.get(rest) or _new_state(reader, key, rest, decoder) for rest in names]
    states = tuple([each for each in found if each is not None])
    decoded = {each.name: each for each in states if each.error is None}
    inorder = states if len(decoded) == len(states) else tuple(decoded.values())
    reader.keep(key, decoder, _Decoded(states=decoded, inorder=inorder))
    return states


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decoded(Generic[T]):
    """The files of a folder that could be decoded, in the order of their names."""

    states: Mapping[str, FileState[T]]
    inorder: tuple[FileState[T], ...]


def _new_state(
    reader: MetadataReader, start: str, rest: str, decoder: Callable[[bytes], T]
) -> FileState[T] | None:
    status = reader.files.status(start + rest)
    if status is None or status.is_directory:
        return None
    return _state_of(reader, rest, status, decoder)


def values_of(states: tuple[FileState[T], ...]) -> Iterator[T]:
    """The decoded values; raises the error of the first file that could not be decoded."""
    for state in states:
        if state.error is not None:
            raise state.error
        if state.value is not None:
            yield state.value


def naming_file(error: FormatError, path: str) -> FormatError:
    """The same error, whose message and facts name the file."""
    name = path.rsplit("/", 1)[-1]
    if error.message.startswith(name):
        message = path + error.message.removeprefix(name)
    elif error.kind is ErrorKind.BROKEN_FILE:
        message = f"{path} is broken: {error.message}"
    else:
        message = f"{path} cannot be read: {error.message}"
    return FormatError(message, kind=error.kind, **{**error.facts, "path": path})


def _state_of(
    reader: MetadataReader, name: str, status: FileStatus, decoder: Callable[[bytes], T]
) -> FileState[T] | None:
    """Return the content of one listed file, or its error; None if it is gone since."""
    value, error = None, None
    try:
        value = decode(reader, status, decoder)
    except NotFound:
        return None
    except PaimonError as caught:
        error = caught
    return FileState(
        name=name,
        path=status.path,
        modified_millis=status.modified_millis,
        value=value,
        error=error,
    )


def _is_number(text: str) -> bool:
    # `snapshot-07` is not the file of snapshot 7, though it parses, and Paimon's ids are longs.
    is_plain = text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))
    return is_plain and len(text) <= _MOST_DIGITS and int(text) <= MOST_ID


def missing_file(path: str) -> FormatError:
    """The error of a file that a snapshot names and the store does not have."""
    return _missing_files([path])


def check_named_files(reader: MetadataReader, paths: TablePaths, snapshot: Snapshot) -> None:
    """Look whether the files that a snapshot itself names are there; reads none of them.

    Raises:
        FormatError: Some are missing, so nothing of the snapshot can be read.
    """
    names = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest)
    named = [paths.manifest(name) for name in names if name is not None]
    are_there = reader.map_parallel(reader.files.exists, named)
    missing = [path for path, is_there in zip(named, are_there, strict=True) if not is_there]
    if missing:
        raise _missing_files(missing)


def _missing_files(paths: Sequence[str]) -> FormatError:
    """The error of files that a snapshot names and the store does not have, one at least."""
    first, others = paths[0], len(paths) - 1
    them = "them" if others else "it"
    missing = f"and {others} more are missing" if others else "is missing"
    return FormatError(
        f"{first} {missing}, though the snapshot needs {them}. Another tool's expiry or orphan "
        f"cleaning may have removed {them}; restore {them} or drop what refers to {them}.",
        kind=ErrorKind.FILES_MISSING,
        path=first,
    )
