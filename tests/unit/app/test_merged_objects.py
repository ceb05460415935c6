"""How far each object of a catalog merge is, by the steps of the merge and the count of its job."""

from dataclasses import replace

import pytest

from branch_console.jobs.progress import JobState
from branch_console.merge.catalog.catalog_steps import StepKind
from branch_console.merge.catalog.merged_part import MergedPart
from branch_console_app.models.jobs.merged_objects import (
    MOST_OBJECTS,
    ObjectMark,
    object_progress,
    visible_objects,
)
from tests.console.pretend import job

MERGE = job("op", state=JobState.PUBLISHING, name="merge_catalog_branch")


def part(object_id: str, kind: StepKind, name: str = "") -> MergedPart:
    return MergedPart(
        operation_id=f"op-{object_id}", object_id=object_id, kind=kind, name=name or object_id
    )


PARTS = (
    part("f", StepKind.MERGE_CONTENT, "air.flights"),
    part("p", StepKind.MERGE_CONTENT, "air.planes"),
    part("n", StepKind.DROP_TABLE, "lab.notes"),
    part("p", StepKind.MOVE_TABLE, "air.aircraft"),
)


@pytest.mark.parametrize(
    ("done", "marks"),
    [
        (0, ("now", "waiting", "waiting")),
        (1, ("done", "now", "waiting")),
        (2, ("done", "waiting", "now")),
        (3, ("done", "now", "done")),
        (4, ("done", "done", "done")),
    ],
)
def test_an_object_is_done_with_the_last_of_its_steps(done: int, marks: tuple[str, ...]) -> None:
    found = object_progress(PARTS, replace(MERGE, done=done, total=4))
    assert tuple(str(each.mark) for each in found) == marks
    # It has the name that it gets in the end.
    assert [each.name for each in found] == ["air.flights", "air.aircraft", "lab.notes"]
    assert found[1].did == ("merge content", "move table")
    assert found[1].done == (done > 1) + (done > 3)


def test_a_job_that_is_done_has_done_all_and_one_that_ended_otherwise_tells_nothing() -> None:
    done = object_progress(PARTS, replace(MERGE, state=JobState.DONE, done=3, total=4))
    assert {each.mark for each in done} == {ObjectMark.DONE}
    for state in (JobState.REFUSED, JobState.FAILED, JobState.CANCELLED):
        assert object_progress(PARTS, replace(MERGE, state=state, done=2)) == ()
    assert object_progress((), MERGE) == ()


def test_of_many_objects_those_that_are_not_done_are_seen() -> None:
    parts = tuple(part(f"t{number:03}", StepKind.MERGE_CONTENT) for number in range(200))
    found = visible_objects(object_progress(parts, replace(MERGE, done=190, total=200)))
    assert len(found) == MOST_OBJECTS
    assert [str(each.mark) for each in found[:11]] == ["now", *["waiting"] * 9, "done"]
