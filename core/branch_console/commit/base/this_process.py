"""The identity of the running process, and a check whether another one still runs."""

import os
import platform

from branch_console.format.journals.rows import WriterProcess


def this_process() -> WriterProcess:
    """The identity of this process, by which others know whether it is still at work."""
    return WriterProcess(host=platform.node(), process=os.getpid())


def is_alive(process: WriterProcess) -> bool | None:
    """Whether a process of this machine is at work; None if it is another machine's."""
    if process.host != platform.node():
        return None
    try:
        os.kill(process.process or 0, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
