"""L1, L2, L4 to L7: whatever happened to a table, nothing that is needed is removed from it."""

import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.support.examples import Examples
from tests.support.expiry_histories import History, make_cheap


def test_no_expiry_and_no_cleaning_removes_what_any_reference_needs(
    tmp_path: Path, seed: int, examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_cheap(monkeypatch)
    print(f"--seed {seed}")
    done: Counter[str] = Counter()
    for number in range(examples(40, quick=4, long=10_000)):
        folder = tmp_path / "history"
        history = History(folder, Random(f"{seed} {number}"))
        history.run()
        done += history.done
        shutil.rmtree(folder)
    print(done)
    if examples.depth != "quick":
        assert done.keys() >= {"expire", "expire_and_undo", "clean", "clean_and_undo"}
