"""How the many short-lived JVMs of the tests are started."""

from typing import Final

OPTIONS: Final = (
    # What is compiled well or verified costs a test more than it gives back.
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)
