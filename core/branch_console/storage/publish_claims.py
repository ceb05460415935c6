"""Publishing on stores that cannot create a file exclusively: the path is claimed elsewhere first.

No lease is safe on such a store: one that expires while its holder still writes lets two writers
into one file, and a store that cannot refuse a write cannot check a fencing token either. So a
claim never expires, and it holds the bytes: whoever finds one whose writer died writes the same
bytes for it. However late a write arrives, it changes nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from branch_console.errors import ErrorKind, NotAllowed, PaimonError, StorageError
from branch_console.storage.file_io import FileIO
from branch_console.storage.file_publisher import Published, in_order, is_name_unique, write_hint

CLAIMS_MARKER: Final = ".branch-console-claims"
"""The file of a warehouse that names the register of its claims."""

_log = logging.getLogger(__name__)
_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim on a path, which says whose bytes it has or will have.

    Attributes:
        token: The token of this claim; a later one of the same path has another.
        data: The bytes, until the claim is settled.
        is_settled: Whether the file was written in full.
        writers: The writers that began to write it and have not reported their end, for people.
    """

    token: str
    data: bytes | None
    is_settled: bool
    writers: tuple[str, ...]


class ClaimRegister(Protocol):
    """The register of claimed paths; all writers see its calls as transactions in one order."""

    @property
    def id(self) -> str:
        """Return the identity of this register."""

    def claim(self, path: str, data: bytes, token: str) -> Claim | None:
        """Claim a path for these bytes; None, or the claim that is there and stays."""

    def join(self, path: str, token: str, writer: str) -> bool:
        """Set out to write the bytes of another's claim; False if it is settled or gone."""

    def settle(self, path: str, token: str, writer: str) -> None:
        """Report that the file is written and this writer done; who claims writes as its token."""

    def take_over(self, path: str, data: bytes, *, old: str, token: str) -> bool:
        """Claim a path again whose file is gone; False if `old` is unsettled or somebody writes."""


class ClaimingPublisher:
    """Publishes by a claim in a register, and then by a plain write of the claimed bytes."""

    def __init__(self, file_io: FileIO, claims: ClaimRegister) -> None:
        self._file_io = file_io
        self._claims = claims

    def publish(self, path: str, data: bytes) -> Published:
        """Return WON, LOST (the path was taken) or UNKNOWN (look before trying again)."""
        self._file_io.check_inside(path)
        check_register(self._file_io, self._claims)
        # Nobody else uses a unique name, so it needs no claim; a claim would store all its bytes.
        if is_name_unique(path):
            self._file_io.replace(path, data)
            return Published.WON
        # A file that was there before the register was, or that other software made.
        if self._file_io.exists(path):
            return Published.LOST
        for _ in range(_ROUNDS):
            token = str(uuid.uuid4())
            there = self._claims.claim(path, data, token)
            if there is None:
                return self._write(path, data, token, token)
            if not there.is_settled:
                self._complete(path, there)
                return Published.LOST
            if self._file_io.exists(path):
                return Published.LOST
            if there.writers:
                raise _still_written(path, there)
            if self._claims.take_over(path, data, old=there.token, token=token):
                return self._write(path, data, token, token)
        return Published.UNKNOWN

    def publish_in_order(
        self, files: Sequence[tuple[str, bytes]], when_named: Callable[[], object] | None = None
    ) -> list[Published]:
        """Publish files one after the other, up to and with the first that is not WON."""
        return in_order(self.publish, files)

    def replace_hint(self, path: str, data: bytes) -> bool:
        """Write a hint over what is there; False if it could not be written, which is no harm."""
        return write_hint(self._file_io, path, data)

    def replace(self, path: str, data: bytes) -> bool:
        """Write for good over what is there, in one step; False if that is not known."""
        return write_hint(self._file_io, path, data)

    def _complete(self, path: str, there: Claim) -> None:
        """Write for a writer that may be dead; if it is only slow, it writes the same."""
        writer = str(uuid.uuid4())
        if there.data is not None and self._claims.join(path, there.token, writer):
            self._write(path, there.data, there.token, writer)

    def _write(self, path: str, data: bytes, token: str, writer: str) -> Published:
        try:
            self._file_io.replace(path, data)
            self._claims.settle(path, token, writer)
        except StorageError as error:
            # The request may yet arrive, so its writer stays noted; who asks next writes it too.
            _log.warning("publish of %s: outcome unknown: %s", path, error)
            return Published.UNKNOWN
        return Published.WON


def check_register(file_io: FileIO, claims: ClaimRegister | None) -> None:
    """See that this warehouse's claims are in this register, and nowhere else.

    A warehouse that has none yet is given this one.

    Raises:
        NotAllowed: They are in another one, or in one and none was given.
    """
    marker = f"{file_io.root}/{CLAIMS_MARKER}"
    found = file_io.find(marker)
    known = None if found is None else found.decode()
    if known is None and claims is not None:
        file_io.replace(marker, claims.id.encode())
        known = file_io.read(marker).decode()
    if known == (None if claims is None else claims.id):
        return
    raise NotAllowed(
        f"Writers of {file_io.url(file_io.root)} claim what they publish in a database, which "
        "is not the one given here. Give the store option claims=URL of that database, or "
        f"open the warehouse for reading. The database is known as {known}.",
        kind=ErrorKind.STORE_UNSAFE,
    )


def _still_written(path: str, there: Claim) -> PaimonError:
    who = "; ".join(there.writers)
    return NotAllowed(
        f"{path} was removed, and cannot be made anew: {who} set out to write it before and has "
        "not reported its end, so it could still overwrite the new file. Once that process is "
        "certainly gone, remove its row from branch_console_claim_writers and try again.",
        kind=ErrorKind.STORE_UNSAFE,
        path=path,
    )
