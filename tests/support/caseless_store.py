"""A folder that takes names which differ in case for one, as some file systems do."""

from __future__ import annotations

from pathlib import Path

from branch_console.storage.file_io import FileIO, LocalFileIO


class CaselessFileIO(LocalFileIO):
    """Tells what is there under any spelling; it lists names as they were given."""

    @classmethod
    def of(cls, folder: Path) -> CaselessFileIO:
        """Return the store of a folder."""
        exact = FileIO.for_url(str(folder))
        return cls(exact._filesystem, exact._scheme, exact.root)

    def exists(self, path: str) -> bool:
        """Whether something is there under that name in any case."""
        folder, _, name = path.rpartition("/")
        return super().exists(path) or name.casefold() in (
            each.name.casefold() for each in self.list(folder)
        )
