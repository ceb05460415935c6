"""The four ways a commit touches a store: it reads, publishes, moves, and removes what it may."""

from dataclasses import dataclass

from core.storage.directory_mover import DirectoryMover, mover_for
from core.storage.file_io import FileIO, FileReader
from core.storage.file_publisher import FilePublisher, publisher_for
from core.storage.file_remover import FileRemover


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStore:
    """A store that may be changed; only `core.commit` and `core.maintenance` look inside."""

    files: FileReader
    publisher: FilePublisher
    remover: FileRemover
    mover: DirectoryMover

    @classmethod
    def of(cls, file_io: FileIO) -> "CommitStore":
        """Return the store with the publisher and the mover that are safe for it."""
        return cls(
            files=file_io,
            publisher=publisher_for(file_io),
            remover=FileRemover(file_io),
            mover=mover_for(file_io),
        )
