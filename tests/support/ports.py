"""Ports of this machine for the servers of tests."""

import socket


def free_port() -> int:
    """A port that nobody listens on now; somebody may before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
