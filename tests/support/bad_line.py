"""A line to an HTTP server of this machine: slow as one to a server far away, or losing answers."""

import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

_ENDPOINT: Final = "endpoint_url"
_CHUNK: Final = 1 << 16
_METHODS: Final = re.compile(rb"(GET|HEAD|PUT|POST|DELETE) ")


@dataclass(kw_only=True)
class BadLine:
    """Passes everything on, but for the answer to the next request that begins as told.

    Attributes:
        options: How a warehouse on the server is opened through it.
        delay_seconds: How long an answer takes beyond the server's time. What a client sends
            without waiting for an answer comes along, so a large file is no slower.
        heads: The lines before the bodies of all requests.
        lost: The first lines of the requests whose answers were lost.
    """

    options: dict[str, str]
    delay_seconds: float
    heads: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    _due: bytes | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lose_the_answer_to(self, request: str) -> None:
        """Lose one answer: to a request whose first line has this in it, such as `PUT /b/x`."""
        with self._lock:
            self._due = request.encode()

    def is_due(self, data: bytes) -> bool:
        """Whether these bytes of a client begin the request whose answer is lost; true once."""
        head = data.split(b"\r\n\r\n", 1)[0]
        if _METHODS.match(head):
            self.heads.append(head.decode())
        line = head.split(b"\r\n", 1)[0]
        with self._lock:
            if self._due is None or self._due not in line:
                return False
            self._due = None
            self.lost.append(line.decode())
            return True


@contextmanager
def bad_line(options: Mapping[str, str], delay_seconds: float = 0) -> Iterator[BadLine]:
    """Listen on a free port of this machine and pass on to the S3 server of these options."""
    target = options[_ENDPOINT].removeprefix("http://")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        end = f"http://127.0.0.1:{listener.getsockname()[1]}"
        line = BadLine(options={**options, _ENDPOINT: end}, delay_seconds=delay_seconds)
        threading.Thread(target=_accept, args=(listener, target, line), daemon=True).start()
        yield line


def _accept(listener: socket.socket, target: str, line: BadLine) -> None:
    host, port = target.split(":")
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        server = socket.create_connection((host, int(port)))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        drops, answered = threading.Event(), threading.Event()
        answered.set()
        for source, sink, is_answer in ((client, server, False), (server, client, True)):
            arguments = (source, sink, line, drops, answered, is_answer)
            threading.Thread(target=_pass_on, args=arguments, daemon=True).start()


def _pass_on(
    source: socket.socket,
    sink: socket.socket,
    line: BadLine,
    drops: threading.Event,
    answered: threading.Event,
    is_answer: bool,
) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            if is_answer:
                answered.set()
            else:
                if line.is_due(data):
                    drops.set()
                if answered.is_set():
                    answered.clear()
                    time.sleep(line.delay_seconds)
            if is_answer and drops.is_set():
                break
            sink.sendall(data)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
