"""Finding out how a store behaves: whether it keeps its promise (C26), and what it takes for one.

A store that lets a second create replace the first would lose commits without a word, which is
tried before the first commit.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from branch_console.errors import PaimonError
from branch_console.storage.file_io import FileIO, FileReader
from branch_console.storage.file_publisher import FilePublisher, Published
from branch_console.storage.publish_claims import ClaimRegister, check_register


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreVerdict:
    """Whether commits are safe here, and in a sentence why not."""

    can_write: bool
    reason: str | None = None


def probe(
    file_io: FileIO, publisher: FilePublisher, folder: str, claims: ClaimRegister | None = None
) -> StoreVerdict:
    """Publish one name twice in a folder and see that the second try is refused.

    The probe's file is removed again; its name starts with a dot, so no Paimon reader sees it.

    Args:
        file_io: The store.
        publisher: How commits are published in it.
        folder: The warehouse.
        claims: The register that the publisher asks, if it asks one.
    """
    path = f"{folder}/.branch-console-probe-{uuid.uuid4()}"
    try:
        # Object stores have no empty folders, so only a local one can be missing.
        if file_io.is_local and not file_io.exists(folder):
            return _cannot(f"There is no folder {file_io.url(folder)}.")
        check_register(file_io, claims)
        return _try_twice(file_io, publisher, path)
    except PaimonError as error:
        return _cannot(error.message)


def ignores_case(files: FileReader, path: str) -> bool:
    """Whether a store takes names that differ in case for one; nothing is written.

    Args:
        files: The store.
        path: Of something that is there, and has letters in its name.
    """
    folder, _, name = path.rpartition("/")
    other = name.swapcase()
    if other in (each.name for each in files.list(folder)):
        return False  # both are there
    return files.exists(path) and files.exists(f"{folder}/{other}")


def _try_twice(file_io: FileIO, publisher: FilePublisher, path: str) -> StoreVerdict:
    try:
        first = publisher.publish(path, b"first")
        if first is not Published.WON:
            return _cannot(f"The store did not confirm a new file {file_io.url(path)}.")
        second = publisher.publish(path, b"second")
        if second is not Published.LOST or file_io.read(path) != b"first":
            return _cannot(
                "The store lets a second writer replace a file. Commits would be lost, so the "
                "warehouse opens for reading only."
            )
        return StoreVerdict(can_write=True)
    finally:
        file_io.remove(path)


def _cannot(reason: str) -> StoreVerdict:
    return StoreVerdict(can_write=False, reason=reason)
