"""How this process is set up: the only reader of the environment in the project.

A command's options win over the environment, and both over what the machine suggests. A child
process (console, worker) gets the same settings through `to_environment`.
"""

import getpass
import hashlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from branch_console.errors import ErrorKind, InvalidInput
from branch_console.format.other_catalog import CatalogKind
from branch_console.jobs.settings import QUERY_MEMORY, QUERY_SECONDS
from branch_console.procedures.call.permissions import Role
from branch_console.sql.answer import MOST_ROWS

T = TypeVar("T")
Pairs: TypeAlias = tuple[tuple[str, str], ...]

LOG_LEVELS: Final = ("debug", "info", "warning", "error")
PREFIX: Final = "BRANCH_CONSOLE_"

_FOLDER: Final = "branch-console"
_SPARK_SIZE: Final = re.compile(r"[1-9]\d*[kmgt]b?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process.

    Attributes:
        warehouse: An absolute path or a URL; None until somebody names one.
        state_dir: The folder for jobs and logs between runs.
        job_store: The database of the jobs, as an SQLAlchemy URL; None is a file of the state.
        cache_dir: The folder for immutable metadata of remote stores.
        actor: The person who asks; written to ledgers and receipts.
        role: The name of the actor's Role.
        catalog: The catalog of Paimon that keeps the tables: the name of a CatalogKind; None
            looks for signs of one in the tables.
        store_options: Options of the store, such as an endpoint and keys, as pairs.
        spark_master: The master of Spark, None for the local default.
        spark_remote: The address of a Spark Connect server, None for none.
        spark_memory: Memory of Spark's driver, such as `2g`.
        spark_conf: Further settings of Spark, as pairs.
        query_seconds: How long a query may run; 0 sets no limit.
        query_rows: How many rows one answer may have.
        query_memory: The memory of Spark's driver for the rows of one answer, such as `1g`.
        host: The address the console listens on.
        port: The port of the console; 0 takes a free one.
        log_level: One of LOG_LEVELS.
    """

    warehouse: str | None
    state_dir: Path
    job_store: str | None
    cache_dir: Path
    actor: str
    role: str
    catalog: str | None
    store_options: Pairs
    spark_master: str | None
    spark_remote: str | None
    spark_memory: str | None
    spark_conf: Pairs
    query_seconds: float
    query_rows: int
    query_memory: str
    host: str
    port: int
    log_level: str

    @classmethod
    def from_environment(
        cls,
        overrides: Mapping[str, str | None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> "Settings":
        """Read the settings.

        Args:
            overrides: Settings by name, from options of a command; None and "" leave one alone.
            environment: The variables to read instead of the environment of this process.

        Raises:
            InvalidInput: A setting has a value that it cannot have; the message names it.
        """
        environment = os.environ if environment is None else environment
        given = {key: value for key, value in (overrides or {}).items() if value}
        read = _Reader({**_named(environment), **given})
        query_seconds = read.get("query_seconds", _seconds)
        return cls(
            warehouse=read.get("warehouse", absolute_warehouse),
            state_dir=read.get("state_dir", _absolute) or _user_folder(environment, "state"),
            job_store=read.get("job_store", str),
            cache_dir=read.get("cache_dir", _absolute) or _user_folder(environment, "cache"),
            actor=read.get("actor", str) or _login_name(),
            role=read.get("role", _one_of(tuple(Role))) or Role.OPERATOR,
            catalog=read.get("catalog", _one_of(tuple(CatalogKind))),
            store_options=read.get("store_options", _pairs) or (),
            spark_master=read.get("spark_master", str),
            spark_remote=read.get("spark_remote", str),
            spark_memory=read.get("spark_memory", str),
            spark_conf=read.get("spark_conf", _pairs) or (),
            query_seconds=QUERY_SECONDS if query_seconds is None else query_seconds,
            query_rows=read.get("query_rows", _count) or MOST_ROWS,
            query_memory=read.get("query_memory", _spark_size) or QUERY_MEMORY,
            host=read.get("host", str) or "127.0.0.1",
            port=read.get("port", _port) or 0,
            log_level=read.get("log_level", _one_of(LOG_LEVELS)) or "warning",
        )

    def to_environment(self) -> dict[str, str]:
        """Return the variables that give a child process these settings."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            f"{PREFIX}{name.upper()}": _spelled(value)
            for name, value in values.items()
            if value not in (None, ())
        }

    def child_environment(self) -> dict[str, str]:
        """Return this process's environment with these settings in it."""
        return {**os.environ, **self.to_environment()}

    @property
    def catalog_kind(self) -> CatalogKind | None:
        """The catalog that keeps the tables; None if nobody said."""
        return None if self.catalog is None else CatalogKind(self.catalog)

    @property
    def warehouse_state_dir(self) -> Path:
        """The folder of the jobs of this warehouse.

        Each warehouse has its own: a worker must not run the calls of another one.
        """
        name = self.get_warehouse()
        readable = re.sub(r"[^A-Za-z0-9]+", "-", name.rpartition("/")[2]).strip("-") or "root"
        digest = hashlib.sha256(name.encode()).hexdigest()[:12]
        return self.state_dir / f"{readable[:40]}-{digest}"

    def get_warehouse(self) -> str:
        """Return the warehouse.

        Raises:
            InvalidInput: None is set.
        """
        if self.warehouse is None:
            raise InvalidInput(
                f"No warehouse is named. Give --warehouse PATH_OR_URL or set {PREFIX}WAREHOUSE.",
                kind=ErrorKind.INVALID_ARGUMENT,
            )
        return self.warehouse


