"""The four ways a commit touches a store: it reads, publishes, moves, and removes what it may."""

from dataclasses import dataclass

from core.storage.directory_mover import DirectoryMover, mover_for
from core.storage.file_io import FileIO, FileReader
from core.storage.file_publisher import FilePublisher
from core.storage.file_remover import FileRemover
from core.storage.publish_claims import ClaimingPublisher, ClaimRegister
from core.storage.publishers import publisher_for


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStore:
    """A store that may be changed; only `core.commit` and `core.maintenance` look inside."""

    files: FileReader
    publisher: FilePublisher
    remover: FileRemover
    mover: DirectoryMover

    @classmethod
    def of(cls, file_io: FileIO, claims: ClaimRegister | None = None) -> "CommitStore":
        """Return the store with the publisher and the mover that are safe for it.

        Args:
            file_io: The store.
            claims: Where paths are claimed before they are written, for a store that needs it.
        """
        return cls(
            files=file_io,
            publisher=(
                publisher_for(file_io) if claims is None else ClaimingPublisher(file_io, claims)
            ),
            remover=FileRemover(file_io),
            mover=mover_for(file_io),
        )
