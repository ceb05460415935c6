"""Giving a finished file a second name that another branch may keep after the first one is gone."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from branch_console.errors import InvalidInput
from branch_console.storage.durable import make_directory, sync_path
from branch_console.storage.file_io import FileIO


class Linked(StrEnum):
    """How a link ended."""

    DONE = "DONE"
    UNSUPPORTED = "UNSUPPORTED"


class FileLinker(Protocol):
    """Makes a hard link, where the store has them."""

    def link(self, path: str, name: str) -> Linked:
        """Return DONE once `name` durably names the file of `path`, else UNSUPPORTED.

        UNSUPPORTED changed nothing; a name that something else has is left alone, too.
        """


class LocalFileLinker:
    """Links on the local file system; data files are never written in place, so both names hold."""

    def __init__(self, file_io: FileIO, link: Callable[[str, str], None] = os.link) -> None:
        self._file_io = file_io
        self._link = link

    def link(self, path: str, name: str) -> Linked:
        """Return DONE once `name` durably names the file of `path`, else UNSUPPORTED."""
        try:
            for each in (path, name):
                self._file_io.check_inside(each)
        except InvalidInput:
            # External paths may lie anywhere.
            return Linked.UNSUPPORTED
        source, target = (Path(self._file_io.native_path(each)) for each in (path, name))
        if source.is_symlink():
            return Linked.UNSUPPORTED
        try:
            make_directory(target.parent)
            self._link(str(source), str(target))
            sync_path(target.parent)
        except FileExistsError:
            return Linked.DONE if target.samefile(source) else Linked.UNSUPPORTED
        except OSError:
            # Another device, a file system without links, too many of them: a copy does it all.
            return Linked.UNSUPPORTED
        return Linked.DONE


class NoLinks:
    """Stands in for a store whose files have one name each."""

    def link(self, path: str, name: str) -> Linked:
        """Return UNSUPPORTED."""
        return Linked.UNSUPPORTED


def linker_for(file_io: FileIO) -> FileLinker:
    """The linker that suits the store."""
    return LocalFileLinker(file_io) if file_io.is_local else NoLinks()
