"""Where commits are made: in a folder of this machine, or in a bucket at the end of a slow line."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import fsspec

from tests.support.bad_line import bad_line
from tests.support.requirements import need_s3_server
from tests.support.store_servers import running_s3_server

_BUCKET: Final = "contest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A warehouse and how it is opened: as who commits does, and past the slow line."""

    url: str
    options: dict[str, str]
    near_options: dict[str, str]

    @property
    def told(self) -> tuple[str, str]:
        """The arguments that tell a process of it."""
        return self.url, json.dumps(self.options)


@contextlib.contextmanager
def copy_of(origin: Path, line_millis: int | None) -> Iterator[Place]:
    """A copy of a warehouse, which stays; see `contest.new_folder`.

    Args:
        origin: A folder.
        line_millis: How long a bucket takes to answer; None for a folder.
    """
    with contextlib.ExitStack() as open_now:
        folder = Path(tempfile.mkdtemp())
        if line_millis is None:
            shutil.copytree(origin, folder / "warehouse")
            # What was written so far would be charged to the first one that syncs.
            os.sync()
            yield Place(url=str(folder / "warehouse"), options={}, near_options={})
            return
        server = open_now.enter_context(running_s3_server(need_s3_server(), folder / "server"))
        url = f"{server.make_bucket(_BUCKET)}/warehouse"
        store = fsspec.filesystem("s3", **server.options)
        store.put(f"{origin}/", f"{url}/", recursive=True)
        line = open_now.enter_context(bad_line(server.options, line_millis / 1_000))
        yield Place(url=url, options=line.options, near_options=server.options)


def of_java(options: dict[str, str]) -> dict[str, str]:
    """The options of a place as Paimon Java's catalog takes them."""
    if not options:
        return {}
    return {
        "s3.endpoint": options["endpoint_url"],
        "s3.access-key": options["key"],
        "s3.secret-key": options["secret"],
        "s3.path.style.access": "true",
        "s3.endpoint.region": "us-east-1",
    }
