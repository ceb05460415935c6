"""What a tab asked of the script and whether it was answered, as its websocket tells."""

from __future__ import annotations

from playwright.sync_api import Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

# What draws a page may be megabytes; what starts and ends a run never is.
_LONGEST_SIGNAL = 100_000


class ScriptRuns:
    """The runs of the script that one tab asked for.

    The page says "not running" until the run that a click asks for has reached the browser, so
    that to look at the page alone takes the old one for the new.

    Attributes:
        asked_for_pages: How often the tab asked for a whole page.
        asked_in_all: How often it asked for a page or a part of one.
    """

    def __init__(self, page: Page) -> None:
        self.asked_for_pages = 0
        self.asked_in_all = 0
        self._asked = False
        self._running = False
        page.on("websocket", self._connect)

    @property
    def are_done(self) -> bool:
        """Whether the last run that was asked for has begun and ended."""
        return not self._asked and not self._running

    def _connect(self, socket: WebSocket) -> None:
        self._running = False
        socket.on("framesent", self._send)
        socket.on("framereceived", self._receive)

    def _send(self, frame: bytes | str) -> None:
        if isinstance(frame, str):
            return
        message = BackMsg.FromString(frame)
        if message.HasField("rerun_script"):
            self._asked = True
            self.asked_in_all += 1
            self.asked_for_pages += not message.rerun_script.fragment_id

    def _receive(self, frame: bytes | str) -> None:
        if isinstance(frame, str) or len(frame) > _LONGEST_SIGNAL:
            return
        message = ForwardMsg.FromString(frame)
        if message.HasField("new_session"):
            self._asked, self._running = False, True
        elif message.HasField("script_finished"):
            self._running = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
