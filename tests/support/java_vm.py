"""The one JVM of this process, with exactly one Paimon version on its class path."""

import importlib.util
from pathlib import Path
from typing import Any

import jpype

from tests.support import quick_java
from tests.support.requirements import find_jar, find_jvm

# Paimon's own jars leave these to the engine; PySpark brings them.
_ENGINE_JARS = (
    "hadoop-client-api-*.jar",
    "hadoop-client-runtime-*.jar",
    "slf4j-api-*.jar",
    "snappy-java-*.jar",
    "xz-*.jar",
)

_started: dict[str, str] = {}


def start_jvm(version: str) -> None:
    """Start the JVM with this Paimon version, or check that it runs with this one.

    Raises:
        RuntimeError: The JVM of this process runs with the other version.
    """
    if not jpype.isJVMStarted():
        jars = [find_jar(version), *hadoop_jars()]
        jpype.startJVM(
            # Room from the start, as a small heap would be collected all the time.
            *("-Xmx2g", "-Xms1g", "-Xmn600m"),
            *quick_java.OPTIONS,
            "-Dslf4j.internal.verbosity=ERROR",
            jvmpath=str(find_jvm()),
            classpath=[str(jar) for jar in jars],
            convertStrings=True,
        )
        _started["version"] = version
    if _started["version"] != version:
        raise RuntimeError(
            f"This process runs Paimon {_started['version']}; use another one for {version}."
        )


def java_class(name: str) -> Any:
    """A Java class by its full name, or by its name below `org.apache.paimon`."""
    return jpype.JClass(name if name.startswith(("java.", "org.")) else f"org.apache.paimon.{name}")


def hadoop_jars(*others: str) -> list[Path]:
    """The jars of Hadoop's client, and others by pattern, that PySpark brings."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "jars"
    return [jar for pattern in (*_ENGINE_JARS, *others) for jar in folder.glob(pattern)]


def set_java_time_zone(name: str) -> None:
    """Set the zone in which Paimon shows and writes times; empty for that of the machine."""
    zone = java_class("java.util.TimeZone")
    zone.setDefault(zone.getTimeZone(name) if name else None)
