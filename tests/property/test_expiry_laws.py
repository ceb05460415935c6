"""L1, L2, L4 to L7: whatever happened to a table, nothing that is needed is removed from it."""

import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.support.examples import Examples
from tests.support.expiry_histories import FEW_STEPS, STEPS, History, begin, make_cheap

_HELD_NOT: Final = ("g2 650", "h5 580", "h5 6910")
"""Seeds of histories that did not hold before."""


@pytest.mark.parametrize("seed", _HELD_NOT)
def test_histories_that_did_not_hold_do(
    tmp_path: Path, seed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_cheap(monkeypatch)
    History(tmp_path / "history", Random(seed), begin(tmp_path / "begun")).run(STEPS)


def test_no_expiry_and_no_cleaning_removes_what_any_reference_needs(
    tmp_path: Path, seed: int, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_cheap(monkeypatch)
    print(f"--seed {seed}")
    done: Counter[str] = Counter()
    # Long ones take twice the time of short ones.
    steps = STEPS if examples.depth == "long" else FEW_STEPS
    begun = begin(tmp_path / "begun")
    for number in range(examples(300, quick=4, long=10_000)):
        folder = tmp_path / "history"
        history = History(folder, Random(f"{seed} {number}"), begun)
        history.run(steps)
        done += history.done
        shutil.rmtree(folder)
    print(done)
    if examples.depth != "quick":
        assert done.keys() >= {
            *("expire", "expire_and_undo", "clean", "clean_and_undo", "expire_partitions"),
            *("mark_done", "consume", "fence"),
        }
