"""A real S3 server for tests: versitygw on this machine, its buckets are folders."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import fsspec

_READY_SECONDS: Final = 60.0
_STARTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A server that is up.

    Attributes:
        folder: Holds a folder per bucket, for a look past the protocol.
        options: What a warehouse on this server is opened with.
    """

    folder: Path
    options: dict[str, str]

    def make_bucket(self, name: str) -> str:
        """Make a bucket and return its URL; names have three characters or more."""
        fsspec.filesystem("s3", **self.options).mkdir(name)
        return f"s3://{name}"


@contextmanager
def running_s3_server(program: Path, folder: Path) -> Iterator[S3Server]:
    """Start the server on a free port of this machine, and stop it in the end."""
    buckets = folder / "buckets"
    buckets.mkdir(parents=True)
    key, secret = f"key{secrets.token_hex(8)}", secrets.token_hex(16)
    with (folder / "server.log").open("wb") as log:
        server, address = _start(program, buckets, log.fileno(), key, secret)
        try:
            options = {"key": key, "secret": secret, "endpoint_url": f"http://{address}"}
            yield S3Server(folder=buckets, options=options)
        finally:
            server.terminate()
            server.wait(timeout=_READY_SECONDS)


def _start(
    program: Path, buckets: Path, log: int, key: str, secret: str
) -> tuple["subprocess.Popen[bytes]", str]:
    for _ in range(_STARTS):
        address = f"127.0.0.1:{_free_port()}"
        server = subprocess.Popen(
            [str(program), "--quiet", "--port", address, "posix", str(buckets)],
            env=os.environ | {"ROOT_ACCESS_KEY": key, "ROOT_SECRET_KEY": secret},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        if _answers(server, address):
            return server, address
        # Somebody took the port between the look and the start.
        server.kill()
        server.wait()
    raise RuntimeError(f"The S3 server does not start: see {buckets.parent / 'server.log'}.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(server: "subprocess.Popen[bytes]", address: str) -> bool:
    host, port = address.split(":")
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return server.poll() is None
    return False
