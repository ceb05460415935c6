"""The row engine of a process: one Spark session, and folders for what was found."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from branch_console.diff.rows.row_diff import RowDiffWork
from branch_console.diff.rows.row_figure import RowCounts
from branch_console.errors import PaimonError
from branch_console.jobs.kept_counts import KeptCounts
from branch_console.jobs.kept_diffs import KeptDiffs
from branch_console.jobs.kept_profiles import KeptProfiles, KeptQuality
from branch_console.jobs.results import KeptAnswers
from branch_console.jobs.settings import JobSettings
from branch_console.procedures.call.row_engine import Progress
from branch_console.procedures.call.row_figures import state_name
from branch_console.quality.comparison import QualityComparison
from branch_console.quality.work import QualityWork
from branch_console.spark.compare.profile_pass import ProfilePass
from branch_console.spark.compare.row_compare import compare_rows
from branch_console.spark.compare.row_count import count_rows
from branch_console.spark.engine import SparkRowEngine
from branch_console.spark.session.session import SparkSettings, WarmSession, cancelled, open_session
from branch_console.sql.answer import Answer
from branch_console.storage.file_io import FileIO
from branch_console.table.file_store_table import FileStoreTable
from branch_console.table.table_state import StagedState


class WarmRows(SparkRowEngine):
    """The row engine of this process; Spark starts when rows are first asked for, and stays."""

    def __init__(self, settings: JobSettings, store: FileIO) -> None:
        super().__init__(self._open, store)
        self.most_rows = settings.query_rows
        self._settings = settings
        self._lock = threading.Lock()
        self._opened: WarmSession | None = None
        self._is_cancelled = self._is_ending = False
        self._state = "cold"

    @property
    def state(self) -> str:
        """`cold`, `starting` or `warm`; `ended` once Spark is gone; or why it did not start."""
        session = self._opened
        return "ended" if session is not None and not session.is_alive else self._state

    def keep(self, operation_id: str, answer: Answer) -> None:
        """Keep an answer in the folder that the worker shares with those who asked."""
        KeptAnswers(folder=self._settings.answers_path).keep(operation_id, answer)

    def compare_states(
        self,
        table: FileStoreTable,
        work: RowDiffWork,
        name: str,
        facts: Mapping[str, object],
        progress: Progress,
    ) -> Mapping[str, int]:
        """Find the rows in which two states differ, and keep them in the folder of comparisons."""
        kept = KeptDiffs(folder=self._settings.diffs_path)
        if kept.find(name) is None:
            with kept.draft(name) as draft:
                compare_rows(
                    self._session,
                    self._store,
                    table,
                    work,
                    lambda found: draft.write(found, work, facts),
                    progress=progress,
                )
        return kept.counts(name)

    def count_rows(
        self, table: FileStoreTable, work: RowDiffWork, name: str, progress: Progress
    ) -> RowCounts:
        """Count the rows of two states, and keep the result in the folder of counts."""
        kept = KeptCounts(folder=self._settings.counts_path)
        found = kept.find(name)
        if found is None:
            found = count_rows(self._open, self._store, table, work, kept.units, progress=progress)
            kept.units.forget_oldest()
            for state, counted in ((work.before, found.before), (work.after, found.after)):
                if state.snapshot is not None:
                    key = state_name(table.identifier, state.snapshot, state.schema)
                    kept.states.keep(key, counted)
            kept.states.forget_oldest()
            kept.keep(name, found)
        return found

    def compare_quality(
        self,
        table: FileStoreTable,
        work: QualityWork,
        name: str,
        finished_millis: int,
        progress: Progress,
        *,
        merged: StagedState | None = None,
    ) -> QualityComparison:
        """Profile the columns of two states, and keep the result in the folder of comparisons."""
        results = KeptQuality(folder=self._settings.quality_path)
        found = results.find(name)
        if found is None:
            units = KeptProfiles(folder=self._settings.quality_path / "units")
            made = ProfilePass(self._store, self._open, units, progress)
            found = made.compare(table, work, merged=merged, finished_millis=finished_millis)
            units.forget_oldest()
            results.keep(name, found)
        return found

    def cancel(self) -> None:
        """Stop what runs now, or waits for Spark to start; the running call raises."""
        self._is_cancelled = True
        session = self._opened
        if session is not None:
            session.cancel()

    def end(self) -> None:
        """Stop what runs, and whatever asks for rows from now on: the process is about to end."""
        self._is_ending = True
        self.cancel()

    def close(self) -> None:
        """Stop Spark."""
        self.rest(lambda: False)

    def rest(self, is_busy: Callable[[], bool]) -> None:
        """Stop Spark until rows are asked for again, unless a job has begun meanwhile."""
        with self._lock:
            # A job says that it has begun before it asks for rows, and would wait here for them.
            if is_busy():
                return
            if self._opened is not None:
                self._opened.close()
                self._opened = None
            self._state = "cold"

    def _open(self) -> WarmSession:
        with self._lock:
            if self._is_ending:
                raise cancelled()
            if self._opened is not None and not self._opened.is_alive:
                self._opened.close()
                self._opened = None
            if self._opened is None:
                self._is_cancelled, self._state = False, "starting"
                try:
                    self._opened = open_session(spark_settings(self._settings))
                except PaimonError as error:
                    self._state = error.message
                    raise
                self._state = "warm"
                # Spark takes seconds to start, and cannot be stopped meanwhile.
                if self._is_cancelled:
                    raise cancelled()
            return self._opened


def spark_settings(settings: JobSettings) -> SparkSettings:
    """Return the settings of Spark; settings that are not given keep their defaults."""
    default = SparkSettings()
    return SparkSettings(
        master=settings.spark_master or default.master,
        remote=settings.spark_remote,
        memory=settings.spark_memory or default.memory,
        cache=Path(settings.state_dir) / "java",
        query_seconds=settings.query_seconds,
        query_memory=settings.query_memory,
        conf=dict(settings.spark_conf),
    )
