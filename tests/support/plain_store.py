"""A store that overwrites whatever is there, as some object stores do: `plain:///folder`.

A file appears whole, but nothing makes a second writer fail; asked to create, it does not listen.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from branch_console.storage.file_io import FileIO, temporary_beside


class PlainFilesystem(LocalFileSystem):  # type: ignore[misc]
    """Local files, told apart by their scheme so that no local means are used on them."""

    protocol = ("plain",)

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        return str(os.fspath(path)).removeprefix("plain://").rstrip("/") or "/"

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: object) -> None:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(temporary_beside(path))
        temporary.write_bytes(value)
        temporary.replace(target)


fsspec.register_implementation("plain", PlainFilesystem, clobber=True)


class SlowFileIO(FileIO):
    """A plain store whose writes wait: each is kept instead of made, and may be made later."""

    def __init__(self, inner: FileIO) -> None:
        super().__init__(inner._filesystem, inner.scheme, inner.root)
        self.waiting: list[Callable[[], None]] = []
        self.stops = False

    def replace(self, path: str, data: bytes) -> None:
        if not self.stops:
            super().replace(path, data)
            return
        self.waiting.append(lambda: FileIO.replace(self, path, data))
        raise Stopped


class Stopped(BaseException):
    """The process was stopped before its write reached the store."""
