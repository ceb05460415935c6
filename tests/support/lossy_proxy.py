"""A door before an HTTP server that loses the answer to one request, which was carried out."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

_CHUNK: Final = 1 << 16


@dataclass(kw_only=True)
class LossyProxy:
    """Passes everything on, but for the answer to the next request that begins as told.

    Attributes:
        address: Where it listens, as `host:port`.
        lost: The first lines of the requests whose answers were lost.
    """

    address: str
    lost: list[str] = field(default_factory=list)
    _due: bytes | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lose_the_answer_to(self, request: str) -> None:
        """Lose one answer: to a request whose first line has this in it, such as `PUT /b/x`."""
        with self._lock:
            self._due = request.encode()

    def is_due(self, data: bytes) -> bool:
        """Whether these bytes of a client begin the request; true once."""
        line = data.split(b"\r\n", 1)[0]
        with self._lock:
            if self._due is None or self._due not in line:
                return False
            self._due = None
            self.lost.append(line.decode())
            return True


@contextmanager
def lossy_proxy(target: str) -> Iterator[LossyProxy]:
    """Listen on a free port of this machine and pass on to `host:port`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = LossyProxy(address=f"127.0.0.1:{listener.getsockname()[1]}")
        threading.Thread(target=_accept, args=(listener, target, proxy), daemon=True).start()
        yield proxy


def _accept(listener: socket.socket, target: str, proxy: LossyProxy) -> None:
    host, port = target.split(":")
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        server = socket.create_connection((host, int(port)))
        drops = threading.Event()
        for source, sink, is_answer in ((client, server, False), (server, client, True)):
            arguments = (source, sink, proxy, drops, is_answer)
            threading.Thread(target=_pass_on, args=arguments, daemon=True).start()


def _pass_on(
    source: socket.socket,
    sink: socket.socket,
    proxy: LossyProxy,
    drops: threading.Event,
    is_answer: bool,
) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            if not is_answer and proxy.is_due(data):
                drops.set()
            if is_answer and drops.is_set():
                break
            sink.sendall(data)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
