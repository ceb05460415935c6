"""Data files of which several reads are to come: each is fetched once, and let go of at the end."""

from collections.abc import Iterable, Mapping

from branch_console.storage.file_io import FileContents


class HeldFiles:
    """The files of a store, each asked for once, however often and in whatever parts it is read.

    They are held as they are stored, which is small beside the rows in them; so each read may want
    other columns, types or deletion vectors of the same file.
    """

    def __init__(self, store: FileContents, sizes: Mapping[str, int]) -> None:
        """Hold nothing yet.

        Args:
            store: The store of the files.
            sizes: In bytes, of the data files by path.
        """
        self._store = store
        self._sizes = sizes
        self._held: dict[str, bytes] = {}

    @property
    def is_local(self) -> bool:
        """Never: what is held has no path that the operating system knows."""
        return False

    def native_file(self, path: str) -> str:
        """The path of a file in the store."""
        return self._store.native_file(path)

    def read(self, path: str) -> bytes:
        """The whole file."""
        if path not in self._held:
            size = self._sizes.get(path)
            # A data file may be larger than what a store gives without being told how much.
            self._held[path] = (
                self._store.read(path) if size is None else self._store.read_range(path, 0, size)
            )
        return self._held[path]

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """A part of the file; shorter than `length` only at its end."""
        return self.read(path)[offset : offset + length]

    def keep_only(self, paths: Iterable[str]) -> None:
        """Let go of all other files."""
        wanted = set(paths)
        self._held = {path: data for path, data in self._held.items() if path in wanted}
