"""The settings that the console, the command line and the worker share to see the same jobs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from branch_console.errors import InvalidInput
from branch_console.format.other_catalog import CatalogKind
from branch_console.jobs.kept_counts import COUNTS
from branch_console.sql.answer import MOST_ROWS

QUERY_SECONDS: Final = 900.0
QUERY_MEMORY: Final = "1g"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """The place of jobs and everything that a worker needs to run them.

    Attributes:
        warehouse: An absolute path or a URL.
        state_dir: A local folder that the console and the worker share.
        store_options: Options of the store, such as endpoint and keys.
        catalog: The catalog of Paimon that keeps the tables, such as `hive`; None if nobody said.
        database_url: `postgresql://…`; None keeps the jobs in an SQLite file in `state_dir`.
        spark_master: `local[*]`, `spark://…`; None takes the default.
        spark_remote: A Spark Connect address; it wins over `spark_master`.
        spark_memory: Memory of the driver, such as `2g`.
        query_seconds: How long a query may run; None sets no limit.
        query_rows: How many rows one answer may have.
        query_memory: The memory of Spark's driver for the rows of one answer, such as `1g`.
        idle_seconds: How long a worker waits for the next job before it ends; None waits for ever,
            except that a worker which `JobClient` starts then ends after a quarter of an hour.
    """

    warehouse: str
    state_dir: str
    store_options: Mapping[str, str] = field(default_factory=dict)
    catalog: str | None = None
    database_url: str | None = None
    spark_master: str | None = None
    spark_remote: str | None = None
    spark_memory: str | None = None
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    query_seconds: float | None = QUERY_SECONDS
    query_rows: int = MOST_ROWS
    query_memory: str = QUERY_MEMORY
    idle_seconds: float | None = None

    @property
    def catalog_kind(self) -> CatalogKind | None:
        """The catalog that keeps the tables; None if nobody said."""
        return None if self.catalog is None else CatalogKind(self.catalog)

    @property
    def jobs_url(self) -> str:
        """The database of the jobs."""
        return self.database_url or f"sqlite:///{Path(self.state_dir).absolute() / 'jobs.sqlite'}"

    @property
    def heartbeat_path(self) -> Path:
        """The file in which the worker tells that it lives."""
        return Path(self.state_dir) / "worker.json"

    @property
    def lock_path(self) -> Path:
        """The file whose lock only one worker holds."""
        return Path(self.state_dir) / "worker.lock"

    @property
    def answers_path(self) -> Path:
        """The folder of the answers of queries."""
        return Path(self.state_dir) / "answers"

    @property
    def diffs_path(self) -> Path:
        """The folder of the rows in which states differ."""
        return Path(self.state_dir) / "comparisons"

    @property
    def quality_path(self) -> Path:
        """The folder of what the data of states look like."""
        return Path(self.state_dir) / "quality"

    @property
    def counts_path(self) -> Path:
        """The folder of the rows that were counted."""
        return Path(self.state_dir) / COUNTS

    @property
    def log_path(self) -> Path:
        """The log of a worker that the console started."""
        return Path(self.state_dir) / "worker.log"

    def to_json(self) -> str:
        """Encode for a child process; holds secrets, so it goes through a pipe, never a file."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "JobSettings":
        """Decode what `to_json` wrote."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"The settings of the worker cannot be read: {error}.") from error
