"""The ways a commit touches a store: it reads, publishes, links, moves, and removes what it may."""

from dataclasses import dataclass, field

from branch_console.storage.directory_mover import DirectoryMover, mover_for
from branch_console.storage.file_io import FileIO, FileReader
from branch_console.storage.file_linker import FileLinker, NoLinks, linker_for
from branch_console.storage.file_publisher import FilePublisher
from branch_console.storage.file_remover import FileRemover
from branch_console.storage.publish_claims import ClaimingPublisher, ClaimRegister
from branch_console.storage.publishers import publisher_for


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStore:
    """A store that may be changed; only `commit` and `maintenance` look inside."""

    files: FileReader
    publisher: FilePublisher
    remover: FileRemover
    mover: DirectoryMover
    linker: FileLinker = field(default_factory=NoLinks)

    @classmethod
    def of(cls, file_io: FileIO, claims: ClaimRegister | None = None) -> "CommitStore":
        """Return the store with the publisher, the mover and the linker that are safe for it.

        Args:
            file_io: The store.
            claims: The register in which paths are claimed before they are written, for a store
                that needs it.
        """
        return cls(
            files=file_io,
            publisher=(
                publisher_for(file_io) if claims is None else ClaimingPublisher(file_io, claims)
            ),
            remover=FileRemover(file_io),
            mover=mover_for(file_io),
            linker=linker_for(file_io),
        )
