"""Paimon Java's catalog for the processes of the benchmarks; its compiler and caches as they are.

Only processes that want a JVM import this.
"""

from typing import Any

import jpype

from tests.support.java_vm import hadoop_jars
from tests.support.requirements import find_jar, find_jvm, find_paimon_s3


def start_java(
    warehouse: object,
    version: str,
    *,
    heap: str = "-Xmx4g",
    **options: str,
) -> Any:
    """Start the JVM with a version of Paimon, and open a warehouse; returns its catalog."""
    plugins = [find_paimon_s3()] if str(warehouse).startswith("s3://") else []
    jpype.startJVM(
        heap,
        "-Dslf4j.internal.verbosity=ERROR",
        jvmpath=str(find_jvm()),
        classpath=[str(jar) for jar in (find_jar(version), *plugins, *hadoop_jars())],
    )
    told = jpype.JClass("java.util.HashMap")()
    for key, value in {"warehouse": str(warehouse), **options}.items():
        told.put(key.replace("_", "-"), value)
    context = paimon("catalog.CatalogContext").create(paimon("options.Options").fromMap(told))
    return paimon("catalog.CatalogFactory").createCatalog(context)


def open_table(catalog: Any, name: str) -> Any:
    """Open a table of the catalog by its full name."""
    return catalog.getTable(paimon("catalog.Identifier").fromString(name))


def paimon(name: str) -> Any:
    """A class of Paimon by its name below `org.apache.paimon`."""
    return jpype.JClass(f"org.apache.paimon.{name}")
