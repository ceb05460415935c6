"""A line to a server of this machine that takes as long as one to a server far away."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final

_PIECE_BYTES: Final = 1 << 16


@contextlib.contextmanager
def slow_link(host: str, port: int, delay_seconds: float) -> Iterator[int]:
    """Pass on what is sent to the port that is returned, so much later; answers come at once.

    The time is that of a whole round trip. What follows does not wait for what went before it, so
    a large file is no slower than a small one.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> asyncio.Server:
        async def serve(client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
            answers, target = await asyncio.open_connection(host, port)
            _at_once(back, target)
            await asyncio.gather(_pass_on(client, target, delay_seconds), _pass_on(answers, back))

        return await asyncio.start_server(serve, "127.0.0.1", 0)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _pass_on(
    source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_seconds: float = 0
) -> None:
    loop = asyncio.get_running_loop()
    on_its_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def deliver() -> None:
        with contextlib.suppress(OSError):
            while True:
                due, piece = await on_its_way.get()
                await asyncio.sleep(max(0, due - loop.time()))
                if not piece:
                    break
                target.write(piece)
                await target.drain()
        target.close()

    delivering = asyncio.create_task(deliver())
    piece = b"more"
    while piece:
        try:
            piece = await source.read(_PIECE_BYTES)
        except OSError:
            piece = b""
        await on_its_way.put((loop.time() + delay_seconds, piece))
    await delivering


def _at_once(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        end: socket.socket = writer.get_extra_info("socket")
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
