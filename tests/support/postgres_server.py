"""A real PostgreSQL for tests: a cluster of its own in a new folder, reached by a socket there."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_READY_SECONDS: Final = "60"
_SUPERUSER: Final = "postgres"


@contextmanager
def running_postgres(programs: Path) -> Iterator[str]:
    """Start a server, yield its URL as SQLAlchemy takes it, and stop it in the end.

    Args:
        programs: The folder that holds `initdb` and `pg_ctl`.
    """
    # The server does not run as root, and root's temporary folders of tests are closed to others.
    user = _SUPERUSER if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        common = ["--pgdata", str(data)]

        def run(program: str, *arguments: str) -> None:
            environment = os.environ | {"HOME": name}
            subprocess.run(
                [programs / program, *common, *arguments],
                check=True,
                capture_output=True,
                cwd=folder,
                env=environment,
                user=user,
            )

        run("initdb", "--username", _SUPERUSER, "--auth", "trust", "--no-sync")
        options = f"-c fsync=off -c listen_addresses='' -c unix_socket_directories='{folder}'"
        log = str(folder / "log")
        run("pg_ctl", "--wait", "--timeout", _READY_SECONDS, "--log", log, "-o", options, "start")
        try:
            yield f"postgresql+psycopg://{_SUPERUSER}@/{_SUPERUSER}?host={folder}"
        finally:
            run("pg_ctl", "--wait", "--mode", "immediate", "stop")


def has_its_user() -> bool:
    """Whether there is a user who may run the server."""
    if os.geteuid() != 0:
        return True
    try:
        pwd.getpwnam(_SUPERUSER)
    except KeyError:
        return False
    return True
