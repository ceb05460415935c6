"""The process of the console: Streamlit, which ends with the command that started it."""

import os
import signal
import sys
import threading

from streamlit.web.cli import main


def end_with_parent() -> None:
    """End this process once its standard input does, as it does when the parent is killed."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    main()
