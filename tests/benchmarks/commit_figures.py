"""Who commits in the benchmarks of commits, how each is started, and what their figures mean.

All contestants do the same: the data files of a commit are written before the clock starts (ours
exist as entries only, as a commit never looks at them), and the clock takes the commit alone.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks.contest import OURS, Contestant
from tests.support.requirements import MissingError, find_jar, find_jvm, find_pypaimon

JAVA: Final = {"java 1.4.2": "1.4.2", "java 2.0.0": "2.0.0"}
PYPAIMON: Final = "pypaimon"


def worker_command(who: str) -> list[str]:
    """The command of a committing process, without its arguments.

    Raises:
        MissingError: The contestant is not installed.
    """
    if who == PYPAIMON:
        return [str(find_pypaimon()), str(Path(__file__).with_name("child_commits_pypaimon.py"))]
    if who in JAVA:
        find_jvm()
        find_jar(JAVA[who])
    return [sys.executable, "-m", "tests.benchmarks.child_commits", who]


def find_contestants(
    driver: str, *arguments: str, names: Sequence[str] = (OURS, *JAVA, PYPAIMON)
) -> tuple[list[Contestant], dict[str, str]]:
    """Those of the contestants that are installed, and why the others are not there.

    Args:
        driver: The module that starts the committing processes: it is given a warehouse, the name
            of the contestant and `arguments`.
        arguments: Of the driver.
        names: Who is asked.
    """
    found, absent = [], {}
    for name in names:
        try:
            worker_command(name)
        except MissingError as gap:
            absent[name] = str(gap)
        else:
            found.append(Contestant(name=name, command=_command(driver, name, arguments)))
    return found, absent


def _command(driver: str, name: str, arguments: Sequence[str]) -> Callable[[Path], Sequence[str]]:
    return lambda folder: [sys.executable, "-m", driver, str(folder), name, *arguments]
