"""What Java prints while it starts is kept; what it prints of a failure or later is passed on."""

import os
import subprocess
import sys
import time

import pytest

from branch_console.spark.session.java_start import PrintedLines

SPEAKS = """
import sys
print("WARNING: Using incubator modules", file=sys.stderr, flush=True)
print("up", flush=True)
sys.stdin.readline()
print("it broke", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("fails", [False, True])
def test_words_of_a_start_are_passed_on_only_where_it_fails(
    capfd: pytest.CaptureFixture[str], fails: bool
) -> None:
    printed = PrintedLines()
    with subprocess.Popen(
        [sys.executable, "-c", SPEAKS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=printed.write_end,
        text=True,
    ) as process:
        os.close(printed.write_end)
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        while not printed._kept:
            time.sleep(0.01)
        assert capfd.readouterr().err == ""
        if fails:
            process.communicate("go on\n")
            printed.pass_on(kept=True)
        else:
            printed.pass_on(kept=False)
            process.communicate("go on\n")
            printed.pass_on(kept=True)
    told = capfd.readouterr().err.splitlines()
    assert told == (["WARNING: Using incubator modules"] if fails else []) + ["it broke"]
