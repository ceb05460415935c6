"""Object stores for tests, each a server on this machine that speaks the real protocol.

S3 is versitygw, whose buckets are folders; Google Cloud Storage is fake-gcs-server, and Azure's
blobs are Azurite's, both in memory. HDFS is Hadoop's own, a name node and a data node.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import fsspec

from tests.support.ports import free_port

_READY_SECONDS: Final = 60.0
_STARTS: Final = 5
# Azurite's own account and key, which its documentation names.
_AZURE_ACCOUNT: Final = "devstoreaccount1"
_AZURE_KEY: Final = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreServer:
    """A server that is up.

    Attributes:
        base: The URL below which its buckets are.
        options: What a warehouse on this server is opened with.
        stranger: The same of somebody whose key is wrong, where the server asks for a key.
    """

    base: str
    options: dict[str, str]
    stranger: dict[str, str]

    def make_bucket(self, name: str) -> str:
        """Make a bucket and return its URL; names have three characters or more."""
        url = f"{self.base}{name}"
        filesystem, path = fsspec.url_to_fs(url, **self.options)
        filesystem.mkdir(path)
        return url


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server(StoreServer):
    """A server that keeps its buckets in `folder`, for a look past the protocol."""

    folder: Path


@contextmanager
def running_s3_server(program: Path, folder: Path) -> Iterator[S3Server]:
    """Start the server on a free port of this machine, and stop it in the end."""
    buckets = folder / "buckets"
    buckets.mkdir(parents=True)
    key, secret = f"key{secrets.token_hex(8)}", secrets.token_hex(16)
    keys = {"ROOT_ACCESS_KEY": key, "ROOT_SECRET_KEY": secret}

    def command(port: int) -> Sequence[str]:
        return [str(program), "--quiet", "--port", f"127.0.0.1:{port}", "posix", str(buckets)]

    with _running(command, folder, keys) as address:
        options = {"key": key, "secret": secret, "endpoint_url": f"http://{address}"}
        stranger = {**options, "secret": "wrong"}
        yield S3Server(base="s3://", options=options, stranger=stranger, folder=buckets)


@contextmanager
def running_gcs_server(program: Path, folder: Path) -> Iterator[StoreServer]:
    """As `running_s3_server`, for Google Cloud Storage."""
    folder.mkdir(parents=True)
    # The client would ask Google itself what kind of bucket it is.
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"

    def command(port: int) -> Sequence[str]:
        place = ["-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}"]
        return [str(program), "-scheme", "http", "-backend", "memory", *place]

    with _running(command, folder) as address:
        options = {"endpoint_url": f"http://{address}", "token": "anon", "project": "tests"}
        yield StoreServer(base="gs://", options=options, stranger=options)


@contextmanager
def running_azure_server(program: Path, folder: Path) -> Iterator[StoreServer]:
    """As `running_s3_server`, for the blobs of Azure."""
    folder.mkdir(parents=True)

    def command(port: int) -> Sequence[str]:
        quiet = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        return [str(program), "--inMemoryPersistence", *quiet, "--blobPort", str(port)]

    with _running(command, folder) as address:
        yield StoreServer(
            base="abfs://",
            options=_azure_options(address, _AZURE_KEY),
            stranger=_azure_options(address, _AZURE_KEY.swapcase()),
        )


@contextmanager
def running_hdfs(jar: Path, folder: Path) -> Iterator[StoreServer]:
    """As `running_s3_server`, for HDFS, whose buckets are folders below its root."""
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.support.hdfs_child", str(jar), str(folder / "nodes")]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            lines = iter(server.stdout.readline, "")
            said = next((line for line in lines if line.startswith("ready ")), None)
            if said is None:
                raise RuntimeError(f"HDFS does not start: see {folder / 'server.log'}.")
            options = {"user": "ann"}
            base = f"webhdfs://{said.split()[1]}/"
            yield StoreServer(base=base, options=options, stranger=options)
        finally:
            server.terminate()
            server.communicate(timeout=_READY_SECONDS)


def _azure_options(address: str, key: str) -> dict[str, str]:
    parts = {
        "DefaultEndpointsProtocol": "http",
        "AccountName": _AZURE_ACCOUNT,
        "AccountKey": key,
        "BlobEndpoint": f"http://{address}/{_AZURE_ACCOUNT}",
    }
    return {"connection_string": ";".join(f"{name}={value}" for name, value in parts.items())}


@contextmanager
def _running(
    command: Callable[[int], Sequence[str]],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Run a server in a folder, and tell where it listens."""
    with (folder / "server.log").open("wb") as log:
        server, address = _start(command, folder, log.fileno(), environment or {})
        try:
            yield address
        finally:
            server.terminate()
            server.wait(timeout=_READY_SECONDS)


def _start(
    command: Callable[[int], Sequence[str]], folder: Path, log: int, environment: Mapping[str, str]
) -> tuple["subprocess.Popen[bytes]", str]:
    for _ in range(_STARTS):
        port = free_port()
        server = subprocess.Popen(
            command(port),
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        if _answers(server, port):
            return server, f"127.0.0.1:{port}"
        # Somebody took the port between the look and the start.
        server.kill()
        server.wait()
    raise RuntimeError(f"The server does not start: see {folder / 'server.log'}.")


def _answers(server: "subprocess.Popen[bytes]", port: int) -> bool:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return server.poll() is None
    return False
