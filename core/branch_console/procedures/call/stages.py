"""How a procedure walks: named stages, which a job makes durable and a command runs in line."""

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from branch_console.procedures.call.row_engine import Progress

Facts: TypeAlias = Mapping[str, object]
"""The result of a stage for later stages: JSON values only, as a job stores them."""


class Stages(Protocol):
    """Runs the stages of one procedure, each at most once to its end."""

    def run(
        self,
        name: str,
        work: Callable[[Progress], Facts],
        *,
        message: str,
        publishes: bool = False,
    ) -> Facts:
        """Run a stage and return what it left; a stage that had finished is not run again.

        Args:
            name: The stage, as people see it.
            work: Does the work; told where to report progress.
            message: A sentence on what goes on.
            publishes: Whether the target changes from here on, so that nothing may be cancelled.
        """


class InlineStages:
    """Runs the stages here and now."""

    def __init__(
        self,
        *,
        on_stage: Callable[[str, str], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._on_stage = on_stage or (lambda _name, _message: None)
        self._progress = progress or (lambda _done, _total: None)

    def run(
        self,
        name: str,
        work: Callable[[Progress], Facts],
        *,
        message: str,
        publishes: bool = False,
    ) -> Facts:
        """Run a stage and return what it left."""
        self._on_stage(name, message)
        return work(self._progress)
