"""The process of the console: Streamlit, which ends with the command that started it.

It has all pages loaded before it listens: whoever comes first waits for no imports.
"""

import gc
import importlib
import os
import signal
import sys
import threading
from typing import Final

from streamlit.env_util import is_repl
from streamlit.web.cli import main

# The pages, and what they import only when they first ask for it.
_MODULES: Final = (
    "branch_console_app.main",
    "branch_console.jobs.client",
    "branch_console.procedures.preview",
)


def end_with_parent() -> None:
    """End this process once its standard input does, as it does when the parent is killed."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


def load_pages() -> None:
    """Import all pages, and spare the garbage collector what stays until the end."""
    for name in _MODULES:
        importlib.import_module(name)
    # Streamlit asks it when it draws first, and looks for the file of each module for that.
    is_repl()
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    load_pages()
    main()
