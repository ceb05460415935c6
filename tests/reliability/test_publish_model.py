"""R7: every state of a small model of publishing and merging keeps the laws; broken ones do not."""

from collections.abc import Iterator
from itertools import combinations_with_replacement, product

import pytest

from tests.support.catalog_model import MERGE, TABLES, BrokenCatalog, CatalogModel
from tests.support.catalog_publish_model import (
    CLASHING,
    FITTING,
    BrokenPublish,
    PublishModel,
)
from tests.support.publish_model import OPERATIONS, Broken, Model, deals

_WRITERS, _OPERATIONS = 2, 3


def _models(broken: Broken | None) -> list[Model]:
    return [
        Model(operations=operations, deals=deal, broken=broken)
        for operations in product(OPERATIONS, repeat=_OPERATIONS)
        for deal in deals(_OPERATIONS, _WRITERS)
    ]


def test_every_state_keeps_the_laws() -> None:
    models = _models(None)
    assert [found for model in models if (found := model.visit())] == []
    states = sum(len(model.visited) for model in models)
    print(f"{len(models)} models, {states} states")
    assert states > 20_000, "the models do nothing"


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Broken.OVERWRITES, "NoLostAck"),
        (Broken.KEEPS_BASE, "MergeOnce"),
        (Broken.ANSWERS_EARLY, "NoLostAck"),
        (Broken.LOOKS_NOT, "MergeOnce"),
    ],
)
def test_a_broken_model_is_caught(broken: Broken, law: str) -> None:
    assert any((found := model.visit()) and found.startswith(law) for model in _models(broken))


def _catalog_models(broken: BrokenCatalog | None) -> list[CatalogModel]:
    return [
        CatalogModel(
            operations=dict(enumerate(operations, start=1)),
            deals=tuple(tuple(each + 1 for each in part) for part in deal),
            broken=broken,
        )
        for operations in product((*TABLES, MERGE), repeat=_OPERATIONS)
        if MERGE in operations
        for deal in deals(_OPERATIONS, _WRITERS)
    ]


def test_a_merge_of_all_tables_is_made_as_a_whole() -> None:
    models = _catalog_models(None)
    assert [found for model in models if (found := model.visit())] == []
    states = [state for model in models for state in model.visited]
    ends = {each.entry for state in states for each in state.journal if each is not None}
    print(f"{len(models)} models, {len(states)} states")
    assert len(ends) == 3, "no merge was finished, or none was taken back"


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (BrokenCatalog.TABLE_BY_TABLE, "AtomicCatalogMerge"),
        (BrokenCatalog.KEEPS_HALF, "AtomicCatalogMerge"),
        (BrokenCatalog.FORGETS, "MergeOnce"),
    ],
)
def test_a_broken_merge_of_all_tables_is_caught(broken: BrokenCatalog, law: str) -> None:
    models = _catalog_models(broken)
    assert any((found := model.visit()) and found.startswith(law) for model in models)


_COMMITS = tuple(product((0, 1), (FITTING, CLASHING)))
"""To which of the two tables another engine commits, and whether the merge still fits behind."""


def _publish_models(
    *, recoverers: int = 1, commits: int = 1, broken: BrokenPublish | None = None
) -> Iterator[PublishModel]:
    for count in range(commits + 1):
        for foreign in combinations_with_replacement(_COMMITS, count):
            yield PublishModel(recoverers=recoverers, foreign=foreign, broken=broken)


@pytest.mark.parametrize(
    ("recoverers", "commits"),
    [(1, 1), pytest.param(2, 2, marks=pytest.mark.depth("long"))],
)
def test_a_catalog_merge_is_all_or_nothing_whoever_recovers_it(
    recoverers: int, commits: int
) -> None:
    ends: set[str] = set()
    states = 0
    for model in _publish_models(recoverers=recoverers, commits=commits):
        assert model.visit() is None
        states += len(model.visited)
        ends |= {each.end for each in model.visited}
    print(f"{states} states")
    assert ends == {"", "done", "rolled back", "turned back"}


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (BrokenPublish.NO_FENCE, "AtomicCatalogMerge"),
        (BrokenPublish.NO_MARK, "AtomicCatalogMerge"),
        (BrokenPublish.NO_LATE_LOOK, "AtomicCatalogMerge"),
        (BrokenPublish.TWO_MARKS, "AtomicCatalogMerge"),
        (BrokenPublish.NO_OWN_LOOK, "MergeOnce"),
    ],
)
def test_a_broken_publish_of_a_catalog_merge_is_caught(broken: BrokenPublish, law: str) -> None:
    models = _publish_models(broken=broken)
    assert any((found := model.visit()) and found.startswith(law) for model in models)