def absolute_warehouse(text: str) -> str:
    """Spell a warehouse in one way: local folders absolute, no slash at the end."""
    scheme, separator, rest = text.partition("://")
    if separator and scheme.lower() not in {"file", "local"}:
        return text.rstrip("/")
    return str(_absolute(rest if separator else text.removeprefix("file:")))


class _Reader:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def get(self, name: str, parse: Callable[[str], T]) -> T | None:
        text = self._values.get(name, "").strip()
        if not text:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise InvalidInput(
                f"The setting {name} ({PREFIX}{name.upper()}) is {text!r}: {error}.",
                kind=ErrorKind.INVALID_OPTION,
                setting=name,
            ) from error


def _named(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(PREFIX)
    }


def _absolute(text: str) -> Path:
    # Links are followed: one warehouse has one job store, however it is spelled.
    return Path(text).expanduser().resolve()


def _user_folder(environment: Mapping[str, str], kind: str) -> Path:
    home = Path.home()
    if sys.platform == "win32":
        local = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
        return local / _FOLDER / kind
    if sys.platform == "darwin":
        parent = "Application Support" if kind == "state" else "Caches"
        return home / "Library" / parent / _FOLDER
    default = home / ".local" / "state" if kind == "state" else home / ".cache"
    return Path(environment.get(f"XDG_{kind.upper()}_HOME") or default) / _FOLDER


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        # A container may run under a user id that has no name.
        return "unknown"


def _spark_size(text: str) -> str:
    if _SPARK_SIZE.fullmatch(text) is None:
        raise ValueError("it must be a number with a unit of Spark, such as 512m or 2g")
    return text


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < math.inf:
        raise ValueError("it must be a number of seconds, 0 for no limit")
    return seconds


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ValueError("it must be a whole number above 0")
    return int(text)


def _pairs(text: str) -> Pairs:
    content = json.loads(text)
    if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
        raise ValueError("it must be a JSON object of texts")
    return tuple(content.items())


def _spelled(value: object) -> str:
    return json.dumps(dict(value)) if isinstance(value, tuple) else str(value)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65_535:
        raise ValueError("it must be a number from 0 to 65535")
    return int(text)


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return text.lower()

    return parse
