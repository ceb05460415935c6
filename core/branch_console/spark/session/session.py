"""The warm Spark session and the runs on it: named, watched and stoppable.

Starting Spark takes seconds, so a process opens one session and keeps it. A run happens on a thread
of its own while the caller's thread hears its progress: whoever listens may stop it by raising.
"""

import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import pyspark
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from branch_console.errors import ErrorKind, InvalidInput, PaimonError, StorageError
from branch_console.spark.session.java_home import find_java
from branch_console.spark.session.java_start import java_started
from branch_console.spark.session.task_errors import error_of_task

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int | None], None]

_POLL_SECONDS: Final = 0.1
_RUNS_AT_ONCE: Final = 4
_ANSWER_SECONDS: Final = 10
# How long a run that was stopped may go on, as one does that never looks whether it was.
_STOP_SECONDS: Final = 15.0
# Java tells of its end a moment after the first call that it left without an answer.
_END_SECONDS: Final = 2.0
# What a call raises whose Java has ended, while it waited or before.
_NO_ANSWER: Final = (Py4JError, OSError)
_TOO_LARGE: Final = "spark.driver.maxResultSize"
# Where a task was lost says nothing of why.
_WRAPPED: Final = re.compile(r"^(?:.* Lost task .*?\): |Caused by: )(?:[\w.]+Exception: )?")
# Of masters and servers that name no port; a master may be a list of several.
_PORTS: Final = MappingProxyType({"spark": 7077, "sc": 15002})
# Whatever the session is, times are told in UTC.
_SESSION_CONF: Final = MappingProxyType({"spark.sql.session.timeZone": "UTC"})
# No setting wins over these: `${env:…}` in a statement would tell variables of the server.
_FIXED_CONF: Final = MappingProxyType({"spark.sql.variable.substitute": "false"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings:
    """How Spark is started or reached.

    Attributes:
        master: `local[*]`, or the master of a cluster.
        remote: The address of a Spark Connect server (`sc://host:15002`); `master` is then unused.
        memory: The heap of the driver, which in local mode does all the work.
        python: The interpreter of the workers; on a cluster one that every node has.
        cache: The folder for the shim of the packaged Java.
        query_seconds: How long a query may run; None sets no limit.
        query_memory: The memory for the rows of one answer, such as `1g`.
        conf: Further settings of Spark; they win over ours.
    """

    master: str = "local[*]"
    remote: str | None = None
    memory: str = "2g"
    python: str = sys.executable
    cache: Path | None = None
    query_seconds: float | None = None
    query_memory: str = "1g"
    conf: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def is_local(self) -> bool:
        """Whether the tasks run in this very process and its children."""
        return self.remote is None and self.master.startswith("local")

    @property
    def repeats_tasks(self) -> bool:
        """Whether Spark runs a task once more where one failed; `local[2]` never does."""
        return not self.is_local or "," in self.master


class WarmSession:
    """A Spark session with its running runs."""

    def __init__(
        self, spark: SparkSession, settings: SparkSettings, *, is_joined: bool = False
    ) -> None:
        """Watch a session.

        Args:
            spark: The session.
            settings: The settings it was started with.
            is_joined: Whether its Spark ran before and is its owner's, who alone ends it.
        """
        self.spark = spark
        self.settings = settings
        self._pool = ThreadPoolExecutor(_RUNS_AT_ONCE, thread_name_prefix="spark-run")
        self._stops: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._java = None if settings.remote else getattr(SparkContext._gateway, "proc", None)
        self._is_joined = is_joined
        self._is_lost = False

    @property
    def parallelism(self) -> int:
        """Tasks worth having at once."""
        if self.settings.remote is not None:
            return int(str(self.spark.conf.get("spark.sql.shuffle.partitions", "8")))
        return self.spark.sparkContext.defaultParallelism

    @property
    def is_alive(self) -> bool:
        """Whether Spark still answers; False once its Java has ended or a run had to be left."""
        return not self._is_lost and (self._java is None or self._java.poll() is None)

    def run(
        self,
        action: Callable[[SparkSession], T],
        *,
        description: str,
        progress: Progress = lambda done, total: None,
        seconds: float | None = None,
    ) -> T:
        """Run an action of Spark under a job group of its own.

        Args:
            action: Called on another thread; whatever Spark jobs it starts belong to the run.
            description: Its name on Spark's own pages.
            progress: Called on this thread with tasks done and tasks known. What it raises stops
                the run and is raised from here.
            seconds: How long it may take; None sets no limit.

        Raises:
            PaimonError: The tasks failed, Spark ended, the time was up, or somebody called
                `cancel`.
        """
        group = f"branch-console-{uuid4()}"
        stop = threading.Event()
        with self._lock:
            self._stops[group] = stop
        watch = _Connect(self.spark) if self.settings.remote else _Classic(self.spark)
        try:
            future = self._pool.submit(watch.call, action, group, description)
            try:
                _follow(future, watch, group, stop, progress, seconds)
                return _result_of(future, description, self.settings)
            except BaseException as error:
                if self._has_ended(error):
                    raise _ended(description, self.settings) from error
                if not future.done():
                    self._give_up(future, watch, group)
                raise
        finally:
            with self._lock:
                del self._stops[group]

    def cancel(self) -> None:
        """Stop all runs; each raises from where it was asked for."""
        with self._lock:
            for stop in self._stops.values():
                stop.set()

    def close(self) -> None:
        """Stop the runs, then Spark; of one that has ended, let the process start another."""
        self.cancel()
        if self._is_joined:
            self._pool.shutdown(wait=self.is_alive, cancel_futures=True)
            return
        if self.is_alive:
            self._pool.shutdown(wait=True)
            self.spark.stop()
            return
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._java is not None:
            _forget_java(self.spark)
        else:
            with suppress(Exception):  # the client raises gRPC's classes, and the server is gone
                self.spark.stop()

    def _has_ended(self, error: BaseException) -> bool:
        """Whether Java ended under a run, which an error without an answer hints at."""
        cause = error.__cause__ if isinstance(error, PaimonError) else error
        if not isinstance(cause, _NO_ANSWER) or self._java is None:
            return False
        with suppress(subprocess.TimeoutExpired):
            self._java.wait(_END_SECONDS)
        return not self.is_alive

    def _give_up(self, future: "Future[Any]", watch: "_Classic | _Connect", group: str) -> None:
        """Stop a run, and Spark with it where the run does not end."""
        # A job that is only about to be submitted is not in the group yet: ask until the run ended.
        deadline = time.monotonic() + _STOP_SECONDS
        while not future.cancel():
            if time.monotonic() > deadline:
                # What Spark plans, it does not stop: the next run must not wait for that.
                self._is_lost = True
                if self._java is not None and not self._is_joined:
                    self._java.kill()
                return
            with suppress(*_NO_ANSWER):
                watch.cancel(group)
            if wait_for([future], timeout=_POLL_SECONDS).done:
                break
        if not future.cancelled() and (error := future.exception()) is not None:
            _log.debug("A stopped run ended with %s", _first_line(error))


def _follow(
    future: "Future[Any]",
    watch: "_Classic | _Connect",
    group: str,
    stop: threading.Event,
    progress: Progress,
    seconds: float | None,
) -> None:
    # Short work may be done before anybody looks: whoever stops it is asked first.
    reported: tuple[int, int | None] = (0, None)
    progress(*reported)
    deadline = None if seconds is None else time.monotonic() + seconds
    while not wait_for([future], timeout=_POLL_SECONDS).done:
        if stop.is_set():
            raise cancelled()
        if deadline is not None and time.monotonic() > deadline:
            raise PaimonError(
                f"The query was stopped after {seconds:,g} s, the time that one may take. "
                "Nothing was changed. Read less, or raise the setting query_seconds.",
                kind=ErrorKind.LIMIT_REACHED,
            )
        counts = watch.counts(group)
        if counts != reported:
            progress(*counts)
            reported = counts


def _ended(description: str, settings: SparkSettings) -> PaimonError:
    """Return the error of a run whose Java process ended; mostly its heap was full."""
    return PaimonError(
        f"Spark ended while it had to {description}; most likely its memory of {settings.memory} "
        "was exhausted. Nothing was published, and the next job starts Spark again. Read less at "
        "once, or raise the setting spark_memory.",
        kind=ErrorKind.LIMIT_REACHED,
    )


def _forget_java(spark: SparkSession) -> None:
    """Let PySpark start another Java: it takes the one of the process for good."""
    gateway = SparkContext._gateway
    with suppress(*_NO_ANSWER), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark warns that the Java is gone, which is known
        spark.sparkContext.stop()
    if gateway is not None:
        with suppress(*_NO_ANSWER):
            gateway.shutdown()
        # Java ends with this pipe, which PySpark keeps open for it.
        with suppress(OSError):
            gateway.proc.stdin.close()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def cancelled() -> PaimonError:
    """Return the error of a run that somebody cancelled."""
    return PaimonError(
        "The run was cancelled. Nothing was published; start it again when you like.",
        kind=ErrorKind.CANCELLED,
    )


def open_session(settings: SparkSettings) -> WarmSession:
    """Start Spark, or reach the Spark Connect server of the settings.

    Raises:
        NotFound: Spark has to be started here and there is no Java (NO_JAVA).
        StorageError: Spark did not start, or the server did not answer.
    """
    if settings.remote is not None:
        _check_answers(settings.remote, "Spark Connect")
        return WarmSession(_connect(settings), settings)
    _check_answers(settings.master, "The Spark master")
    _quieten_py4j()
    java = find_java(cache=settings.cache)
    environment = {
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": settings.python,
        # Another Spark on this machine does not fit this PySpark.
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    if settings.is_local:
        # The name of the machine need not resolve, and nobody outside has to reach the driver.
        environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    with _environment(environment):
        try:
            conf = {"spark.master": settings.master, **_configuration(settings)}
            is_joined = SparkContext._active_spark_context is not None
            with java_started(conf):
                return WarmSession(_start_or_join(conf), settings, is_joined=is_joined)
        except (PySparkException, Py4JError, OSError) as error:
            raise StorageError(
                f"Spark did not start with Java {java.version} ({java.home}) and master "
                f"{settings.master}: {_first_line(error)}. Check memory and the settings.",
                master=settings.master,
            ) from error


def _start_or_join(conf: Mapping[str, str]) -> SparkSession:
    """Start Spark; if it runs already, open a session beside that of its owner."""
    builder = SparkSession.builder
    if SparkContext._active_spark_context is not None:
        # Settings given to the builder would change the owner's session.
        session = builder.getOrCreate().newSession()
        for key, value in conf.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, value)
        return session
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _quieten_py4j() -> None:
    """Keep from the logs the stack that py4j prints of each call whose Java has ended."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # Some of it goes past its own logger.
    logging.getLogger().addFilter(_is_no_py4j)


def _is_no_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _check_answers(address: str, what: str) -> None:
    """Refuse an address if nobody listens, which Spark would go on asking for minutes."""
    scheme, sign, places = address.partition("://")
    if not sign or scheme not in _PORTS:
        return
    reason = OSError("it names no host")
    # Parameters may follow the address of Spark Connect.
    for place in places.partition("/")[0].split(","):
        host = urlsplit(f"//{place}")
        try:
            where = (host.hostname or "", host.port or _PORTS[scheme])
            socket.create_connection(where, timeout=_ANSWER_SECONDS).close()
        except ValueError as error:
            reason = OSError(error)
        except OSError as error:
            reason = error
        else:
            return
    raise StorageError(
        f"{what} at {address} does not answer: {_first_line(reason)}. Check the address and that "
        "it runs.",
        address=address,
    ) from reason


def _configuration(settings: SparkSettings) -> dict[str, str]:
    conf = {
        "spark.app.name": "Branch Console",
        "spark.driver.memory": settings.memory,
        _TOO_LARGE: settings.query_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.python.daemon.module": "branch_console.spark.session.python_daemon",
        **_SESSION_CONF,
        "spark.driver.extraJavaOptions": _java_options(settings),
    }
    if settings.is_local:
        conf |= {
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.warehouse.dir": str((settings.cache or Path.home() / ".cache") / "spark"),
            "spark.task.maxFailures": "1",
        }
    return conf | dict(settings.conf) | dict(_FIXED_CONF)


def _java_options(settings: SparkSettings) -> str:
    quiet = (Path(__file__).parent / "log4j2.properties").as_uri()
    options = [f"-Dlog4j2.configurationFile={quiet}", f"-Dlog4j.configurationFile={quiet}"]
    if settings.is_local:
        # Nothing can be trusted of a Java whose heap was full: the next run gets another one.
        options.append("-XX:+ExitOnOutOfMemoryError")
    return " ".join(options)


def _connect(settings: SparkSettings) -> SparkSession:
    try:
        builder = SparkSession.builder.remote(str(settings.remote))
        for key, value in {**_SESSION_CONF, **settings.conf, **_FIXED_CONF}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except ImportError as error:
        raise InvalidInput(
            f"Spark Connect at {settings.remote} needs packages that are not installed: "
            f'{error}. Install them: pip install "pyspark[connect]".',
            kind=ErrorKind.UNSUPPORTED,
            remote=settings.remote,
        ) from error
    except Exception as error:  # the client raises gRPC's classes, which may not be installed
        raise StorageError(
            f"Spark Connect at {settings.remote} did not answer: {_first_line(error)}. "
            "Check the address and that the server runs.",
            remote=settings.remote,
        ) from error


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    # Spark's launcher and PySpark read these while they start, and never again.
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Classic:
    """Watches runs through the driver in this process."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def call(self, action: Callable[[SparkSession], T], group: str, description: str) -> T:
        self._spark.sparkContext.setJobGroup(group, description, interruptOnCancel=True)
        return action(self._spark)

    def cancel(self, group: str) -> None:
        self._spark.sparkContext.cancelJobGroup(group)

    def counts(self, group: str) -> tuple[int, int | None]:
        tracker = self._spark.sparkContext.statusTracker()
        jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)))
        stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
        seen = [stage for stage in stages if stage is not None]
        total = sum(stage.numTasks for stage in seen)
        return sum(stage.numCompletedTasks for stage in seen), total or None


