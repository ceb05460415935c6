"""HDFS in one process: `python -m tests.support.hdfs_child JAR FOLDER`.

Says where WebHDFS listens once it does, and ends when its input does.
"""

import sys

import jpype

from tests.support import quick_java
from tests.support.java_vm import hadoop_jars, java_class
from tests.support.requirements import find_jvm


def main() -> None:
    """Start a name node and a data node, and wait."""
    jar, folder = sys.argv[1:]
    jpype.startJVM(
        "-Xmx512m",
        *quick_java.OPTIONS,
        "-Dslf4j.internal.verbosity=ERROR",
        jvmpath=str(find_jvm()),
        classpath=[jar, *map(str, hadoop_jars("jcl-over-slf4j-*.jar"))],
        convertStrings=True,
    )
    settings = java_class("org.apache.hadoop.conf.Configuration")()
    settings.set("hdfs.minidfs.basedir", folder)
    settings.setBoolean("dfs.permissions.enabled", False)
    builder = java_class("org.apache.hadoop.hdfs.MiniDFSCluster").Builder(settings)
    cluster = builder.numDataNodes(1).build()
    sys.stdout.write(f"ready 127.0.0.1:{cluster.getNameNode().getHttpAddress().getPort()}\n")
    sys.stdout.flush()
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
