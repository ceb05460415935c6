"""How the many short-lived JVMs of the tests are started."""

from typing import Final

OPTIONS: Final = (
    # What is compiled well or verified costs a test more than it gives back.
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
    # Spark compiles a class for each query: in the 48 MB of a Java that compiles lightly a thread
    # looks all the time for what may go.
    "-XX:ReservedCodeCacheSize=240m",
)
