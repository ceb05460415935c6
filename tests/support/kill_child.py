"""Runs operations in processes of their own, each ready to go at once, so that they can be killed.

Is given a line `{"operation": …, "root": …}`, answers with the process id of who does it, and with
its exit status once it ended.
"""

import json
import os
import sys
import traceback
from pathlib import Path

from tests.reliability.operations import EVERYTHING, Run


def main() -> None:
    """Fork for each line of input."""
    runs = {each.name: each.run for each in EVERYTHING}
    for line in sys.stdin:
        told = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(_run(runs[told["operation"]], Path(told["root"])))
        _say(pid)
        _say(os.waitpid(pid, 0)[1])


def _run(run: Run, root: Path) -> int:
    try:
        run(root, None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
