"""The tags of a branch: names for snapshots, which also keep them from expiring on main."""

from __future__ import annotations

from dataclasses import replace

from branch_console.errors import ErrorKind, NotFound
from branch_console.format.near_names import did_you_mean, nearest_names
from branch_console.format.tag import Tag
from branch_console.storage.file_io import FileStatus
from branch_console.storage.metadata_cache import MetadataReader
from branch_console.storage.parallel_io import aside
from branch_console.storage.table_paths import TAG_PREFIX, TablePaths
from branch_console.table.versioned_files import (
    FileState,
    decode,
    decode_states,
    list_prefixed,
    values_of,
)


class TagManager:
    """Reads the tag files of one branch [Paimon TagManager]."""

    def __init__(self, reader: MetadataReader, paths: TablePaths) -> None:
        self._reader = reader
        self._paths = paths

    def names(self) -> tuple[str, ...]:
        """The names of all tags, sorted."""
        return tuple(self._listing())

    def unlisted(self) -> tuple[str, ...]:
        """Paths of the folders that hold tags made under names with a slash."""
        names = self._reader.files.folder_names(self._paths.tag_dir)
        return tuple(
            f"{self._paths.tag_dir}/{name}" for name in sorted(names) if name.startswith(TAG_PREFIX)
        )

    def find(self, name: str) -> Tag | None:
        """A tag by its name, None if there is none.

        Raises:
            FormatError: It cannot be decoded.
        """
        status = self._reader.find_status(self._paths.tag(name))
        if status is None or status.is_directory:
            return None
        return replace(decode(self._reader, status, _unnamed), name=name)

    def get(self, name: str) -> Tag:
        """A tag by its name.

        Raises:
            NotFound: The branch has no such tag.
            FormatError: It cannot be decoded.
        """
        tag = self.find(name)
        if tag is None:
            hint = did_you_mean(nearest_names(name, aside(self.names)() or ()))
            where = f".{hint}" if hint else f": {self._paths.tag(name)} is missing."
            raise NotFound(
                f"Branch {self._paths.branch!r} has no tag {name!r}{where}",
                kind=ErrorKind.TAG_NOT_FOUND,
                path=self._paths.tag(name),
                tag=name,
                branch=self._paths.branch,
            )
        return tag

    def all(self) -> tuple[Tag, ...]:
        """All tags by name; raises FormatError at the first broken one."""
        return tuple(values_of(self.states()))

    def states(self) -> tuple[FileState[Tag], ...]:
        """All tag files by name, broken ones with their error."""
        states = decode_states(self._reader, self._listing(), _unnamed)
        return tuple(
            replace(state, value=state.value and replace(state.value, name=state.name))
            for state in states
        )

    def _listing(self) -> dict[str, FileStatus]:
        return list_prefixed(self._reader, self._paths.tag_dir, TAG_PREFIX)


def _unnamed(data: bytes) -> Tag:
    # The name is the file's, so what is decoded from the bytes alone can be remembered.
    return Tag.from_json("", data)
