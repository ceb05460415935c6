"""Steps of a merge of the catalog as its journal has them."""

import pytest

from branch_console.errors import Refused
from branch_console.format.journals.catalog_merge import (
    CATALOG_MERGE_JOURNAL,
    CatalogMergeJournal,
)
from branch_console.merge.catalog.catalog_steps import CatalogStep, StepKind, StepPlace
from branch_console.procedures.catalog_merge.actions import ACTIONS, action_of
from branch_console.procedures.catalog_merge.step_actions import MergeStep

STEPS = (
    MergeStep(
        name="t1",
        step=CatalogStep(
            kind=StepKind.CREATE_DATABASE,
            id="d-1",
            before=None,
            after=StepPlace(name="lab", is_aside=True),
            properties_after={"a": "1"},
        ),
    ),
    MergeStep(
        name="t2",
        step=CatalogStep(
            kind=StepKind.MOVE_TABLE,
            id="t-1",
            before=StepPlace(name="old", database="d-1"),
            after=StepPlace(name="new", database="d-2"),
        ),
        folder="air.db/old",
        birth="5c0e",
    ),
)


def test_a_journal_has_every_step_as_it_was_decided() -> None:
    journal = CatalogMergeJournal(
        subject="the catalog",
        source="dev",
        target="main",
        source_content="dev",
        target_content="main",
        steps=tuple(each.journalled for each in STEPS),
        database_names={"d-1": "lab"},
        catalog_version={"branch": "main"},
    )
    again = CATALOG_MERGE_JOURNAL.decode(CATALOG_MERGE_JOURNAL.encode(journal))
    assert again == journal
    assert tuple(map(MergeStep.of, again.steps)) == STEPS


def test_a_step_that_no_action_carries_out_is_refused() -> None:
    for kind in set(StepKind) - set(ACTIONS):
        with pytest.raises(Refused, match=f"A step {str(kind)!r} takes another one back"):
            action_of(kind)
