"""How the many short-lived JVMs of the tests are started."""

import importlib.metadata
from pathlib import Path
from typing import Final

OPTIONS: Final = (
    # What is compiled well or verified costs a test more than it gives back.
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
    # Spark compiles a class for each query: in the 48 MB of a Java that compiles lightly a thread
    # looks all the time for what may go.
    "-XX:ReservedCodeCacheSize=240m",
)


def spark_classes() -> Path:
    """Where the classes of Spark lie, loaded and linked; `tests.support.fetch` makes the file."""
    version = importlib.metadata.version("pyspark")
    return Path(__file__).resolve().parents[2] / ".peers" / f"spark-{version}.jsa"


def options_to_write(classes: Path) -> str:
    """The options of a Java that writes the classes it has loaded into a file as it ends."""
    return " ".join((*OPTIONS, f'-XX:ArchiveClassesAtExit="{classes}"'))


def options_of_spark() -> str:
    """The options for every `java` that is started by its name, in the variable that it reads.

    With its classes from one file a Spark starts in half of the time. A Java for which the file
    was not made, of another version or with another class path, does without it.
    """
    made = spark_classes()
    if not made.exists():
        return " ".join(OPTIONS)
    # Where it was made to lie nothing in it has to be moved; it says nothing where it does not fit.
    how = ("-XX:ArchiveRelocationMode=0", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
    return " ".join((*OPTIONS, f'-XX:SharedArchiveFile="{made}"', *how))