class _Connect:
    """Watches runs through the client of a Spark Connect server."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._counts: tuple[int, int | None] = (0, None)

    def call(self, action: Callable[[SparkSession], T], group: str, description: str) -> T:
        self._spark.addTag(group)
        self._spark.registerProgressHandler(self._hear)  # type: ignore[arg-type]  # more may come
        try:
            return action(self._spark)
        finally:
            self._spark.removeProgressHandler(self._hear)  # type: ignore[arg-type]
            self._spark.removeTag(group)

    def cancel(self, group: str) -> None:
        self._spark.interruptTag(group)

    def counts(self, group: str) -> tuple[int, int | None]:
        return self._counts

    def _hear(self, stages: Any, **_: Any) -> None:
        total = sum(stage.num_tasks for stage in stages or ())
        done = sum(stage.num_completed_tasks for stage in stages or ())
        self._counts = (done, total or None)


def _result_of(future: "Future[T]", description: str, settings: SparkSettings) -> T:
    try:
        return future.result()
    except PaimonError:
        raise
    except (PySparkException, Py4JError) as error:
        if (error_of_ours := error_of_task(error)) is not None:
            raise error_of_ours from error
        if _TOO_LARGE in str(error):
            raise PaimonError(
                f"The rows of the answer take more than {settings.query_memory}, which one may "
                "take. Nothing was changed. Select fewer rows or columns, or raise the setting "
                "query_memory.",
                kind=ErrorKind.LIMIT_REACHED,
            ) from error
        # The sentence has only the last line of it.
        _log.warning("Spark could not %s", description, exc_info=error)
        raise PaimonError(
            f"Spark could not {description}: {_first_line(error)}. The worker's log has more.",
            description=description,
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # A failed Python worker puts its own exception last, below its traceback.
    noise = (
        "File ",
        "at ",
        "Traceback",
        "SQLSTATE",
        "^",
        "~",
        "... ",
        "Caused by: java.",
        "Driver st",
    )
    texts = [line for line in lines if not line.startswith(noise)]
    last = _WRAPPED.sub("", texts[-1]) if texts else type(error).__name__
    return last.rstrip(".")
