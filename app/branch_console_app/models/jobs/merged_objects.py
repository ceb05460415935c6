"""How far each database and table is, in the job of a merge of the catalog."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

from branch_console.jobs.progress import JobState, JobView
from branch_console.merge.catalog.merged_part import MergedPart

MOST_OBJECTS: Final = 60
"""So many lines are drawn; of a longer list those that are done are left out first."""


class ObjectMark(StrEnum):
    """How far an object is; what goes on now first."""

    NOW = "now"
    WAITING = "waiting"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectProgress:
    """One database or table of a merge.

    Attributes:
        name: Its name on the target when all steps are done.
        did: The steps, in words.
        done: The number of steps that are visible on the target.
    """

    name: str
    did: tuple[str, ...]
    done: int
    mark: ObjectMark


def object_progress(parts: Sequence[MergedPart], job: JobView) -> tuple[ObjectProgress, ...]:
    """Return how far each object is, in the order in which the merge comes to them.

    Nothing is returned before the merge is decided, and of a job that ended without publishing.

    Args:
        parts: The steps of the merge, in their order.
        job: The job that carries them out.
    """
    if job.state.is_over and job.state is not JobState.DONE:
        return ()
    done = len(parts) if job.state is JobState.DONE else job.done
    numbered = [(part.object_id, number, part) for number, part in enumerate(parts)]
    first = {object_id: number for object_id, number, _ in reversed(numbered)}
    ordered = sorted(numbered, key=lambda each: (first[each[0]], each[1]))
    return tuple(
        _progress([(number, part) for _, number, part in steps], done)
        for _, steps in groupby(ordered, key=lambda each: each[0])
    )


def visible_objects(found: Sequence[ObjectProgress]) -> tuple[ObjectProgress, ...]:
    """Return the lines that are drawn: all of them, or of many those that are not done first."""
    if len(found) <= MOST_OBJECTS:
        return tuple(found)
    marks = list(ObjectMark)
    return tuple(sorted(found, key=lambda each: marks.index(each.mark))[:MOST_OBJECTS])


def _progress(steps: Sequence[tuple[int, MergedPart]], done: int) -> ObjectProgress:
    numbers = [number for number, _ in steps]
    mark = ObjectMark.WAITING
    if done in numbers:
        mark = ObjectMark.NOW
    elif numbers[-1] < done:
        mark = ObjectMark.DONE
    return ObjectProgress(
        name=steps[-1][1].name,
        did=tuple(str(part.kind) for _, part in steps),
        done=sum(number < done for number in numbers),
        mark=mark,
    )
