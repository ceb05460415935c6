"""Everything that can be seen of a job, as values: no store, no engine, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from branch_console.errors import ErrorKind, PaimonError, Refused, error_of
from branch_console.procedures.call.call import Argument
from branch_console.procedures.call.permissions import Role


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PUBLISHING = "publishing"
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self in _OVER

    @property
    def can_cancel(self) -> bool:
        """Whether a cancel still leaves the target untouched."""
        return self in _BEFORE_PUBLISH

    @property
    def can_resume(self) -> bool:
        """Whether the job may go on from its last finished step."""
        return self in _RESUMABLE


_OVER = frozenset({JobState.DONE, JobState.REFUSED, JobState.FAILED, JobState.CANCELLED})
_BEFORE_PUBLISH = frozenset(
    {JobState.QUEUED, JobState.RUNNING, JobState.WAITING, JobState.INTERRUPTED}
)
_RESUMABLE = frozenset({JobState.CANCELLED, JobState.FAILED})


class TargetMove(StrEnum):
    """Whether a job changed its target; `not known` while recovery decides that."""

    UNCHANGED = "unchanged"
    MOVED = "moved"
    UNKNOWN = "not known"

    @classmethod
    def of(
        cls, state: JobState, stage: Mapping[str, object], outcome: Mapping[str, object]
    ) -> "TargetMove":
        """Return what a job has kept of it; earlier releases kept nothing, and their jobs are read.

        Args:
            state: The state of the job.
            stage: The facts of its running stage, or its last one; none before the first.
            outcome: The facts of its end; none before that.
        """
        kept = outcome.get("target_is") or stage.get("target_is")
        if kept is not None:
            return cls(str(kept))
        if state is JobState.DONE:
            return cls.MOVED if outcome.get("receipt_id") else cls.UNCHANGED
        has_begun = bool(outcome or stage)
        is_before = state in (JobState.QUEUED, JobState.REFUSED, JobState.CANCELLED)
        return cls.UNCHANGED if is_before or not has_begun else cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStep:
    """One finished step of a job, in the order they ran."""

    name: str
    started_millis: int | None
    finished_millis: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as a page shows it.

    Attributes:
        id: The operation id.
        statement: The call as one line of SQL.
        step: The running step, or the last one.
        message: A sentence: how far it is, or why it ended.
        done: Units of the running step that are finished.
        total: Units of the running step, once known.
        error: The code of what ended it, where something did.
        error_class: The class of that error; None of jobs that ended before it was kept.
        error_facts: The objects of its message, by name.
        receipt_id: The operation whose receipt can be read, once done.
        target_is: Whether it has changed its target; of jobs that ended before that was kept, what
            their state says.
        recovers: Whether recovery finishes it or takes it back where it was cut off.
        role: The role of the actor when the job was made; it runs with that.
        arguments: The arguments of its call; none if the call cannot be read.
    """

    id: str
    statement: str
    step: str
    message: str
    state: JobState
    done: int
    total: int | None
    error: ErrorKind | None
    started_millis: int
    finished_millis: int | None
    receipt_id: str | None
    name: str
    actor: str
    table: str | None
    created_millis: int
    steps: tuple[JobStep, ...] = ()
    error_class: str | None = None
    error_facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    target_is: TargetMove = TargetMove.UNKNOWN
    recovers: bool = False
    role: str = Role.OPERATOR
    arguments: Mapping[str, Argument] = field(default_factory=lambda: MappingProxyType({}))

    def failure(self) -> PaimonError:
        """The error that ended the job, of the class that a caller without a job would get."""
        refusal = Refused.__name__ if self.state is JobState.REFUSED else PaimonError.__name__
        name, kind = self.error_class or refusal, self.error or ErrorKind.UNEXPECTED
        return error_of(name, self.message, kind, **{**self.error_facts, "job": self.id})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """The worker that executes the jobs of a store.

    Attributes:
        is_alive: Whether its last heartbeat is fresh.
        spark: `cold`, `starting`, `warm`, `ended` or why there is none.
        job: The id of the job it runs now.
        other_store: The identity of the job store that it takes its jobs from, where that is not
            the one of whoever looks.
    """

    id: str
    process_id: int
    host: str
    started_millis: int
    heartbeat_millis: int
    is_alive: bool
    spark: str
    job: str | None
    other_store: str | None = None

    @property
    def serves_other_store(self) -> bool:
        """Whether it lives, and runs none of the jobs of whoever looks."""
        return self.is_alive and self.other_store is not None
